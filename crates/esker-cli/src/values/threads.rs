//! Numbers of threads.

use std::num::NonZeroUsize;

use super::{BadValue, count};

/// Parses a number of threads, of which all cores are the default.
pub(crate) fn threads(text: &str) -> Result<NonZeroUsize, BadValue> {
    threads_or(text, "leave --threads out to use all cores")
}

/// Parses a number of threads, of which one is the default.
pub(crate) fn threads_or_one(text: &str) -> Result<NonZeroUsize, BadValue> {
    threads_or(text, "leave --threads out for one")
}

fn threads_or(text: &str, default: &str) -> Result<NonZeroUsize, BadValue> {
    let count: usize = count(text)?;
    if count > 4096 {
        return Err(BadValue::with_hint("that is more threads than 4,096", default));
    }
    NonZeroUsize::new(count).ok_or_else(|| BadValue::with_hint("there has to be at least 1 thread", default))
}
