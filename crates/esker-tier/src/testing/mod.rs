//! Models that the tests of several engines share.

mod history;
mod store;

pub(crate) use history::History;
pub(crate) use store::Store;
