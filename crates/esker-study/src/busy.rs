//! Finds the stretch of a trace in which budgets hold, and the busiest stretches like it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use esker_core::Nanos;
use esker_results::profile::{BusiestWindow, Profile};
use esker_results::study::BusyStretch;
use esker_sim::Workload;

use crate::StudyError;

/// A stretch has at least this many requests: the 99th percentile of fewer is the response time of a handful of them.
const REQUESTS_MIN: usize = 1_000;
/// Larger loads are tried on this many stretches.
const STRETCHES: usize = 10;
/// No stretch is added that would bring the [`work`] of all stretches above this.
const WORK_MAX: u64 = 450_000;
/// Simulating this many more bytes takes about as long as simulating one more request.
const BYTES_LIKE_A_REQUEST: u64 = 16 << 10;

/// Returns how long requests take to simulate, as a number of small requests: large requests have more pages.
pub(crate) fn work(requests: u64, bytes: u64) -> u64 {
    requests + bytes / BYTES_LIKE_A_REQUEST
}

/// A stretch of time of a trace; the end is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) from: Nanos,
    pub(crate) to: Nanos,
    pub(crate) requests: u64,
}

impl Stretch {
    pub(crate) fn length(&self) -> Nanos {
        self.to - self.from
    }
    pub(crate) fn contains(&self, at: Nanos) -> bool {
        (self.from..self.to).contains(&at)
    }
    pub(crate) fn results(&self) -> BusyStretch {
        BusyStretch { start_s: self.from.as_secs_f64(), length_s: self.length().as_secs_f64(), requests: self.requests }
    }
}

/// The busy times of a workload, and its requests in them.
#[derive(Debug)]
pub(crate) struct Busy {
    pub(crate) times: BusyTimes,
    /// The busiest hour: budgets hold in it, too.
    pub(crate) hour: Option<Stretch>,
    /// The requests in the busiest stretches.
    pub(crate) requests: Workload,
}

impl Busy {
    /// Finds the busy times of `requests`. Each call of `arrivals` returns their arrival times with their bytes.
    pub(crate) fn of<I: Iterator<Item = (Nanos, u64)>>(
        requests: &Workload,
        profile: &Profile,
        arrivals: impl Fn() -> I,
    ) -> Result<Self, StudyError> {
        let times = busy_times(arrivals, profile.busiest_minute.as_ref());
        let within = |at| times.busiest.iter().any(|stretch| stretch.contains(at));
        let requests = requests.part(within).map_err(StudyError::design)?.expect("a study is of traces");
        let hour = profile.busiest_hour.as_ref().map(|hour| {
            let from = Nanos::from_secs_f64(hour.start_s);
            Stretch { from, to: from + Nanos::from_secs(3600), requests: hour.requests }
        });
        Ok(Self { times, hour, requests })
    }
}

/// The busy times of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BusyTimes {
    /// The stretch with the most requests. Budgets hold in it.
    pub(crate) stretch: Stretch,
    /// The stretch with the most bytes. Budgets hold in it, too; `None` if `stretch` has as many bytes.
    pub(crate) by_bytes: Option<Stretch>,
    /// The busiest stretches in order of time: the two above, and others of the same length as `stretch`.
    pub(crate) busiest: Vec<Stretch>,
}

impl BusyTimes {
    /// Requests in the larger of the two stretches in which budgets hold.
    pub(crate) fn judged_requests(&self) -> u64 {
        self.stretch.requests.max(self.by_bytes.map_or(0, |stretch| stretch.requests))
    }
}

/// Finds the busy times. Each call of `arrivals` returns all arrivals in rising order of time with their bytes.
/// `minute` is the busiest minute.
fn busy_times<I: Iterator<Item = (Nanos, u64)>>(arrivals: impl Fn() -> I, minute: Option<&BusiestWindow>) -> BusyTimes {
    let (shortest, all) = shortest(arrivals().map(|(at, _)| at));
    let stretch = match (minute.filter(|minute| minute.requests >= REQUESTS_MIN as u64), shortest) {
        (Some(minute), _) => {
            let from = Nanos::from_secs_f64(minute.start_s);
            let to = from + Nanos::from_secs_f64(minute.length_s);
            Stretch { from, to: to.min(all.to).max(from + Nanos(1)), requests: minute.requests }
        }
        (None, Some(shortest)) => shortest,
        (None, None) => all,
    };
    let longest = minute.filter(|minute| stretch.requests == minute.requests).map(|_| stretch.length());
    let bytes: u64 = arrivals().filter(|(at, _)| stretch.contains(*at)).map(|(_, bytes)| bytes).sum();
    let by_bytes = by_bytes(arrivals(), longest, (bytes, stretch.length()));
    BusyTimes { stretch, by_bytes, busiest: busiest(arrivals(), stretch, by_bytes) }
}

/// Returns the stretch with at least [`REQUESTS_MIN`] requests that moves most bytes. With `longest`, a stretch is at
/// most that long, and bytes are compared. Without it, a stretch has exactly [`REQUESTS_MIN`] requests, and bytes per
/// second are compared. Returns `None` if no stretch has more than `least`, a pair of bytes and the time that they
/// took.
fn by_bytes(
    arrivals: impl Iterator<Item = (Nanos, u64)>,
    longest: Option<Nanos>,
    least: (u64, Nanos),
) -> Option<Stretch> {
    let more = |one: (u64, Nanos), other: (u64, Nanos)| match longest {
        Some(_) => one.0 > other.0,
        None => u128::from(one.0) * u128::from(other.1.0) > u128::from(other.0) * u128::from(one.1.0),
    };
    let mut recent: VecDeque<(Nanos, u64)> = VecDeque::new();
    let (mut bytes, mut most, mut found) = (0, least, None);
    for (at, moved) in arrivals {
        recent.push_back((at, moved));
        bytes += moved;
        let too_many = |recent: &VecDeque<(Nanos, u64)>| match longest {
            Some(longest) => at - recent[0].0 >= longest,
            None => recent.len() > REQUESTS_MIN,
        };
        while too_many(&recent) {
            bytes -= recent.pop_front().map_or(0, |(_, bytes)| bytes);
        }
        let stretch = Stretch { from: recent[0].0, to: at + Nanos(1), requests: recent.len() as u64 };
        if recent.len() >= REQUESTS_MIN && more((bytes, stretch.length()), most) {
            (most, found) = ((bytes, stretch.length()), Some(stretch));
        }
    }
    found
}

/// Returns the shortest stretch with [`REQUESTS_MIN`] requests, if there are that many, and the whole trace.
fn shortest(arrivals: impl Iterator<Item = Nanos>) -> (Option<Stretch>, Stretch) {
    let mut recent = VecDeque::with_capacity(REQUESTS_MIN);
    let mut shortest: Option<Stretch> = None;
    let mut all: Option<Stretch> = None;
    for at in arrivals {
        let whole = all.get_or_insert(Stretch { from: at, to: at + Nanos(1), requests: 0 });
        (whole.to, whole.requests) = (at + Nanos(1), whole.requests + 1);
        recent.push_back(at);
        if recent.len() < REQUESTS_MIN {
            continue;
        }
        let from = recent.pop_front().expect("it was filled");
        let found = Stretch { from, to: at + Nanos(1), requests: REQUESTS_MIN as u64 };
        if shortest.is_none_or(|shortest| found.length() < shortest.length()) {
            shortest = Some(found);
        }
    }
    (shortest, all.unwrap_or(Stretch { from: Nanos::ZERO, to: Nanos(1), requests: 0 }))
}

/// Divides time into pieces as long as `like`, so that `like` is one of them, and returns the busiest pieces: half of
/// them by requests, half by bytes. `most_bytes` replaces the pieces that it overlaps.
fn busiest(arrivals: impl Iterator<Item = (Nanos, u64)>, like: Stretch, most_bytes: Option<Stretch>) -> Vec<Stretch> {
    let length = like.length().0.max(1);
    // How many pieces before `like` the piece with `at` lies (after it, if negative).
    let before = |at: Nanos| {
        if at >= like.from {
            -((at.0 - like.from.0) as i128 / i128::from(length))
        } else {
            (like.from.0 - at.0).div_ceil(length).into()
        }
    };
    // Pairs of requests and bytes.
    let mut of_most_bytes = (0, 0);
    let mut counts: BTreeMap<i128, (u64, u64)> = BTreeMap::new();
    for (at, bytes) in arrivals {
        let (requests, all) = counts.entry(before(at)).or_default();
        (*requests, *all) = (*requests + 1, *all + bytes);
        if most_bytes.is_some_and(|stretch| stretch.contains(at)) {
            of_most_bytes = (of_most_bytes.0 + 1, of_most_bytes.1 + bytes);
        }
    }
    let (requests, bytes) = counts.remove(&0).unwrap_or_default();
    let mut work_of_all = work(requests, bytes) + work(of_most_bytes.0, of_most_bytes.1);
    let mut by_requests: Vec<(i128, (u64, u64))> = counts.into_iter().collect();
    by_requests.sort_by_key(|&(before, (requests, _))| (std::cmp::Reverse(requests), before));
    let mut by_bytes = by_requests.clone();
    by_bytes.sort_by_key(|&(before, (_, bytes))| (std::cmp::Reverse(bytes), before));
    let mut found: Vec<Stretch> = std::iter::once(like).chain(most_bytes).collect();
    let mut taken = BTreeSet::new();
    // Takes from both lists in turn, so that both kinds are included if there is no room for all.
    for (before, (requests, bytes)) in by_bytes.into_iter().zip(by_requests).flat_map(|(one, other)| [one, other]) {
        if found.len() == STRETCHES || work_of_all + work(requests, bytes) > WORK_MAX {
            break;
        }
        if !taken.insert(before) {
            continue;
        }
        let begin = i128::from(like.from.0) - before * i128::from(length);
        let end = Nanos((begin + i128::from(length)) as u64);
        if most_bytes.is_some_and(|stretch| i128::from(stretch.to.0) > begin && stretch.from < end) {
            continue;
        }
        work_of_all += work(requests, bytes);
        found.push(Stretch { from: Nanos(begin.max(0) as u64), to: end, requests });
    }
    found.sort_unstable_by_key(|stretch| stretch.from);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(start_s: f64, requests: u64) -> BusiestWindow {
        BusiestWindow { start_s, length_s: 60.0, requests, ..BusiestWindow::default() }
    }

    #[test]
    fn a_busiest_minute_with_enough_requests_counts() {
        // One request a second for an hour, and twenty a second in its tenth minute.
        let times = || {
            (0..72_000u64).map(|n| Nanos::from_millis(n * 50)).filter(|at| {
                at.0.is_multiple_of(1_000_000_000) || (Nanos::from_secs(600)..Nanos::from_secs(660)).contains(at)
            })
        };
        let busy = busy_times(|| times().map(|at| (at, 512)), Some(&minute(600.0, 1_200)));
        let expected = Stretch { from: Nanos::from_secs(600), to: Nanos::from_secs(660), requests: 1_200 };
        assert_eq!(busy.stretch, expected);
        assert_eq!(busy.busiest.len(), STRETCHES);
        assert!(busy.busiest.contains(&expected));
        assert!(busy.busiest.is_sorted_by_key(|stretch| stretch.from));
        for stretch in &busy.busiest {
            assert_eq!(times().filter(|&at| stretch.contains(at)).count() as u64, stretch.requests, "{stretch:?}");
        }
    }

    /// A request a second for an hour; in its 20th minute they are large.
    #[test]
    fn the_minute_with_most_bytes_is_among_the_busiest() {
        let size = |second: u64| if (1200..1260).contains(&second) { 1 << 20 } else { 512 };
        let arrivals = || (0..3_600u64).map(|second| (Nanos::from_secs(second), size(second)));
        let first = Stretch { from: Nanos::ZERO, to: Nanos::from_secs(60), requests: 60 };
        let found = busiest(arrivals(), first, None);
        assert_eq!(found.len(), STRETCHES);
        assert!(found.iter().any(|stretch| stretch.from == Nanos::from_secs(1200)), "{found:?}");
    }

    /// Twenty requests of 512 bytes a second for an hour, forty in its tenth minute; those from 20:30 to 21:30 are
    /// large.
    #[test]
    fn the_busiest_minute_by_bytes_is_one_of_its_own() {
        let arrivals = || {
            (0..144_000u64).map(|n| n * 25).filter(|&ms| ms % 50 == 0 || (600_000..660_000).contains(&ms)).map(|ms| {
                let large = (1_230_000..1_290_000).contains(&ms);
                (Nanos::from_millis(ms), if large { 1 << 20 } else { 512 })
            })
        };
        let busy = busy_times(arrivals, Some(&minute(600.0, 2_400)));
        let from = Nanos::from_secs(1_230);
        let expected = Stretch { from, to: Nanos::from_millis(1_289_950) + Nanos(1), requests: 1_200 };
        assert_eq!((busy.stretch.from, busy.by_bytes), (Nanos::from_secs(600), Some(expected)));
        assert_eq!(busy.busiest.len(), STRETCHES);
        assert!(busy.busiest.contains(&expected) && busy.busiest.contains(&busy.stretch));
        let others = busy.busiest.iter().filter(|stretch| **stretch != expected);
        assert!(others.into_iter().all(|stretch| stretch.to <= expected.from || stretch.from >= expected.to));
        // If all requests have the same size, the busiest minute by requests is also that by bytes.
        let alike = || arrivals().map(|(at, _)| (at, 512));
        assert_eq!(busy_times(alike, Some(&minute(600.0, 2_400))).by_bytes, None);
    }

    /// Without a busy minute, the stretch is the thousand consecutive requests that move most bytes per second.
    #[test]
    fn else_a_thousand_large_requests_in_a_row() {
        // Every ten seconds; from the 2,000th on every five, small; from the 4,000th on every six, large.
        let at = |n: u64| 10 * n.min(2_000) + 5 * n.saturating_sub(2_000).min(2_000) + 6 * n.saturating_sub(4_000);
        let arrivals = || (0..6_000u64).map(|n| (Nanos::from_secs(at(n)), if n < 4_000 { 512 } else { 65_536 }));
        let busy = busy_times(arrivals, Some(&minute(0.0, 12)));
        assert_eq!(busy.stretch.length(), Nanos::from_secs(5 * 999) + Nanos(1));
        let by_bytes = busy.by_bytes.unwrap();
        assert_eq!((by_bytes.requests, by_bytes.length()), (1_000, Nanos::from_secs(6 * 999) + Nanos(1)));
        assert!(by_bytes.from >= Nanos::from_secs(at(4_000)));
    }

    #[test]
    fn else_the_shortest_stretch_with_a_thousand() {
        // A request every ten seconds, every second one from the 2,000th to the 3,000th.
        let times = || (0..3_500u64).map(|n| Nanos::from_secs(if n < 2_000 { 10 * n } else { 18_000 + n }));
        let busy = busy_times(|| times().map(|at| (at, 512)), Some(&minute(20_000.0, 60)));
        assert_eq!((busy.stretch.requests, busy.stretch.length()), (1_000, Nanos::from_secs(999) + Nanos(1)));
        assert!(busy.stretch.from >= Nanos::from_secs(19_990));
    }

    #[test]
    fn a_trace_with_fewer_requests_counts_whole() {
        let times = || (0..10u64).map(Nanos::from_secs);
        let whole = Stretch { from: Nanos::ZERO, to: Nanos::from_secs(9) + Nanos(1), requests: 10 };
        assert_eq!(
            busy_times(|| times().map(|at| (at, 512)), Some(&minute(0.0, 10))),
            BusyTimes { stretch: whole, by_bytes: None, busiest: vec![whole] }
        );
    }
}
