//! Greedy Dual-Size Frequency: large objects have to be used more often than small ones to stay.
//!
//! The worth of an object is the number of its uses since it came, divided by its size. The object with the least worth
//! leaves. Objects that were used often long ago must not stay forever, so each use also adds the worth of the last
//! evicted object. Of equal objects, the least recently used one leaves first. If all objects take the same room, their
//! sizes count as equal, and the policy is least frequently used with ageing (LFU-DA).

use esker_core::registry::ParameterSource;

#[cfg(test)]
use super::tests::Reference;
use super::{Replacement, ReplacementCapability, ReplacementEntry, Shape};
use crate::heap::Heap;
#[cfg(test)]
use crate::reference::NaiveGdsf;
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "gdsf",
    summary: "the object with the fewest uses for its size leaves first; uses of long ago count less",
    source: "Cherkasova, \"Improving WWW proxies performance with Greedy-Dual-Size-Frequency caching policy\", \
             HPL-98-69, 1998, with the same cost for every miss",
    parameters: ParameterSource::NONE,
    capabilities: &[ReplacementCapability::BySize],
    build: |shape, _| Box::new(Gdsf::new(shape)),
};

#[derive(Debug)]
struct Gdsf {
    capacity: u32,
    by_size: bool,
    /// The worth of the last object that left: the paper's clock.
    age: f64,
    /// Accesses so far.
    now: u64,
    objects: Heap<Worth>,
}

/// The worth of an object. The least worth is first. No two objects have the same last use, so that the fields after it
/// do not affect the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Worth {
    /// Bits of the worth. Worths are not negative, and such numbers have the same order as their bits.
    worth: u64,
    last_use: u64,
    uses: u32,
    size: u32,
}

impl Gdsf {
    fn new(shape: &Shape) -> Self {
        let objects = Heap::new(shape.objects, shape.capacity);
        Self { capacity: shape.capacity, by_size: false, age: 0.0, now: 0, objects }
    }

    #[inline]
    fn used(&mut self, object: ObjectId, uses: u32, size: u32) {
        self.now += 1;
        let worth = self.age + f64::from(uses) / f64::from(size);
        self.objects.set(object.0, Worth { worth: worth.to_bits(), last_use: self.now, uses, size });
    }
}

impl Replacement for Gdsf {
    fn holds(&self, object: ObjectId) -> bool {
        self.objects.contains(object.0)
    }

    fn hit(&mut self, access: &Access) -> bool {
        let Some(Worth { uses, size, .. }) = self.objects.key(access.object.0) else { return false };
        self.used(access.object, uses.saturating_add(1), size);
        true
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let left = if self.len() >= self.capacity { self.evict() } else { None };
        let size = if self.by_size { access.bytes.max(1) } else { 1 };
        self.used(access.object, 1, size);
        left
    }

    fn remove(&mut self, object: ObjectId) {
        self.objects.remove(object.0);
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let first = self.objects.first()?;
        self.age = f64::from_bits(self.objects.key(first)?.worth);
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

    fn weigh_by_size(&mut self) {
        self.by_size = true;
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
    naive: |shape| Box::new(NaiveGdsf::new(shape.capacity as usize, true)),
    // To the four digits of a miss ratio that libCacheSim prints.
    misses: [94_685, 91_394],
    tolerance: 6,
};
