//! Objects that are read repeatedly, and not written, may enter.

use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource};
use esker_core::{Nanos, Ratio};

use super::recent::{Recent, WINDOW};
use super::{Admission, AdmissionEntry, objects_of};
use crate::{Access, AccessKind, Shape};

pub(crate) const ENTRY: AdmissionEntry = AdmissionEntry {
    name: "flashield",
    summary: "an object enters when it was read often enough, and not written, while memory remembered it",
    source: "after Eisenman et al. 2019, whose classifier and whose buffer of data in memory are left out",
    parameters: ParameterSource::Listed(&[
        WINDOW,
        // Assumed.
        Parameter {
            name: "reads",
            meaning: "reads that admit an object, after the miss by which memory learnt of it",
            value: Accepted::Count { default: Fallback::Value(2), least: 1, most: 255 },
        },
    ]),
    capabilities: &[],
    build: |shape, parameters| {
        Box::new(Flashield::new(shape, parameters.share("window"), parameters.count("reads") as u8))
    },
};

/// Flashield keeps new objects in memory and learns there which of them suit flash: those that will be read and not be
/// rewritten. Simplified here: memory holds only their numbers, so that a read there still misses; the number of reads
/// replaces the verdict of a trained classifier; a write resets it to zero.
#[derive(Debug)]
struct Flashield {
    share: Ratio,
    window: u32,
    reads_least: u8,
    recent: Recent,
    /// Number of reads of each object that memory remembers.
    reads: Vec<u8>,
}

impl Flashield {
    fn new(shape: &Shape, share: Ratio, reads_least: u8) -> Self {
        Self {
            share,
            window: objects_of(share, shape.capacity),
            reads_least,
            recent: Recent::new(shape.objects),
            reads: vec![0; shape.objects as usize],
        }
    }
}

impl Admission for Flashield {
    fn admits(&mut self, _now: Nanos, access: &Access) -> bool {
        let reads = &mut self.reads[access.object.index()];
        if !self.recent.contains(access.object) {
            *reads = 0;
            self.recent.push(access.object, self.window);
            return false;
        }
        *reads = if access.kind == AccessKind::Read { *reads + 1 } else { 0 };
        *reads >= self.reads_least && self.recent.remove(access.object)
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.window = objects_of(self.share, capacity);
        self.recent.limit(self.window);
    }

    fn memory_bytes(&self) -> usize {
        self.recent.memory_bytes() + self.reads.capacity()
    }
}

#[cfg(test)]
pub(super) use model::MODEL;

#[cfg(test)]
mod model {
    use esker_core::Nanos;

    use super::super::tests::{Model, ModelEntry};
    use crate::{Access, AccessKind, ObjectId};

    /// The memory as a list of objects with their reads, the oldest first.
    struct Memory {
        window: usize,
        seen: Vec<(ObjectId, u32)>,
    }

    impl Model for Memory {
        fn agrees(&mut self, _: Nanos, access: &Access, admitted: bool) -> bool {
            let Some(at) = self.seen.iter().position(|(object, _)| *object == access.object) else {
                self.seen.push((access.object, 0));
                let gone = self.seen.len().saturating_sub(self.window);
                self.seen.drain(..gone);
                return !admitted;
            };
            self.seen[at].1 = if access.kind == AccessKind::Read { self.seen[at].1 + 1 } else { 0 };
            let admits = self.seen[at].1 == 2;
            if admits {
                self.seen.remove(at);
            }
            admits == admitted
        }
    }

    pub(in crate::admission) const MODEL: ModelEntry = ModelEntry {
        policy: super::ENTRY.name,
        model: |shape| Box::new(Memory { window: shape.capacity as usize, seen: Vec::new() }),
    };
}
