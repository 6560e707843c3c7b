//! W-TinyLFU: a small window in front of a segmented LRU cache that admits objects that are used more often than its
//! victim.

mod climb;
mod sketch;

use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource, Parameters};
use esker_core::{Ratio, Rng};

use self::climb::Climb;
use self::sketch::Sketch;
use super::queues::{NOWHERE, Queues};
#[cfg(test)]
use super::tests::Reference;
use super::{Replacement, ReplacementCapability, ReplacementEntry, Shape};
#[cfg(test)]
use crate::reference::NaiveWTinyLfu;
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "w-tinylfu",
    summary: "a small LRU window; what leaves it enters segmented LRU \
             if it was used more often than the victim",
    source: "Einziger, Friedman and Manes 2017, without a doorkeeper; counters, their ageing and jitter as in \
             Caffeine; `adaptive` after Einziger, Eytan, Friedman and Manes 2018",
    parameters: ParameterSource::Listed(&[
        Parameter {
            name: "window",
            meaning: "share of the cache that is the window, at least one object; with `adaptive` at first",
            value: Accepted::Share { default: Ratio::percent(1), least: Ratio::ZERO, most: Ratio::ONE },
        },
        Parameter {
            name: "protected",
            meaning: "most of the rest that the protected segment may take",
            value: Accepted::Share { default: Ratio::percent(80), least: Ratio::ZERO, most: Ratio::ONE },
        },
        Parameter {
            name: "sample",
            meaning: "uses that changed a counter, for each object of the cache, after which all counts are halved",
            value: Accepted::Count { default: Fallback::Value(10), least: 1, most: 1_000_000 },
        },
        Parameter {
            name: "jitter",
            meaning: "one in 128 objects that were used six times or more lately enters whatever the victim's count \
                      is, so that nobody can fill the cache with objects that collide",
            value: Accepted::Flag { default: true },
        },
        Parameter {
            name: "adaptive",
            meaning: "the window grows and shrinks by hill climbing, after every ten accesses for each object of the \
                      cache",
            value: Accepted::Flag { default: false },
        },
    ]),
    capabilities: &[ReplacementCapability::Compared],
    build: |shape, parameters| Box::new(WTinyLfu::new(shape, parameters)),
};

/// Three queues, with the least recently used object first. Every access counts as a use.
#[derive(Debug)]
struct WTinyLfu {
    capacity: u32,
    window_share: Ratio,
    protected_share: Ratio,
    /// Number of objects that the window has room for.
    window_most: u32,
    /// Number of objects that the protected segment has room for.
    protected_most: u32,
    queues: Queues<3>,
    /// How often objects were used recently.
    sketch: Sketch,
    /// Chooses the warm objects that enter whatever they are compared with.
    jitter: Option<Rng>,
    climb: Option<Climb>,
}

/// An object that was used at least this often recently may enter by chance.
const WARM: u64 = 6;

/// One warm object in this many enters by chance.
const JITTER: u64 = 128;

const WINDOW: u8 = 0;
const PROBATION: u8 = 1;
const PROTECTED: u8 = 2;

impl WTinyLfu {
    fn new(shape: &Shape, parameters: Parameters<'_>) -> Self {
        let mut policy = Self {
            capacity: shape.capacity,
            window_share: parameters.share("window"),
            protected_share: parameters.share("protected"),
            window_most: 0,
            protected_most: 0,
            queues: Queues::new(shape.objects),
            sketch: Sketch::new(shape.capacity, shape.objects, parameters.count("sample"), shape.seed),
            jitter: parameters.flag("jitter").then(|| Rng::derive(shape.seed, "w-tinylfu")),
            climb: parameters.flag("adaptive").then(|| Climb::new(shape.capacity)),
        };
        policy.divide();
        policy
    }

    /// Gives the window and the protected segment their shares of the capacity.
    fn divide(&mut self) {
        // Rounding leftovers belong to the window.
        let main = self.window_share.complement().of(u64::from(self.capacity)) as u32;
        let main = main.min(self.capacity - 1);
        self.window_most = self.capacity - main;
        self.protected_most = self.protected_share.of(u64::from(main)) as u32;
    }

    /// Shortens the protected segment, which is one object too long, or more if it has lost room.
    fn limit_protected(&mut self) {
        while self.queues.len(PROTECTED) > self.protected_most
            && let Some(oldest) = self.queues.first(PROTECTED)
        {
            self.queues.shift(PROTECTED, PROBATION, oldest);
        }
    }

    /// Returns the object that would leave the main part next.
    fn victim(&self) -> Option<ObjectId> {
        self.queues.first(PROBATION).or(self.queues.first(PROTECTED))
    }

    /// Returns true if `candidate`, which leaves the window, stays in the cache and `victim` leaves for it.
    fn admits(&mut self, candidate: ObjectId, victim: ObjectId) -> bool {
        let count = self.sketch.count(candidate.0);
        count > self.sketch.count(victim.0)
            || count >= WARM && self.jitter.as_mut().is_some_and(|rng| rng.below(JITTER) == 0)
    }

    /// Tells the climber of an access, if the cache was full, and moves the border of the window.
    fn climb(&mut self, was_full: bool, hit: bool) {
        let Some(climb) = self.climb.as_mut().filter(|_| was_full) else { return };
        let amount = climb.access(hit);
        // At least one object remains in the window; the protected segment may become empty.
        let grows = amount.clamp(0, i64::from(self.protected_most)) as u32;
        let shrinks = (-amount).clamp(0, i64::from(self.window_most) - 1) as u32;
        self.window_most = self.window_most + grows - shrinks;
        self.protected_most = self.protected_most + shrinks - grows;
        self.limit_protected();
        let (from, to) = if grows > 0 { (PROBATION, WINDOW) } else { (WINDOW, PROBATION) };
        for _ in 0..grows.max(shrinks) {
            if let Some(first) = self.queues.first(from) {
                self.queues.shift(from, to, first);
            }
        }
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
            self.limit_protected();
        }
        self.climb(self.len() >= self.capacity, true);
        true
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let object = access.object;
        let was_full = self.len() >= self.capacity;
        self.sketch.add(object.0);
        self.queues.push(WINDOW, object);
        let overflows = self.queues.len(WINDOW) > self.window_most;
        let candidate = self.queues.first(WINDOW).filter(|_| overflows);
        let left = match (candidate, self.victim()) {
            _ if self.len() <= self.capacity => None,
            (Some(candidate), Some(victim)) if self.admits(candidate, victim) => Some(victim),
            (Some(candidate), _) => Some(candidate),
            // The window has room, because objects were removed from it. So the main part has to give way.
            (None, Some(victim)) => Some(victim),
            (None, None) => Some(object),
        };
        if let Some(candidate) = candidate {
            self.queues.shift(WINDOW, PROBATION, candidate);
        }
        left.into_iter().for_each(|left| self.remove(left));
        self.climb(was_full, false);
        left
    }

    fn remove(&mut self, object: ObjectId) {
        if self.holds(object) {
            self.queues.take(self.queues.place(object), object);
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let left = match (self.queues.first(WINDOW), self.victim()) {
            (Some(candidate), Some(victim)) if self.admits(candidate, victim) => victim,
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
        self.divide();
        self.limit_protected();
        while self.queues.len(WINDOW) > self.window_most
            && let Some(oldest) = self.queues.first(WINDOW)
        {
            self.queues.shift(WINDOW, PROBATION, oldest);
        }
        self.sketch.set_capacity(capacity);
        if let Some(climb) = &mut self.climb {
            climb.set_capacity(capacity);
        }
    }

    fn memory_bytes(&self) -> usize {
        self.queues.memory_bytes() + self.sketch.memory_bytes()
    }

    fn warm(&self, accesses: &[Access]) {
        self.queues.warm(accesses);
    }
}

#[cfg(test)]
pub(super) const REFERENCE: Reference = Reference {
    policy: ENTRY.name,
    naive: |shape| Box::new(NaiveWTinyLfu::new(shape.capacity as usize, shape.objects as usize, shape.seed, false)),
    // By the simulator of Caffeine 3.1.8 (`WindowTinyLfu`), within half a point of the miss ratio: other objects share
    // counters there, and other ones enter by jitter.
    misses: [94_867, 90_656],
    tolerance: 569,
};
