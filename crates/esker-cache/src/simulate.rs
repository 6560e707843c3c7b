//! Runs a policy over a sequence of accesses.

use crate::{Access, Counts, Replacement};

/// Counts what a cache that takes in every object that misses does on `accesses`.
pub fn simulate(policy: &mut dyn Replacement, accesses: &[Access]) -> Counts {
    let mut counts = Counts::default();
    policy.perform(accesses, &mut counts);
    counts
}
