//! Objects that miss twice may enter.

use esker_core::registry::ParameterSource;
use esker_core::{Nanos, Ratio};

use super::recent::{Recent, WINDOW};
use super::{Admission, AdmissionEntry, objects_of};
use crate::{Access, Shape};

pub(crate) const ENTRY: AdmissionEntry = AdmissionEntry {
    name: "second-hit",
    summary: "an object enters at its second miss within a window of objects that missed",
    source: "folklore: the cache-on-second-hit rule of content delivery networks",
    parameters: ParameterSource::Listed(&[WINDOW]),
    capabilities: &[],
    build: |shape, parameters| Box::new(SecondHit::new(shape, parameters.share("window"))),
};

#[derive(Debug)]
struct SecondHit {
    share: Ratio,
    window: u32,
    recent: Recent,
}

impl SecondHit {
    fn new(shape: &Shape, share: Ratio) -> Self {
        Self { share, window: objects_of(share, shape.capacity), recent: Recent::new(shape.objects) }
    }
}

impl Admission for SecondHit {
    fn admits(&mut self, _now: Nanos, access: &Access) -> bool {
        let second = self.recent.remove(access.object);
        if !second {
            self.recent.push(access.object, self.window);
        }
        second
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.window = objects_of(self.share, capacity);
        self.recent.limit(self.window);
    }

    fn memory_bytes(&self) -> usize {
        self.recent.memory_bytes()
    }
}

#[cfg(test)]
pub(super) const MODEL: super::tests::ModelEntry =
    super::tests::ModelEntry { policy: ENTRY.name, model: |shape| super::tests::window(shape, 1.0, false) };
