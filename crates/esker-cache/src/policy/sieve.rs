//! SIEVE: first in, first out, with a hand that spares in place what was used meanwhile.

use esker_core::registry::ParameterSource;

use super::queues::{NOWHERE, Queues};
use super::{Replacement, ReplacementCapability, ReplacementEntry, Shape};
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "sieve",
    summary: "a hand goes from old to new and takes what was not used since it last came by; nothing changes its place",
    source: "Zhang, Yang, Yue, Vigfusson and Rashmi 2024",
    parameters: ParameterSource::NONE,
    capabilities: &[ReplacementCapability::Compared],
    build: |shape, _| Box::new(Sieve::new(shape)),
};

/// One queue, in the order of insertion. The mark of an object is one if it was used since it was inserted, or since
/// the hand came by.
#[derive(Debug)]
struct Sieve {
    capacity: u32,
    queues: Queues<1>,
    /// The object that is looked at next; `None` stands for the oldest one.
    hand: Option<ObjectId>,
}

const HELD: u8 = 0;

impl Sieve {
    fn new(shape: &Shape) -> Self {
        Self { capacity: shape.capacity, queues: Queues::new(shape.objects), hand: None }
    }
}

impl Replacement for Sieve {
    fn holds(&self, object: ObjectId) -> bool {
        self.queues.place(object) != NOWHERE
    }

    fn hit(&mut self, access: &Access) -> bool {
        let held = self.holds(access.object);
        if held {
            self.queues.set_mark(access.object, 1);
        }
        held
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let left = if self.len() >= self.capacity { self.evict() } else { None };
        self.queues.push(HELD, access.object);
        left
    }

    fn remove(&mut self, object: ObjectId) {
        if self.holds(object) {
            if self.hand == Some(object) {
                self.hand = self.queues.next(object);
            }
            self.queues.take(HELD, object);
            self.queues.set_mark(object, 0);
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let mut hand = self.hand.or(self.queues.first(HELD))?;
        while self.queues.mark(hand) != 0 {
            self.queues.set_mark(hand, 0);
            hand = self.queues.next(hand).or(self.queues.first(HELD))?;
        }
        self.hand = Some(hand);
        self.remove(hand);
        Some(hand)
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
