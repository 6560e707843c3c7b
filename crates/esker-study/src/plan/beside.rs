//! Designs of a study beside a plan: the cheapest of each kind that is asked for.

use esker_core::Bytes;
use esker_results::study::plan::OtherPlan;

use crate::load::StudyWorkload;
use crate::offers::Offer;
use crate::prepare::PreparedWorkload;
use crate::search::Search;
use crate::{Hooks, StudyError, StudySettings, kinds};

/// Returns the cheapest design of each kind that the settings ask for, as a study finds and judges it; no cost where
/// none keeps the budgets.
pub(super) fn beside(
    workload: &StudyWorkload,
    settings: &StudySettings,
    hooks: &Hooks<'_>,
) -> Result<Vec<OtherPlan>, StudyError> {
    let mut beside = Vec::new();
    if settings.kinds.is_empty() {
        return Ok(beside);
    }
    let prepared = PreparedWorkload::of(workload, settings)?;
    let task = prepared.task(workload, settings, hooks);
    let all = prepared.offers(workload, settings, hooks)?;
    let active = Bytes(workload.map().footprint());
    for kind in kinds::asked_for(settings) {
        // Without the other kinds: a search ends where something else is cheaper.
        let offers: Vec<Offer<'_>> = all.iter().filter(|offer| offer.kind.name == kind.name).cloned().collect();
        let bounds = prepared.bounds(workload, settings);
        let mut search = Search::new(&task, bounds, prepared.demand, &settings.running, active);
        let found = search.market(settings.market, &offers, true, task.replayed_whole(true))?;
        let best = found.recommended();
        beside.push(OtherPlan {
            sort: format!("one {}", kind.build.class),
            title: best.map_or_else(String::new, |best| best.title.clone()),
            cost: best.map(|best| best.cost.total),
        });
    }
    Ok(beside)
}
