//! Counts of operations, by kind and cause.

use esker_results::PageOperations;

use crate::state::{CAUSES, Cause};

/// Counts of operations since the device was new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationCounts {
    pub(super) reads: [u64; CAUSES],
    pub(super) programs: [u64; CAUSES],
    pub(super) erases_for: [u64; CAUSES],
    /// Block erases.
    pub erases: u64,
    /// Erases of blocks of which no page was copied since their last erase.
    pub erases_without_copies: u64,
}

impl OperationCounts {
    /// Returns page reads by cause.
    pub fn reads(&self) -> PageOperations {
        by_cause(&self.reads)
    }
    /// Returns page programs by cause.
    pub fn programs(&self) -> PageOperations {
        by_cause(&self.programs)
    }
    /// Returns block erases by cause. Their sum is [`Self::erases`].
    pub fn erases_by_cause(&self) -> PageOperations {
        by_cause(&self.erases_for)
    }
    /// Returns the counts since `earlier`. A power failure may have undone operations that were counted by then.
    pub fn since(&self, earlier: &Self) -> Self {
        let difference = |now: &[u64; CAUSES], then: &[u64; CAUSES]| {
            std::array::from_fn(|cause| now[cause].saturating_sub(then[cause]))
        };
        Self {
            reads: difference(&self.reads, &earlier.reads),
            programs: difference(&self.programs, &earlier.programs),
            erases_for: difference(&self.erases_for, &earlier.erases_for),
            erases: self.erases.saturating_sub(earlier.erases),
            erases_without_copies: self.erases_without_copies.saturating_sub(earlier.erases_without_copies),
        }
    }
}

/// Converts counts to the form of the results.
pub fn by_cause(counts: &[u64; CAUSES]) -> PageOperations {
    PageOperations {
        host: counts[Cause::Host as usize],
        cleaning: counts[Cause::Cleaning as usize],
        mapping: counts[Cause::Mapping as usize],
        wear_levelling: counts[Cause::WearLevelling as usize],
        recovery: counts[Cause::Recovery as usize],
        refresh: counts[Cause::Refresh as usize],
        re_encoding: counts[Cause::ReEncoding as usize],
    }
}
