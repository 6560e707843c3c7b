//! How far apart do requests arrive, and when does nothing arrive?

use esker_core::{LatencyHistogram, LatencySummary, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Times between consecutive arrivals, over all volumes together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterArrival {
    /// Their distribution. Mean, deviation and maximum are exact, percentiles within 0.1 %.
    pub gap: LatencySummary,
    /// Squared coefficient of variation: variance over squared mean. 1 for Poisson arrivals, 0 for
    /// regular ones, far above 1 for bursts.
    pub squared_coefficient_of_variation: f64,
    /// Share of requests that arrive at the same instant as their predecessor.
    pub simultaneous_fraction: f64,
}

/// Gaps between arrivals of at least some length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdlePeriods {
    /// Shortest gap that counts.
    pub threshold_us: f64,
    /// How many there are.
    pub count: u64,
    /// Their total length.
    pub total_s: f64,
    /// The same as a share of the trace's duration.
    pub share: f64,
    /// The longest.
    pub longest_s: f64,
}

#[derive(Debug)]
pub(super) struct Arrivals {
    gaps: LatencyHistogram,
    simultaneous: u64,
    idle: Vec<Idle>,
    started: bool,
}

#[derive(Clone, Copy, Debug)]
struct Idle {
    threshold: Nanos,
    count: u64,
    total: Nanos,
    longest: Nanos,
}

impl Arrivals {
    pub(super) fn new(idle_thresholds: &[Nanos]) -> Self {
        let idle = |&threshold: &Nanos| Idle { threshold, count: 0, total: Nanos::ZERO, longest: Nanos::ZERO };
        Self {
            gaps: LatencyHistogram::default(),
            simultaneous: 0,
            idle: idle_thresholds.iter().map(idle).collect(),
            started: false,
        }
    }

    /// One more arrival, `gap` after the one before. The very first has none.
    #[inline]
    pub(super) fn push(&mut self, gap: Nanos) {
        if !self.started {
            self.started = true;
            return;
        }
        self.gaps.record(gap);
        self.simultaneous += u64::from(gap == Nanos::ZERO);
        for idle in &mut self.idle {
            if gap >= idle.threshold {
                idle.count += 1;
                idle.total += gap;
                idle.longest = idle.longest.max(gap);
            }
        }
    }

    /// `None` with fewer than two arrivals.
    pub(super) fn inter_arrival(&self) -> Option<InterArrival> {
        let count = self.gaps.count();
        let (mean, deviation) = (self.gaps.mean(), self.gaps.stddev());
        (count > 0).then(|| InterArrival {
            gap: self.gaps.summary(),
            squared_coefficient_of_variation: if mean > 0.0 { (deviation / mean).powi(2) } else { 0.0 },
            simultaneous_fraction: self.simultaneous as f64 / count as f64,
        })
    }

    pub(super) fn idle_periods(&self, duration: Nanos) -> Vec<IdlePeriods> {
        let share = |total: Nanos| if duration.0 > 0 { total.0 as f64 / duration.0 as f64 } else { 0.0 };
        self.idle
            .iter()
            .map(|idle| IdlePeriods {
                threshold_us: idle.threshold.as_micros_f64(),
                count: idle.count,
                total_s: idle.total.as_secs_f64(),
                share: share(idle.total),
                longest_s: idle.longest.as_secs_f64(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_and_idle_periods_are_counted() {
        let mut arrivals = Arrivals::new(&[Nanos::from_millis(100), Nanos::from_secs(1)]);
        for gap in [0, 0, 100, 100, 1_800] {
            arrivals.push(Nanos::from_millis(gap));
        }
        let inter_arrival = arrivals.inter_arrival().unwrap();
        assert_eq!(inter_arrival.gap.mean_us, 500_000.0);
        assert_eq!(inter_arrival.simultaneous_fraction, 0.25);
        // Variance (500^2 + 400^2 + 400^2 + 1300^2) / 4 ms^2 over 500^2 ms^2.
        assert!((inter_arrival.squared_coefficient_of_variation - 2.26).abs() < 1e-9);
        let idle = arrivals.idle_periods(Nanos::from_secs(2));
        assert_eq!((idle[0].count, idle[0].total_s, idle[0].share), (3, 2.0, 1.0));
        assert_eq!((idle[1].count, idle[1].total_s, idle[1].longest_s), (1, 1.8, 1.8));
        assert_eq!(Arrivals::new(&[]).inter_arrival(), None);
    }
}
