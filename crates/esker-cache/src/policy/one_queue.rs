//! Policies that keep a single queue of the objects in the cache. They differ in the effect of a use, and in which
//! object leaves.

use std::fmt::Debug;

use super::queues::{NOWHERE, Queues};
use super::{Replacement, Shape};
use crate::{Access, ObjectId};

/// The only queue. New objects go to its end.
pub(super) type Queue = Queues<1>;

/// The number of that queue.
pub(super) const HELD: u8 = 0;

/// What distinguishes such policies.
pub(super) trait Rule: Debug + Default + Send {
    /// Handles another use of an object in the queue.
    fn used(&mut self, queue: &mut Queue, object: ObjectId);

    /// Returns the object that leaves next, which stays in the queue for now. `None` if the queue is empty.
    fn victim(&mut self, queue: &mut Queue) -> Option<ObjectId>;

    /// Called when an object is about to be taken out of the queue.
    fn leaves(&mut self, _queue: &mut Queue, _object: ObjectId) {}
}

/// A policy with one queue.
#[derive(Debug)]
pub(super) struct OneQueue<R> {
    capacity: u32,
    queue: Queue,
    rule: R,
}

impl<R: Rule> OneQueue<R> {
    /// Creates a cache without objects.
    pub(super) fn new(shape: &Shape) -> Self {
        Self { capacity: shape.capacity, queue: Queue::new(shape.objects), rule: R::default() }
    }
}

impl<R: Rule> Replacement for OneQueue<R> {
    #[inline]
    fn holds(&self, object: ObjectId) -> bool {
        self.queue.place(object) != NOWHERE
    }

    #[inline]
    fn hit(&mut self, access: &Access) -> bool {
        let hit = self.holds(access.object);
        if hit {
            self.rule.used(&mut self.queue, access.object);
        }
        hit
    }

    #[inline]
    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let left = if self.len() >= self.capacity { self.evict() } else { None };
        self.queue.push(HELD, access.object);
        left
    }

    #[inline]
    fn remove(&mut self, object: ObjectId) {
        if self.holds(object) {
            self.rule.leaves(&mut self.queue, object);
            self.queue.take(HELD, object);
        }
    }

    #[inline]
    fn evict(&mut self) -> Option<ObjectId> {
        let victim = self.rule.victim(&mut self.queue)?;
        self.remove(victim);
        Some(victim)
    }

    fn len(&self) -> u32 {
        self.queue.len(HELD)
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
    }

    fn memory_bytes(&self) -> usize {
        self.queue.memory_bytes()
    }

    fn warm(&self, accesses: &[Access]) {
        self.queue.warm(accesses);
    }
}
