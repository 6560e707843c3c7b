//! Space: which pages are free, and where the pages of a file lie.

mod buddy;
mod extents;
mod first_set;
mod held;
mod wear;

pub(crate) use buddy::Buddy;
pub(crate) use extents::{Extent, Extents};
pub(crate) use held::Sparse;
pub(crate) use wear::{LOOK_EVERY, Wear};
