//! Latencies, drawn from a log-normal distribution.

use esker_core::{Nanos, Rng};

use crate::LatencyDistribution;

/// The 99 % quantile of the standard normal distribution.
const Z99: f64 = 2.326_347_874_040_841;

/// A log-normal distribution, by median and 99th percentile.
#[derive(Clone, Copy, Debug)]
pub struct LogNormal {
    median: Nanos,
    /// Standard deviation of the logarithm; zero for a constant.
    sigma: f64,
}

impl LogNormal {
    /// The distribution with these quantiles. The median is not zero, and the 99th percentile not less (checked with
    /// the settings).
    pub fn new(settings: &LatencyDistribution) -> Self {
        let ratio = settings.p99.0 as f64 / settings.median.0 as f64;
        Self { median: settings.median, sigma: ratio.ln() / Z99 }
    }

    /// The mean, for comparison with what providers promise.
    pub fn mean(&self) -> Nanos {
        Nanos::from_secs_f64(self.median.as_secs_f64() * (self.sigma * self.sigma / 2.0).exp())
    }

    /// Draws a time, at least one nanosecond. A constant draws nothing.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> Nanos {
        if self.sigma == 0.0 {
            return self.median;
        }
        let time = self.median.0 as f64 * (self.sigma * rng.normal()).exp();
        Nanos((time.round() as u64).clamp(1, LONGEST.0))
    }
}

/// No draw is longer.
const LONGEST: Nanos = Nanos::from_secs(3_600);

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of 200,000 draws below the quantiles are within four standard errors.
    #[test]
    fn quantiles_and_mean_are_as_set() {
        let settings = LatencyDistribution { median: Nanos::from_micros(700), p99: Nanos::from_millis(2) };
        let (latency, mut rng, draws) = (LogNormal::new(&settings), Rng::new(5), 200_000);
        let times: Vec<u64> = (0..draws).map(|_| latency.draw(&mut rng).0).collect();
        let tenth = settings.median.0 as f64 * (-1.281_551_565_544_600_4 * latency.sigma).exp();
        for (below, share) in [(settings.median.0, 0.5), (settings.p99.0, 0.99), (tenth as u64, 0.1)] {
            let found = times.iter().filter(|&&time| time <= below).count() as f64 / f64::from(draws);
            let error = (share * (1.0 - share) / f64::from(draws)).sqrt();
            assert!((found - share).abs() < 4.0 * error, "{share}: {found}");
        }
        let mean = times.iter().sum::<u64>() as f64 / f64::from(draws);
        assert!((mean / latency.mean().0 as f64 - 1.0).abs() < 0.005, "{mean} against {}", latency.mean());
    }

    #[test]
    fn equal_quantiles_are_a_constant() {
        let settings = LatencyDistribution { median: Nanos(500_000), p99: Nanos(500_000) };
        let (latency, mut rng) = (LogNormal::new(&settings), Rng::new(1));
        assert!((0..10).all(|_| latency.draw(&mut rng) == Nanos(500_000)));
        assert_eq!(latency.mean(), Nanos(500_000));
        assert_eq!(rng.next_u64(), Rng::new(1).next_u64(), "nothing was drawn");
    }
}
