//! Segmented LRU: objects that were used again are protected from objects that were not.
//!
//! Karedla et al. have two segments. S4LRU (Huang et al., SOSP 2013) has four of the same size: `segments = 4`,
//! `protected = "75%"`. A miss always enters the lowest segment, which has all the room that the others do not use yet.
//! In some implementations, the first misses enter whichever segment has room.

use esker_core::Ratio;
use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource};

use super::queues::{NOWHERE, Queues};
#[cfg(test)]
use super::tests::Reference;
use super::{Replacement, ReplacementEntry, Shape};
#[cfg(test)]
use crate::reference::NaiveSlru;
use crate::{Access, ObjectId};

pub(crate) const ENTRY: ReplacementEntry = ReplacementEntry {
    name: "slru",
    summary: "segments in the order of last use; a hit moves an object up one segment, what overflows moves down one",
    source: "Karedla, Love, Wherry 1994; the default share is assumed",
    parameters: ParameterSource::Listed(&[
        Parameter {
            name: "segments",
            meaning: "number of segments",
            value: Accepted::Count { default: Fallback::Value(2), least: 2, most: SEGMENTS_MOST as u64 },
        },
        Parameter {
            name: "protected",
            meaning: "share of the cache for all segments above the lowest, which have the same size",
            value: Accepted::Share { default: Ratio::percent(80), least: Ratio::ZERO, most: Ratio::ONE },
        },
    ]),
    capabilities: &[],
    build: |shape, parameters| {
        let segments = parameters.count("segments") as u8;
        Box::new(Slru::new(shape, segments, parameters.share("protected")))
    },
};

const SEGMENTS_MOST: usize = 16;

/// Each segment is a queue in the order of last use. Misses enter segment 0, the lowest.
#[derive(Debug)]
struct Slru {
    capacity: u32,
    top: u8,
    protected: Ratio,
    /// Number of objects that each segment except the lowest may hold.
    segment_capacity: u32,
    queues: Queues<SEGMENTS_MOST>,
}

impl Slru {
    fn new(shape: &Shape, segments: u8, protected: Ratio) -> Self {
        let top = segments - 1;
        let queues = Queues::new(shape.objects);
        let mut slru = Self { capacity: 0, top, protected, segment_capacity: 0, queues };
        slru.set_capacity(shape.capacity);
        slru
    }

    /// Moves objects down that exceed the room of segment `from` or of a segment below it.
    #[inline]
    fn settle(&mut self, from: u8) {
        for segment in (1..=from).rev() {
            while self.queues.len(segment) > self.segment_capacity {
                let first = self.queues.first(segment).expect("it holds more than none");
                self.queues.shift(segment, segment - 1, first);
            }
        }
    }
}

impl Replacement for Slru {
    fn holds(&self, object: ObjectId) -> bool {
        self.queues.place(object) != NOWHERE
    }

    fn hit(&mut self, access: &Access) -> bool {
        let segment = self.queues.place(access.object);
        if segment == NOWHERE {
            return false;
        }
        let above = (segment + 1).min(self.top);
        self.queues.shift(segment, above, access.object);
        if above != segment {
            self.settle(above);
        }
        true
    }

    fn insert(&mut self, access: &Access) -> Option<ObjectId> {
        let left = if self.len() >= self.capacity { self.evict() } else { None };
        self.queues.push(0, access.object);
        left
    }

    fn remove(&mut self, object: ObjectId) {
        let segment = self.queues.place(object);
        if segment != NOWHERE {
            self.queues.take(segment, object);
        }
    }

    fn evict(&mut self) -> Option<ObjectId> {
        (0..=self.top).find_map(|segment| self.queues.pop(segment))
    }

    fn len(&self) -> u32 {
        (0..=self.top).map(|segment| self.queues.len(segment)).sum()
    }

    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = capacity;
        self.segment_capacity = (self.protected.of(u64::from(capacity)) / u64::from(self.top)) as u32;
        self.settle(self.top);
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
    naive: |shape| Box::new(NaiveSlru::new(shape.capacity as usize, 2, 80)),
    misses: [94_516, 90_040],
    tolerance: 0,
};
