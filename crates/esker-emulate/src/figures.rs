//! What an emulated device has done, and how punctually.

use esker_core::{LatencyHistogram, Nanos, Request, RequestKind};
use serde::{Deserialize, Serialize};

/// Response times of the simulated device, and how late they were told.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    reads: LatencyHistogram,
    writes: LatencyHistogram,
    others: LatencyHistogram,
    failed: u64,
    lateness: LatencyHistogram,
    /// How long at least one answer was due and had not been given, all together, and when the last one was given.
    overdue: Nanos,
    overdue_until: Nanos,
}

impl Figures {
    /// A request has ended: it came at `arrived`, its end was due at `due`, and its answer is given at `now`.
    pub(crate) fn answered(&mut self, request: &Request, is_well: bool, [arrived, due, now]: [Nanos; 3]) {
        let times = match request.kind {
            RequestKind::Read => &mut self.reads,
            RequestKind::Write { .. } => &mut self.writes,
            _ => &mut self.others,
        };
        match is_well {
            true => times.record(due - arrived),
            false => self.failed += 1,
        }
        self.lateness.record(now.saturating_sub(due));
        self.overdue += now.saturating_sub(due.max(self.overdue_until));
        self.overdue_until = self.overdue_until.max(now);
    }

    /// Sums up what happened from `since` to `now`.
    pub(crate) fn punctuality(&self, since: Nanos, now: Nanos) -> Punctuality {
        let mut all = self.reads.clone();
        all.merge(&self.writes);
        all.merge(&self.others);
        let limit = LATE.max(Nanos(all.quantile(0.5).0 / 10));
        let elapsed = now.saturating_sub(since).0;
        Punctuality {
            lateness: TimeFigures::of(&self.lateness),
            overdue_share: if elapsed == 0 { 0.0 } else { self.overdue.0 as f64 / elapsed as f64 },
            limit_us: limit.as_micros_f64(),
            keeps_up: self.lateness.count() < 100 || self.lateness.quantile(0.99) <= limit,
        }
    }

    pub(crate) fn times(&self) -> ResponseTimes {
        let [reads, writes, others] = [&self.reads, &self.writes, &self.others].map(TimeFigures::of);
        ResponseTimes { reads, writes, others, failed: self.failed }
    }
}

/// How late one answer in a hundred may be before the emulation counts as too slow: a tenth of the usual response time,
/// because what clients measure is then visibly wrong, but no less than this. Kernels wake a thread some 50 us late
/// without being asked for better, and another 50 us go by where other programs run.
const LATE: Nanos = Nanos::from_micros(100);

/// Response times of the simulated device, by kind of request. How late their answers were given does not count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResponseTimes {
    /// Reads.
    pub reads: TimeFigures,
    /// Writes.
    pub writes: TimeFigures,
    /// Flushes, trims and zeroes.
    pub others: TimeFigures,
    /// Requests of all kinds that have failed.
    pub failed: u64,
}

/// How punctual the answers were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Punctuality {
    /// The time from the simulated end of a request until its answer was given.
    pub lateness: TimeFigures,
    /// The share of the time in which at least one answer was due and had not been given.
    pub overdue_share: f64,
    /// The largest 99th percentile of lateness with which the emulation keeps up: a tenth of the usual response time,
    /// but at least 100 us.
    pub limit_us: f64,
    /// Whether it does, as far as a hundred answers or more say.
    pub keeps_up: bool,
}

impl Punctuality {
    /// A sentence for users if the machine cannot keep up.
    pub fn warning(&self) -> Option<String> {
        (!self.keeps_up).then(|| {
            format!(
                "this machine cannot keep up with the device: one answer in a hundred was more than {:.0} us late, and \
                 {:.0} us would do; take a slower device or less load",
                self.lateness.p99_us, self.limit_us
            )
        })
    }
}

/// Times in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeFigures {
    /// How many there are.
    pub count: u64,
    /// Their mean.
    pub mean_us: f64,
    /// The median.
    pub p50_us: f64,
    /// The 99th percentile.
    pub p99_us: f64,
    /// The 99.9th percentile.
    pub p999_us: f64,
    /// The longest.
    pub max_us: f64,
}

impl TimeFigures {
    fn of(times: &LatencyHistogram) -> Self {
        let [p50_us, p99_us, p999_us] = [0.5, 0.99, 0.999].map(|quantile| times.quantile(quantile).as_micros_f64());
        let (count, mean_us, max_us) = (times.count(), times.mean() / 1e3, times.max().as_micros_f64());
        Self { count, mean_us, p50_us, p99_us, p999_us, max_us }
    }
}

#[cfg(test)]
mod tests {
    use esker_core::{Bytes, Lba};

    use super::*;

    fn answer(figures: &mut Figures, arrived: u64, due: u64, now: u64) {
        let times = [arrived, due, now].map(Nanos::from_micros);
        figures.answered(&Request::read(Lba(0), Bytes(512)), true, times);
    }

    #[test]
    fn overlapping_delays_count_once() {
        let mut figures = Figures::default();
        answer(&mut figures, 0, 1000, 1300);
        answer(&mut figures, 0, 1200, 1400);
        answer(&mut figures, 0, 5000, 5100);
        let found = figures.punctuality(Nanos::ZERO, Nanos::from_micros(10_000));
        assert_eq!((found.overdue_share, found.lateness.max_us, found.lateness.mean_us), (0.05, 300.0, 200.0));
        assert_eq!((figures.times().reads.count, figures.times().reads.max_us), (3, 5000.0));
    }

    #[test]
    fn a_late_answer_in_a_hundred_is_too_much() {
        let mut figures = Figures::default();
        for number in 0..1000 {
            answer(&mut figures, number * 3000, number * 3000 + 2000, number * 3000 + 2050);
        }
        assert_eq!(figures.punctuality(Nanos::ZERO, Nanos::from_secs(3)).warning(), None);
        for number in 1000..1011 {
            answer(&mut figures, number * 3000, number * 3000 + 2000, number * 3000 + 2300);
        }
        let found = figures.punctuality(Nanos::ZERO, Nanos::from_secs(4));
        // A tenth of 2 ms.
        assert!((found.limit_us / 200.0 - 1.0).abs() < 1e-3, "{found:?}");
        assert!(found.warning().unwrap().contains("more than 300 us late"), "{found:?}");
    }
}
