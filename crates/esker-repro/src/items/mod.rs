//! Every table and figure, by paper.

mod agrawal_table_3;
mod agrawal_table_5;
mod agrawal_table_7;
mod agrawal_traces;
mod kim_table_3_5;

use crate::Item;

/// Every item, in the order of `esker reproduce`.
pub static ITEMS: &[Item] =
    &[agrawal_table_3::ITEM, agrawal_table_5::ITEM, agrawal_table_7::ITEM, agrawal_traces::ITEM, kim_table_3_5::ITEM];
