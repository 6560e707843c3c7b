//! What comparisons of caches on samples of the lines share.

/// A difference below this is never more than noise: half of the requests that budgets for the 99th percentile leave
/// out.
pub(crate) const NOISE_MIN: f64 = 0.005;

/// Sizes of a cache: of policies, they decide what is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CacheShape {
    pub(crate) line_bytes: u64,
    /// Lines that it holds.
    pub(crate) slots: u64,
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

pub(crate) fn standard_error(values: &[f64]) -> f64 {
    let (mean, count) = (mean(values), values.len() as f64);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (count - 1.0).max(1.0) / count.max(1.0)).sqrt()
}
