//! A cache that is divided into parts: clean and dirty lines, or the lines of each volume. Each part evicts its least
//! recently used lines ([`Partitioned`]). The shares are fixed, or chosen anew in each window.
//!
//! By access: a line enters the part of dirty lines when it is written. It stays there until it leaves the cache, or
//! until it is read after it was copied back. So the share of this part limits the number of dirty lines, apart from
//! lines that are leaving. A write to a dirty line saves a later copy back, and a read of any cached line saves a read
//! of the backing device. The cache takes the split with which the remaining reads and copies cost least.
//!
//! By volume: the cache takes the shares with which the volumes miss least, according to their miss-ratio curves.

mod settings;
mod splits;
#[cfg(test)]
mod tests;
mod volumes;

use esker_cache::{PARTS_MAX, Partitioned};
use esker_core::{Bytes, Nanos};
use esker_curves::{CurveObjects, CurveSettings};
use esker_results::{CachePart, CachePartKind, CachePartition, CachePartitionWindow, CacheSplitCost, FlashCacheReport};

use esker_tier::{CacheController, CacheDecision, CacheSizes, LineAccess};
pub use settings::{PartitionBy, PartitionSettings};
use splits::{SplitEstimate, Splits};
use volumes::Volumes;

/// The shares stay the same if their expected cost exceeds the least one by no more than this part. Assumed.
const HARDLY: f64 = 0.01;
/// Weight of a part whose share is the whole cache.
const UNIT: f64 = 1e6;

/// The parts of a cache and their shares.
#[derive(Debug)]
pub(crate) struct Partition {
    by: PartitionBy,
    weights: Vec<u32>,
    /// Whether a volume has joined.
    is_in_use: bool,
    /// The accesses to each part since measuring started.
    uses: Vec<CachePart>,
    chooser: Chooser,
    /// Length of a window, size of a line, and how much of the window has passed: all in bytes.
    window: u64,
    line: u64,
    used: u64,
    /// Least share of clean lines, and of dirty ones.
    least: f64,
    /// Time of a read and of a write of the backing device, in nanoseconds.
    costs: [f64; 2],
    windows: Vec<CachePartitionWindow>,
}

/// How the shares are chosen.
#[derive(Debug)]
enum Chooser {
    Fixed,
    Splits(Splits),
    Volumes(Volumes),
}

impl Partition {
    /// The partition of a cache of these sizes.
    pub(crate) fn new(settings: &PartitionSettings, sizes: &CacheSizes) -> Self {
        let CacheSizes { line: Bytes(line), most: slots, room, seed, .. } = *sizes;
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
            uses: vec![CachePart::default(); weights.len()],
            weights,
            is_in_use: false,
            chooser,
            window: settings.window.map_or(2 * u64::from(slots) * line, |window| window.0),
            line,
            used: 0,
            least: least / 2.0,
            costs: [settings.miss, settings.copy_back].map(|time| time.0 as f64),
            windows: Vec::new(),
        }
    }

    /// Returns the number of the accessed volume's part. The last part also takes all volumes with higher numbers.
    fn volume(&self, access: &LineAccess) -> u16 {
        let parts = if matches!(self.chooser, Chooser::Fixed) { self.weights.len() as u16 } else { PARTS_MAX };
        access.volume.min(parts - 1)
    }

    /// Counts an access. Returns true if the weights have changed.
    fn count(&mut self, now: Nanos, access: &LineAccess) -> bool {
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
        let CachePart { hits, misses, .. } = &mut self.uses[usize::from(user)];
        *(if access.is_held { hits } else { misses }) += 1;
        self.used += self.line;
        if self.used >= self.window && !matches!(self.chooser, Chooser::Fixed) {
            self.used = 0;
            changed |= self.end_window(now);
        }
        changed
    }

    /// Adds a volume that is used for the first time. Until the window ends, its share is the mean of the others.
    fn join(&mut self, volume: u16) {
        let place = usize::from(volume);
        let others: Vec<u32> = self.weights.iter().copied().filter(|&weight| weight > 0).collect();
        let mean = others.iter().map(|&weight| u64::from(weight)).sum::<u64>() / others.len().max(1) as u64;
        if place >= self.weights.len() {
            self.weights.resize(place + 1, 0);
            self.uses.resize(place + 1, CachePart::default());
        }
        // A new cache has one part that no volume uses. The first volume replaces it.
        if !std::mem::replace(&mut self.is_in_use, true) {
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
                let costs = expected.iter().map(|expected| CacheSplitCost {
                    written_share: expected.written,
                    backing_reads_per_access: expected.reads,
                    backing_writes_per_access: expected.writes,
                });
                CachePartitionWindow {
                    ends_s: now.as_secs_f64(),
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
                let miss_ratios = volumes.miss_ratios(&shares);
                CachePartitionWindow { ends_s: now.as_secs_f64(), miss_ratios, shares, splits: vec![] }
            }
        };
        self.weights = decision.shares.iter().map(|share| (share * UNIT).round() as u32).collect();
        self.windows.push(decision);
        true
    }

    /// Reports the parts and the decisions so far.
    fn results(&self, parts: &Partitioned) -> CachePartition {
        let lines = |lines: Option<u32>| lines.unwrap_or(0).into();
        let (mut shares, mut held) = (parts.shares(), parts.held());
        let part = |&CachePart { hits, misses, .. }: &CachePart| CachePart {
            share_lines: lines(shares.next()),
            held_lines: lines(held.next()),
            hits,
            misses,
            hit_ratio: hits as f64 / (hits + misses).max(1) as f64,
        };
        CachePartition {
            by: match self.by {
                PartitionBy::Access => CachePartKind::Access,
                PartitionBy::Volume => CachePartKind::Volume,
            },
            parts: self.uses.iter().map(part).collect(),
            window_bytes: (!matches!(self.chooser, Chooser::Fixed)).then_some(self.window),
            open_window_bytes: self.used,
            windows: self.windows.clone(),
        }
    }
}

impl CacheController for Partition {
    fn first_decision(&self) -> CacheDecision {
        CacheDecision::Divide(self.weights.clone())
    }

    fn access(&mut self, now: Nanos, access: &LineAccess) -> Option<CacheDecision> {
        self.count(now, access).then(|| CacheDecision::Divide(self.weights.clone()))
    }

    fn part_of(&self, access: &LineAccess) -> u16 {
        match self.by {
            PartitionBy::Access => splits::part_of(access.is_write, access.is_dirty),
            PartitionBy::Volume => self.volume(access),
        }
    }

    /// If the parts are volumes, the line goes to part 0: its volume is unknown until it is next used.
    fn part_of_restored(&self, is_dirty: bool) -> u16 {
        if self.by == PartitionBy::Access { splits::part_of(false, is_dirty) } else { 0 }
    }

    fn resize(&mut self, room: u32) {
        match &mut self.chooser {
            Chooser::Fixed => {}
            Chooser::Splits(splits) => splits.resize(room),
            Chooser::Volumes(volumes) => volumes.resize(room),
        }
    }

    fn start_measuring(&mut self) {
        self.uses.fill(CachePart::default());
    }

    fn report(&self, parts: Option<&Partitioned>, into: &mut FlashCacheReport) {
        into.partition = parts.map(|parts| self.results(parts));
    }
}

/// Returns the share of dirty lines with the least cost, or the `present` share if its cost is about as low.
fn split(expected: &[SplitEstimate], present: f64, least: f64, costs: [f64; 2]) -> Option<f64> {
    let cost = |expected: &SplitEstimate| expected.reads * costs[0] + expected.writes * costs[1];
    // Shares are whole percents, and rounding errors could exclude one that lies exactly on a limit.
    let allowed = least - 1e-9..=1.0 - least + 1e-9;
    let allowed = expected.iter().filter(|expected| allowed.contains(&expected.written));
    let best = allowed.min_by(|one, other| cost(one).total_cmp(&cost(other)))?;
    let stays = expected.iter().find(|expected| (expected.written - present).abs() < 1e-4);
    let stays = stays.filter(|stays| cost(stays) <= (1.0 + HARDLY) * cost(best));
    Some(stays.unwrap_or(best).written)
}
