//! A queue in levels: what is used often rises, without a count of uses.

use esker_core::{Linked, Links, List};

/// Number of levels.
pub(super) const LEVELS: u8 = 64;

/// Number of top levels that may hold less than the others.
const TOP_LEVELS: u8 = 8;

/// Level of a thing that is not in the queue.
const UNLISTED: u8 = u8::MAX;

/// A thing's place in the queue, in twelve bytes.
#[derive(Clone, Copy, Debug)]
struct Levelled {
    links: Links,
    /// The period in which it last rose. Periods wrap around: a thing that has not been used for 65,536 of them may
    /// miss a rise.
    rose_in: u16,
    level: u8,
}

impl Linked for Levelled {
    fn links(&self) -> &Links {
        &self.links
    }
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// Things by number, in levels. Each level is in the order of use, least recently used first.
#[derive(Debug)]
pub(super) struct LevelQueue {
    things: Vec<Levelled>,
    levels: [List; LEVELS as usize],
    /// Number of things in the queue.
    length: u32,
    /// Number of things that the top levels should hold together; `None` if all levels should hold the same.
    in_top: Option<u32>,
    period: u16,
}

impl LevelQueue {
    pub(super) fn new(in_top: Option<u32>) -> Self {
        Self { things: Vec::new(), levels: [List::EMPTY; LEVELS as usize], length: 0, in_top, period: 0 }
    }

    pub(super) fn len(&self) -> u32 {
        self.length
    }

    /// Returns the level of `thing`; `None` if it is not in the queue.
    pub(super) fn level(&self, thing: u32) -> Option<u8> {
        self.things.get(thing as usize).map(|thing| thing.level).filter(|&level| level != UNLISTED)
    }

    /// Adds `thing`, which is not in the queue, as the most recently used one of `level`.
    pub(super) fn add(&mut self, thing: u32, level: u8) {
        let unlisted = Levelled { links: Links::NONE, rose_in: 0, level: UNLISTED };
        if self.things.len() <= thing as usize {
            self.things.resize(thing as usize + 1, unlisted);
        }
        self.things[thing as usize].rose_in = self.period.wrapping_sub(1);
        self.length += 1;
        self.push(thing, level);
    }

    /// Removes `thing`, which is in the queue.
    pub(super) fn remove(&mut self, thing: u32) {
        self.take(thing);
        self.things[thing as usize].level = UNLISTED;
        self.length -= 1;
    }

    /// Notes the first use of `thing` in a period: it rises by `levels`, and the least recently used thing there takes
    /// its place. Returns false if it was used before in this period.
    pub(super) fn rise(&mut self, thing: u32, levels: u8) -> bool {
        let Levelled { rose_in, level, .. } = &mut self.things[thing as usize];
        if std::mem::replace(rose_in, self.period) == self.period {
            return false;
        }
        let old = *level;
        let new = old.saturating_add(levels).min(LEVELS - 1);
        self.take(thing);
        if new > old
            && let Some(other) = self.levels[usize::from(new)].first()
        {
            self.take(other);
            self.push(other, old);
        }
        self.push(thing, new);
        true
    }

    /// Makes `thing` the most recently used one of its level.
    pub(super) fn refresh(&mut self, thing: u32) {
        let level = self.take(thing);
        self.push(thing, level);
    }

    /// Returns the least recently used thing of the lowest level that holds any, among those below `level`.
    pub(super) fn coldest(&self, level: u8) -> Option<u32> {
        self.levels[..usize::from(level)].iter().find_map(List::first)
    }

    /// Begins a period: everything can rise again.
    pub(super) fn begin_period(&mut self) {
        self.period = self.period.wrapping_add(1);
    }

    /// Moves things between levels until each level holds as many as it should, in at most `steps` steps.
    pub(super) fn spread(&mut self, mut steps: u32) {
        for level in 0..LEVELS - 1 {
            let here = usize::from(level);
            let target = self.target(level);
            while self.levels[here].len() < target && steps > 0 {
                let Some(above) = self.levels[here + 1..].iter().find_map(List::first) else { break };
                self.take(above);
                self.push(above, level);
                steps -= 1;
            }
            while self.levels[here].len() > target && steps > 0 {
                let newest = self.levels[here].last().expect("the level holds something");
                self.take(newest);
                self.push_front(newest, level + 1);
                steps -= 1;
            }
        }
    }

    /// Returns the number of things that `level` should hold.
    fn target(&self, level: u8) -> u32 {
        let (things, levels, level) = match self.in_top {
            None => (self.length, LEVELS, level),
            Some(top) if level >= LEVELS - TOP_LEVELS => (top, TOP_LEVELS, level - (LEVELS - TOP_LEVELS)),
            Some(top) => (self.length.saturating_sub(top), LEVELS - TOP_LEVELS, level),
        };
        things / u32::from(levels) + u32::from(u32::from(level) < things % u32::from(levels))
    }

    fn take(&mut self, thing: u32) -> u8 {
        let level = self.things[thing as usize].level;
        self.levels[usize::from(level)].remove(&mut self.things, thing);
        level
    }

    fn push(&mut self, thing: u32, level: u8) {
        self.levels[usize::from(level)].push_back(&mut self.things, thing);
        self.things[thing as usize].level = level;
    }

    fn push_front(&mut self, thing: u32, level: u8) {
        match self.levels[usize::from(level)].first() {
            Some(first) => self.levels[usize::from(level)].insert_before(&mut self.things, first, thing),
            None => drop(self.levels[usize::from(level)].push_back(&mut self.things, thing)),
        }
        self.things[thing as usize].level = level;
    }
}
