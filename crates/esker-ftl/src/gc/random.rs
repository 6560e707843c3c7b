//! Any block.

use esker_core::registry::ParameterSource;

use super::d_choices::RandomDraws;
use super::{VictimCapability, VictimEntry, VictimPolicy};

pub(crate) const ENTRY: VictimEntry = VictimEntry {
    name: "random",
    summary: "any block, all equally likely",
    source: "the reference line of Van Houdt 2013",
    parameters: ParameterSource::NONE,
    capabilities: &[VictimCapability::KnownSteady],
    build: |shape, _, seed| {
        let policy: Box<dyn VictimPolicy> = Box::new(RandomDraws::new(shape, 1, seed));
        Ok(policy)
    },
};
