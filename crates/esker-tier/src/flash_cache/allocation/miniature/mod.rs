//! Miniature caches: what cleaning would find with each size, without that the flash has to try it.
//!
//! A sample of the lines goes through one small cache for each over-provisioning of the table, over a small flash of
//! its own. A line is in the sample or not by a hash of its number, and the sizes shrink as the sample does: hits, and
//! what is valid when a block is cleaned, stay about the same (Waldspurger, Saemundsson, Ahmad, Park, "Cache Modeling
//! and Optimization using Miniature Simulations", USENIX ATC 2017, who do so for misses). All of them run from the
//! first request on, so each is as full, and as worn in, as a cache that always had its size.
//!
//! The lines that leave are those used least recently, whatever the policy of the cache; the curve assumes the same.

mod flash;

use esker_core::{IdMap, Linked, Links, List, mix64};

use super::model::TRAINED;
use flash::{BLOCKS_MIN, SmallFlash};

/// Lines that a miniature of the whole flash holds, if the flash has more. Assumed.
const LINES: u64 = 8192;
/// Blocks of a miniature, if they are large enough to be blocks.
const BLOCKS: u64 = 256;

/// What a miniature has seen since it was last asked to begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    /// Share of the lines of a block that were valid when it was cleaned; 0 if none was.
    pub(super) valid: f64,
    /// Share of the misses to come that have another line leave: all of them, once the cache is full.
    pub(super) evicting: f64,
    /// Whether it had free room, which it will use up: then cleaning will find more valid than it has.
    pub(super) fills: bool,
}

/// A miniature for each step of [`TRAINED`].
#[derive(Debug)]
pub(super) struct Miniatures {
    salt: u64,
    /// Lines with a larger hash are not in the sample.
    hash_max: u64,
    caches: Vec<Miniature>,
}

impl Miniatures {
    /// For a flash of `slots` lines, with blocks of so many lines.
    pub(super) fn new(slots: u64, lines_a_block: u64, seed: u64) -> Self {
        let lines = slots.min(LINES);
        let hash_max = (u128::from(u64::MAX) * u128::from(lines) / u128::from(slots)) as u64;
        let block = (lines / BLOCKS).clamp(1, lines_a_block) as u32;
        let blocks = (lines as u32 / block).max(BLOCKS_MIN);
        let room = |percent: u32| (lines * u64::from(100 - percent) / 100).max(1) as u32;
        let caches = TRAINED.map(|percent| Miniature::new(room(percent), SmallFlash::new(blocks, block)));
        Self { salt: mix64(seed ^ 0x4d49_4e49), hash_max, caches: caches.into() }
    }

    /// An access to `line`.
    #[inline]
    pub(super) fn access(&mut self, line: u32, is_write: bool) {
        if mix64(u64::from(line).wrapping_add(self.salt)) <= self.hash_max {
            self.caches.iter_mut().for_each(|cache| cache.access(line, is_write));
        }
    }

    /// What is seen from now on counts.
    pub(super) fn begin(&mut self) {
        self.caches.iter_mut().for_each(|cache| cache.before = cache.counts());
    }

    /// What each has seen since then, if so many times as many accesses like these are to come.
    pub(super) fn seen(&self, to_come: f64) -> [Seen; TRAINED.len()] {
        std::array::from_fn(|step| self.caches[step].seen(to_come))
    }
}

/// A line that a miniature holds.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    links: Links,
    line: u32,
    page: u32,
}

impl Linked for Held {
    fn links(&self) -> &Links {
        &self.links
    }
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    erases: u64,
    written: u64,
    misses: u64,
    held: u32,
}

/// A small cache over a small flash.
#[derive(Debug)]
struct Miniature {
    room: u32,
    flash: SmallFlash,
    /// Places in `held` by line.
    places: IdMap,
    held: Vec<Held>,
    /// The line that was used least recently is the first one.
    by_use: List,
    /// The place that the next new line takes.
    spare: u32,
    misses: u64,
    before: Counts,
}

impl Miniature {
    fn new(room: u32, flash: SmallFlash) -> Self {
        Self {
            room,
            flash,
            places: IdMap::default(),
            held: vec![Held::default()],
            by_use: List::EMPTY,
            spare: 0,
            misses: 0,
            before: Counts::default(),
        }
    }

    fn access(&mut self, line: u32, is_write: bool) {
        let place = self.places.get_or_insert(line.into(), self.spare.into()) as u32;
        let is_hit = place != self.spare;
        if is_hit {
            self.by_use.remove(&mut self.held, place);
            if is_write {
                self.flash.forget(self.held[place as usize].page);
            }
        } else {
            self.misses += 1;
            self.held[place as usize].line = line;
            self.spare = self.make_room();
        }
        self.by_use.push_back(&mut self.held, place);
        if is_write || !is_hit {
            let held = &mut self.held;
            self.flash.write(place, |place, page| held[place as usize].page = page);
        }
    }

    /// Has a line leave if all of the room is taken. Returns a place that is free.
    fn make_room(&mut self) -> u32 {
        if self.by_use.len() < self.room {
            self.held.push(Held::default());
            return self.held.len() as u32 - 1;
        }
        let oldest = self.by_use.first().expect("there is room for a line at least");
        self.by_use.remove(&mut self.held, oldest);
        let Held { line, page, .. } = self.held[oldest as usize];
        self.places.remove(line.into());
        self.flash.forget(page);
        oldest
    }

    fn counts(&self) -> Counts {
        let (erases, written) = self.flash.wear();
        Counts { erases, written, misses: self.misses, held: self.by_use.len() }
    }

    fn seen(&self, to_come: f64) -> Seen {
        let (now, before) = (self.counts(), self.before);
        let cleaned = ((now.erases - before.erases) * u64::from(self.flash.pages_a_block())) as f64;
        let written = (now.written - before.written) as f64;
        let misses = (now.misses - before.misses) as f64 * to_come;
        // Misses find free room first.
        let free = f64::from(self.room - self.by_use.len());
        Seen {
            fills: before.held < self.room && misses > free,
            valid: if cleaned > 0.0 { (1.0 - written / cleaned).max(0.0) } else { 0.0 },
            evicting: if misses > free { 1.0 - free / misses } else { 0.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Rng;

    use super::*;

    /// What the miniatures see of writes that `draw` draws, in the second half of them.
    fn seen(slots: u64, writes: u64, draw: impl Fn(&mut Rng) -> u64) -> [Seen; TRAINED.len()] {
        let (mut miniatures, mut rng) = (Miniatures::new(slots, 64, 1), Rng::new(1));
        for write in 0..writes {
            if write == writes / 2 {
                miniatures.begin();
            }
            miniatures.access(draw(&mut rng) as u32, true);
        }
        miniatures.seen(1.0)
    }

    /// A sample of a thirty-second sees what all lines show.
    #[test]
    fn a_sample_sees_what_all_lines_show() {
        let slots = 32 * LINES;
        let draw = |lines: u64| {
            // Half of the writes to a fifth of the lines.
            move |rng: &mut Rng| if rng.chance(1, 2) { rng.below(lines / 5) } else { rng.below(lines) }
        };
        let sampled = seen(slots, 6 * slots, draw(slots));
        let all = seen(LINES, 6 * LINES, draw(LINES));
        for (one, other) in sampled.iter().zip(&all) {
            assert!((one.valid - other.valid).abs() < 0.03, "{one:?} {other:?}");
            assert!((one.evicting - other.evicting).abs() < 0.06, "{one:?} {other:?}");
        }
        assert!(all.windows(2).all(|pair| pair[0].valid <= pair[1].valid), "{all:?}");
    }

    /// A cache that is not full yet lets no line go, and one whose lines are all written over has nothing to copy.
    #[test]
    fn caches_that_hold_all_lines_let_none_go() {
        let found = seen(LINES, 8 * LINES, |rng| rng.below(LINES / 2));
        for (percent, seen) in TRAINED.iter().zip(&found) {
            assert_eq!(seen.evicting > 0.0, *percent > 50, "{percent} %: {seen:?}");
        }
        // Those that hold all of them find the same.
        assert!((found[4].valid - found[7].valid).abs() < 0.01, "{found:?}");
        let few = seen(LINES, 8 * LINES, |rng| rng.below(16));
        assert!(few.iter().all(|seen| seen.valid < 0.05), "{few:?}");
    }

    /// A cache that fills lets none go so far; what it will let go is what its room cannot take.
    #[test]
    fn a_cache_that_fills_will_let_go_what_finds_no_room() {
        let mut miniatures = Miniatures::new(LINES, 64, 1);
        (0..LINES as u32 / 2).for_each(|line| miniatures.access(line, true));
        // As many again leave no room; three times as many find room for a third.
        let evicting = |to_come: f64| miniatures.seen(to_come).map(|seen| seen.evicting);
        for (percent, (once, thrice)) in TRAINED.into_iter().zip(evicting(1.0).into_iter().zip(evicting(3.0))) {
            let free = (0.5 - f64::from(percent) / 100.0).max(0.0);
            assert!((once - (1.0 - free / 0.5)).abs() < 0.001, "{percent} %: {once}");
            assert!((thrice - (1.0 - free / 1.5)).abs() < 0.001, "{percent} %: {thrice}");
        }
    }
}
