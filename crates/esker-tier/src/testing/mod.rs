//! What the tests of several engines need.

mod history;
mod store;

pub(crate) use history::History;
pub(crate) use store::Store;
