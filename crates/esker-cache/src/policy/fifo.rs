//! First in, first out.

use esker_core::registry::ParameterSource;

use super::one_queue::{HELD, OneQueue, Queue, Rule};
#[cfg(test)]
use super::tests::Reference;
use super::{ReplacementCapability, ReplacementEntry};
use crate::ObjectId;
#[cfg(test)]
use crate::reference::NaiveFifo;

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "fifo",
    summary: "the object that came first leaves first, however often it is used",
    source: "folklore",
    parameters: ParameterSource::NONE,
    capabilities: &[ReplacementCapability::Compared, ReplacementCapability::Log, ReplacementCapability::BySize],
    build: |shape, _| Box::new(OneQueue::<Fifo>::new(shape)),
};

/// The queue stays in the order of insertion.
#[derive(Debug, Default)]
struct Fifo;

impl Rule for Fifo {
    #[inline]
    fn used(&mut self, _: &mut Queue, _: ObjectId) {}

    #[inline]
    fn victim(&mut self, queue: &mut Queue) -> Option<ObjectId> {
        queue.first(HELD)
    }
}

#[cfg(test)]
pub(super) const REFERENCE: Reference = Reference {
    policy: ENTRY.name,
    naive: |shape| Box::new(NaiveFifo { capacity: shape.capacity as usize, held: Vec::new() }),
    misses: [96_515, 91_716],
    tolerance: 0,
};
