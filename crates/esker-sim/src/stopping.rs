//! What ends a replay before its requests do.

use esker_core::Nanos;

/// A callback that may stop a replay, called every [`Watch::EVERY`] completions.
pub struct Watch<'a> {
    /// Gets the number of requests that ended. Returns false to stop the replay.
    pub go_on: &'a mut dyn FnMut(u64) -> bool,
}

impl Watch<'_> {
    /// Completions between two calls: often enough for a person, too rare to cost time.
    pub const EVERY: u64 = 8_192;
}

/// A limit for response times: a replay ends when more than `most` requests took longer than `longer_than`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceiling {
    /// Response time.
    pub longer_than: Nanos,
    /// Number of requests that may take longer.
    pub most: u64,
}

impl Ceiling {
    /// A ceiling that is passed only if the 99th percentile of `requests` requests is above `p99_us` microseconds.
    pub fn p99_above(p99_us: f64, requests: u64) -> Self {
        Self { longer_than: Nanos::from_secs_f64(p99_us / 1e6), most: requests / 100 + 1 }
    }
}
