//! A cache in parts: clean lines and dirty ones, or the lines of each volume. Each part replaces its least recently
//! used lines ([`Partitioned`]); the shares are fixed, or chosen anew in each window.
//!
//! By access: a line goes to the part of dirty lines when it is written, and stays until it leaves, or has been copied
//! back and is read again. So the share of that part bounds what is dirty, but for lines on their way out. A write to a
//! dirty line saves a copy back, a read of any line that is held saves a read; the split with the least cost of what is
//! left is taken.
//!
//! By volume: the division that misses least by the volumes' miss-ratio curves is taken.

mod error;
mod policy;
mod settings;
mod splits;
#[cfg(test)]
mod tests;
mod volumes;

use esker_cache::{PARTS_MAX, Partitioned};
use esker_core::{Bytes, Nanos};

use crate::engine::{CacheParts, PartUse, PartitionDecision, SplitCost};
use crate::mrc::{CurveObjects, CurveSettings};
pub use error::PartitionError;
pub(super) use policy::Policy;
pub use settings::{PartitionBy, PartitionSettings};
use splits::{Expected, Splits};
use volumes::Volumes;

/// The shares stay if they are expected to cost no more than this part above the best ones. Assumed.
const HARDLY: f64 = 0.01;
/// Weights of the parts for a share of one.
const UNIT: f64 = 1e6;

/// An access of the host to a line, before it is served.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineAccess {
    pub(super) line: u32,
    /// The volume, by the number of its stream.
    pub(super) volume: u16,
    pub(super) is_write: bool,
    /// Whether it touches all of the line.
    pub(super) is_whole: bool,
    /// Whether the cache holds the line, and whether it is dirty.
    pub(super) is_held: bool,
    pub(super) is_dirty: bool,
}

/// The parts of a cache and their shares.
#[derive(Debug)]
pub(super) struct Partition {
    by: PartitionBy,
    weights: Vec<u32>,
    uses: Vec<PartUse>,
    chooser: Chooser,
    /// Bytes of a window, of a line, and of the lines used since the window began.
    window: u64,
    line: u64,
    used: u64,
    /// Least share of dirty lines.
    least: f64,
    /// Nanoseconds of a read and of a write of the backing device.
    costs: [f64; 2],
    windows: Vec<PartitionDecision>,
}

/// What finds the shares.
#[derive(Debug)]
enum Chooser {
    Fixed,
    Splits(Splits),
    Volumes(Volumes),
}

impl Partition {
    /// Parts of a cache that may hold `room` lines of `line` bytes, on a flash of `slots` slots.
    pub(super) fn new(settings: &PartitionSettings, [room, slots]: [u32; 2], line: u64, seed: u64) -> Self {
        let curve = CurveSettings { method: settings.curve.method(slots), objects: CurveObjects::Pages, seed };
        let least = settings.least.as_f64();
        let chooser = match (&settings.shares, settings.by) {
            (Some(_), _) => Chooser::Fixed,
            (None, PartitionBy::Access) => Chooser::Splits(Splits::new(room, seed)),
            (None, PartitionBy::Volume) => Chooser::Volumes(Volumes::new(curve, room, least)),
        };
        let weights = settings.weights().unwrap_or_else(|| match settings.by {
            PartitionBy::Access => vec![1; 2],
            PartitionBy::Volume => vec![1],
        });
        Self {
            by: settings.by,
            uses: vec![PartUse::default(); weights.len()],
            weights,
            chooser,
            window: settings.window.map_or(2 * u64::from(slots) * line, |window| window.0),
            line,
            used: 0,
            least: least / 2.0,
            costs: [settings.miss, settings.copy_back].map(|time| time.0 as f64),
            windows: Vec::new(),
        }
    }

    pub(super) fn weights(&self) -> &[u32] {
        &self.weights
    }

    /// The cache may hold so many lines.
    pub(super) fn resize(&mut self, room: u32) {
        match &mut self.chooser {
            Chooser::Fixed => {}
            Chooser::Splits(splits) => splits.resize(room),
            Chooser::Volumes(volumes) => volumes.resize(room),
        }
    }

    /// The part of a line that an access takes in or hits. It has to exist: [`access`](Self::access) comes first.
    pub(super) fn part_of(&self, access: &LineAccess) -> u16 {
        match self.by {
            PartitionBy::Access => splits::part_of(access.is_write, access.is_dirty),
            PartitionBy::Volume => self.volume(access),
        }
    }

    /// The part of a line that was restored.
    pub(super) fn part_of_restored(&self, is_dirty: bool) -> u16 {
        if self.by == PartitionBy::Access { splits::part_of(false, is_dirty) } else { 0 }
    }

    /// The volume of an access. Of fixed shares, the last one is for all volumes beyond.
    fn volume(&self, access: &LineAccess) -> u16 {
        let parts = if matches!(self.chooser, Chooser::Fixed) { self.weights.len() as u16 } else { PARTS_MAX };
        access.volume.min(parts - 1)
    }

    /// Counts an access. Returns true if the weights have changed.
    pub(super) fn access(&mut self, now: Nanos, access: &LineAccess) -> bool {
        let volume = self.volume(access);
        let mut changed = false;
        match &mut self.chooser {
            Chooser::Fixed => {}
            Chooser::Splits(splits) => splits.access(access),
            Chooser::Volumes(volumes) => {
                changed = volumes.access(volume, access.line);
                if changed {
                    self.join(volume);
                }
            }
        }
        let user = if self.by == PartitionBy::Access { u16::from(access.is_write) } else { volume };
        let PartUse { hits, misses } = &mut self.uses[usize::from(user)];
        *(if access.is_held { hits } else { misses }) += 1;
        self.used += self.line;
        if self.used >= self.window && !matches!(self.chooser, Chooser::Fixed) {
            self.used = 0;
            changed |= self.end_window(now);
        }
        changed
    }

    /// A volume is used for the first time: until the window ends it has as much as the others have in the mean.
    fn join(&mut self, volume: u16) {
        let place = usize::from(volume);
        let others: Vec<u32> = self.weights.iter().copied().filter(|&weight| weight > 0).collect();
        let mean = others.iter().map(|&weight| u64::from(weight)).sum::<u64>() / others.len().max(1) as u64;
        if place >= self.weights.len() {
            self.weights.resize(place + 1, 0);
            self.uses.resize(place + 1, PartUse::default());
        }
        // The first volume of all takes the place that a cache begins with.
        if self.uses.iter().all(|used| used.hits + used.misses == 0) {
            self.weights.fill(0);
        }
        self.weights[place] = (mean as u32).max(1);
    }

    fn end_window(&mut self, now: Nanos) -> bool {
        let all: f64 = self.weights.iter().map(|&weight| f64::from(weight)).sum();
        let present: Vec<f64> = self.weights.iter().map(|&weight| f64::from(weight) / all).collect();
        let decision = match &mut self.chooser {
            Chooser::Fixed => return false,
            Chooser::Splits(splits) => {
                let expected = splits.expected();
                splits.fade();
                let Some(share) = split(&expected, present[1], self.least, self.costs) else { return false };
                let costs = expected.iter().map(|expected| SplitCost {
                    written_share: expected.written,
                    backing_reads: expected.reads,
                    backing_writes: expected.writes,
                });
                PartitionDecision {
                    at: now,
                    shares: vec![1.0 - share, share],
                    miss_ratios: vec![],
                    splits: costs.collect(),
                }
            }
            Chooser::Volumes(volumes) => {
                volumes.end_window();
                let best = volumes.best();
                let gains = volumes.misses(&best) < (1.0 - HARDLY) * volumes.misses(&present);
                let shares = if gains { best } else { present };
                PartitionDecision { at: now, miss_ratios: volumes.miss_ratios(&shares), shares, splits: vec![] }
            }
        };
        self.weights = decision.shares.iter().map(|share| (share * UNIT).round() as u32).collect();
        self.windows.push(decision);
        true
    }

    /// What the parts are, and what was decided so far.
    pub(super) fn report(&self, parts: &Partitioned) -> CacheParts<'_> {
        CacheParts {
            is_by_volume: self.by == PartitionBy::Volume,
            uses: &self.uses,
            held: parts.held().collect(),
            shares: parts.shares().collect(),
            decided: &self.windows,
            window: (!matches!(self.chooser, Chooser::Fixed)).then_some(Bytes(self.window)),
            open: Bytes(self.used),
        }
    }
}

/// The share of dirty lines that costs least; the `present` one if that costs hardly more.
fn split(expected: &[Expected], present: f64, least: f64, costs: [f64; 2]) -> Option<f64> {
    let cost = |expected: &Expected| expected.reads * costs[0] + expected.writes * costs[1];
    // Shares are whole percents, and bounds may miss them by a rounding error.
    let allowed = least - 1e-9..=1.0 - least + 1e-9;
    let allowed = expected.iter().filter(|expected| allowed.contains(&expected.written));
    let best = allowed.min_by(|one, other| cost(one).total_cmp(&cost(other)))?;
    let stays = expected.iter().find(|expected| (expected.written - present).abs() < 1e-4);
    let stays = stays.filter(|stays| cost(stays) <= (1.0 + HARDLY) * cost(best));
    Some(stays.unwrap_or(best).written)
}
