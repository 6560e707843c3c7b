use proptest::prelude::*;

use super::*;
use crate::published::plain_counts::PlainCounts;
use crate::published::testing::{self, Host};

/// A mistake of the model, which the comparison has to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// Latencies are compared exactly.
    IgnoresTolerance,
    /// The newest interval counts alone.
    ForgetsIntervals,
    /// A tier without requests keeps its latency.
    KeepsLatencies,
    /// Extents get second copies while the ratio still grows.
    MirrorsEarly,
    /// Extents move to the fast tier while the ratio still falls.
    PromotesEarly,
    /// There are more second copies than the share allows.
    IgnoresShare,
    /// Second copies of colder extents stay.
    KeepsCold,
    /// The coldest extents get second copies.
    MirrorsColdest,
    /// No extent with a second copy makes room on the fast tier.
    SparesMirrored,
}

/// Tiers of [`PlainCounts`].
const FAST: u16 = 0;
const SLOW: u16 = 1;
const BOTH: u16 = 2;

/// MOST as simply as can be: each decision looks at all extents.
#[derive(Clone, Debug)]
struct Model {
    mistake: Option<Mistake>,
    counts: PlainCounts,
    /// Response times of each device in this interval.
    times: [Vec<f64>; 2],
    smoothed: [f64; 2],
    /// The offload ratio in steps, of `steps`.
    ratio: u64,
    steps: u64,
    /// Reads of extents with two copies, weighted with the ratio.
    offered: u64,
    mirrored: Ratio,
    tolerance: f64,
    moving: Vec<u32>,
    /// Extents that are being copied to a second place.
    mirroring: Vec<u32>,
    /// Extents that move after another one, with it.
    after: Vec<(u32, u32)>,
    drops: Vec<u32>,
    mirrors: Vec<(u32, u16)>,
}

impl Model {
    fn new(tolerance: f64, steps: u64, mirrored: Ratio, mistake: Option<Mistake>) -> Self {
        Self {
            mistake,
            counts: PlainCounts::new(false),
            times: [Vec::new(), Vec::new()],
            smoothed: [0.0; 2],
            ratio: 0,
            steps,
            offered: 0,
            mirrored,
            tolerance,
            moving: Vec::new(),
            mirroring: Vec::new(),
            after: Vec::new(),
            drops: Vec::new(),
            mirrors: Vec::new(),
        }
    }

    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    fn decide(&mut self, host: &Host) -> Vec<(u32, u16)> {
        let weight = if self.is(Mistake::ForgetsIntervals) { 1.0 } else { 0.25 };
        let keeps = self.is(Mistake::KeepsLatencies);
        for (smoothed, times) in self.smoothed.iter_mut().zip(&mut self.times) {
            let mean = if times.is_empty() { 0.0 } else { times.iter().sum::<f64>() / times.len() as f64 };
            if !(times.is_empty() && keeps) {
                *smoothed += weight * (mean - *smoothed);
            }
            times.clear();
        }
        self.counts.sweep();
        let [fast, slow] = self.smoothed;
        let tolerance = if self.is(Mistake::IgnoresTolerance) { 0.0 } else { self.tolerance };
        let mut moves = Vec::new();
        if fast > (1.0 + tolerance) * slow {
            if self.ratio == self.steps || self.is(Mistake::MirrorsEarly) {
                self.mirror(host);
            }
            self.ratio = (self.ratio + 1).min(self.steps);
        } else if fast < (1.0 - tolerance) * slow {
            if self.ratio == 0 || self.is(Mistake::PromotesEarly) {
                self.promote(host, &mut moves);
            }
            self.ratio = self.ratio.saturating_sub(1);
        }
        moves
    }

    fn copies(&self) -> usize {
        self.moving.len() + self.after.len() + self.mirroring.len()
    }

    fn moves(&mut self, extent: u32) {
        self.counts.extents[extent as usize].moves = true;
    }

    /// Second copies for the hottest extents of the fast tier; if there are enough, those of colder ones go.
    fn mirror(&mut self, host: &Host) {
        let most = self.mirrored.of(u64::from(host.sizes[0] + host.sizes[1])) as usize;
        let (mut room, mut waiting) = (host.free(1), Vec::new());
        while self.copies() + waiting.len() < 16 {
            let mut hot = self.counts.candidates(FAST).into_iter().filter(|(_, count)| *count > 0);
            let hot =
                if self.is(Mistake::MirrorsColdest) { hot.min_by_key(|(_, count)| *count) } else { hot.next_back() };
            let Some((hot, many)) = hot else { break };
            let second = self.counts.extents.iter().filter(|known| known.tier == BOTH).count() + self.mirroring.len();
            if room > 0 && (second - self.drops.len() < most || self.is(Mistake::IgnoresShare)) && self.drops.is_empty()
            {
                room -= 1;
                self.moves(hot);
                self.mirroring.push(hot);
                self.mirrors.push((hot, 1));
                continue;
            }
            // Of equally cold extents, the one that came first goes.
            let Some(&(_, least)) = self.counts.candidates(BOTH).first() else { break };
            let coldest = self.counts.candidates(BOTH).into_iter().rfind(|(_, count)| *count == least);
            let Some((cold, _)) = coldest.filter(|_| least < many && !self.is(Mistake::KeepsCold)) else { break };
            self.moves(cold);
            self.drops.push(cold);
            self.moves(hot);
            waiting.push(hot);
        }
        waiting.into_iter().for_each(|extent| self.counts.rests(extent));
        for &extent in &self.drops {
            self.counts.extents[extent as usize].moves = false;
        }
    }

    fn promote(&mut self, host: &Host, moves: &mut Vec<(u32, u16)>) {
        let mut room = host.free(0);
        while self.copies() < 16 {
            if room > 0 {
                let Some(&(hot, _)) = self.counts.candidates(SLOW).last().filter(|(_, count)| *count > 0) else {
                    return;
                };
                self.begin(hot, 0, moves);
                room -= 1;
                continue;
            }
            let pair = |cold| self.counts.exchange(SLOW, cold, f64::INFINITY);
            let (single, second) = (pair(FAST), pair(BOTH).filter(|_| !self.is(Mistake::SparesMirrored)));
            let is_better = second.is_some_and(|(_, _, gain)| single.is_none_or(|(_, _, other)| gain >= other));
            let Some((hot, cold, _)) = (if is_better { second } else { single }) else { return };
            if host.free(1) == 0 {
                return;
            }
            self.moves(hot);
            self.after.push((cold, hot));
            self.begin(cold, 1, moves);
        }
    }

    fn begin(&mut self, extent: u32, to: u16, moves: &mut Vec<(u32, u16)>) {
        self.moves(extent);
        self.moving.push(extent);
        moves.push((extent, to));
    }

    fn ended(&mut self, extent: u32, done: bool, moves: &mut Vec<(u32, u16)>) {
        if self.mirroring.contains(&extent) {
            self.mirroring.retain(|&other| other != extent);
            return self.counts.rests(extent);
        }
        if !self.moving.contains(&extent) {
            return;
        }
        self.moving.retain(|&other| other != extent);
        self.counts.rests(extent);
        if let Some(position) = self.after.iter().position(|&(cold, _)| cold == extent) {
            let (_, hot) = self.after.swap_remove(position);
            if done { self.begin(hot, 0, moves) } else { self.counts.rests(hot) }
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
                self.times[usize::from(done.device.0)].push((done.at.0 - done.sent.0) as f64);
            }
            Event::Moved { extent, outcome } => self.ended(extent.0, outcome == MoveOutcome::Done, &mut moves),
            Event::Timer => return self.decide(host),
            Event::Device { .. } | Event::Sent { .. } | Event::Unsupported { .. } => {}
        }
        moves
    }

    fn mirrors(&mut self) -> (Vec<u32>, Vec<(u32, u16)>) {
        (std::mem::take(&mut self.drops), std::mem::take(&mut self.mirrors))
    }

    fn offloads(&mut self) -> bool {
        self.offered += self.ratio;
        let offloads = self.offered >= self.steps;
        self.offered -= if offloads { self.steps } else { 0 };
        offloads
    }

    fn placed(&mut self, extent: u32, device: Option<u16>) {
        self.counts.placed(extent, device.unwrap());
    }

    fn mirrored(&mut self, extent: u32, home: u16, device: Option<u16>) {
        self.counts.placed(extent, if device.is_some() { BOTH } else { home });
    }
}

/// A drawn host, the tolerance in percent, the steps to a ratio of one, the percentage of second copies, and what the
/// host does.
type Run = (Host, u64, u64, u64, Vec<testing::Step>);

fn runs() -> impl Strategy<Value = Run> {
    let steps = prop_oneof![Just(1u64), Just(2), Just(4)];
    (testing::hosts(), 0u64..20, steps, 0u64..50, testing::steps())
}

fn compare((host, tolerance, steps, mirrored, requests): Run, mistake: Option<Mistake>) -> Result<(), String> {
    let step = 100 / steps;
    let options = format!(r#""tolerance":"{tolerance}%","step":"{step}%","mirrored":"{mirrored}%","interval":"50ms""#);
    let policy = testing::policy(&format!(r#"{{"kind":"most",{options}}}"#));
    let model = Model::new(Ratio::percent(tolerance).as_f64(), steps, Ratio::percent(mirrored), mistake);
    testing::compare(policy, model, host, &requests)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300 * esker_testkit::soak()))]

    #[test]
    fn it_moves_and_mirrors_what_the_plain_model_does(run in runs()) {
        prop_assert_eq!(compare(run, None), Ok(()));
    }
}

/// The comparison finds each mistake.
#[test]
fn wrong_twins_are_found_out() {
    use Mistake::{
        ForgetsIntervals, IgnoresShare, IgnoresTolerance, KeepsCold, KeepsLatencies, MirrorsColdest, MirrorsEarly,
        PromotesEarly, SparesMirrored,
    };
    let all = [
        IgnoresTolerance,
        ForgetsIntervals,
        KeepsLatencies,
        MirrorsEarly,
        PromotesEarly,
        IgnoresShare,
        KeepsCold,
        MirrorsColdest,
        SparesMirrored,
    ];
    for mistake in all {
        let found = testing::found_in(runs(), 300, |run| compare(run, Some(mistake)));
        assert!(found >= 3, "{mistake:?} is found in {found} of 300 runs");
    }
}

/// Of a thousand reads, the ratio's share goes to the second copy, evenly spread.
#[test]
fn reads_are_spread_evenly() {
    for parts in [0u32, 1, 3, 8] {
        let mut offload = Offload { ratio: f64::from(parts) / 8.0, due: 0.0 };
        let spread: Vec<bool> = (0..1000).map(|_| offload.next()).collect();
        let of = |reads: &[bool]| reads.iter().filter(|&&second| second).count() as u32;
        assert!(spread.chunks(8).all(|reads| of(reads) == parts), "{parts}");
    }
}

#[test]
fn settings_are_checked() {
    let error = |options| testing::error("most", options);
    assert_eq!(error(r#"{"interval":"0s"}"#), "interval: `interval` is 0; decisions are made once in some time");
    assert_eq!(error(r#"{"tolerance":"101%"}"#), "tolerance: `tolerance` is 101%; it has to be at most 100%");
    assert_eq!(error(r#"{"step":"101%"}"#), "step: `step` is 101%; it has to be at most 100%");
    assert_eq!(error(r#"{"step":"0%"}"#), "step: `step` is 0; the offload ratio would never change");
    let message = "it has to be at most 50%, because each extent with a second copy takes two places";
    assert_eq!(error(r#"{"mirrored":"51%"}"#), format!("mirrored: `mirrored` is 51%; {message}"));
    assert_eq!(error(r#"{"fast":2}"#), "fast: there is no device 2; 2 devices count from 0");
}
