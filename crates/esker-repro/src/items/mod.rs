//! Every table and figure, by paper.

use crate::Item;

/// Every item, in the order of `esker reproduce`.
pub static ITEMS: &[Item] = &[];
