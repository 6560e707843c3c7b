//! Every table and figure, by paper.

mod agrawal_table_3;
mod agrawal_table_5;
mod agrawal_table_7;
mod agrawal_traces;
mod kim;

use crate::Item;

/// Every item, in the order of `esker reproduce`.
pub static ITEMS: &[Item] = &[
    agrawal_table_3::ITEM,
    agrawal_table_5::ITEM,
    agrawal_table_7::ITEM,
    agrawal_traces::ITEM,
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
];
