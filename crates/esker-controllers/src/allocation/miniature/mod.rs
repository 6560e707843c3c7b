//! Miniature caches estimate what cleaning would find with each size, so that the flash need not try it.
//!
//! A sample of the lines goes through one small cache for each over-provisioning of the table, each on a small flash of
//! its own. A hash of a line's number decides whether the line is in the sample, and the sizes are scaled down like the
//! sample: hit ratios, and the share of a block that is valid when it is cleaned, stay about the same (Waldspurger,
//! Saemundsson, Ahmad, Park, "Cache Modeling and Optimization using Miniature Simulations", USENIX ATC 2017, who do
//! this for misses). All miniatures run from the first request on, so each is as full, and as worn in, as a cache that
//! always had its size.
//!
//! They evict the least recently used lines, whatever the policy of the cache; the miss-ratio curve assumes the same.

mod flash;

use esker_core::{IdMap, Linked, Links, List, mix64};

use super::model::TRAINED;
use flash::{BLOCKS_MIN, SmallFlash};

/// Number of lines that a miniature of the whole flash holds, if the flash has more. Assumed.
const LINES: u64 = 8192;
/// Number of blocks of a miniature, unless blocks would be smaller than a page or larger than those of the flash.
const BLOCKS: u64 = 256;

/// What a miniature has observed since it last began to count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Observation {
    /// Share of a block's lines that were valid when the block was cleaned; 0 if none was.
    pub(super) valid: f64,
    /// Share of the coming misses that will evict a line: 1 once the cache is full.
    pub(super) evicting: f64,
    /// Whether it had free room and will use it up: then cleaning will find more valid lines than it has so far.
    pub(super) fills: bool,
}

/// One miniature for each step of [`TRAINED`].
#[derive(Debug)]
pub(super) struct Miniatures {
    salt: u64,
    /// Lines with a larger hash are not in the sample.
    hash_max: u64,
    caches: Vec<Miniature>,
}

impl Miniatures {
    /// Miniatures of a flash of `slots` lines, with `lines_a_block` lines per block.
    pub(super) fn new(slots: u64, lines_a_block: u64, seed: u64) -> Self {
        let lines = slots.min(LINES);
        let hash_max = (u128::from(u64::MAX) * u128::from(lines) / u128::from(slots)) as u64;
        let block = (lines / BLOCKS).clamp(1, lines_a_block) as u32;
        let blocks = (lines as u32 / block).max(BLOCKS_MIN);
        let room = |percent: u32| (lines * u64::from(100 - percent) / 100).max(1) as u32;
        let caches = TRAINED.map(|percent| Miniature::new(room(percent), SmallFlash::new(blocks, block)));
        Self { salt: mix64(seed ^ 0x4d49_4e49), hash_max, caches: caches.into() }
    }

    /// Counts an access to `line`.
    #[inline]
    pub(super) fn access(&mut self, line: u32, is_write: bool) {
        if mix64(u64::from(line).wrapping_add(self.salt)) <= self.hash_max {
            self.caches.iter_mut().for_each(|cache| cache.access(line, is_write));
        }
    }

    /// Begins to count.
    pub(super) fn begin(&mut self) {
        self.caches.iter_mut().for_each(|cache| cache.before = cache.counts());
    }

    /// Returns what each has observed since [`Self::begin`]. The coming accesses are assumed to be `to_come` times as
    /// many, and of the same kind.
    pub(super) fn seen(&self, to_come: f64) -> [Observation; TRAINED.len()] {
        std::array::from_fn(|step| self.caches[step].seen(to_come))
    }
}

/// A line that a miniature holds.
#[derive(Clone, Copy, Debug, Default)]
struct MiniatureLine {
    links: Links,
    line: u32,
    page: u32,
}

impl Linked for MiniatureLine {
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
    /// Index in `held` of each line.
    places: IdMap,
    held: Vec<MiniatureLine>,
    /// The lines by last use, the least recently used first.
    by_use: List,
    /// Index in `held` that the next new line takes.
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
            held: vec![MiniatureLine::default()],
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

    /// Evicts a line if the cache is full. Returns the index of a free entry.
    fn make_room(&mut self) -> u32 {
        if self.by_use.len() < self.room {
            self.held.push(MiniatureLine::default());
            return self.held.len() as u32 - 1;
        }
        let oldest = self.by_use.first().expect("there is room for a line at least");
        self.by_use.remove(&mut self.held, oldest);
        let MiniatureLine { line, page, .. } = self.held[oldest as usize];
        self.places.remove(line.into());
        self.flash.forget(page);
        oldest
    }

    fn counts(&self) -> Counts {
        let (erases, written) = self.flash.wear();
        Counts { erases, written, misses: self.misses, held: self.by_use.len() }
    }

    fn seen(&self, to_come: f64) -> Observation {
        let (now, before) = (self.counts(), self.before);
        let cleaned = ((now.erases - before.erases) * u64::from(self.flash.pages_a_block())) as f64;
        let written = (now.written - before.written) as f64;
        let misses = (now.misses - before.misses) as f64 * to_come;
        // Misses fill the free room first.
        let free = f64::from(self.room - self.by_use.len());
        Observation {
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

    /// Returns what the miniatures observe of `writes` writes that `draw` draws, in their second half.
    fn seen(slots: u64, writes: u64, draw: impl Fn(&mut Rng) -> u64) -> [Observation; TRAINED.len()] {
        let (mut miniatures, mut rng) = (Miniatures::new(slots, 64, 1), Rng::new(1));
        for write in 0..writes {
            if write == writes / 2 {
                miniatures.begin();
            }
            miniatures.access(draw(&mut rng) as u32, true);
        }
        miniatures.seen(1.0)
    }

    /// A sample of one line in 32 shows the same as all lines.
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

    /// A cache that is not full evicts nothing, and a cache whose lines are all overwritten has nothing to copy.
    #[test]
    fn caches_that_hold_all_lines_let_none_go() {
        let found = seen(LINES, 8 * LINES, |rng| rng.below(LINES / 2));
        for (percent, seen) in TRAINED.iter().zip(&found) {
            assert_eq!(seen.evicting > 0.0, *percent > 50, "{percent} %: {seen:?}");
        }
        // Sizes that hold all lines find the same.
        assert!((found[4].valid - found[7].valid).abs() < 0.01, "{found:?}");
        let few = seen(LINES, 8 * LINES, |rng| rng.below(16));
        assert!(few.iter().all(|seen| seen.valid < 0.05), "{few:?}");
    }

    /// A cache that is filling evicts nothing so far; it will evict the lines for which its free room does not suffice.
    #[test]
    fn a_cache_that_fills_will_let_go_what_finds_no_room() {
        let mut miniatures = Miniatures::new(LINES, 64, 1);
        (0..LINES as u32 / 2).for_each(|line| miniatures.access(line, true));
        // With the same number of misses again, and with three times as many: those for which there is no free room
        // evict a line.
        let evicting = |to_come: f64| miniatures.seen(to_come).map(|seen| seen.evicting);
        for (percent, (once, thrice)) in TRAINED.into_iter().zip(evicting(1.0).into_iter().zip(evicting(3.0))) {
            let free = (0.5 - f64::from(percent) / 100.0).max(0.0);
            assert!((once - (1.0 - free / 0.5)).abs() < 0.001, "{percent} %: {once}");
            assert!((thrice - (1.0 - free / 1.5)).abs() < 0.001, "{percent} %: {thrice}");
        }
    }
}
