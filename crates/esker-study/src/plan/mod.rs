//! The cheapest mix of devices for a workload: MixPlan (Kim 2009, chapter 4), verified by simulation.
//!
//! ```text
//! traces ─► classes of data ─┐                       ┌─► devices, places of classes, cost, bound
//! catalogue ─► types, times ─┼─► Problem ─► solve ───┼─► explanations: the problem solved again with changes
//! budgets ─► moments ────────┘      ▲                └─► a design ─► judged as in a study
//!                                   └──── corrections ◄── what it misses
//! ```

mod classes;
mod corrections;
mod explain;
mod mix;
mod model;
mod moments;
mod place;
mod planner;
mod results;
mod rounds;
mod service;
mod settings;
mod solved;
#[cfg(test)]
mod tests;
mod types;

use esker_core::Bytes;
use esker_plan::DataClasses;
use esker_results::plan::{PLAN_SCHEMA, PlanReport, WorkloadPlan};
use esker_results::study::Assumption;
use esker_trace::group_inputs;

use crate::load::{self, StudyWorkload};
use crate::prepare::PreparedWorkload;
use crate::{Hooks, StudyError, assumptions, check};
use planner::Planner;
pub use settings::PlanSettings;
use types::PlanType;

/// Plans the cheapest mix of devices for each workload.
pub fn plan(settings: &PlanSettings, hooks: &Hooks<'_>) -> Result<PlanReport, StudyError> {
    check(&settings.study)?;
    let study = &settings.study;
    settings.classes.check().map_err(|problem| StudyError::Settings { message: problem.to_string() })?;
    let groups = group_inputs(&study.traces);
    let workloads = if study.together && groups.len() > 1 {
        vec![load::together(&groups, &study.read, hooks)?]
    } else {
        groups.iter().map(|paths| load::single(paths, &study.read, hooks)).collect::<Result<_, _>>()?
    };
    let types = types::types(study, hooks)?;
    let plans = workloads.iter().map(|workload| plan_workload(workload, &types, settings, hooks));
    Ok(PlanReport {
        schema: PLAN_SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        command: study.command.clone(),
        seed: study.seed,
        currency: study.catalogue.currency.clone(),
        plans: plans.collect::<Result<_, _>>()?,
        assumptions: plan_assumptions(settings),
    })
}

fn plan_workload(
    workload: &StudyWorkload,
    types: &[PlanType<'_>],
    settings: &PlanSettings,
    hooks: &Hooks<'_>,
) -> Result<WorkloadPlan, StudyError> {
    if !workload.has_times() {
        let message = format!(
            "{}: {}: without times nobody knows how busy devices have to be",
            workload.name,
            workload.why_no_times()
        );
        return Err(StudyError::Settings { message });
    }
    let prepared = PreparedWorkload::of(workload, &settings.study)?;
    hooks.tell("classifying data", 0, None);
    let classes = DataClasses::of(workload.map().clone(), &settings.classes, || workload.records());
    let classes = classes.map_err(|problem| StudyError::Settings { message: problem.to_string() })?;
    hooks.check()?;
    Planner::new(workload, &prepared, (&classes, types), settings, hooks).plan()
}

/// Those of studies that hold of plans, and those of plans alone.
fn plan_assumptions(settings: &PlanSettings) -> Vec<Assumption> {
    let assumption = |text: String, change: &str| Assumption { text, change: change.into() };
    let record = Bytes(settings.classes.record.0);
    let mut all = vec![
        assumption(
            format!(
                "Data are placed by records of {record}, hot ones by class. What is hot in the trace stays hot: \
                 nothing moves."
            ),
            "a longer trace",
        ),
        assumption(
            "A device is as busy as its simulation was with 4,000 requests of each kind alone, random and sequential, \
             of 4 and 128 KiB; sizes between are on a line through these. Drives were written at random before, and \
             disks were asked for one request at a time all over their surface."
                .into(),
            "`device` of a product in a catalogue of your own (--catalogue)",
        ),
        assumption(
            "Plans are chosen by the electricity of idle devices; what is printed adds that of their work, as \
             simulated. Disks are planned for at most half of the time."
                .into(),
            "-",
        ),
    ];
    all.extend(assumptions::assumptions(&settings.study));
    all
}
