//! 2Q, the full version: objects used once pass through a short queue. Objects that come back are kept by last use.
//!
//! As in figure 2 of the paper. An object whose id is found in A1out leaves that queue before room is made for it, so
//! that it never pushes itself out.

use esker_core::Ratio;
use esker_core::registry::{Accepted, Parameter, ParameterSource};

use super::queues::Queues;
#[cfg(test)]
use super::tests::Reference;
use super::{Replacement, ReplacementEntry, Shape};
#[cfg(test)]
use crate::reference::NaiveTwoQ;
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "2q",
    summary: "new objects pass through a short queue; those that come back soon after are kept by last use",
    source: "Johnson, Shasha, VLDB 1994, full version",
    parameters: ParameterSource::Listed(&[
        Parameter {
            name: "in",
            meaning: "share of the cache for objects that came a short time ago (Kin)",
            value: Accepted::Share { default: Ratio::percent(25), least: Ratio::ZERO, most: Ratio::ONE },
        },
        Parameter {
            name: "out",
            meaning: "ids of objects that have left which are remembered, as a share of the cache (Kout)",
            value: Accepted::Share { default: Ratio::percent(50), least: Ratio::ZERO, most: Ratio::percent(10_000) },
        },
    ]),
    capabilities: &[],
    build: |shape, parameters| Box::new(TwoQ::new(shape, parameters.share("in"), parameters.share("out"))),
};

/// In the cache for a short time, in the order of insertion (A1in).
const RECENT: u8 = 0;
/// In the cache, in the order of last use (Am).
const MAIN: u8 = 1;
/// Has left `RECENT`. Only its id is known, in the order of leaving (A1out).
const OUT: u8 = 2;

#[derive(Debug)]
struct TwoQ {
    capacity: u32,
    shares: (Ratio, Ratio),
    recent_most: u32,
    out_most: u32,
    queues: Queues<3>,
}

impl TwoQ {
    fn new(shape: &Shape, recent: Ratio, out: Ratio) -> Self {
        let queues = Queues::new(shape.objects);
        let mut two_q = Self { capacity: 0, shares: (recent, out), recent_most: 0, out_most: 0, queues };
        two_q.set_capacity(shape.capacity);
        two_q
    }

    fn forget(&mut self) {
        while self.queues.len(OUT) > self.out_most {
            self.queues.pop(OUT);
        }
    }
}

impl Replacement for TwoQ {
    fn holds(&self, object: ObjectId) -> bool {
        matches!(self.queues.place(object), RECENT | MAIN)
    }

    fn hit(&mut self, access: &Access) -> bool {
        match self.queues.place(access.object) {
            MAIN => {
                self.queues.shift(MAIN, MAIN, access.object);
                true
            }
            place => place == RECENT,
        }
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let known = self.queues.place(access.object) == OUT;
        if known {
            self.queues.take(OUT, access.object);
        }
        let left = if self.len() >= self.capacity { self.evict() } else { None };
        self.queues.push(if known { MAIN } else { RECENT }, access.object);
        left
    }

    fn remove(&mut self, object: ObjectId) {
        if self.holds(object) {
            self.queues.take(self.queues.place(object), object);
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        if self.queues.len(RECENT) > self.recent_most || self.queues.is_empty(MAIN) {
            let first = self.queues.first(RECENT)?;
            self.queues.shift(RECENT, OUT, first);
            self.forget();
            return Some(first);
        }
        self.queues.pop(MAIN)
    }

    fn len(&self) -> u32 {
        self.queues.len(RECENT) + self.queues.len(MAIN)
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        let (recent, out) = self.shares;
        self.capacity = capacity;
        self.recent_most = recent.of(u64::from(capacity)) as u32;
        self.out_most = u32::try_from(out.of(u64::from(capacity))).unwrap_or(u32::MAX);
        self.forget();
    }

    fn memory_bytes(&self) -> usize {
        self.queues.memory_bytes()
    }

    fn warm(&self, accesses: &[Access]) {
        self.queues.warm(accesses);
    }
}

#[cfg(test)]
pub(super) const REFERENCE: Reference = Reference {
    policy: ENTRY.name,
    naive: |shape| Box::new(NaiveTwoQ::new(shape.capacity as usize)),
    misses: [94_572, 88_160],
    tolerance: 0,
};
