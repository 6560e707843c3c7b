//! Models that the tests of several engines share.

mod buffers;
mod history;
mod store;

pub(crate) use buffers::Buffers;
pub(crate) use history::History;
pub(crate) use store::Store;
