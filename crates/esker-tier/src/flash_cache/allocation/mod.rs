//! How much of the flash lines take, and how much is left to cleaning: chosen anew in each window of the requests from
//! their miss-ratio curve and from what cleaning costs with each size (Xia 2017, chapter 4).
//!
//! A window is measured in bytes that the host writes. At its end the size with the least latency by its curve is
//! taken. What cleaning finds valid with each size is learnt from miniature caches that see a sample of the lines, and
//! from the flash itself for the size that it has. Or the cache is **trained** on the flash, as in the paper: it is run
//! with several sizes after the first window, and again when a curve differs much from the one of the training.

mod choosing;
mod miniature;
mod model;
mod room;
mod settings;
#[cfg(test)]
mod tests;
mod training;

use esker_core::{Bytes, Nanos};

use crate::engine::{CacheWindows, WindowDecision};
use crate::mrc::{CurveBuilder, CurveObjects, CurveSettings, MissRatioCurve};
use miniature::Miniatures;
pub use model::CopyingBack;
use model::{Costs, ShareBySize, TRAINED, VALID_MAX, ValidByOverProvisioning};
use room::Room;
pub use settings::{AllocationCurve, AllocationFault, AllocationSettings, AllocationTraining, Lifetime};
use training::Step;

/// Sizes that are compared, in percent of the flash.
const PERCENT: std::ops::RangeInclusive<u32> = 15..=85;
const DAY_S: f64 = 86_400.0;
/// So many times the least latency is reason enough to end a window in its middle. Assumed.
const FAR_OFF: f64 = 1.25;
/// A size that changes by less does not keep the flash from being measured.
const STEADY: f64 = 0.05;

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
    /// What the cache may hold while its size changes.
    pub(super) room: Room,
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
    /// Share of the flash that is left to cleaning now, and in the window before; not kept up to date by the training.
    now_left: f64,
    before_left: f64,
    valid: ValidByOverProvisioning,
    /// Share of the misses to come that have another line leave, by over-provisioning.
    evicting: ShareBySize,
    /// Small caches that see a sample of the lines; `None` if the cache is trained on the flash.
    miniatures: Option<Miniatures>,
    /// What was `written` when they began to count.
    seen_from: u64,
    is_trained: bool,
    /// The curve of the first window after the last training.
    trained_on: Option<MissRatioCurve>,
    /// Erases of the flash so far, as telemetry has them; and bytes that the cache has written to it by then.
    wear: Wear,
    /// Erases in a day that the lifetime allows.
    erases_per_day: Option<f64>,
    /// By which part of what an access takes longer the next one comes later: 1 if the host waits for each, 0 if its
    /// requests come when they come. And the window before, to tell.
    waits: f64,
    pace_before: Option<Pace>,
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

/// Nanoseconds from one access to the next in a window, and what an access took.
#[derive(Clone, Copy, Debug)]
struct Pace {
    apart: f64,
    latency: f64,
}

#[derive(Debug)]
enum Phase {
    /// Windows follow each other.
    Serving,
    Training(Step),
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
        let curve_settings = CurveSettings { method: settings.curve.method(slots), objects: CurveObjects::Pages, seed };
        let times = [settings.read, settings.program, settings.erase, settings.miss];
        Self {
            costs: Costs::new(times, (settings.block.0 / line).max(1)),
            line,
            slots: slots.into(),
            window: settings.window.map_or(2 * flash, |bytes| bytes.0),
            training: settings.training_step.map_or(flash / 2, |bytes| bytes.0),
            retrain: settings.retrain.as_f64(),
            copying_back: settings.copying_back,
            room: Room::of(slots),
            before: CurveBuilder::new(&curve_settings).finish(),
            curve: CurveBuilder::new(&curve_settings),
            accesses: 0,
            writes: 0,
            written: 0,
            phase: Phase::Serving,
            middle: None,
            now_left: settings.first.as_f64(),
            before_left: settings.first.as_f64(),
            valid: ValidByOverProvisioning::even(),
            evicting: ShareBySize { shares: [1.0; TRAINED.len()], ends: [1.0; 2] },
            miniatures: (settings.training == AllocationTraining::InMiniature)
                .then(|| Miniatures::new(slots.into(), (settings.block.0 / line).max(1), seed)),
            seen_from: 0,
            is_trained: false,
            trained_on: None,
            wear: Wear::default(),
            erases_per_day: settings.lifetime.map(|lifetime| {
                let all = f64::from(lifetime.cycles) * flash as f64 / settings.block.0 as f64;
                all / (365.0 * f64::from(lifetime.years))
            }),
            waits: 1.0,
            pace_before: None,
            first: None,
            window_began: Nanos::ZERO,
            windows: Vec::new(),
        }
    }

    /// What was decided so far.
    pub(super) fn windows(&self) -> CacheWindows<'_> {
        CacheWindows {
            decided: &self.windows,
            length: Bytes(self.window),
            open: Bytes(self.written),
            erases_per_day_max: self.erases_per_day,
        }
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
        if let Some(miniatures) = &mut self.miniatures {
            miniatures.access(line, is_write);
        }
        if !is_write {
            return None;
        }
        self.writes += 1;
        self.written += self.line;
        match &mut self.phase {
            Phase::Serving if self.middle.is_none() && self.written >= self.window / 2 => {
                self.middle = Some(self.wear);
                if self.windows.is_empty() {
                    // Until here nearly everything was used for the first time, which says little of what follows.
                    self.before = self.curve.so_far();
                    (self.accesses, self.writes, self.window_began) = (0, 0, now);
                } else if self.is_far_off(now) {
                    return Some(self.end_window(now));
                }
                // What the second half shows is nearer to what comes, as long as cleaning finds more and more valid.
                self.watch_miniatures();
                None
            }
            Phase::Serving if self.written >= self.window => Some(self.end_window(now)),
            Phase::Training(step) if step.middle.is_none() && self.written >= self.training / 2 => {
                step.middle = Some(self.wear);
                None
            }
            Phase::Training(_) if self.written >= self.training => Some(self.end_step(now)),
            _ => None,
        }
    }

    /// What the window has shown so far, and the curve of all accesses until now.
    fn window_so_far(&self, now: Nanos) -> (Window, MissRatioCurve) {
        let so_far = self.curve.so_far();
        let curve = so_far.since(&self.before);
        let writes = self.writes as f64 / self.accesses.max(1) as f64;
        let took = now.saturating_sub(self.window_began).as_secs_f64().max(1e-9);
        (Window { curve, writes, accesses_per_s: self.accesses as f64 / took, took }, so_far)
    }

    /// Takes what the window has shown, and begins the next one.
    fn take_window(&mut self, now: Nanos) -> Window {
        let (window, so_far) = self.window_so_far(now);
        self.before = so_far;
        (self.accesses, self.writes, self.written, self.window_began) = (0, 0, 0, now);
        self.watch_miniatures();
        window
    }

    /// What miniatures see from now on counts.
    fn watch_miniatures(&mut self) {
        self.miniatures.as_mut().into_iter().for_each(Miniatures::begin);
        self.seen_from = self.written;
    }

    /// Whether a window ends in its middle: the requests have changed so much that another size costs much less.
    fn is_far_off(&mut self, now: Nanos) -> bool {
        if self.miniatures.is_none() || self.erases_per_day.is_some() {
            return false;
        }
        self.learn_from_miniatures(None);
        let (window, _) = self.window_so_far(now);
        let latency = |percent: u32| self.expect(percent, &window).latency.0 as f64;
        let least = PERCENT.map(latency).fold(f64::INFINITY, f64::min);
        latency((self.now_left * 100.0).round() as u32) > FAR_OFF * least
    }

    fn end_window(&mut self, now: Nanos) -> f64 {
        let found = self.middle.take().and_then(|middle| self.found_since(middle));
        self.learn_from_miniatures(found);
        let window = self.take_window(now);
        if self.miniatures.is_some() {
            return self.decide(now, &window, false);
        }
        if let Some(valid) = found {
            self.valid.measured(self.now_left, valid);
        }
        if self.has_to_train(&window) {
            return self.train(now, window);
        }
        let chosen = self.decide(now, &window, false);
        self.trained_on.get_or_insert(window.curve);
        chosen
    }

    /// Takes what the miniatures have seen of the window lately, and what was `found` on the flash in its second half.
    fn learn_from_miniatures(&mut self, found: Option<f64>) {
        let Some(miniatures) = &self.miniatures else { return };
        let seen = miniatures.seen(self.window as f64 / (self.written - self.seen_from).max(1) as f64);
        self.valid.replace(seen.map(|seen| seen.valid), seen.map(|seen| seen.fills));
        self.evicting.shares = seen.map(|seen| seen.evicting);
        // A cache that has just changed its size shows less of it than of the change.
        if let Some(valid) = found.filter(|_| (self.now_left - self.before_left).abs() < STEADY) {
            self.valid.calibrate(self.now_left, valid);
        }
    }

    /// What share of a block cleaning has found valid since `middle`, if it has cleaned any.
    fn found_since(&self, middle: Wear) -> Option<f64> {
        let erased = self.wear.erases - middle.erases;
        // As much is programmed as is erased, and what the cache did not write was copied.
        let written = (self.wear.bytes - middle.bytes) as f64 / self.line as f64;
        let valid = 1.0 - written / (erased as f64 * self.costs.lines_a_block);
        (erased > 0).then(|| valid.clamp(0.0, VALID_MAX))
    }

    /// Share of the accesses that miss with this over-provisioning.
    fn miss_ratio(&self, over_provisioning: f64, window: &Window) -> f64 {
        window.curve.miss_ratio_at((self.slots as f64 * (1.0 - over_provisioning)) as u64)
    }
}
