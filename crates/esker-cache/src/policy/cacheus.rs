//! CACHEUS: LeCaR's successor, with experts that resist scans and churn, and a learning rate that adapts.

mod learning;

use std::cmp::Reverse;

use esker_core::registry::{Accepted, Parameter, ParameterSource};
use esker_core::{Linked, Links, List, Ratio, Rng};

use self::learning::LearningRate;
#[cfg(test)]
use super::tests::Reference;
use super::{Replacement, ReplacementEntry, Shape};
use crate::heap::Heap;
#[cfg(test)]
use crate::reference::NaiveCacheus;
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "cacheus",
    summary: "draws between an LRU that resists scans and an LFU that resists churn; learns from what it regrets",
    source: "Rodriguez et al. 2021; where the paper is silent, as the authors' program",
    parameters: ParameterSource::Listed(&[Parameter {
        name: "history",
        meaning: "objects that are remembered for each of the two, as a share of the cache",
        value: Accepted::Share { default: Ratio::percent(50), least: Ratio::ZERO, most: Ratio::percent(1000) },
    }]),
    capabilities: &[],
    build: |shape, parameters| Box::new(Cacheus::new(shape, parameters.share("history"))),
};

/// The largest weight, so that neither expert loses all influence.
const MOST_WEIGHT: f64 = 0.99;

/// The cache is two queues: objects that were used again are in the reused queue, all others in the queue on probation,
/// from which the first expert (SR-LRU) takes the oldest. The second expert (CR-LFU) takes the least frequently used
/// object of both queues, and the most recently used of several such objects.
#[derive(Debug)]
struct Cacheus {
    capacity: u32,
    history_share: Ratio,
    objects: Vec<Entry>,
    /// The paper's R, with the least recently used object first.
    reused: List,
    /// The paper's SR.
    probation: List,
    /// Target size of the reused queue. The rest of the room is for the queue on probation.
    reused_size: u32,
    /// Ordered by frequency, then by the latest use first.
    by_frequency: Heap<(u32, Reverse<u32>)>,
    /// Objects that each expert evicted, in the order in which they left.
    histories: [List; 2],
    /// Objects on probation that were in the reused queue before.
    demoted: u32,
    /// Objects in the history of the first expert that were new when they left.
    fresh_left: u32,
    /// The weight of the first expert. The second expert has the rest.
    recency_weight: f64,
    learning: LearningRate,
    /// Accesses so far; wraps after 2^32, which disorders a few ties.
    now: u32,
    rng: Rng,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    links: Links,
    frequency: u32,
    /// When the object was last used.
    used_at: u32,
    state: State,
    /// Whether the object was in the reused queue before.
    demoted: bool,
    /// Whether the object came to a full cache that did not remember it.
    fresh: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    None,
    Reused,
    Probation,
    LeftByRecency,
    LeftByFrequency,
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

impl Cacheus {
    fn new(shape: &Shape, history_share: Ratio) -> Self {
        Self {
            capacity: shape.capacity,
            history_share,
            objects: vec![Entry::default(); shape.objects as usize],
            reused: List::EMPTY,
            probation: List::EMPTY,
            reused_size: shape.capacity - first_probation_size(shape.capacity),
            by_frequency: Heap::new(shape.objects, shape.capacity),
            histories: [List::EMPTY; 2],
            demoted: 0,
            fresh_left: 0,
            recency_weight: 0.5,
            learning: LearningRate::new(shape.capacity),
            now: 0,
            rng: Rng::derive(shape.seed, "cacheus"),
        }
    }

    fn list(&mut self, state: State) -> Option<&mut List> {
        match state {
            State::None => None,
            State::Reused => Some(&mut self.reused),
            State::Probation => Some(&mut self.probation),
            State::LeftByRecency => Some(&mut self.histories[0]),
            State::LeftByFrequency => Some(&mut self.histories[1]),
        }
    }

    /// Moves an object to the end of the list of `state`.
    fn place(&mut self, object: u32, state: State) {
        let before = std::mem::replace(&mut self.objects[object as usize].state, state);
        let mut objects = std::mem::take(&mut self.objects);
        if let Some(list) = self.list(before) {
            list.remove(&mut objects, object);
        }
        if let Some(list) = self.list(state) {
            list.push_back(&mut objects, object);
        }
        self.objects = objects;
    }

    fn begin_access(&mut self) {
        self.now = self.now.wrapping_add(1);
        self.learning.access(&mut self.rng);
    }

    fn set_frequency(&mut self, object: u32, frequency: u32) {
        let entry = &mut self.objects[object as usize];
        (entry.frequency, entry.used_at) = (frequency, self.now);
        self.by_frequency.set(object, (frequency, Reverse(self.now)));
    }

    fn demote_oldest(&mut self) {
        if let Some(oldest) = self.reused.first() {
            self.objects[oldest as usize].demoted = true;
            self.demoted += 1;
            self.place(oldest, State::Probation);
        }
    }

    /// Records that an object is no longer on probation, or no longer counts as demoted.
    fn end_demotion(&mut self, object: u32) {
        self.demoted -= u32::from(std::mem::take(&mut self.objects[object as usize].demoted));
    }

    fn grow_reused(&mut self) {
        let step = rounded_quotient(self.fresh_left, self.demoted);
        self.reused_size = self.reused_size.saturating_add(step).min(self.capacity - 1);
    }

    fn grow_probation(&mut self) {
        let step = rounded_quotient(self.demoted, self.fresh_left);
        let probation_size = (self.capacity - self.reused_size).saturating_add(step).min(self.capacity - 1);
        self.reused_size = self.capacity - probation_size;
    }

    /// Multiplies the weights of the two experts.
    fn regret(&mut self, of_recency: f64, of_frequency: f64) {
        let recency = self.recency_weight * of_recency;
        let frequency = (1.0 - self.recency_weight) * of_frequency;
        self.recency_weight = (recency / (recency + frequency)).clamp(1.0 - MOST_WEIGHT, MOST_WEIGHT);
    }

    fn limit_reused(&mut self) {
        while self.reused.len() >= self.reused_size && !self.reused.is_empty() {
            self.demote_oldest();
        }
    }

    fn forget(&mut self) {
        let most = self.history_share.of(u64::from(self.capacity));
        for history in 0..2 {
            while u64::from(self.histories[history].len()) > most
                && let Some(earliest) = self.histories[history].first()
            {
                self.place(earliest, State::None);
                let entry = std::mem::take(&mut self.objects[earliest as usize]);
                self.fresh_left -= u32::from(history == 0 && entry.fresh);
            }
        }
    }
}

/// Returns one hundredth of the cache, at least one object.
fn first_probation_size(capacity: u32) -> u32 {
    ((f64::from(capacity) * 0.01 + 0.5) as u32).max(1)
}

/// Returns the rounded quotient, at least one.
fn rounded_quotient(numerator: u32, denominator: u32) -> u32 {
    ((f64::from(numerator) / f64::from(denominator.max(1)) + 0.5) as u32).max(1)
}

impl Replacement for Cacheus {
    fn holds(&self, object: ObjectId) -> bool {
        matches!(self.objects[object.index()].state, State::Reused | State::Probation)
    }

    fn hit(&mut self, access: &Access) -> bool {
        let object = access.object.0;
        let Entry { state, frequency, demoted, .. } = self.objects[access.object.index()];
        if !matches!(state, State::Reused | State::Probation) {
            return false;
        }
        self.begin_access();
        self.learning.hit();
        self.set_frequency(object, frequency.saturating_add(1));
        if state == State::Probation {
            if demoted {
                self.grow_reused();
                self.end_demotion(object);
            }
            if self.reused.len() >= self.reused_size {
                self.demote_oldest();
            }
        }
        self.place(object, State::Reused);
        true
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let object = access.object.0;
        self.begin_access();
        let Entry { state, frequency, fresh, .. } = self.objects[access.object.index()];
        // The object leaves its history before another one enters it.
        self.place(object, State::None);
        self.objects[access.object.index()] = Entry::default();
        let full = self.len() >= self.capacity;
        let remembered = match state {
            State::LeftByRecency => {
                if fresh {
                    self.fresh_left -= 1;
                    self.grow_probation();
                }
                self.regret(self.learning.penalty(), 1.0);
                true
            }
            State::LeftByFrequency => {
                self.regret(1.0, self.learning.penalty());
                true
            }
            State::None | State::Reused | State::Probation => false,
        };
        let left = if full { self.evict() } else { None };
        if remembered {
            self.set_frequency(object, frequency);
            self.place(object, State::Reused);
            self.limit_reused();
            return left;
        }
        self.set_frequency(object, 1);
        if !full && self.probation.is_empty() && self.reused.len() < self.reused_size {
            self.place(object, State::Reused);
        } else if !full && self.probation.len() < self.capacity - self.reused_size {
            self.place(object, State::Probation);
        } else {
            self.objects[access.object.index()].fresh = true;
            self.place(object, State::Probation);
            self.limit_reused();
        }
        left
    }

    fn remove(&mut self, object: ObjectId) {
        if self.holds(object) {
            self.end_demotion(object.0);
            self.by_frequency.remove(object.0);
            self.place(object.0, State::None);
            self.objects[object.index()] = Entry::default();
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let oldest = self.probation.first().or(self.reused.first())?;
        let rarest = self.by_frequency.first()?;
        let by_recency = self.rng.unit() < self.recency_weight;
        let left = if by_recency { oldest } else { rarest };
        self.end_demotion(left);
        self.by_frequency.remove(left);
        if oldest == rarest {
            // Both experts would have evicted it, so nothing can be learned from it.
            self.place(left, State::None);
            self.objects[left as usize] = Entry::default();
        } else if by_recency {
            self.fresh_left += u32::from(self.objects[left as usize].fresh);
            self.place(left, State::LeftByRecency);
        } else {
            self.place(left, State::LeftByFrequency);
        }
        self.forget();
        Some(ObjectId(left))
    }

    fn len(&self) -> u32 {
        self.reused.len() + self.probation.len()
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        let reused_size = u64::from(self.reused_size) * u64::from(capacity) / u64::from(self.capacity);
        self.reused_size = reused_size as u32;
        self.capacity = capacity;
        self.learning.set_period(capacity);
        self.forget();
    }

    fn memory_bytes(&self) -> usize {
        self.objects.capacity() * size_of::<Entry>() + self.by_frequency.memory_bytes()
    }
}

#[cfg(test)]
pub(super) const REFERENCE: Reference = Reference {
    policy: ENTRY.name,
    naive: |shape| Box::new(NaiveCacheus::new(shape.capacity as usize, shape.seed)),
    // As found here; exponentials may differ in their last digit between machines.
    misses: [94_475, 85_940],
    tolerance: 340,
};
