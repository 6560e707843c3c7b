//! What comparisons of cache policies on samples of the lines have in common.

/// A difference below this counts as noise: it is half of the requests that a budget for the 99th percentile leaves
/// out.
pub(super) const NOISE_MIN: f64 = 0.005;

/// The size of a cache: it decides what a policy misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CacheShape {
    pub(super) line_bytes: u64,
    /// Number of lines that the cache holds.
    pub(super) slots: u64,
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

pub(super) fn standard_error(values: &[f64]) -> f64 {
    let (mean, count) = (mean(values), values.len() as f64);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (count - 1.0).max(1.0) / count.max(1.0)).sqrt()
}
