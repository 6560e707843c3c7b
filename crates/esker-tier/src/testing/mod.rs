//! What the tests of several engines need.

mod store;

pub(crate) use store::Store;

/// A value that was written to a sector, and the step at which its write was acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) value: u64,
    pub(crate) acknowledged: Option<u64>,
}
