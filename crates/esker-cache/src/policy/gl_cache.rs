//! GL-Cache: objects are grouped as they are written, and a model that is trained on the way says which groups leave.
//!
//! The utility of a group at some time is the sum over its objects of one over the time until each is next used; all
//! objects take the same room here. When objects have to leave, the group with the least predicted utility and its
//! neighbours become one group, which keeps the objects that were used last.

mod groups;
pub(crate) mod learner;
#[cfg(test)]
mod tests;
mod training;

use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource};
use esker_core::{Ratio, Rng};

use self::groups::Groups;
use self::learner::{BoostedTrees, Features, Learner};
use self::training::Training;
use super::{Replacement, ReplacementCapability, ReplacementEntry, Shape};
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "gl-cache",
    summary: "boosted trees learn how useful groups of objects written together are; the least useful leave",
    source: "Yang et al. 2023; time is counted in accesses, further differences in docs/caches.md",
    parameters: ParameterSource::Listed(&[
        Parameter {
            name: "group",
            meaning: "objects in a group; fewer if the cache would otherwise have fewer than 100 groups",
            value: Accepted::Count { default: Fallback::Value(60), least: 1, most: 1_000_000 },
        },
        Parameter {
            name: "merged",
            meaning: "neighbouring groups of which one is made when objects have to leave; it keeps as many as fill it",
            value: Accepted::Count { default: Fallback::Value(2), least: 2, most: 100 },
        },
        Parameter {
            name: "ranked",
            meaning: "groups that are merged before all are ranked again, as a share of the groups; at least one",
            value: Accepted::Share { default: Ratio::percent(5), least: Ratio::ZERO, most: Ratio::ONE },
        },
        Parameter {
            name: "training",
            meaning: "accesses from one training to the next, as a share of the objects that fit; at least 1 000",
            value: Accepted::Share {
                default: Ratio::percent(400),
                least: Ratio::percent(1),
                most: Ratio::percent(1_000_000),
            },
        },
    ]),
    capabilities: &[ReplacementCapability::Trains],
    build: |shape, parameters| {
        let settings = Settings {
            group: parameters.count("group") as u32,
            merged: parameters.count("merged") as u32,
            ranked: parameters.share("ranked"),
            training: parameters.share("training"),
        };
        Box::new(GlCache::new(shape, settings, BoostedTrees::default()))
    },
};

/// A cache has so many groups, if it has room for as many objects.
const GROUPS_LEAST: u32 = 100;

/// Accesses between trainings, at least.
const TRAINING_LEAST: u64 = 1_000;

#[derive(Clone, Copy, Debug)]
struct Settings {
    group: u32,
    merged: u32,
    ranked: Ratio,
    training: Ratio,
}

/// Groups leave in turn until the model `L` is first trained.
#[derive(Debug)]
struct GlCache<L> {
    capacity: u32,
    settings: Settings,
    /// Objects of a group.
    size: u32,
    groups: Groups,
    training: Training,
    learner: L,
    /// The groups that are to leave by the last ranking, the first of them last.
    ranking: Vec<u32>,
    /// Accesses so far; wraps after 2^32.
    now: u32,
    /// Accesses until the next training.
    until_training: u64,
    rng: Rng,
}

impl<L: Learner> GlCache<L> {
    fn new(shape: &Shape, settings: Settings, learner: L) -> Self {
        let mut cache = Self {
            capacity: 0,
            settings,
            size: 0,
            groups: Groups::new(shape.objects),
            training: Training::default(),
            learner,
            ranking: Vec::new(),
            now: 0,
            until_training: 0,
            rng: Rng::derive(shape.seed, "gl-cache"),
        };
        cache.set_capacity(shape.capacity);
        cache
    }

    /// An access to an object, which hits or is taken in.
    #[inline]
    fn begin_access(&mut self, object: u32) {
        self.now = self.now.wrapping_add(1);
        let row = self.groups.take_row(object);
        self.training.used(row, self.now);
        self.until_training = self.until_training.saturating_sub(1);
        if self.until_training == 0 && self.training.has_begun() {
            self.train();
        }
    }

    /// Learns from the samples so far, and takes another one.
    fn train(&mut self) {
        let (rows, utilities) = self.training.rows();
        self.learner.train(rows, utilities);
        self.sample();
    }

    fn sample(&mut self) {
        self.training.sample(&mut self.groups, self.now, &mut self.rng);
        self.until_training = self.settings.training.of(u64::from(self.capacity)).max(TRAINING_LEAST);
    }

    /// Chooses objects that are to leave.
    fn choose(&mut self) {
        if !self.training.has_begun() {
            self.sample();
        }
        while !self.groups.any_leaving() {
            match self.least_useful() {
                Some(group) => self.groups.merge(group, self.settings.merged, self.size, self.now),
                // All objects are in the open group, if there are any.
                None if self.groups.close(self.now) => (),
                None => return,
            }
        }
    }

    fn least_useful(&mut self) -> Option<u32> {
        if !self.learner.is_trained() {
            return self.groups.next_in_turn(self.settings.merged);
        }
        loop {
            match self.ranking.pop() {
                Some(group) if self.groups.take_rank(group) => return Some(group),
                // It is part of another one by now.
                Some(_) => (),
                None if self.groups.full() == 0 => return None,
                None => self.rank(),
            }
        }
    }

    fn rank(&mut self) {
        let features: Vec<Features> = self.groups.iter().map(|group| self.groups.features(group, self.now)).collect();
        let mut by_utility: Vec<(f64, u32)> =
            self.learner.predict(&features).into_iter().zip(self.groups.iter()).collect();
        // Among equals, the one that stands first in the chain.
        by_utility.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let last = self.settings.ranked.of(by_utility.len() as u64).max(1);
        self.ranking.extend(by_utility.iter().take(last as usize).rev().map(|(_, group)| *group));
        self.ranking.iter().for_each(|group| self.groups.rank_last(*group));
    }
}

impl<L: Learner> Replacement for GlCache<L> {
    fn holds(&self, object: ObjectId) -> bool {
        self.groups.holds(object.0)
    }

    fn hit(&mut self, access: &Access) -> bool {
        let held = self.groups.holds(access.object.0);
        if held {
            self.begin_access(access.object.0);
            self.groups.hit(access.object.0, access.bytes, self.now, self.size);
        }
        held
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        self.begin_access(access.object.0);
        let left = if self.len() >= self.capacity { self.evict() } else { None };
        self.groups.write(access.object.0, access.bytes, self.now, self.size);
        left
    }

    fn remove(&mut self, object: ObjectId) {
        self.groups.forget(object.0);
    }

    fn evict(&mut self) -> Option<ObjectId> {
        if !self.groups.any_leaving() {
            self.choose();
        }
        self.groups.leave().map(ObjectId)
    }

    fn len(&self) -> u32 {
        self.groups.held()
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
        self.size = self.settings.group.min(capacity / GROUPS_LEAST).max(1);
    }

    fn memory_bytes(&self) -> usize {
        self.groups.memory_bytes()
            + self.training.memory_bytes()
            + self.learner.memory_bytes()
            + self.ranking.capacity() * size_of::<u32>()
    }

    fn warm(&self, accesses: &[Access]) {
        let sum = accesses.iter().fold(0, |sum, access| sum ^ self.groups.touch(access.object.0));
        std::hint::black_box(sum);
    }
}
