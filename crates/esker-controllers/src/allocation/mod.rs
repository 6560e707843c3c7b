//! Chooses how much of the flash the lines take and how much is left to cleaning, anew in each window of requests: from
//! the miss-ratio curve of the window, and from the cost of cleaning with each size (Xia 2017, chapter 4).
//!
//! The length of a window is a number of bytes that the host writes. At its end the cache takes the size with the least
//! expected latency. There are two ways to learn which share of a block is still valid when it is cleaned with each
//! size:
//!
//! - Miniature caches see a sample of the lines; the flash itself shows it for the present size.
//! - The cache is **trained** on the flash, as in the paper: it runs with several sizes after the first window, and
//!   again when a window's curve differs much from that of the last training.

mod choice;
mod miniature;
mod model;
mod settings;
#[cfg(test)]
mod tests;
mod training;

use esker_cache::Partitioned;
use esker_core::{Bytes, Nanos};
use esker_curves::{CurveBuilder, CurveObjects, CurveSettings, MissRatioCurve};
use esker_results::{CacheAllocation, CacheWindow, FlashCacheReport};

use esker_tier::{CacheController, CacheDecision, CacheSizes, LineAccess};
use miniature::Miniatures;
pub use model::CopyingBack;
use model::{Costs, ShareBySize, TRAINED, VALID_MAX, ValidByOverProvisioning};
pub use settings::{AllocationCurve, AllocationSettings, AllocationTraining, Lifetime};
use training::TrainingStep;

/// The over-provisionings that are compared, in percent of the flash.
const PERCENT: std::ops::RangeInclusive<u32> = 15..=85;
const DAY_S: f64 = 86_400.0;
/// A window ends in its middle if the present size costs this many times the least latency. Assumed.
const FAR_OFF: f64 = 1.25;
/// If the over-provisioning changes by less than this, a measurement on the flash counts for the present size.
const STEADY: f64 = 0.05;

/// Chooses how much of the flash the lines take.
#[derive(Debug)]
pub(crate) struct Allocator {
    costs: Costs,
    line: u64,
    /// Number of lines that fit on the flash.
    slots: u64,
    window: u64,
    training: u64,
    retrain: f64,
    copying_back: CopyingBack,
    curve: CurveBuilder,
    /// The curve of all accesses before this window.
    before: MissRatioCurve,
    accesses: u64,
    writes: u64,
    /// Bytes that the host has written in this window, or in this step of the training.
    written: u64,
    phase: Phase,
    /// The wear in the middle of this window; only while the cache serves.
    middle: Option<Wear>,
    /// The over-provisioning now, and that of the window before. The training does not change them.
    now_left: f64,
    before_left: f64,
    valid: ValidByOverProvisioning,
    /// Share of the coming misses that evict a line, by over-provisioning.
    evicting: ShareBySize,
    /// The miniature caches; `None` if the cache is trained on the flash.
    miniatures: Option<Miniatures>,
    /// The value of `written` when the miniatures began to count.
    seen_from: u64,
    is_trained: bool,
    /// The curve of the first window after the last training.
    trained_on: Option<MissRatioCurve>,
    /// Erases that the flash has reported so far, and bytes that the cache had written to it by then.
    wear: Wear,
    /// Erases per day that the requested lifetime allows.
    erases_per_day: Option<f64>,
    /// How much of an increase in latency delays the next access: 1 if the host waits for each request, 0 if requests
    /// arrive at fixed times. It is learned from two windows, of which `pace_before` is the earlier one.
    waits: f64,
    pace_before: Option<Pace>,
    /// Time and wear at the first access; and when this window began.
    first: Option<(Nanos, Wear)>,
    window_began: Nanos,
    windows: Vec<CacheWindow>,
}

/// Erases of the flash, and bytes written to it.
#[derive(Clone, Copy, Debug, Default)]
struct Wear {
    erases: u64,
    bytes: u64,
}

/// Mean time between two accesses in a window, and mean latency of an access, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Pace {
    apart: f64,
    latency: f64,
}

#[derive(Debug)]
enum Phase {
    /// The cache serves requests, window by window.
    Serving,
    Training(TrainingStep),
}

/// Measurements of one window.
#[derive(Debug)]
struct Window {
    curve: MissRatioCurve,
    /// Share of the accesses that are writes.
    writes: f64,
    accesses_per_s: f64,
    /// Its duration, in seconds.
    took: f64,
}

impl Allocator {
    /// The allocator for a cache of these sizes.
    pub(crate) fn new(settings: &AllocationSettings, sizes: &CacheSizes) -> Self {
        let CacheSizes { slots, line: Bytes(line), seed, .. } = *sizes;
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

    /// Counts an access to `line`. Returns the new over-provisioning, if it changes.
    fn count(&mut self, now: Nanos, line: u32, is_write: bool) -> Option<f64> {
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
                    // So far nearly all accesses were first uses, which say little about what follows.
                    self.before = self.curve.so_far();
                    (self.accesses, self.writes, self.window_began) = (0, 0, now);
                } else if self.is_far_off(now) {
                    return Some(self.end_window(now));
                }
                // The second half of a window predicts the next one better, as long as cleaning finds more and more
                // valid lines.
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

    /// Returns the measurements of this window so far, and the curve of all accesses until now.
    fn window_so_far(&self, now: Nanos) -> (Window, MissRatioCurve) {
        let so_far = self.curve.so_far();
        let curve = so_far.since(&self.before);
        let writes = self.writes as f64 / self.accesses.max(1) as f64;
        let took = now.saturating_sub(self.window_began).as_secs_f64().max(1e-9);
        (Window { curve, writes, accesses_per_s: self.accesses as f64 / took, took }, so_far)
    }

    /// Ends the window and begins the next one. Returns the measurements.
    fn take_window(&mut self, now: Nanos) -> Window {
        let (window, so_far) = self.window_so_far(now);
        self.before = so_far;
        (self.accesses, self.writes, self.written, self.window_began) = (0, 0, 0, now);
        self.watch_miniatures();
        window
    }

    /// Has the miniatures count from now on.
    fn watch_miniatures(&mut self) {
        self.miniatures.as_mut().into_iter().for_each(Miniatures::begin);
        self.seen_from = self.written;
    }

    /// Returns true if this window should end in its middle: the requests have changed so much that another size would
    /// cost much less.
    fn is_far_off(&mut self, now: Nanos) -> bool {
        if self.miniatures.is_none() || self.erases_per_day.is_some() {
            return false;
        }
        self.learn_from_miniatures(None);
        let (window, _) = self.window_so_far(now);
        let latency = |percent: u32| self.expect(percent, &window).latency_us;
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

    /// Learns from what the miniatures have seen in this window, and from the share of valid lines `found` on the flash
    /// in its second half.
    fn learn_from_miniatures(&mut self, found: Option<f64>) {
        let Some(miniatures) = &self.miniatures else { return };
        let seen = miniatures.seen(self.window as f64 / (self.written - self.seen_from).max(1) as f64);
        self.valid.replace(seen.map(|seen| seen.valid), seen.map(|seen| seen.fills));
        self.evicting.shares = seen.map(|seen| seen.evicting);
        // After a change of size, the flash shows the effects of the change rather than those of the new size.
        if let Some(valid) = found.filter(|_| (self.now_left - self.before_left).abs() < STEADY) {
            self.valid.calibrate(self.now_left, valid);
        }
    }

    /// Returns the share of valid lines that cleaning has found in blocks since `middle`; `None` if it has not cleaned.
    fn found_since(&self, middle: Wear) -> Option<f64> {
        let erased = self.wear.erases - middle.erases;
        // The flash programs as many lines as it erases. Those that the cache did not write were copied by cleaning.
        let written = (self.wear.bytes - middle.bytes) as f64 / self.line as f64;
        let valid = 1.0 - written / (erased as f64 * self.costs.lines_a_block);
        (erased > 0).then(|| valid.clamp(0.0, VALID_MAX))
    }

    /// Returns the share of accesses that would miss with this over-provisioning.
    fn miss_ratio(&self, over_provisioning: f64, window: &Window) -> f64 {
        window.curve.miss_ratio_at((self.slots as f64 * (1.0 - over_provisioning)) as u64)
    }
}

impl CacheController for Allocator {
    fn first_decision(&self) -> CacheDecision {
        CacheDecision::LeaveToCleaning(self.now_left)
    }

    fn access(&mut self, now: Nanos, access: &LineAccess) -> Option<CacheDecision> {
        // Writes of zeroes do not count: they move no data of the host.
        let over_provisioning = if access.is_zeroes { None } else { self.count(now, access.line, access.is_write) };
        over_provisioning.map(CacheDecision::LeaveToCleaning)
    }

    fn learn_wear(&mut self, erases: u64, bytes: u64) {
        self.wear = Wear { erases, bytes };
    }

    fn report(&self, _: Option<&Partitioned>, into: &mut FlashCacheReport) {
        into.allocation = Some(CacheAllocation {
            window_bytes: self.window,
            open_window_bytes: self.written,
            erases_per_day_max: self.erases_per_day,
        });
        into.windows.clone_from(&self.windows);
    }
}
