//! Objects that missed before may enter, as long as a budget of bytes per day allows it.

use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource, Parameters};
use esker_core::{Bytes, Nanos, Ratio};

use super::budget::Budget;
use super::recent::{Recent, WINDOW};
use super::{Admission, AdmissionCapability, AdmissionEntry, objects_of};
use crate::{Access, AccessKind, Shape};

pub(crate) const ENTRY: AdmissionEntry = AdmissionEntry {
    name: "reject-first",
    summary: "an object enters if it missed before, and if a budget of bytes a day has something left",
    source: "reject-first of CacheLib, Berg et al. 2020, with an exact window; the budget is a token bucket",
    parameters: ParameterSource::Listed(&[
        WINDOW,
        Parameter {
            name: "bytes_per_day",
            meaning: "bytes that may be written to the cache a day, such as `100GiB`",
            value: Accepted::Size { default: Fallback::Derived("no limit"), least: Bytes(1), most: Bytes(u64::MAX) },
        },
        // Assumed: a little over an hour.
        Parameter {
            name: "burst",
            meaning: "share of a day's bytes that may be saved up",
            value: Accepted::Share {
                default: Ratio::percent(5),
                least: Ratio::parts_per_billion(1),
                most: Ratio::percent(100_000),
            },
        },
    ]),
    capabilities: &[AdmissionCapability::Time],
    build: |shape, parameters| Box::new(RejectFirst::new(shape, parameters)),
};

#[derive(Debug)]
struct RejectFirst {
    share: Ratio,
    window: u32,
    recent: Recent,
    budget: Option<Budget>,
    /// The share of the accesses that come.
    rate: f64,
}

impl RejectFirst {
    fn new(shape: &Shape, parameters: Parameters<'_>) -> Self {
        let share = parameters.share("window");
        let budget = parameters.given_size("bytes_per_day").map(|bytes| Budget::new(bytes, parameters.share("burst")));
        Self { share, window: objects_of(share, shape.capacity), recent: Recent::new(shape.objects), budget, rate: 1.0 }
    }

    /// The bytes of all accesses for which this one stands.
    fn bytes(&self, access: &Access) -> u64 {
        (f64::from(access.bytes) / self.rate).round() as u64
    }
}

impl Admission for RejectFirst {
    fn admits(&mut self, now: Nanos, access: &Access) -> bool {
        if !self.recent.contains(access.object) {
            self.recent.push(access.object, self.window);
            return false;
        }
        let bytes = self.bytes(access);
        if let Some(budget) = &mut self.budget {
            // The object stays in the window, and may enter when the budget has recovered.
            if !budget.allows(now) {
                return false;
            }
            budget.spend(bytes);
        }
        self.recent.remove(access.object)
    }

    /// A write to a cached object cannot be refused, but takes from the budget of others.
    fn hit(&mut self, now: Nanos, access: &Access) {
        let bytes = self.bytes(access);
        if let Some(budget) = &mut self.budget
            && access.kind == AccessKind::Write
        {
            budget.allows(now);
            budget.spend(bytes);
        }
    }

    fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
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
