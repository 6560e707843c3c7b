//! Chooses how much of the cache each volume gets.
//!
//! Each volume has a miss-ratio curve of its own. The room goes where it saves the most misses: step by step, to the
//! volume and in the amount that gain the most hits per line. For curves that only flatten, this is the best division
//! (Stone, Turek, Wolf, "Optimal partitioning of cache memory", IEEE Transactions on Computers 1992). Because all
//! amounts are compared in each step, it also gets past stretches of a curve where a little more room gains nothing
//! (Qureshi, Patt, "Utility-based cache partitioning", MICRO 2006).

use esker_curves::{CurveBuilder, CurveObjects, CurveSettings, MissRatioCurve};

/// Number of equal chunks in which the cache is divided among volumes.
const CHUNKS: usize = 256;
/// With each window that follows, measurements count this many times as much. Assumed.
const FADING: f64 = 0.5;

/// Measurements of one volume.
#[derive(Debug)]
struct Volume {
    curve: CurveBuilder,
    /// The curve of all accesses before this window.
    before: MissRatioCurve,
    /// Recent accesses, and how many of them hit with 0, 1, 2, ... chunks.
    accesses: f64,
    hits: Vec<f64>,
}

/// The volumes that share a cache, by number; `None` for one that was never used.
#[derive(Debug)]
pub(super) struct Volumes {
    settings: CurveSettings,
    volumes: Vec<Option<Volume>>,
    room: u32,
    /// The least room of a volume, as a part of an equal share.
    least: f64,
}

impl Volumes {
    /// No volumes yet, for a cache that may hold `room` lines.
    pub(super) fn new(settings: CurveSettings, room: u32, least: f64) -> Self {
        let settings = CurveSettings { objects: CurveObjects::Pages, ..settings };
        Self { settings, volumes: Vec::new(), room, least }
    }

    /// Notes that the cache may now hold `room` lines.
    pub(super) fn resize(&mut self, room: u32) {
        self.room = room;
    }

    /// Counts an access. Returns true if it is the first one of this volume.
    #[inline]
    pub(super) fn access(&mut self, volume: u16, line: u32) -> bool {
        let place = usize::from(volume);
        if place >= self.volumes.len() {
            self.volumes.resize_with(place + 1, || None);
        }
        let is_new = self.volumes[place].is_none();
        let settings = &self.settings;
        let volume = self.volumes[place].get_or_insert_with(|| Volume {
            curve: CurveBuilder::new(settings),
            before: CurveBuilder::new(settings).finish(),
            accesses: 0.0,
            hits: vec![0.0; CHUNKS + 1],
        });
        volume.curve.access(line.into());
        is_new
    }

    /// Ends a window: takes in the measurements of each volume.
    pub(super) fn end_window(&mut self) {
        let room = u64::from(self.room);
        for volume in self.volumes.iter_mut().flatten() {
            let so_far = volume.curve.so_far();
            let curve = so_far.since(&volume.before);
            volume.before = so_far;
            let accesses = curve.accesses as f64;
            volume.accesses = volume.accesses * FADING + accesses;
            for (chunk, hits) in volume.hits.iter_mut().enumerate() {
                let lines = room * chunk as u64 / CHUNKS as u64;
                *hits = *hits * FADING + accesses * (1.0 - curve.miss_ratio_at(lines));
            }
        }
    }

    /// Returns the shares with which the volumes miss least. Volumes that were never used get nothing.
    pub(super) fn best(&self) -> Vec<f64> {
        let known = self.volumes.iter().flatten().count().max(1);
        let least = self.least / known as f64;
        let free = (CHUNKS as f64 * (1.0 - self.least)).round() as usize;
        let base = least * CHUNKS as f64;
        let hits = |volume: usize, chunks: usize| {
            let hits = self.volumes[volume].as_ref().map(|volume| &volume.hits);
            hits.map_or(0.0, |hits| at(hits, base + chunks as f64))
        };
        let given = look_ahead(self.volumes.len(), free, hits);
        let left = (free - given.iter().sum::<usize>()) as f64 / known as f64;
        let share = |(volume, given): (&Option<Volume>, usize)| {
            volume.as_ref().map_or(0.0, |_| least + (given as f64 + left) / CHUNKS as f64)
        };
        let shares: Vec<f64> = self.volumes.iter().zip(given).map(share).collect();
        let all: f64 = shares.iter().sum();
        shares.iter().map(|share| share / all.max(f64::MIN_POSITIVE)).collect()
    }

    /// Returns the share of each volume's accesses that miss with `shares` of the cache.
    pub(super) fn miss_ratios(&self, shares: &[f64]) -> Vec<f64> {
        let ratio = |(volume, share): (&Option<Volume>, &f64)| {
            let volume = volume.as_ref().filter(|volume| volume.accesses > 0.0);
            volume.map_or(0.0, |volume| 1.0 - at(&volume.hits, share * CHUNKS as f64) / volume.accesses)
        };
        self.volumes.iter().zip(shares).map(ratio).collect()
    }

    /// Returns the number of misses of all volumes with `shares` of the cache.
    pub(super) fn misses(&self, shares: &[f64]) -> f64 {
        let accesses = self.volumes.iter().map(|volume| volume.as_ref().map_or(0.0, |volume| volume.accesses));
        accesses.zip(self.miss_ratios(shares)).map(|(accesses, ratio)| accesses * ratio).sum()
    }
}

/// Returns the hits with `chunks` chunks, interpolated between whole numbers of chunks.
fn at(hits: &[f64], chunks: f64) -> f64 {
    let below = (chunks as usize).min(hits.len() - 1);
    let above = (below + 1).min(hits.len() - 1);
    hits[below] + (hits[above] - hits[below]) * (chunks - below as f64).clamp(0.0, 1.0)
}

/// Divides `free` chunks among `volumes` volumes; `hits` returns the hits of a volume with a number of chunks. Returns
/// how many chunks each gets. Chunks that would gain nothing are not given out.
fn look_ahead(volumes: usize, free: usize, hits: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    let mut given = vec![0; volumes];
    let mut left = free;
    while left > 0 {
        let mut best = (0.0, 0, 0);
        for (volume, &has) in given.iter().enumerate() {
            let now = hits(volume, has);
            for more in 1..=left {
                let gain = (hits(volume, has + more) - now) / more as f64;
                if gain > best.0 {
                    best = (gain, volume, more);
                }
            }
        }
        let (gain, volume, more) = best;
        if gain <= 0.0 {
            break;
        }
        given[volume] += more;
        left -= more;
    }
    given
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the most hits of any division, by trying all of them.
    fn most_hits(curves: &[Vec<f64>], left: usize) -> f64 {
        let Some((first, others)) = curves.split_first() else { return 0.0 };
        (0..=left).map(|chunks| first[chunks] + most_hits(others, left - chunks)).fold(0.0, f64::max)
    }

    /// Generates curves of hits that flatten: each chunk gains at most as much as the one before.
    fn flattening() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(0u32..100, 12).prop_map(|mut gains| {
            gains.sort_unstable_by(|one, other| other.cmp(one));
            let sums = gains.iter().scan(0.0, |sum, gain| {
                *sum += f64::from(*gain);
                Some(*sum)
            });
            std::iter::once(0.0).chain(sums).collect()
        })
    }

    proptest! {
        #[test]
        fn flattening_curves_are_divided_best(curves in prop::collection::vec(flattening(), 1..4)) {
            let given = look_ahead(curves.len(), 12, |volume, chunks| curves[volume][chunks]);
            let hits: f64 = given.iter().zip(&curves).map(|(&chunks, curve)| curve[chunks]).sum();
            prop_assert!(given.iter().sum::<usize>() <= 12);
            prop_assert!((hits - most_hits(&curves, 12)).abs() < 1e-9, "{given:?} of {curves:?}");
        }
    }

    /// A volume that gains nothing until it has eight chunks gets all eight or none.
    #[test]
    fn cliffs_are_reached_or_left_alone() {
        let slope = |chunks: usize| 3.0 * chunks as f64;
        let cliff = |chunks: usize, at: usize| if chunks >= at { 40.0 } else { 0.0 };
        let given =
            |at| look_ahead(2, 12, |volume, chunks| if volume == 0 { slope(chunks) } else { cliff(chunks, at) });
        assert_eq!(given(8), [4, 8]);
        assert_eq!(given(13), [12, 0]);
    }
}
