//! SIEVE: first in, first out, with a hand that spares objects in place if they were used meanwhile.

use esker_core::registry::ParameterSource;

use super::one_queue::{HELD, OneQueue, Queue, Rule};
#[cfg(test)]
use super::tests::Reference;
use super::{ReplacementCapability, ReplacementEntry};
use crate::ObjectId;
#[cfg(test)]
use crate::reference::NaiveSieve;

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "sieve",
    summary: "a hand goes from old to new and takes what was not used since it last came by; nothing changes its place",
    source: "Zhang, Yang, Yue, Vigfusson and Rashmi 2024",
    parameters: ParameterSource::NONE,
    capabilities: &[ReplacementCapability::Compared, ReplacementCapability::BySize],
    build: |shape, _| Box::new(OneQueue::<Sieve>::new(shape)),
};

/// The queue stays in the order of insertion. The mark of an object is one if it was used since it was inserted, or
/// since the hand last passed it.
#[derive(Debug, Default)]
struct Sieve {
    /// The object that the hand checks next; `None` stands for the oldest one.
    hand: Option<ObjectId>,
}

impl Rule for Sieve {
    #[inline]
    fn used(&mut self, queue: &mut Queue, object: ObjectId) {
        queue.set_mark(object, 1);
    }

    #[inline]
    fn victim(&mut self, queue: &mut Queue) -> Option<ObjectId> {
        let mut hand = self.hand.or(queue.first(HELD))?;
        while queue.mark(hand) != 0 {
            queue.set_mark(hand, 0);
            hand = queue.next(hand).or(queue.first(HELD))?;
        }
        self.hand = Some(hand);
        Some(hand)
    }

    #[inline]
    fn leaves(&mut self, queue: &mut Queue, object: ObjectId) {
        if self.hand == Some(object) {
            self.hand = queue.next(object);
        }
        queue.set_mark(object, 0);
    }
}

#[cfg(test)]
pub(super) const REFERENCE: Reference = Reference {
    policy: ENTRY.name,
    naive: |shape| Box::new(NaiveSieve { capacity: shape.capacity as usize, held: Vec::new(), hand: 0 }),
    misses: [94_415, 90_040],
    tolerance: 0,
};
