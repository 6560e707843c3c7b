//! What ends a replay before its requests do.

use esker_core::Nanos;

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
