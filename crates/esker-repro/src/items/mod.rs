//! Every table and figure, by paper.

mod agrawal;
mod kim;
mod wu;

use crate::Item;

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
];
