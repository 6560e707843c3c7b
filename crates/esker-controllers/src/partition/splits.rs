//! Estimates what each split of the cache between clean and dirty lines would cost.
//!
//! Two numbers decide: how many accesses read the backing device, and how many writes make a line dirty, which later
//! has to be copied back. Both depend on the split and on each other: a written line leaves the clean part, and a dirty
//! line also serves reads. No stack distance shows that, so a miniature cache for each split sees a sample of the lines
//! (Waldspurger, Saemundsson, Ahmad, Park, "Cache Modeling and Optimization using Miniature Simulations", USENIX ATC
//! 2017). All miniatures run from the first request on, so each is as full as a cache that always had its split.

use esker_cache::{Access, AccessKind, NEVER, ObjectId, Partitioned, Replacement};
use esker_core::{IdMap, mix64};

use esker_tier::LineAccess;

/// The shares of dirty lines that are compared, in percent.
const SHARES: [u32; 19] = [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95];
/// Number of lines that a miniature holds, if the cache holds more. Assumed.
const LINES: u32 = 8192;
/// With each window that follows, measurements count this many times as much. Assumed.
const FADING: f64 = 0.5;

/// The numbers of the two parts: clean lines, and dirty lines.
pub(super) const READ: u16 = 0;
pub(super) const WRITTEN: u16 = 1;

/// Returns the part of a line after an access: a written line is dirty until it is copied back.
pub(super) fn part_of(is_write: bool, is_dirty: bool) -> u16 {
    if is_write || is_dirty { WRITTEN } else { READ }
}

/// The expected traffic to the backing device with one split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SplitEstimate {
    /// Share of dirty lines.
    pub(super) written: f64,
    /// Reads of the backing device per access, and lines that become dirty per access.
    pub(super) reads: f64,
    pub(super) writes: f64,
}

/// One miniature for each of [`SHARES`].
#[derive(Debug)]
pub(super) struct Splits {
    salt: u64,
    /// Lines with a larger hash are not in the sample.
    hash_max: u64,
    /// How many lines the cache may hold for each line that a miniature may hold.
    scale: f64,
    caches: Vec<SplitMiniature>,
    accesses: f64,
}

impl Splits {
    /// Miniatures of a cache that may hold `room` lines.
    pub(super) fn new(room: u32, seed: u64) -> Self {
        let lines = room.min(LINES);
        Self {
            salt: mix64(seed ^ 0x5350_4c49_5453),
            hash_max: (u128::from(u64::MAX) * u128::from(lines) / u128::from(room.max(1))) as u64,
            scale: f64::from(room) / f64::from(lines),
            caches: SHARES.map(|percent| SplitMiniature::new(lines, percent)).into(),
            accesses: 0.0,
        }
    }

    /// Notes that the cache may now hold `room` lines.
    pub(super) fn resize(&mut self, room: u32) {
        let lines = (f64::from(room) / self.scale).round().max(1.0) as u32;
        self.caches.iter_mut().for_each(|cache| cache.resize(lines));
    }

    #[inline]
    pub(super) fn access(&mut self, access: &LineAccess) {
        if mix64(u64::from(access.line).wrapping_add(self.salt)) <= self.hash_max {
            self.accesses += 1.0;
            self.caches.iter_mut().for_each(|cache| cache.access(access));
        }
    }

    /// Returns the recent traffic of each split, by rising share of dirty lines; empty before the first access in the
    /// sample.
    pub(super) fn expected(&self) -> Vec<SplitEstimate> {
        let expect = |(cache, percent): (&SplitMiniature, u32)| SplitEstimate {
            written: f64::from(percent) / 100.0,
            reads: cache.reads / self.accesses,
            writes: cache.writes / self.accesses,
        };
        if self.accesses == 0.0 { Vec::new() } else { self.caches.iter().zip(SHARES).map(expect).collect() }
    }

    /// Lowers the weight of all measurements at the end of a window.
    pub(super) fn fade(&mut self) {
        self.accesses *= FADING;
        for cache in &mut self.caches {
            cache.reads *= FADING;
            cache.writes *= FADING;
        }
    }
}

/// A small cache with one split. Its policy knows the lines by their index in `held`, because indices are reused and so
/// stay small.
#[derive(Debug)]
struct SplitMiniature {
    cache: Partitioned,
    /// Index in `held` of each line.
    places: IdMap,
    /// The lines that it holds, by index.
    held: Vec<SplitLine>,
    /// Free indices: always at least one.
    free: Vec<u32>,
    reads: f64,
    writes: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct SplitLine {
    line: u32,
    is_dirty: bool,
}

impl SplitMiniature {
    fn new(lines: u32, percent: u32) -> Self {
        Self {
            cache: Partitioned::new(lines, lines + 1, &[100 - percent, percent]),
            places: IdMap::default(),
            held: vec![SplitLine::default(); lines as usize + 1],
            free: (0..=lines).rev().collect(),
            reads: 0.0,
            writes: 0.0,
        }
    }

    fn access(&mut self, access: &LineAccess) {
        let spare = *self.free.last().expect("there is a place more than lines");
        let place = self.places.get_or_insert(access.line.into(), spare.into()) as u32;
        let is_held = place != spare;
        let was_dirty = is_held && self.held[place as usize].is_dirty;
        let is_dirty = was_dirty || access.is_write;
        self.held[place as usize] = SplitLine { line: access.line, is_dirty };
        self.cache.assign(ObjectId(place), part_of(access.is_write, was_dirty));
        // A partial write to a line that is not cached reads the rest of it.
        self.reads += f64::from(u8::from(!(is_held || access.is_write && access.is_whole)));
        self.writes += f64::from(u8::from(is_dirty && !was_dirty));
        let object = Access { object: ObjectId(place), bytes: 0, kind: AccessKind::Read, next_use: NEVER };
        if is_held {
            self.cache.hit(&object);
        } else {
            self.free.pop();
            let left = self.cache.insert(&object);
            left.into_iter().for_each(|left| self.leave(left));
        }
    }

    fn leave(&mut self, ObjectId(place): ObjectId) {
        self.places.remove(self.held[place as usize].line.into());
        self.free.push(place);
    }

    /// Changes the number of lines, up to the number at the beginning.
    fn resize(&mut self, lines: u32) {
        self.cache.set_capacity(lines.min(self.held.len() as u32 - 1));
        while self.cache.len() > self.cache.capacity()
            && let Some(left) = self.cache.evict()
        {
            self.leave(left);
        }
    }
}
