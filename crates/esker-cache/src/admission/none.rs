//! No admission policy.

use esker_core::Nanos;
use esker_core::registry::ParameterSource;

use super::{Admission, AdmissionEntry};
use crate::Access;

pub(crate) const ENTRY: AdmissionEntry = AdmissionEntry {
    name: "none",
    summary: "no admission policy: every object that misses enters the cache",
    source: "folklore",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |_, _| Box::new(AdmitAll),
};

#[derive(Debug)]
struct AdmitAll;

impl Admission for AdmitAll {
    fn admits(&mut self, _now: Nanos, _access: &Access) -> bool {
        true
    }

    fn set_capacity(&mut self, _capacity: u32) {}

    fn memory_bytes(&self) -> usize {
        0
    }
}

#[cfg(test)]
pub(super) use model::MODEL;

#[cfg(test)]
mod model {
    use esker_core::Nanos;

    use super::super::tests::{Model, ModelEntry};
    use crate::Access;

    struct AdmitsAll;

    impl Model for AdmitsAll {
        fn agrees(&mut self, _: Nanos, _: &Access, admitted: bool) -> bool {
            admitted
        }
    }

    pub(in crate::admission) const MODEL: ModelEntry =
        ModelEntry { policy: super::ENTRY.name, model: |_| Box::new(AdmitsAll) };
}
