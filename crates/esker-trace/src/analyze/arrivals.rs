//! Distances between arrivals, and idle periods.

use esker_core::{LatencyHistogram, Nanos};
use esker_results::LatencySummary;
use esker_results::profile::{IdlePeriods, InterArrival};

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

    /// Adds an arrival, `gap` after the one before it. The very first arrival has no gap.
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

    /// Statistics of the gaps; `None` with fewer than two arrivals.
    pub(super) fn inter_arrival(&self) -> Option<InterArrival> {
        let count = self.gaps.count();
        let (mean, deviation) = (self.gaps.mean(), self.gaps.stddev());
        (count > 0).then(|| InterArrival {
            gap: LatencySummary::of(&self.gaps),
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
