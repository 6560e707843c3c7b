//! CLOCK: first in, first out, with a second chance for objects that were used meanwhile.

use esker_core::registry::ParameterSource;

use super::one_queue::{HELD, OneQueue, Queue, Rule};
#[cfg(test)]
use super::tests::Reference;
use super::{ReplacementCapability, ReplacementEntry};
use crate::ObjectId;
#[cfg(test)]
use crate::reference::NaiveClock;

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "clock",
    summary: "first in, first out, but what was used meanwhile goes round once more",
    source: "Corbato 1968; one bit, clear at insertion",
    parameters: ParameterSource::NONE,
    capabilities: &[ReplacementCapability::BySize],
    build: |shape, _| Box::new(OneQueue::<Clock>::new(shape)),
};

/// The queue is in the order in which objects were inserted or last went round. The mark of an object is one if it was
/// used since then.
#[derive(Debug, Default)]
struct Clock;

impl Rule for Clock {
    #[inline]
    fn used(&mut self, queue: &mut Queue, object: ObjectId) {
        queue.set_mark(object, 1);
    }

    #[inline]
    fn victim(&mut self, queue: &mut Queue) -> Option<ObjectId> {
        loop {
            let first = queue.first(HELD)?;
            if queue.mark(first) == 0 {
                return Some(first);
            }
            queue.set_mark(first, 0);
            queue.shift(HELD, HELD, first);
        }
    }

    #[inline]
    fn leaves(&mut self, queue: &mut Queue, object: ObjectId) {
        queue.set_mark(object, 0);
    }
}

#[cfg(test)]
pub(super) const REFERENCE: Reference = Reference {
    policy: ENTRY.name,
    naive: |shape| Box::new(NaiveClock { capacity: shape.capacity as usize, held: Vec::new() }),
    misses: [95_329, 91_599],
    tolerance: 0,
};
