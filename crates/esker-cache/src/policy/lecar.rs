//! LeCaR: learns from regrets whether to evict by recency or by frequency.

use esker_core::registry::{Accepted, Parameter, ParameterSource, Parameters};
use esker_core::{Linked, Links, List, Ratio, Rng};

#[cfg(test)]
use super::tests::Reference;
use super::{Replacement, ReplacementEntry, Shape};
use crate::heap::Heap;
#[cfg(test)]
use crate::reference::NaiveLecar;
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "lecar",
    summary: "draws between LRU and LFU; an object that returns lessens the weight of the one that let it go",
    source: "Vietri et al. 2018, whose program has `ties = \"number\"`; histories of half the cache as in the paper",
    parameters: ParameterSource::Listed(&[
        Parameter {
            name: "learning_rate",
            meaning: "how much a regret changes the weights",
            value: Accepted::Share { default: Ratio::percent(45), least: Ratio::ZERO, most: Ratio::ONE },
        },
        Parameter {
            name: "history",
            meaning: "objects that are remembered for each of the two, as a share of the cache",
            value: Accepted::Share { default: Ratio::percent(50), least: Ratio::ZERO, most: Ratio::percent(1000) },
        },
        Parameter {
            name: "ties",
            meaning: "which of the objects used least often LFU lets go: the one whose last use is longest ago, or the \
                      one with the lowest number; objects are numbered in the order of their first use",
            value: Accepted::OneOf(&["last-use", "number"]),
        },
    ]),
    capabilities: &[],
    build: |shape, parameters| Box::new(Lecar::new(shape, parameters)),
};

/// The weight of a regret if an object returns after as many accesses as the cache has objects.
const DISCOUNT: f64 = 0.005;

/// The largest weight, so that neither expert loses all influence.
const MOST_WEIGHT: f64 = 0.99;

#[derive(Debug)]
struct Lecar {
    capacity: u32,
    learning_rate: f64,
    history_share: Ratio,
    ties_by_number: bool,
    objects: Vec<Entry>,
    /// The objects in the cache, the least recently used first.
    by_use: List,
    /// The objects in the cache, by frequency, then by last use or number.
    by_frequency: Heap<(u32, u32)>,
    /// Objects that each expert evicted, in the order in which they left.
    histories: [List; 2],
    /// The weight of LRU. LFU has the rest.
    lru_weight: f64,
    /// Accesses so far; wraps after 2^32, which disorders a few ties.
    now: u32,
    rng: Rng,
}

/// The experts, as indices into `histories`.
const LRU: u8 = 0;
const LFU: u8 = 1;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    links: Links,
    frequency: u32,
    /// When the object was last used; in a history, when it left.
    time: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    None,
    Held,
    /// In the history of this expert.
    Left(u8),
}

impl Linked for Entry {
    #[inline]
    fn links(&self) -> &Links {
        &self.links
    }
    #[inline]
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl Lecar {
    fn new(shape: &Shape, parameters: Parameters<'_>) -> Self {
        Self {
            capacity: shape.capacity,
            learning_rate: parameters.share("learning_rate").as_f64(),
            history_share: parameters.share("history"),
            ties_by_number: parameters.name("ties") == "number",
            objects: vec![Entry::default(); shape.objects as usize],
            by_use: List::EMPTY,
            by_frequency: Heap::new(shape.objects, shape.capacity),
            histories: [List::EMPTY; 2],
            lru_weight: 0.5,
            now: 0,
            rng: Rng::derive(shape.seed, "lecar"),
        }
    }

    /// Records a use of an object that is in no list, and adds it to the cache.
    fn hold(&mut self, object: u32) {
        let entry = &mut self.objects[object as usize];
        entry.frequency = entry.frequency.saturating_add(1);
        (entry.state, entry.time) = (State::Held, self.now);
        let tie = if self.ties_by_number { object } else { self.now };
        self.by_frequency.set(object, (entry.frequency, tie));
        self.by_use.push_back(&mut self.objects, object);
    }

    /// Lowers the weight of an expert without which `object` would still be in the cache.
    fn regret(&mut self, object: u32, expert: u8) {
        self.histories[usize::from(expert)].remove(&mut self.objects, object);
        let away = self.now.wrapping_sub(self.objects[object as usize].time);
        let reward = -DISCOUNT.powf(f64::from(away) / f64::from(self.capacity));
        let factor = (self.learning_rate * reward).exp();
        let (lru, lfu) = (self.lru_weight, 1.0 - self.lru_weight);
        let (lru, lfu) = if expert == LRU { (lru * factor, lfu) } else { (lru, lfu * factor) };
        self.lru_weight = (lru / (lru + lfu)).clamp(1.0 - MOST_WEIGHT, MOST_WEIGHT);
    }

    fn let_go(&mut self, object: u32) {
        self.by_use.remove(&mut self.objects, object);
        self.by_frequency.remove(object);
    }

    fn remember(&mut self, object: u32, expert: u8) {
        let entry = &mut self.objects[object as usize];
        (entry.state, entry.time) = (State::Left(expert), self.now);
        self.histories[usize::from(expert)].push_back(&mut self.objects, object);
        self.forget(expert);
    }

    fn forget(&mut self, expert: u8) {
        let most = self.history_share.of(u64::from(self.capacity));
        let history = &mut self.histories[usize::from(expert)];
        while u64::from(history.len()) > most
            && let Some(earliest) = history.first()
        {
            history.remove(&mut self.objects, earliest);
            self.objects[earliest as usize] = Entry::default();
        }
    }
}

impl Replacement for Lecar {
    fn holds(&self, object: ObjectId) -> bool {
        self.objects[object.index()].state == State::Held
    }

    fn hit(&mut self, access: &Access) -> bool {
        let held = self.holds(access.object);
        if held {
            self.now = self.now.wrapping_add(1);
            self.by_use.remove(&mut self.objects, access.object.0);
            self.hold(access.object.0);
        }
        held
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        self.now = self.now.wrapping_add(1);
        if let State::Left(expert) = self.objects[access.object.index()].state {
            self.regret(access.object.0, expert);
        }
        let left = if self.len() >= self.capacity { self.evict() } else { None };
        self.hold(access.object.0);
        left
    }

    fn remove(&mut self, object: ObjectId) {
        if self.holds(object) {
            self.let_go(object.0);
            self.objects[object.index()] = Entry::default();
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let (lru, lfu) = (self.by_use.first()?, self.by_frequency.first()?);
        let expert = if self.rng.unit() < self.lru_weight { LRU } else { LFU };
        let left = if expert == LRU { lru } else { lfu };
        self.let_go(left);
        if lru == lfu {
            // Both experts would have evicted it, so nothing can be learned from it.
            self.objects[left as usize] = Entry::default();
        } else {
            self.remember(left, expert);
        }
        Some(ObjectId(left))
    }

    fn len(&self) -> u32 {
        self.by_use.len()
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
        [LRU, LFU].into_iter().for_each(|expert| self.forget(expert));
    }

    fn memory_bytes(&self) -> usize {
        self.objects.capacity() * size_of::<Entry>() + self.by_frequency.memory_bytes()
    }
}

#[cfg(test)]
pub(super) const REFERENCE: Reference = Reference {
    policy: ENTRY.name,
    naive: |shape| Box::new(NaiveLecar::new(shape.capacity as usize, shape.seed, false)),
    // As found here; exponentials may differ in their last digit between machines.
    misses: [95_221, 91_276],
    tolerance: 340,
};
