//! Space: which pages are free, and where the pages of a file lie.

mod backed;
mod buddy;
mod emptying;
mod extents;
mod first_set;
mod flat;
mod held;
mod wear;

pub(crate) use backed::Backed;
pub(crate) use buddy::Buddy;
pub(crate) use emptying::Sparse;
pub(crate) use extents::{Extent, Extents};
pub(crate) use wear::Wear;
