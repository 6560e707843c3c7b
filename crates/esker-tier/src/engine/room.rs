//! How much room is left on flash that wears out.

use esker_core::Nanos;

/// The room on flash that a cache owns, over its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheRoom<'a> {
    /// Number of lines for which there was room at first.
    pub at_first: u32,
    /// Times at which room was lost, each with the number of lines for which there was room from then on: the first
    /// loss, and each time another tenth was gone. Zero lines once the flash is used up.
    pub shrank: &'a [(Nanos, u32)],
}
