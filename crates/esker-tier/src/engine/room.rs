//! What is left of flash that wears out.

use esker_core::Nanos;

/// What has become of the room on flash that a cache owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheRoom<'a> {
    /// Lines that it had room for at first.
    pub at_first: u32,
    /// When there was less for the first time, and whenever another tenth of that was lost; with the lines that there
    /// was room for from then on. None once the flash is used up.
    pub shrank: &'a [(Nanos, u32)],
}
