//! Response times as histograms: exact mean and deviation, percentiles within 0.1 %.

use hdrhistogram::Histogram;

use crate::Nanos;

/// Times in a histogram of three significant digits (log-linear, "HDR"). Count, mean, deviation and maximum are exact.
#[derive(Clone, Debug)]
pub struct LatencyHistogram {
    histogram: Histogram<u64>,
    sum: u128,
    sum_of_squares: u128,
    max: u64,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        let mut histogram = Histogram::new(3).expect("three digits are allowed");
        histogram.auto(true);
        Self { histogram, sum: 0, sum_of_squares: 0, max: 0 }
    }
}

impl LatencyHistogram {
    /// Adds one time.
    #[inline]
    pub fn record(&mut self, time: Nanos) {
        // The histogram grows by itself; 2^62 ns are 146 years.
        self.histogram.record(time.0.min(1 << 62)).expect("an automatic histogram grows as needed");
        self.sum += u128::from(time.0);
        // Only times of centuries reach the limit; `stddev` then falls back to doubles.
        self.sum_of_squares = self.sum_of_squares.saturating_add(u128::from(time.0) * u128::from(time.0));
        self.max = self.max.max(time.0);
    }

    /// Adds all times of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("an automatic histogram grows as needed");
        self.sum += other.sum;
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
        self.max = self.max.max(other.max);
    }

    /// How many times were recorded.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Sum of all recorded times in nanoseconds.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Exact mean in nanoseconds; zero where nothing was recorded.
    pub fn mean(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum as f64 / self.count() as f64 }
    }

    /// Standard deviation of exactly the recorded times (divided by n, not by n - 1), in nanoseconds.
    pub fn stddev(&self) -> f64 {
        let count = u128::from(self.count());
        if count == 0 {
            return 0.0;
        }
        // n * sum(x^2) - sum(x)^2 in integers: no cancellation. If that overflows, doubles are good enough.
        match (self.sum_of_squares.checked_mul(count), self.sum.checked_mul(self.sum)) {
            (Some(left), Some(right)) => ((left - right) as f64).sqrt() / count as f64,
            _ => (self.sum_of_squares as f64 / count as f64 - self.mean() * self.mean()).max(0.0).sqrt(),
        }
    }

    /// The time that a share `quantile` of all times is at most as long as, within 0.1 %.
    pub fn quantile(&self, quantile: f64) -> Nanos {
        Nanos(self.histogram.value_at_quantile(quantile).min(self.max))
    }

    /// The longest time, exact.
    pub fn max(&self) -> Nanos {
        Nanos(self.max)
    }

    /// The distribution function at up to `points` values: (time, share of requests at most that long), both rising.
    pub fn curve(&self, points: usize) -> Vec<(Nanos, f64)> {
        (0..points)
            .map(|point| {
                // Points are dense towards the tail, which matters most: 0, ..., 0.9, ..., 0.99, ..., 0.9999.
                let quantile = 1.0 - 10f64.powf(-4.0 * point as f64 / (points - 1).max(1) as f64);
                (self.quantile(quantile), quantile)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_are_exact_and_percentiles_close() {
        let mut histogram = LatencyHistogram::default();
        for micros in 1..=1000 {
            histogram.record(Nanos::from_micros(micros));
        }
        assert_eq!(histogram.mean(), 500_500.0);
        assert!((histogram.stddev() / 1e3 - ((1000f64 * 1000.0 - 1.0) / 12.0).sqrt()).abs() < 1e-9);
        let micros = |quantile| histogram.quantile(quantile).as_micros_f64();
        assert!((micros(0.50) / 500.0 - 1.0).abs() < 1e-3, "{}", micros(0.50));
        assert!((micros(0.99) / 990.0 - 1.0).abs() < 1e-3, "{}", micros(0.99));
        assert_eq!(histogram.max(), Nanos::from_micros(1000));
    }

    #[test]
    fn times_of_centuries_do_no_harm() {
        let mut histogram = LatencyHistogram::default();
        for _ in 0..5 {
            histogram.record(Nanos(u64::MAX));
        }
        histogram.merge(&histogram.clone());
        assert_eq!((histogram.count(), histogram.max()), (10, Nanos(u64::MAX)));
        assert!((histogram.mean() / u64::MAX as f64 - 1.0).abs() < 1e-12);
        assert!(histogram.stddev().is_finite());
    }

    #[test]
    fn an_empty_histogram_has_zeroes() {
        let empty = LatencyHistogram::default();
        assert_eq!((empty.mean(), empty.stddev(), empty.max()), (0.0, 0.0, Nanos::ZERO));
    }
}
