//! Counts that most drives have none of are left out of results.

pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}
