use proptest::prelude::*;

use super::*;
use crate::published::plain_counts::PlainCounts;
use crate::published::testing::{self, Host};

/// A mistake of the model, which the comparison has to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// A bound that the share has crossed is kept.
    KeepsBounds,
    /// Latencies are compared exactly.
    IgnoresDelta,
    /// The newest quantum counts alone.
    ForgetsQuanta,
    /// Counts are never halved.
    NeverHalves,
    /// The coldest extents move.
    MovesColdest,
    /// Extents move although they are more than the share that is to move.
    IgnoresShift,
    /// There are no swaps.
    NeverSwaps,
}

/// Colloid as simply as can be: each decision looks at all extents.
#[derive(Clone, Debug)]
struct Model {
    mistake: Option<Mistake>,
    counts: PlainCounts,
    /// Of each device: nanoseconds, requests, and bytes in this quantum, and their averages.
    quantum: [[f64; 3]; 2],
    average: [[f64; 3]; 2],
    bounds: (f64, f64),
    moving: Vec<u32>,
    /// Extents that move after another one, with it.
    after: Vec<(u32, u32, u16)>,
    over: bool,
    delta: f64,
    limit: f64,
}

impl Model {
    fn new(delta: f64, limit: f64, mistake: Option<Mistake>) -> Self {
        Self {
            mistake,
            counts: PlainCounts::new(mistake == Some(Mistake::NeverHalves)),
            quantum: [[0.0; 3]; 2],
            average: [[0.0; 3]; 2],
            bounds: (0.0, 1.0),
            moving: Vec::new(),
            after: Vec::new(),
            over: false,
            delta,
            limit,
        }
    }

    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    /// The best share, and by how much the present one differs from it.
    fn shift(&mut self) -> f64 {
        let [fast, slow] = self.average.map(|[nanos, requests, _]| if requests > 0.0 { nanos / requests } else { 0.0 });
        let share = self.average[0][1] / (self.average[0][1] + self.average[1][1]);
        let delta = if self.is(Mistake::IgnoresDelta) { 0.0 } else { self.delta };
        if (fast - slow).abs() < delta * fast {
            return 0.0;
        }
        let keeps = self.is(Mistake::KeepsBounds);
        let (low, high) = self.bounds;
        self.bounds = match fast < slow {
            true if high <= share && !keeps => (share, 1.0),
            true => (share, high),
            false if low >= share && !keeps => (0.0, share),
            false => (low, share),
        };
        let (low, high) = self.bounds;
        if (high - low).abs() < 0.01 {
            self.bounds = if fast < slow { (low, 1.0) } else { (0.0, high) };
        }
        (self.bounds.0 + self.bounds.1) / 2.0 - share
    }

    fn begin(&mut self, extent: u32, to: u16, moves: &mut Vec<(u32, u16)>) {
        self.counts.extents[extent as usize].moves = true;
        self.moving.push(extent);
        moves.push((extent, to));
    }

    fn decide(&mut self, host: &Host, moves: &mut Vec<(u32, u16)>) {
        self.over = false;
        let weight = if self.is(Mistake::ForgetsQuanta) { 1.0 } else { 1.0 / 16.0 };
        for (average, quantum) in self.average.iter_mut().flatten().zip(self.quantum.iter_mut().flatten()) {
            *average += weight * (std::mem::take(quantum) - *average);
        }
        self.counts.sweep();
        if self.average[0][1] + self.average[1][1] == 0.0 {
            return;
        }
        let shift = self.shift();
        let limit = (shift.abs() * (self.average[0][2] + self.average[1][2])).min(self.limit);
        let (from, to) = if shift > 0.0 { (1, 0) } else { (0, 1) };
        let total = self.counts.total();
        let (mut left, mut moved, mut room) = (shift.abs() * f64::from(total), 0.0, host.free(to));
        while moved < limit && self.moving.len() + self.after.len() < 16 {
            if room > 0 {
                let ignores = self.is(Mistake::IgnoresShift);
                let mut fits = self.counts.candidates(from);
                fits.retain(|&(_, count)| count > 0 && (f64::from(count) <= left || ignores));
                let best = if self.is(Mistake::MovesColdest) { fits.first() } else { fits.last() };
                let Some(&(extent, count)) = best else { return };
                self.begin(extent, to, moves);
                (left, moved, room) = (left - f64::from(count), moved + testing::EXTENT as f64, room - 1);
            } else {
                let pair = self.counts.exchange(from, 1 - from, left).filter(|_| host.free(from) > 0);
                let Some((hot, cold, gain)) = pair.filter(|_| !self.is(Mistake::NeverSwaps)) else { return };
                self.counts.extents[hot as usize].moves = true;
                self.after.push((cold, hot, to));
                self.begin(cold, from, moves);
                (left, moved) = (left - f64::from(gain), moved + 2.0 * testing::EXTENT as f64);
            }
        }
    }

    fn ended(&mut self, extent: u32, done: bool, host: &Host, moves: &mut Vec<(u32, u16)>) {
        if !self.moving.contains(&extent) {
            return;
        }
        self.moving.retain(|&moving| moving != extent);
        let mut free = vec![extent];
        if let Some(position) = self.after.iter().position(|&(cold, ..)| cold == extent) {
            let (_, hot, to) = self.after.swap_remove(position);
            if done { self.begin(hot, to, moves) } else { free.push(hot) }
        }
        for extent in free {
            self.counts.rests(extent);
        }
        if self.over && self.moving.is_empty() {
            self.decide(host, moves);
        }
    }
}

impl testing::Model for Model {
    fn observe(&mut self, _: Nanos, event: &Event<'_>, host: &Host) -> Vec<(u32, u16)> {
        let mut moves = Vec::new();
        match *event {
            Event::Request { first, extents, .. } => {
                (first.0..first.0 + extents).for_each(|extent| self.counts.count(extent));
            }
            Event::Completed(done) => {
                let sample = [(done.at.0 - done.sent.0) as f64, 1.0, done.length.0 as f64];
                let quantum = &mut self.quantum[usize::from(done.device.0)];
                quantum.iter_mut().zip(sample).for_each(|(sum, value)| *sum += value);
            }
            Event::Moved { extent, outcome } => {
                self.ended(extent.0, outcome == MoveOutcome::Done, host, &mut moves);
            }
            Event::Timer if self.moving.is_empty() => self.decide(host, &mut moves),
            Event::Timer => self.over = true,
            Event::Device { .. } | Event::Sent { .. } | Event::Unsupported { .. } => {}
        }
        moves
    }

    fn placed(&mut self, extent: u32, device: Option<u16>) {
        self.counts.placed(extent, device.unwrap());
    }
}

/// A drawn host, delta in percent, the most extents in a quantum, and what the host does.
fn runs() -> impl Strategy<Value = (Host, u64, u64, Vec<testing::Step>)> {
    (testing::hosts(), 0u64..20, 1u64..5, testing::steps())
}

fn compare(
    (host, delta, extents, steps): (Host, u64, u64, Vec<testing::Step>),
    mistake: Option<Mistake>,
) -> Result<(), String> {
    let kib = extents * testing::EXTENT / 1024;
    let options = format!(r#""delta":"{delta}%","migration_limit":"{kib}KiB","quantum":"50ms""#);
    let policy = testing::policy(&format!(r#"{{"kind":"colloid",{options}}}"#));
    let model = Model::new(Ratio::percent(delta).as_f64(), (extents * testing::EXTENT) as f64, mistake);
    testing::compare(policy, model, host, &steps)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300 * esker_testkit::soak()))]

    #[test]
    fn it_moves_what_the_plain_model_moves(run in runs()) {
        prop_assert_eq!(compare(run, None), Ok(()));
    }
}

/// The comparison finds each mistake.
#[test]
fn wrong_twins_are_found_out() {
    use Mistake::{ForgetsQuanta, IgnoresDelta, IgnoresShift, KeepsBounds, MovesColdest, NeverHalves, NeverSwaps};
    let all = [KeepsBounds, IgnoresDelta, ForgetsQuanta, NeverHalves, MovesColdest, IgnoresShift, NeverSwaps];
    for mistake in all {
        let found = testing::found_in(runs(), 300, |run| compare(run, Some(mistake)));
        assert!(found >= 3, "{mistake:?} is found in {found} of 300 runs");
    }
}

/// The bounds close in on the share at which latencies are equal, and follow it when it changes.
#[test]
fn bounds_find_the_best_share_and_follow_it() {
    let settings = ColloidSettings::default();
    let mut bounds = Bounds { low: 0.0, high: 1.0 };
    let mut p = 0.0;
    // A tier is faster the less of the requests it answers: both are equal at `best`.
    let mut follow = |p: &mut f64, best: f64, quanta: u32| {
        (0..quanta).for_each(|_| *p += bounds.shift(*p, *p * (1.0 - best), (1.0 - *p) * best, &settings));
    };
    follow(&mut p, 0.7, 1);
    assert_eq!(p, 0.5);
    follow(&mut p, 0.7, 10);
    // Within `delta` of the latency there: 0.3 p (1 +- 0.05) = 0.7 (1 - p).
    assert!((0.689..0.711).contains(&p), "{p}");
    follow(&mut p, 0.2, 20);
    assert!((0.19..0.21).contains(&p), "{p}");
}

#[test]
fn settings_are_checked() {
    let error = |options| testing::error("colloid", options);
    assert_eq!(error(r#"{"quantum":"0s"}"#), "quantum: `quantum` is 0; decisions are made once in some time");
    assert_eq!(error(r#"{"delta":"101%"}"#), "delta: `delta` is 101%; it has to be at most 100%");
    assert_eq!(error(r#"{"epsilon":"101%"}"#), "epsilon: `epsilon` is 101%; it has to be at most 100%");
    let message = "migration_limit: `migration_limit` is 0; some bytes have to be allowed to move";
    assert_eq!(error(r#"{"migration_limit":"0B"}"#), message);
    assert_eq!(error(r#"{"fast":2}"#), "fast: there is no device 2; 2 devices count from 0");
}
