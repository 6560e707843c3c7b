//! Least recently used.

use esker_core::registry::ParameterSource;

use super::queues::{NOWHERE, Queues};
use super::{Replacement, ReplacementCapability, ReplacementEntry, Shape};
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "lru",
    summary: "the object whose last use is longest ago leaves first",
    source: "folklore",
    parameters: ParameterSource::NONE,
    capabilities: &[ReplacementCapability::Compared],
    build: |shape, _| Box::new(Lru::new(shape)),
};

/// One queue, in the order of last use.
#[derive(Debug)]
struct Lru {
    capacity: u32,
    queues: Queues<1>,
}

const HELD: u8 = 0;

impl Lru {
    fn new(shape: &Shape) -> Self {
        Self { capacity: shape.capacity, queues: Queues::new(shape.objects) }
    }
}

impl Replacement for Lru {
    fn holds(&self, object: ObjectId) -> bool {
        self.queues.place(object) != NOWHERE
    }

    fn hit(&mut self, access: &Access) -> bool {
        let hit = self.holds(access.object);
        if hit {
            self.queues.shift(HELD, HELD, access.object);
        }
        hit
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let left = if self.len() >= self.capacity { self.evict() } else { None };
        self.queues.push(HELD, access.object);
        left
    }

    fn remove(&mut self, object: ObjectId) {
        if self.holds(object) {
            self.queues.take(HELD, object);
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        self.queues.pop(HELD)
    }

    fn len(&self) -> u32 {
        self.queues.len(HELD)
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
    }

    fn memory_bytes(&self) -> usize {
        self.queues.memory_bytes()
    }

    fn warm(&self, accesses: &[Access]) {
        self.queues.warm(accesses);
    }
}
