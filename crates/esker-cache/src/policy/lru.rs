//! Least recently used.

use esker_core::registry::ParameterSource;

use super::one_queue::{HELD, OneQueue, Queue, Rule};
#[cfg(test)]
use super::tests::Reference;
use super::{ReplacementCapability, ReplacementEntry};
use crate::ObjectId;
#[cfg(test)]
use crate::reference::NaiveLru;

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "lru",
    summary: "the object whose last use is longest ago leaves first",
    source: "folklore",
    parameters: ParameterSource::NONE,
    capabilities: &[ReplacementCapability::Compared, ReplacementCapability::BySize],
    build: |shape, _| Box::new(OneQueue::<Lru>::new(shape)),
};

/// The queue is in the order of last use.
#[derive(Debug, Default)]
struct Lru;

impl Rule for Lru {
    #[inline]
    fn used(&mut self, queue: &mut Queue, object: ObjectId) {
        queue.shift(HELD, HELD, object);
    }

    #[inline]
    fn victim(&mut self, queue: &mut Queue) -> Option<ObjectId> {
        queue.first(HELD)
    }
}

#[cfg(test)]
pub(super) const REFERENCE: Reference = Reference {
    policy: ENTRY.name,
    naive: |shape| Box::new(NaiveLru { capacity: shape.capacity as usize, held: Vec::new() }),
    misses: [95_415, 91_657],
    tolerance: 0,
};
