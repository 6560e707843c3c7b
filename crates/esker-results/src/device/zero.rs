//! Leaves counts of zero out of results, if most drives have none.

pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}
