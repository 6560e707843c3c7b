//! ARC: the adaptive replacement cache. Objects used once and objects used again share the cache. The ids of objects
//! that have left show which of the two should have had more room.
//!
//! As in figure 4 of the paper, with the target `p` as a real number. The paper has no removals and no changes of the
//! capacity. Here, they keep its bounds: T1 and B1 together never know more objects than the cache may hold, all four
//! lists never more than twice as many.

use esker_core::registry::ParameterSource;

use super::queues::Queues;
#[cfg(test)]
use super::tests::Reference;
use super::{Replacement, ReplacementCapability, ReplacementEntry, Shape};
#[cfg(test)]
use crate::reference::NaiveArc;
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "arc",
    summary: "adaptive replacement cache: learns how much room objects used once deserve beside those used again",
    source: "Megiddo, Modha, FAST 2003",
    parameters: ParameterSource::NONE,
    capabilities: &[ReplacementCapability::Compared],
    build: |shape, _| Box::new(Arc::new(shape)),
};

/// Held, used once since it came (T1).
const ONCE: u8 = 0;
/// Held, used again (T2).
const AGAIN: u8 = 1;
/// Has left `ONCE`; only its id is known (B1).
const LEFT_ONCE: u8 = 2;
/// Has left `AGAIN`; only its id is known (B2).
const LEFT_AGAIN: u8 = 3;

/// Four queues, each in the order of last use.
#[derive(Debug)]
struct Arc {
    capacity: u32,
    /// Number of objects that `ONCE` should hold (p).
    target: f64,
    queues: Queues<4>,
}

impl Arc {
    fn new(shape: &Shape) -> Self {
        Self { capacity: shape.capacity, target: 0.0, queues: Queues::new(shape.objects) }
    }

    /// Returns the quotient of the lengths of two lists of objects that have left, at least one.
    fn step(&self, other: u8, this: u8) -> f64 {
        (f64::from(self.queues.len(other)) / f64::from(self.queues.len(this))).max(1.0)
    }

    /// Evicts an object and remembers its id (REPLACE). `again` means that room is made for an object of `LEFT_AGAIN`.
    #[inline]
    fn replace(&mut self, again: bool) -> Option<ObjectId> {
        let once = self.queues.len(ONCE);
        let much = f64::from(once) > self.target || (again && f64::from(once) == self.target);
        let (from, to) = match (once > 0 && much) || self.queues.is_empty(AGAIN) {
            true => (ONCE, LEFT_ONCE),
            false => (AGAIN, LEFT_AGAIN),
        };
        let first = self.queues.first(from)?;
        self.queues.shift(from, to, first);
        Some(first)
    }

    /// Forgets ids beyond the bounds, leaving room for `coming` new objects.
    fn forget(&mut self, coming: u32) {
        while self.queues.len(ONCE) + self.queues.len(LEFT_ONCE) + coming > self.capacity {
            if self.queues.pop(LEFT_ONCE).is_none() {
                break;
            }
        }
        let known = |queues: &Queues<4>| (ONCE..=LEFT_AGAIN).map(|queue| u64::from(queues.len(queue))).sum::<u64>();
        while known(&self.queues) + u64::from(coming) > 2 * u64::from(self.capacity) {
            if self.queues.pop(LEFT_AGAIN).is_none() {
                break;
            }
        }
    }
}

impl Replacement for Arc {
    fn holds(&self, object: ObjectId) -> bool {
        matches!(self.queues.place(object), ONCE | AGAIN)
    }

    fn hit(&mut self, access: &Access) -> bool {
        let place = self.queues.place(access.object);
        let hit = matches!(place, ONCE | AGAIN);
        if hit {
            self.queues.shift(place, AGAIN, access.object);
        }
        hit
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let place = self.queues.place(access.object);
        match place {
            LEFT_ONCE => {
                self.target = (self.target + self.step(LEFT_AGAIN, LEFT_ONCE)).min(f64::from(self.capacity));
            }
            LEFT_AGAIN => self.target = (self.target - self.step(LEFT_ONCE, LEFT_AGAIN)).max(0.0),
            // The cache holds only objects used once. The object that leaves is not remembered.
            _ if self.queues.len(ONCE) >= self.capacity => {
                let left = self.queues.pop(ONCE);
                self.queues.push(ONCE, access.object);
                return left;
            }
            _ => self.forget(1),
        }
        let left = if self.len() >= self.capacity { self.replace(place == LEFT_AGAIN) } else { None };
        match place {
            LEFT_ONCE | LEFT_AGAIN => self.queues.shift(place, AGAIN, access.object),
            _ => self.queues.push(ONCE, access.object),
        }
        left
    }

    fn remove(&mut self, object: ObjectId) {
        if self.holds(object) {
            self.queues.take(self.queues.place(object), object);
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let left = self.replace(false);
        self.forget(0);
        left
    }

    fn len(&self) -> u32 {
        self.queues.len(ONCE) + self.queues.len(AGAIN)
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
        self.target = self.target.min(f64::from(capacity));
        self.forget(0);
    }

    fn memory_bytes(&self) -> usize {
        self.queues.memory_bytes()
    }

    fn warm(&self, accesses: &[Access]) {
        self.queues.warm(accesses);
    }
}

#[cfg(test)]
pub(super) const REFERENCE: Reference = Reference {
    policy: ENTRY.name,
    naive: |shape| Box::new(NaiveArc::new(shape.capacity as usize)),
    misses: [94_228, 88_002],
    tolerance: 0,
};
