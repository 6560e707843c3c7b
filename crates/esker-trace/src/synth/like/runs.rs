//! Runs of sequential requests.

use std::collections::BTreeMap;

use esker_core::{Nanos, Rng};

use super::deck::Deck;
use crate::{Operation, Record, VolumeIndex};

/// Counts of one volume in one segment.
#[derive(Clone, Debug, Default)]
pub(super) struct VolumeCounts {
    pub(super) flushes: u64,
    runs: BTreeMap<RunClass, RunCounts>,
}

/// A run as it was found in the trace.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// Operation of the first request.
    pub(super) operation: Operation,
    /// First byte.
    pub(super) offset: u64,
    /// Size of the first request.
    pub(super) size: u32,
    /// First byte after the last request.
    pub(super) end: u64,
    /// Number of requests that follow the first.
    pub(super) followers: u64,
    /// Counts of the requests that follow.
    pub(super) next: BTreeMap<Follower, u64>,
}

/// A request within a run: how far into a page it begins, its operation, and its size. Sizes and alignments are kept
/// together: if a database writes 4 KiB pages at odd sectors, only their own order leaves none of them aligned.
pub(super) type Follower = (u16, Operation, u32);

/// How far into a page `offset` is.
pub(super) fn phase(offset: u64) -> u16 {
    (offset % 4096) as u16
}

/// What the runs of one class have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RunClass {
    /// Operation of the first request.
    operation: Operation,
    /// Binary logarithm of the first request's size.
    size: u32,
    /// Binary logarithm of the number of followers; zero for none.
    length: u32,
    /// How far into a page the run begins.
    phase: u16,
}

/// Counts within a class.
#[derive(Clone, Debug, Default)]
struct RunCounts {
    /// Number of requests that follow the first.
    followers: BTreeMap<u64, u64>,
    /// Size of the first request.
    sizes: BTreeMap<u32, u64>,
    next: BTreeMap<Follower, u64>,
    /// The page in which the first request begins.
    pages: BTreeMap<u64, u64>,
}

fn add_all<K: Ord + Copy>(into: &mut BTreeMap<K, u64>, other: &BTreeMap<K, u64>) {
    for (&key, count) in other {
        *into.entry(key).or_default() += count;
    }
}

impl RunCounts {
    fn runs(&self) -> u64 {
        self.followers.values().sum()
    }
    fn requests(&self) -> u64 {
        self.followers.iter().map(|(followers, runs)| (1 + followers) * runs).sum()
    }
    fn add(&mut self, other: &Self) {
        add_all(&mut self.followers, &other.followers);
        add_all(&mut self.sizes, &other.sizes);
        add_all(&mut self.next, &other.next);
        add_all(&mut self.pages, &other.pages);
    }
}

impl VolumeCounts {
    pub(super) fn push(&mut self, run: &Run) {
        let class = RunClass {
            operation: run.operation,
            size: u32::BITS - run.size.leading_zeros(),
            length: u64::BITS - run.followers.leading_zeros(),
            phase: phase(run.offset),
        };
        let counts = self.runs.entry(class).or_default();
        *counts.followers.entry(run.followers).or_default() += 1;
        *counts.sizes.entry(run.size).or_default() += 1;
        *counts.pages.entry(run.offset / 4096).or_default() += 1;
        add_all(&mut counts.next, &run.next);
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.flushes += other.flushes;
        for (&class, runs) in &other.runs {
            self.runs.entry(class).or_default().add(runs);
        }
    }

    /// Number of requests of all kinds.
    pub(super) fn requests(&self) -> u64 {
        self.flushes + self.runs.values().map(RunCounts::requests).sum::<u64>()
    }
}

/// Draws the requests of one volume within one segment.
#[derive(Clone, Debug)]
pub(super) struct RunsDraw {
    /// What begins next: a run of a class, or a flush (`None`).
    begins: Deck<Option<usize>>,
    classes: Vec<ClassDraw>,
    /// Class, number of followers still to come, and where the next one begins.
    run: Option<(usize, u64, u64)>,
}

#[derive(Clone, Debug)]
struct ClassDraw {
    class: RunClass,
    followers: Deck<u64>,
    sizes: Deck<u32>,
    next: FollowerDraw,
    pages: Deck<u64>,
}

impl ClassDraw {
    fn new(class: RunClass, counts: &RunCounts) -> Self {
        fn deck<K: Copy>(counts: &BTreeMap<K, u64>) -> Deck<K> {
            Deck::new(counts.iter().map(|(&key, &count)| (key, count)))
        }
        Self {
            class,
            followers: deck(&counts.followers),
            sizes: deck(&counts.sizes),
            next: FollowerDraw::new(&counts.next),
            pages: deck(&counts.pages),
        }
    }
}

/// Draws followers by how far into a page they begin.
#[derive(Clone, Debug)]
struct FollowerDraw {
    by_phase: BTreeMap<u16, Deck<(Operation, u32)>>,
    left: u64,
}

impl FollowerDraw {
    fn new(counts: &BTreeMap<Follower, u64>) -> Self {
        let mut by_phase: BTreeMap<u16, Vec<_>> = BTreeMap::new();
        for (&(phase, operation, size), &count) in counts {
            by_phase.entry(phase).or_default().push(((operation, size), count));
        }
        let by_phase = by_phase.into_iter().map(|(phase, cards)| (phase, Deck::new(cards))).collect();
        Self { by_phase, left: counts.values().sum() }
    }

    /// Draws a follower that begins at `offset`. If none is left that begins this far into a page, one that begins at
    /// the next possible address. The class must have followers.
    fn draw(&mut self, offset: u64, rng: &mut Rng) -> (u64, Operation, u32) {
        if self.left == 0 {
            self.by_phase.values_mut().for_each(Deck::refill);
            self.left = self.by_phase.values().map(Deck::left).sum();
        }
        self.left -= 1;
        let here = phase(offset);
        let later = self.by_phase.range_mut(here..).find(|(_, deck)| deck.left() > 0);
        let (ahead, deck) = match later {
            Some((&there, deck)) => (there - here, deck),
            None => {
                let earlier = self.by_phase.range_mut(..here).find(|(_, deck)| deck.left() > 0);
                let (&there, deck) = earlier.expect("the decks hold `left` cards together");
                (there + 4096 - here, deck)
            }
        };
        let (operation, size) = deck.draw(rng);
        (offset.saturating_add(u64::from(ahead)), operation, size)
    }
}

impl RunsDraw {
    /// Draws from `counts`, which must have requests.
    pub(super) fn new(counts: &VolumeCounts) -> Self {
        let runs = counts.runs.values().enumerate().map(|(index, counts)| (Some(index), counts.runs()));
        Self {
            begins: Deck::new(runs.chain([(None, counts.flushes)])),
            classes: counts.runs.iter().map(|(&class, counts)| ClassDraw::new(class, counts)).collect(),
            run: None,
        }
    }

    pub(super) fn draw(&mut self, at: Nanos, volume: VolumeIndex, rng: &mut Rng) -> Record {
        let record = |offset, length, operation| Record { at, offset, length, volume, operation, response: None };
        if let Some((class, followers, offset)) = self.run {
            let (offset, operation, length) = self.classes[class].next.draw(offset, rng);
            self.run = (followers > 1).then_some((class, followers - 1, offset.saturating_add(u64::from(length))));
            return record(offset, length, operation);
        }
        let Some(index) = self.begins.draw(rng) else { return record(0, 0, Operation::Flush) };
        let draw = &mut self.classes[index];
        let length = draw.sizes.draw(rng);
        let offset = draw.pages.draw(rng) * 4096 + u64::from(draw.class.phase);
        let followers = draw.followers.draw(rng);
        let operation = draw.class.operation;
        self.run = (followers > 0).then_some((index, followers, offset.saturating_add(u64::from(length))));
        record(offset, length, operation)
    }
}
