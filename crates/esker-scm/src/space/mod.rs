//! Space: which pages are free, and where the pages of a file lie.

mod buddy;
mod extents;
mod first_set;

pub(crate) use buddy::Buddy;
pub(crate) use extents::{Extent, Extents};
