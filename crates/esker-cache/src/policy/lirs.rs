//! LIRS: the low inter-reference recency set. Objects whose last two uses lay close together (LIR) keep nearly all of
//! the cache; all others (HIR) pass through a small queue.
//!
//! As in section 3 of the paper. The stack S holds the LIR objects and all objects that were used since the least
//! recently used LIR object, even if they have left the cache. The queue Q holds the HIR objects of the cache. The
//! paper does not limit the length of the stack. Here it holds at most `stack` objects; beyond that, it forgets the
//! object that left the cache first. An object of the cache that has left the stack and is used again stays HIR, as in
//! the paper; some implementations then make room for it among the LIR objects.

use esker_core::Ratio;
use esker_core::registry::{Accepted, Parameter, ParameterSource};

use super::queues::{NOWHERE, Queues};
#[cfg(test)]
use super::tests::Reference;
use super::{Replacement, ReplacementCapability, ReplacementEntry, Shape};
#[cfg(test)]
use crate::reference::NaiveLirs;
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "lirs",
    summary: "objects whose last two uses lay close together keep the cache, all others pass through a small queue",
    source: "Jiang, Zhang, SIGMETRICS 2002",
    parameters: ParameterSource::Listed(&[
        Parameter {
            name: "hir",
            meaning: "share of the cache for the others, at least one object",
            value: Accepted::Share { default: Ratio::percent(1), least: Ratio::ZERO, most: Ratio::ONE },
        },
        Parameter {
            name: "stack",
            meaning: "objects on the stack, held and left ones, as a share of the cache",
            value: Accepted::Share { default: Ratio::percent(200), least: Ratio::ONE, most: Ratio::percent(10_000) },
        },
    ]),
    capabilities: &[ReplacementCapability::Compared],
    build: |shape, parameters| Box::new(Lirs::new(shape, parameters.share("hir"), parameters.share("stack"))),
};

/// The state of an object: its mark in the stack, whether or not it is on the stack.
const UNKNOWN: u8 = 0;
/// In the cache, and used again soon.
const LIR: u8 = 1;
/// In the cache, and in the queue.
const HIR: u8 = 2;
/// Not in the cache, but on the stack.
const LEFT: u8 = 3;

/// The queue of the objects that are `HIR` (Q).
const RESIDENT: u8 = 0;
/// The objects that are `LEFT`, in the order in which they left.
const GHOSTS: u8 = 1;

#[derive(Debug)]
struct Lirs {
    capacity: u32,
    shares: (Ratio, Ratio),
    lir: u32,
    lir_most: u32,
    stack_most: u32,
    /// In the order of last use (S). The first one is `LIR`.
    stack: Queues<1>,
    queues: Queues<2>,
}

impl Lirs {
    fn new(shape: &Shape, hir: Ratio, stack: Ratio) -> Self {
        let (queues, objects) = (Queues::new(shape.objects), Queues::new(shape.objects));
        let shares = (hir, stack);
        let mut lirs = Self { capacity: 0, shares, lir: 0, lir_most: 0, stack_most: 0, stack: objects, queues };
        lirs.set_capacity(shape.capacity);
        lirs
    }

    /// Puts an object on top of the stack.
    #[inline]
    fn raise(&mut self, object: ObjectId) {
        match self.stack.place(object) {
            NOWHERE => self.stack.push(0, object),
            _ => self.stack.shift(0, 0, object),
        }
    }

    /// Makes an object of the stack `LIR`. If there are too many now, the lowest ones of the stack become `HIR`.
    fn promote(&mut self, object: ObjectId) {
        self.stack.set_mark(object, LIR);
        self.lir += 1;
        self.demote();
    }

    fn demote(&mut self) {
        while self.lir > self.lir_most {
            let Some(first) = self.stack.pop(0) else { break };
            self.stack.set_mark(first, HIR);
            self.lir -= 1;
            self.queues.push(RESIDENT, first);
            self.prune();
        }
    }

    /// Takes everything below the last `LIR` object off the stack.
    #[inline]
    fn prune(&mut self) {
        while let Some(first) = self.stack.first(0) {
            match self.stack.mark(first) {
                LIR => break,
                LEFT => self.forget(first),
                _ => self.stack.take(0, first),
            }
        }
    }

    /// Takes an object that has left the cache off the stack.
    fn forget(&mut self, object: ObjectId) {
        self.stack.take(0, object);
        self.stack.set_mark(object, UNKNOWN);
        self.queues.take(GHOSTS, object);
    }

    /// Forgets objects that have left the cache until the stack is no longer than its limit.
    fn limit(&mut self) {
        while self.stack.len(0) > self.stack_most {
            let Some(first) = self.queues.first(GHOSTS) else { break };
            self.forget(first);
        }
    }
}

impl Replacement for Lirs {
    fn holds(&self, object: ObjectId) -> bool {
        matches!(self.stack.mark(object), LIR | HIR)
    }

    fn hit(&mut self, access: &Access) -> bool {
        let object = access.object;
        match self.stack.mark(object) {
            LIR => {
                self.stack.shift(0, 0, object);
                self.prune();
            }
            HIR if self.stack.place(object) != NOWHERE => {
                self.stack.shift(0, 0, object);
                self.queues.take(RESIDENT, object);
                self.promote(object);
            }
            HIR => {
                self.stack.push(0, object);
                self.queues.shift(RESIDENT, RESIDENT, object);
                self.prune();
                self.limit();
            }
            _ => return false,
        }
        true
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let object = access.object;
        let left = if self.len() >= self.capacity { self.evict() } else { None };
        // Checked after the eviction, which may have pruned the object off the stack.
        let known = self.stack.mark(object) == LEFT;
        if known {
            self.queues.take(GHOSTS, object);
        }
        self.raise(object);
        if known || self.lir < self.lir_most {
            self.promote(object);
        } else {
            self.stack.set_mark(object, HIR);
            self.queues.push(RESIDENT, object);
            self.prune();
        }
        self.limit();
        left
    }

    fn remove(&mut self, object: ObjectId) {
        match self.stack.mark(object) {
            LIR => self.lir -= 1,
            HIR => self.queues.take(RESIDENT, object),
            _ => return,
        }
        self.stack.set_mark(object, UNKNOWN);
        if self.stack.place(object) != NOWHERE {
            self.stack.take(0, object);
            self.prune();
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        let Some(first) = self.queues.pop(RESIDENT) else {
            let last = self.stack.first(0)?;
            self.remove(last);
            return Some(last);
        };
        if self.stack.place(first) == NOWHERE {
            self.stack.set_mark(first, UNKNOWN);
        } else {
            self.stack.set_mark(first, LEFT);
            self.queues.push(GHOSTS, first);
        }
        Some(first)
    }

    fn len(&self) -> u32 {
        self.lir + self.queues.len(RESIDENT)
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        let (hir, stack) = self.shares;
        self.capacity = capacity;
        self.lir_most = capacity - (hir.of(u64::from(capacity)) as u32).clamp(1, capacity);
        self.stack_most = u32::try_from(stack.of(u64::from(capacity))).unwrap_or(u32::MAX);
        self.demote();
        self.limit();
    }

    fn memory_bytes(&self) -> usize {
        self.stack.memory_bytes() + self.queues.memory_bytes()
    }

    fn warm(&self, accesses: &[Access]) {
        self.stack.warm(accesses);
    }
}

#[cfg(test)]
pub(super) const REFERENCE: Reference = Reference {
    policy: ENTRY.name,
    naive: |shape| Box::new(NaiveLirs::new(shape.capacity as usize, 1, 200)),
    misses: [94_678, 85_609],
    tolerance: 0,
};
