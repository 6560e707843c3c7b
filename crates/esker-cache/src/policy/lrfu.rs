//! LRFU: everything between LRU and LFU, with a single parameter.
//!
//! Each use adds a worth of one, which halves after every 1/lambda accesses. The object with the least worth leaves.
//! All worths decay alike, so the order of objects changes only when they are used. They are kept in a heap, by the
//! logarithm of the worth that they would have had at the very first access. An object that leaves is forgotten. Of
//! equal objects, the least recently used one leaves first.
//!
//! The paper chooses lambda for each trace and cache size, between two ends: 0 is LFU alone, 1 is LRU alone. The
//! parameter here is lambda times the size, so that one value suits caches of any size; a cache whose capacity changes
//! later keeps its lambda. With the default, one halving in as many accesses as the cache holds objects, its miss ratio
//! is at most two thousandths above that of LRU, or below it, on every trace of docs/caches.md.

use std::cmp::Ordering;

use esker_core::Ratio;
use esker_core::registry::{Accepted, Parameter, ParameterSource};

#[cfg(test)]
use super::tests::Reference;
use super::{Replacement, ReplacementEntry, Shape};
use crate::heap::Heap;
#[cfg(test)]
use crate::reference::NaiveLrfu;
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "lrfu",
    summary: "each use adds a worth of one, which decays; the object worth least leaves",
    source: "Lee et al., IEEE Transactions on Computers 2001, whose lambda is `decay` over the objects of the cache",
    parameters: ParameterSource::Listed(&[Parameter {
        name: "decay",
        meaning: "how often a worth halves in as many accesses as the cache holds objects; 0 is least frequently used, \
                  as much as the cache holds is least recently used",
        value: Accepted::Share {
            default: Ratio::percent(100),
            least: Ratio::ZERO,
            most: Ratio::percent(1_000_000_000),
        },
    }]),
    capabilities: &[],
    build: |shape, parameters| Box::new(Lrfu::new(shape, parameters.share("decay"))),
};

#[derive(Debug)]
struct Lrfu {
    capacity: u32,
    /// A worth halves every 1/lambda accesses.
    lambda: f64,
    /// Accesses so far.
    now: u64,
    objects: Heap<Worth>,
}

/// The worth of an object. The object with the least worth is first.
#[derive(Clone, Copy, Debug)]
struct Worth {
    /// Logarithm (base 2) of the worth at the last use, converted to the time of the first access.
    order: f64,
    /// The worth at the last use (the paper's combined recency and frequency). Kept in addition to its logarithm, so
    /// that counts stay exact if nothing decays.
    worth: f64,
    last_use: u64,
}

impl Ord for Worth {
    fn cmp(&self, other: &Self) -> Ordering {
        // Logarithms are not negative, and such numbers have the same order as their bits.
        (self.order.to_bits(), self.last_use).cmp(&(other.order.to_bits(), other.last_use))
    }
}

impl PartialOrd for Worth {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Worth {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Worth {}

impl Lrfu {
    fn new(shape: &Shape, decay: Ratio) -> Self {
        let lambda = decay.as_f64() / f64::from(shape.capacity);
        Self { capacity: shape.capacity, lambda, now: 0, objects: Heap::new(shape.objects, shape.capacity) }
    }

    /// Records a use of an object, which then has this worth.
    #[inline]
    fn use_at(&mut self, object: ObjectId, worth: f64) {
        let order = worth.log2() + self.lambda * self.now as f64;
        self.objects.set(object.0, Worth { order, worth, last_use: self.now });
    }
}

impl Replacement for Lrfu {
    fn holds(&self, object: ObjectId) -> bool {
        self.objects.contains(object.0)
    }

    fn hit(&mut self, access: &Access) -> bool {
        let Some(Worth { worth, last_use, .. }) = self.objects.key(access.object.0) else { return false };
        self.now += 1;
        let decayed = worth * (-self.lambda * (self.now - last_use) as f64).exp2();
        self.use_at(access.object, 1.0 + decayed);
        true
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let left = if self.len() >= self.capacity { self.evict() } else { None };
        self.now += 1;
        self.use_at(access.object, 1.0);
        left
    }

    fn remove(&mut self, object: ObjectId) {
        self.objects.remove(object.0);
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let first = self.objects.first()?;
        self.objects.remove(first);
        Some(ObjectId(first))
    }

    fn len(&self) -> u32 {
        self.objects.len()
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
    }

    fn memory_bytes(&self) -> usize {
        self.objects.memory_bytes()
    }

    fn warm(&self, accesses: &[Access]) {
        self.objects.warm(accesses);
    }
}

#[cfg(test)]
pub(super) const REFERENCE: Reference = Reference {
    policy: ENTRY.name,
    naive: |shape| Box::new(NaiveLrfu::new(shape.capacity as usize, 1.0)),
    // As found here: others do not count it. It lies near lru or lfu.
    misses: [95_197, 91_446],
    tolerance: 0,
};
