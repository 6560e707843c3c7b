//! The baseline: nothing moves.

use esker_core::registry::ParameterSource;

use super::{Balancer, BalancerEntry, ClusterView};
use crate::plan::Plan;
use crate::wear::WearModel;

pub(super) const ENTRY: BalancerEntry = BalancerEntry {
    name: "none",
    summary: "nothing moves: slices stay where the ring has put them",
    source: "Salman 2017, chapter 7: the baseline",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: |_| Box::new(NoBalancing),
};

#[derive(Debug)]
struct NoBalancing;

impl Balancer for NoBalancing {
    fn plan(&mut self, _: &ClusterView<'_>, _: &dyn WearModel) -> Plan {
        Plan::default()
    }
}
