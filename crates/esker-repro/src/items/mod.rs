//! Every table and figure, by paper.

mod agrawal_table_3;

use crate::Item;

/// Every item, in the order of `esker reproduce`.
pub static ITEMS: &[Item] = &[agrawal_table_3::ITEM];
