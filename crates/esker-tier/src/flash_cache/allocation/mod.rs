//! How much of the flash lines take, and how much is left to cleaning: chosen anew in each window of the requests from
//! their miss-ratio curve and from what cleaning was seen to cost (Xia 2017, chapter 4).
//!
//! A window is measured in bytes that the host writes. After the first one the cache is **trained**: it is run with
//! several sizes, and what cleaning finds valid is noted of each. Then, at the end of each window, the size with the
//! least latency by the curve of that window is taken. When a curve differs much from the one of the training, the
//! cache is trained again.

mod model;
mod settings;
#[cfg(test)]
mod tests;

use esker_core::Nanos;

use crate::engine::{ExpectedCost, WindowDecision};
use crate::mrc::{CurveBuilder, CurveObjects, CurveSettings, MissRatioCurve};
pub use model::CopyingBack;
use model::{Costs, TRAINED, Traffic, ValidByOverProvisioning};
pub use settings::{AllocationCurve, AllocationFault, AllocationSettings, Lifetime};

/// Sizes that are compared, in percent of the flash.
const PERCENT: std::ops::RangeInclusive<u32> = 15..=85;
/// The largest share of valid lines that is believed: with all of them valid, cleaning would never end.
const VALID_MAX: f64 = 0.99;
/// The size stays if it is expected to cost no more than this part above the best one. Assumed.
const HARDLY: f64 = 0.02;
const DAY_S: f64 = 86_400.0;
/// The shapes of curves are compared at so many sizes.
const COMPARED: u64 = 100;

/// How much the shapes of two curves differ, in the mean of all sizes up to `largest`: in the share that each size
/// gets of the hits of the largest. First uses, which hit in no cache, become fewer while a workload stays as it is.
fn difference(one: &MissRatioCurve, other: &MissRatioCurve, largest: u64) -> f64 {
    let got = |curve: &MissRatioCurve, size| {
        let possible = 1.0 - curve.miss_ratio_at(largest);
        if possible > 0.0 { (1.0 - curve.miss_ratio_at(size)) / possible } else { 0.0 }
    };
    let sizes = (1..=COMPARED).map(|step| (u128::from(largest) * u128::from(step) / u128::from(COMPARED)) as u64);
    sizes.map(|size| (got(one, size) - got(other, size)).abs()).sum::<f64>() / COMPARED as f64
}

/// Chooses how much of the flash lines take.
#[derive(Debug)]
pub(super) struct Allocator {
    costs: Costs,
    line: u64,
    /// Lines that the flash could hold.
    slots: u64,
    window: u64,
    training: u64,
    retrain: f64,
    copying_back: CopyingBack,
    curve: CurveBuilder,
    /// The curve of all accesses before the window.
    before: MissRatioCurve,
    accesses: u64,
    writes: u64,
    /// Bytes that the host has written since the window began, or since the step of the training.
    written: u64,
    phase: Phase,
    /// The wear in the middle of a window in which the cache serves.
    middle: Option<Wear>,
    /// Share of the flash that is left to cleaning now; not kept up to date by the training.
    now_left: f64,
    valid: ValidByOverProvisioning,
    is_trained: bool,
    /// The curve of the first window after the last training.
    trained_on: Option<MissRatioCurve>,
    /// Erases of the flash so far, as telemetry has them; and bytes that the cache has written to it by then.
    wear: Wear,
    /// Erases in a day that the lifetime allows.
    erases_per_day: Option<f64>,
    /// When the first access came, with the wear of then; and when the window began.
    first: Option<(Nanos, Wear)>,
    window_began: Nanos,
    windows: Vec<WindowDecision>,
}

/// Erases, and bytes written to the flash.
#[derive(Clone, Copy, Debug, Default)]
struct Wear {
    erases: u64,
    bytes: u64,
}

#[derive(Debug)]
enum Phase {
    /// Windows follow each other.
    Serving,
    /// A step of the training, with what was the wear in its middle; the window before the training, and its
    /// over-provisioning.
    Training { step: usize, middle: Option<Wear>, window: Window, present: f64 },
}

/// What a window has shown.
#[derive(Debug)]
struct Window {
    curve: MissRatioCurve,
    /// Share of writes among the accesses.
    writes: f64,
    accesses_per_s: f64,
    /// Its length, in seconds.
    took: f64,
}

impl Allocator {
    /// For a flash of `slots` lines of `line` bytes.
    pub(super) fn new(settings: &AllocationSettings, slots: u32, line: u64, seed: u64) -> Self {
        let flash = u64::from(slots) * line;
        let curve_settings = CurveSettings { method: settings.curve.method(), objects: CurveObjects::Pages, seed };
        let times = [settings.read, settings.program, settings.erase, settings.miss];
        Self {
            costs: Costs::new(times, (settings.block.0 / line).max(1)),
            line,
            slots: slots.into(),
            window: settings.window.map_or(2 * flash, |bytes| bytes.0),
            training: settings.training.map_or(flash / 2, |bytes| bytes.0),
            retrain: settings.retrain.as_f64(),
            copying_back: settings.copying_back,
            before: CurveBuilder::new(&curve_settings).finish(),
            curve: CurveBuilder::new(&curve_settings),
            accesses: 0,
            writes: 0,
            written: 0,
            phase: Phase::Serving,
            middle: None,
            now_left: settings.first.as_f64(),
            valid: ValidByOverProvisioning::even(),
            is_trained: false,
            trained_on: None,
            wear: Wear::default(),
            erases_per_day: settings.lifetime.map(|lifetime| {
                let all = f64::from(lifetime.cycles) * flash as f64 / settings.block.0 as f64;
                all / (365.0 * f64::from(lifetime.years))
            }),
            first: None,
            window_began: Nanos::ZERO,
            windows: Vec::new(),
        }
    }

    /// What was decided so far.
    pub(super) fn windows(&self) -> &[WindowDecision] {
        &self.windows
    }

    /// The flash has erased so many blocks, and the cache has written so many bytes to it.
    pub(super) fn learn(&mut self, erases: u64, bytes: u64) {
        self.wear = Wear { erases, bytes };
    }

    /// Takes an access to `line`. Returns the over-provisioning from now on, if that changes.
    pub(super) fn access(&mut self, now: Nanos, line: u32, is_write: bool) -> Option<f64> {
        let wear = self.wear;
        self.first.get_or_insert((now, wear));
        self.accesses += 1;
        self.curve.access(line.into());
        if !is_write {
            return None;
        }
        self.writes += 1;
        self.written += self.line;
        match &mut self.phase {
            Phase::Serving if self.middle.is_none() && self.written >= self.window / 2 => {
                self.middle = Some(self.wear);
                if !self.is_trained {
                    // Until here nearly everything was used for the first time, which says little of what follows.
                    self.before = self.curve.so_far();
                    (self.accesses, self.writes, self.window_began) = (0, 0, now);
                }
                None
            }
            Phase::Serving if self.written >= self.window => Some(self.end_window(now)),
            Phase::Training { middle, .. } if middle.is_none() && self.written >= self.training / 2 => {
                *middle = Some(self.wear);
                None
            }
            Phase::Training { .. } if self.written >= self.training => Some(self.end_step(now)),
            _ => None,
        }
    }

    /// Takes the curve of the window that ends, and its share of writes.
    fn take_window(&mut self, now: Nanos) -> Window {
        let so_far = self.curve.so_far();
        let curve = so_far.since(&self.before);
        self.before = so_far;
        let writes = self.writes as f64 / self.accesses.max(1) as f64;
        let took = now.saturating_sub(self.window_began).as_secs_f64().max(1e-9);
        let window = Window { curve, writes, accesses_per_s: self.accesses as f64 / took, took };
        (self.accesses, self.writes, self.written, self.window_began) = (0, 0, 0, now);
        window
    }

    fn end_window(&mut self, now: Nanos) -> f64 {
        if let Some(middle) = self.middle.take() {
            self.measure(self.now_left, middle);
        }
        let window = self.take_window(now);
        let differs = |trained: &MissRatioCurve| difference(trained, &window.curve, self.slots) > self.retrain;
        if !self.is_trained || self.trained_on.as_ref().is_some_and(differs) {
            (self.is_trained, self.trained_on) = (true, None);
            let present = self.now_left;
            self.decide(now, &window, true);
            return self.train(now, 0, window, present);
        }
        let chosen = self.decide(now, &window, false);
        self.trained_on.get_or_insert(window.curve);
        chosen
    }

    /// Begins the training with `step`, or with a later one that could be worth its while: what costs more than the
    /// `present` over-provisioning even if cleaning found nothing valid is left out. First uses, which miss with any
    /// size, are not counted: after the first window they are still many. Returns the over-provisioning.
    fn train(&mut self, now: Nanos, step: usize, window: Window, present: f64) -> f64 {
        let latency = |over_provisioning: f64, valid: f64| {
            let miss_ratio = self.miss_ratio(over_provisioning, &window) - window.curve.lowest_miss_ratio();
            self.costs.latency(&Traffic { writes: window.writes, miss_ratio, valid }, self.copying_back)
        };
        let worst = latency(present, self.valid.at(present));
        let is_hopeful =
            |&step: &usize| self.erases_per_day.is_some() || latency(f64::from(TRAINED[step]) / 100.0, 0.0) < worst;
        let next = (step..TRAINED.len()).find(is_hopeful);
        self.written = 0;
        match next {
            Some(step) => {
                self.phase = Phase::Training { step, middle: None, window, present };
                f64::from(TRAINED[step]) / 100.0
            }
            None => {
                let chosen = self.decide(now, &window, false);
                self.take_window(now);
                chosen
            }
        }
    }

    /// Share of the accesses that miss with this over-provisioning.
    fn miss_ratio(&self, over_provisioning: f64, window: &Window) -> f64 {
        window.curve.miss_ratio_at((self.slots as f64 * (1.0 - over_provisioning)) as u64)
    }

    /// Ends a step of the training: notes what cleaning found valid.
    fn end_step(&mut self, now: Nanos) -> f64 {
        let Phase::Training { step, middle, window, present } = std::mem::replace(&mut self.phase, Phase::Serving)
        else {
            unreachable!("it is trained")
        };
        self.measure(f64::from(TRAINED[step]) / 100.0, middle.expect("a step has a middle"));
        self.train(now, step + 1, window, present)
    }

    /// Notes what cleaning has found since `middle`, with this over-provisioning.
    fn measure(&mut self, over_provisioning: f64, middle: Wear) {
        let erased = self.wear.erases - middle.erases;
        if erased > 0 {
            // As much is programmed as is erased, and what the cache did not write was copied.
            let written = (self.wear.bytes - middle.bytes) as f64 / self.line as f64;
            let valid = 1.0 - written / (erased as f64 * self.costs.lines_a_block);
            self.valid.measured(over_provisioning, valid.clamp(0.0, VALID_MAX));
        }
    }

    /// Chooses the over-provisioning with the least latency, of those that keep the lifetime. If none does, the one
    /// with the fewest erases.
    fn decide(&mut self, now: Nanos, window: &Window, trains: bool) -> f64 {
        let allowed = self.allowed(now, window.took);
        let keeps = |cost: &ExpectedCost| allowed.is_none_or(|allowed| cost.erases_per_day <= allowed);
        let all = || PERCENT.map(|percent| self.expect(percent, window));
        let best = all().filter(keeps).min_by_key(|cost| cost.latency);
        let least_wear = || all().min_by(|one, other| one.erases_per_day.total_cmp(&other.erases_per_day));
        let chosen = best.or_else(least_wear).expect("there are sizes");
        // What is hardly better is no reason to change.
        let present = self.expect((self.now_left * 100.0).round() as u32, window);
        let is_as_good = present.latency.0 as f64 <= chosen.latency.0 as f64 * (1.0 + HARDLY);
        let chosen = if is_as_good && keeps(&present) { present } else { chosen };
        self.windows.push(WindowDecision {
            at: now,
            over_provisioning: chosen.over_provisioning,
            writes: window.writes,
            expected: TRAINED.iter().rev().map(|&percent| self.expect(percent, window)).collect(),
            trains,
            keeps_lifetime: best.is_some(),
        });
        self.now_left = chosen.over_provisioning;
        chosen.over_provisioning
    }

    /// What this over-provisioning lets expect if the next window is like this one.
    fn expect(&self, percent: u32, window: &Window) -> ExpectedCost {
        let over_provisioning = f64::from(percent) / 100.0;
        let (miss_ratio, valid) = (self.miss_ratio(over_provisioning, window), self.valid.at(over_provisioning));
        let traffic = Traffic { writes: window.writes, miss_ratio, valid };
        let latency = Nanos(self.costs.latency(&traffic, self.copying_back) as u64);
        let erases_per_day = self.costs.erases(&traffic) * window.accesses_per_s * DAY_S;
        ExpectedCost { over_provisioning, miss_ratio, valid, latency, erases_per_day }
    }

    /// Erases in a day that the next window may take, if it is as long as this one: so that what was used too much or
    /// too little so far is made good by its end.
    fn allowed(&self, now: Nanos, window_s: f64) -> Option<f64> {
        let (budget, (began, wear)) = (self.erases_per_day?, self.first?);
        let until_s = now.saturating_sub(began).as_secs_f64() + window_s;
        let used = (self.wear.erases - wear.erases) as f64;
        Some(((budget * until_s / DAY_S - used) * DAY_S / window_s).max(0.0))
    }
}
