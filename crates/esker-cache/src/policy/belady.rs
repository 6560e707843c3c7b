//! Belady's optimum.

use std::cmp::Reverse;

use esker_core::registry::ParameterSource;

#[cfg(test)]
use super::tests::Reference;
use super::{Replacement, ReplacementCapability, ReplacementEntry, Shape};
use crate::heap::Heap;
#[cfg(test)]
use crate::reference::NaiveBelady;
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "belady",
    summary: "the object whose next use is furthest in the future leaves first: no policy that takes in every \
              miss misses less",
    source: "Belady 1966; every object that misses is taken in",
    parameters: ParameterSource::NONE,
    capabilities: &[ReplacementCapability::Future, ReplacementCapability::Compared],
    build: |shape, _| Box::new(Belady::new(shape)),
};

/// The objects in the order of their next use, the latest first.
#[derive(Debug)]
struct Belady {
    capacity: u32,
    by_next_use: Heap<Reverse<u32>>,
}

impl Belady {
    fn new(shape: &Shape) -> Self {
        Self { capacity: shape.capacity, by_next_use: Heap::new(shape.objects, shape.capacity) }
    }
}

impl Replacement for Belady {
    fn holds(&self, object: ObjectId) -> bool {
        self.by_next_use.contains(object.0)
    }

    fn hit(&mut self, access: &Access) -> bool {
        let held = self.by_next_use.contains(access.object.0);
        if held {
            self.by_next_use.set(access.object.0, Reverse(access.next_use));
        }
        held
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let left = if self.by_next_use.len() >= self.capacity { self.evict() } else { None };
        self.by_next_use.set(access.object.0, Reverse(access.next_use));
        left
    }

    fn remove(&mut self, object: ObjectId) {
        self.by_next_use.remove(object.0);
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let last = self.by_next_use.first()?;
        self.by_next_use.remove(last);
        Some(ObjectId(last))
    }

    fn len(&self) -> u32 {
        self.by_next_use.len()
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
    }

    fn memory_bytes(&self) -> usize {
        self.by_next_use.memory_bytes()
    }

    fn warm(&self, accesses: &[Access]) {
        self.by_next_use.warm(accesses);
    }
}

#[cfg(test)]
pub(super) const REFERENCE: Reference = Reference {
    policy: ENTRY.name,
    naive: |shape| Box::new(NaiveBelady { capacity: shape.capacity as usize, held: Vec::new() }),
    misses: [90_255, 71_620],
    tolerance: 0,
};
