//! LARC: the second miss admits an object, within a window that adapts.

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::recent::Recent;
use super::{Admission, AdmissionEntry};
use crate::{Access, Shape};

pub(crate) const ENTRY: AdmissionEntry = AdmissionEntry {
    name: "larc",
    summary: "an object enters at its second miss within a window that misses lengthen and hits shorten",
    source: "Huang et al. 2013: its ghost queue; the paper's cache behind it is LRU",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |shape, _| Box::new(Larc::new(shape)),
};

/// The window stays between these shares of the cache, and begins with the least.
const LEAST: f64 = 0.1;
const MOST: f64 = 0.9;

#[derive(Debug)]
struct Larc {
    /// Capacity of the cache, in objects.
    capacity: f64,
    /// Length of the window. It changes by small fractions of an object.
    window: f64,
    recent: Recent,
}

impl Larc {
    fn new(shape: &Shape) -> Self {
        let capacity = f64::from(shape.capacity);
        Self { capacity, window: LEAST * capacity, recent: Recent::new(shape.objects) }
    }

    /// Returns the size of the window in whole objects.
    fn window_size(&self) -> u32 {
        (self.window as u32).max(1)
    }
}

impl Admission for Larc {
    fn admits(&mut self, _now: Nanos, access: &Access) -> bool {
        self.window = (self.window + self.capacity / self.window).min(MOST * self.capacity);
        let second = self.recent.remove(access.object);
        if !second {
            self.recent.push(access.object, self.window_size());
        }
        second
    }

    fn hit(&mut self, _now: Nanos, _access: &Access) {
        let step = self.capacity / (self.capacity - self.window);
        // Objects beyond the window leave at the next miss, as in the paper.
        self.window = (self.window - step).max(LEAST * self.capacity);
    }

    fn set_capacity(&mut self, capacity: u32) {
        self.capacity = f64::from(capacity);
        self.window = self.window.clamp(LEAST * self.capacity, MOST * self.capacity);
        self.recent.limit(self.window_size());
    }

    fn memory_bytes(&self) -> usize {
        self.recent.memory_bytes()
    }
}

#[cfg(test)]
pub(super) const MODEL: super::tests::ModelEntry =
    super::tests::ModelEntry { policy: ENTRY.name, model: |shape| super::tests::window(shape, 0.1, true) };
