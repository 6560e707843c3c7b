//! Every table and figure, by paper.

mod agrawal;
mod kim;
mod wu;
mod xia;

use crate::Item;

/// Asserts what holds for every claim: it has a reason, and the tolerance of a share is in points, since twice the
/// published value is out of reach where that is above a half.
#[cfg(test)]
fn check_claim(claim: &crate::Claim) {
    assert!(!claim.reason.is_empty(), "{}", claim.claim);
    let is_share = ["percent", ", share", ": share"].iter().any(|unit| claim.claim.contains(unit));
    assert!(!is_share || claim.tolerance_factor.is_none(), "{}", claim.claim);
}

/// Every item, in the order of `esker reproduce`.
pub static ITEMS: &[Item] = &[
    agrawal::section_2_2::ITEM,
    agrawal::table_3::ITEM,
    agrawal::table_4::ITEM,
    agrawal::table_5::ITEM,
    agrawal::table_7::ITEM,
    agrawal::table_8::ITEM,
    agrawal::page_size::ITEM,
    agrawal::figure_6::ITEM,
    agrawal::figure_7::ITEM,
    agrawal::figure_8::ITEM,
    agrawal::section_6::ITEM,
    agrawal::traces::ITEM,
    kim::table_2_1::ITEM,
    kim::table_3_1::ITEM,
    kim::table_3_2::ITEM,
    kim::table_3_3::ITEM,
    kim::figure_3_9::ITEM,
    kim::table_3_4::ITEM,
    kim::table_3_5::ITEM,
    kim::figure_3_10::ITEM,
    kim::figure_3_11::ITEM,
    kim::figure_3_12::ITEM,
    kim::figure_3_13::ITEM,
    kim::figure_3_14::ITEM,
    kim::figure_3_15::ITEM,
    kim::figure_3_16::ITEM,
    kim::figure_3_17::ITEM,
    kim::figure_3_18::ITEM,
    kim::figure_3_19::ITEM,
    kim::table_4_1::ITEM,
    kim::figure_4_1::ITEM,
    kim::table_4_3::ITEM,
    kim::table_4_4::ITEM,
    kim::figure_4_5::ITEM,
    kim::figure_4_6::ITEM,
    kim::figure_4_7::ITEM,
    kim::figure_4_8::ITEM,
    kim::figure_4_9::ITEM,
    kim::regression::ITEM,
    kim::table_5_1::ITEM,
    kim::figure_5_2::ITEM,
    wu::figure_2::ITEM,
    wu::figure_5::ITEM,
    wu::figure_6::ITEM,
    wu::figure_7::ITEM,
    wu::figure_8::ITEM,
    wu::figure_9::ITEM,
    wu::table_1::ITEM,
    wu::table_2::ITEM,
    wu::figure_10::ITEM,
    wu::table_3::ITEM,
    wu::figure_13::ITEM,
    wu::figure_14::ITEM,
    wu::figure_15::ITEM,
    wu::figure_16::ITEM,
    wu::figure_17::ITEM,
    wu::table_5::ITEM,
    wu::figure_18::ITEM,
    wu::figure_18::FIGURE_19,
    xia::table_2::ITEM,
    xia::table_3::ITEM,
    xia::figure_2::ITEM,
    xia::section_2_4::ITEM,
    xia::figure_4::ITEM,
    xia::figure_5::ITEM,
    xia::figure_6::ITEM,
    xia::figure_7::ITEM,
    xia::figure_8::ITEM,
    xia::table_4::ITEM,
    xia::figure_9::ITEM,
    xia::figure_10::ITEM,
    xia::table_6::ITEM,
    xia::figure_13::ITEM,
    xia::figure_14::ITEM,
    xia::figure_15::ITEM,
    xia::figure_16::ITEM,
    xia::figure_17::ITEM,
    xia::section_5_3_4::ITEM,
    xia::table_7::ITEM,
    xia::table_8::ITEM,
    xia::figure_21::ITEM,
    xia::figure_22::ITEM,
    xia::figure_23::ITEM,
    xia::figure_24::ITEM,
    xia::figure_25::ITEM,
    xia::figure_26::ITEM,
    xia::little_cleaning::ITEM,
];
