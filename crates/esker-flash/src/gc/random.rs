//! Any block.

use super::d_choices::Sampled;
use super::{VictimEntry, VictimPolicy};

pub(crate) static ENTRY: VictimEntry = VictimEntry {
    name: "random",
    summary: "any block, all equally likely",
    source: "the reference line of Van Houdt 2013",
    build: |shape, parameters, seed| {
        parameters.finish()?;
        let policy: Box<dyn VictimPolicy> = Box::new(Sampled::new(shape, 1, seed));
        Ok(policy)
    },
};
