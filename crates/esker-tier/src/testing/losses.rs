//! How often engines with a fault are found out.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns in how many of `runs` runs, each with a seed of its own, an engine breaks a promise: `run` returns an error,
/// or an assertion fails on the way.
pub fn losses(runs: u64, run: impl Fn(u64) -> Result<(), String>) -> usize {
    let keeps = |seed| catch_unwind(AssertUnwindSafe(|| run(seed))).is_ok_and(|outcome| outcome.is_ok());
    (0..runs).filter(|&seed| !keeps(seed)).count()
}
