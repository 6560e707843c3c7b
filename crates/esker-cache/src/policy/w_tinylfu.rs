//! W-TinyLFU: a small window before a segmented LRU cache that takes in what is used more often than its victim.

mod sketch;

use esker_core::Ratio;
use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource, Parameters};

use self::sketch::Sketch;
use super::queues::{NOWHERE, Queues};
use super::{Replacement, ReplacementCapability, ReplacementEntry, Shape};
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "w-tinylfu",
    summary: "a small LRU window; what leaves it enters segmented LRU if it was used more often than the victim",
    source: "Einziger, Friedman and Manes 2017, without a doorkeeper; counts and their ageing much as in libCacheSim",
    parameters: ParameterSource::Listed(&[
        Parameter {
            name: "window",
            meaning: "share of the cache that is the window, at least one object",
            value: Accepted::Share { default: Ratio::percent(1), least: Ratio::ZERO, most: Ratio::ONE },
        },
        Parameter {
            name: "protected",
            meaning: "most of the rest that the protected segment may take",
            value: Accepted::Share { default: Ratio::percent(80), least: Ratio::ZERO, most: Ratio::ONE },
        },
        Parameter {
            name: "sample",
            meaning: "hits outside the window, for each object of the cache, after which all counts are halved",
            value: Accepted::Count { default: Fallback::Value(32), least: 1, most: 1_000_000 },
        },
    ]),
    capabilities: &[ReplacementCapability::Compared],
    build: |shape, parameters| Box::new(WTinyLfu::new(shape, parameters)),
};

/// Three queues, the least recently used object first. All uses count. What leaves the window counts once more, and
/// only hits outside the window let counts age: both are libCacheSim's, and move the miss ratio by a hundredth or two.
#[derive(Debug)]
struct WTinyLfu {
    capacity: u32,
    window_share: Ratio,
    protected_share: Ratio,
    queues: Queues<3>,
    /// How often objects were used lately.
    sketch: Sketch,
}

const WINDOW: u8 = 0;
const PROBATION: u8 = 1;
const PROTECTED: u8 = 2;

impl WTinyLfu {
    fn new(shape: &Shape, parameters: Parameters<'_>) -> Self {
        Self {
            capacity: shape.capacity,
            window_share: parameters.share("window"),
            protected_share: parameters.share("protected"),
            queues: Queues::new(shape.objects),
            sketch: Sketch::new(shape.capacity.min(shape.objects), parameters.count("sample"), shape.seed),
        }
    }

    fn window_size(&self) -> u32 {
        self.window_share.of(u64::from(self.capacity)).max(1) as u32
    }

    fn protected_size(&self) -> u32 {
        self.protected_share.of(u64::from(self.capacity - self.window_size())) as u32
    }

    /// The protected segment is too long by one, or, if the cache has shrunk, by more.
    fn limit_protected(&mut self) {
        while self.queues.len(PROTECTED) > self.protected_size()
            && let Some(oldest) = self.queues.first(PROTECTED)
        {
            self.queues.shift(PROTECTED, PROBATION, oldest);
        }
    }

    /// The object that would leave the main part next.
    fn victim(&self) -> Option<ObjectId> {
        self.queues.first(PROBATION).or(self.queues.first(PROTECTED))
    }

    fn is_used_more(&self, candidate: ObjectId, victim: ObjectId) -> bool {
        self.sketch.count(candidate.0) > self.sketch.count(victim.0)
    }
}

impl Replacement for WTinyLfu {
    fn holds(&self, object: ObjectId) -> bool {
        self.queues.place(object) != NOWHERE
    }

    fn hit(&mut self, access: &Access) -> bool {
        let object = access.object;
        let place = self.queues.place(object);
        if place == NOWHERE {
            return false;
        }
        self.sketch.add(object.0);
        if place == WINDOW {
            self.queues.shift(WINDOW, WINDOW, object);
        } else {
            self.queues.shift(place, PROTECTED, object);
            self.sketch.age();
            self.limit_protected();
        }
        true
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let object = access.object;
        self.sketch.add(object.0);
        self.queues.push(WINDOW, object);
        let overflows = self.queues.len(WINDOW) > self.window_size();
        let candidate = self.queues.first(WINDOW).filter(|_| overflows);
        let left = match (candidate, self.victim()) {
            _ if self.len() <= self.capacity => None,
            (Some(candidate), Some(victim)) if self.is_used_more(candidate, victim) => Some(victim),
            (Some(candidate), _) => Some(candidate),
            // The window has room, because it has grown: the main part has to give way.
            (None, Some(victim)) => Some(victim),
            (None, None) => Some(object),
        };
        if let Some(candidate) = candidate {
            self.sketch.add(candidate.0);
            self.queues.shift(WINDOW, PROBATION, candidate);
        }
        left.into_iter().for_each(|left| self.remove(left));
        left
    }

    fn remove(&mut self, object: ObjectId) {
        if self.holds(object) {
            self.queues.take(self.queues.place(object), object);
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let left = match (self.queues.first(WINDOW), self.victim()) {
            (Some(candidate), Some(victim)) if self.is_used_more(candidate, victim) => victim,
            (candidate, victim) => candidate.or(victim)?,
        };
        self.remove(left);
        Some(left)
    }

    fn len(&self) -> u32 {
        self.queues.len(WINDOW) + self.queues.len(PROBATION) + self.queues.len(PROTECTED)
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
        self.limit_protected();
    }

    fn memory_bytes(&self) -> usize {
        self.queues.memory_bytes() + self.sketch.memory_bytes()
    }

    fn warm(&self, accesses: &[Access]) {
        self.queues.warm(accesses);
    }
}
