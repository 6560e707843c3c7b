//! CLOCK: first in, first out, with a second chance for what was used meanwhile.

use esker_core::registry::ParameterSource;

use super::queues::{NOWHERE, Queues};
use super::{Replacement, ReplacementEntry, Shape};
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "clock",
    summary: "first in, first out, but what was used meanwhile goes round once more",
    source: "Corbato 1968; one bit, clear at insertion",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |shape, _| Box::new(Clock::new(shape)),
};

/// One queue, in the order in which objects were inserted or went round last. The mark of an object is one if it was
/// used since.
#[derive(Debug)]
struct Clock {
    capacity: u32,
    queues: Queues<1>,
}

const HELD: u8 = 0;

impl Clock {
    fn new(shape: &Shape) -> Self {
        Self { capacity: shape.capacity, queues: Queues::new(shape.objects) }
    }
}

impl Replacement for Clock {
    fn holds(&self, object: ObjectId) -> bool {
        self.queues.place(object) != NOWHERE
    }

    fn hit(&mut self, access: &Access) -> bool {
        let hit = self.holds(access.object);
        if hit {
            self.queues.set_mark(access.object, 1);
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
            self.queues.set_mark(object, 0);
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        loop {
            let first = self.queues.first(HELD)?;
            if self.queues.mark(first) == 0 {
                return self.queues.pop(HELD);
            }
            self.queues.set_mark(first, 0);
            self.queues.shift(HELD, HELD, first);
        }
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
