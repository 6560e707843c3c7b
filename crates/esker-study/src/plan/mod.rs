//! The cheapest mix of devices for a workload: MixPlan (Kim 2009, chapter 4), verified by simulation.
//!
//! ```text
//! traces ─► classes of data ─┐                       ┌─► devices, places of classes, cost, bound
//! catalogue ─► types, times ─┼─► Problem ─► solve ───┼─► explanations: the problem solved again with changes
//! budgets ─► moments ────────┘      ▲                └─► a design ─► judged as in a study
//!                                   └──── corrections ◄── what it misses
//! ```

mod beside;
mod classes;
mod corrections;
mod explain;
mod life;
mod mix;
mod model;
mod moments;
mod place;
mod placed;
mod planner;
mod preference;
mod response;
mod results;
mod rounds;
mod service;
mod settings;
mod solved;
#[cfg(test)]
mod tests;
mod types;
mod way;
mod what_if;

use esker_core::Bytes;
use esker_plan::DataClasses;
use esker_results::study::Assumption;
use esker_results::study::plan::{PLAN_SCHEMA, PlanReport, WorkloadPlan};
use esker_trace::group_inputs;

use crate::load::{self, StudyWorkload};
use crate::prepare::PreparedWorkload;
use crate::{Hooks, StudyError, check};
use model::Corrections;
pub use placed::{PlacedData, PlacedPart, PlacedVolume, ranges_of_experiment};
use planner::Planner;
pub use settings::PlanSettings;
use solved::Found;
use types::PlanType;

/// The plan of each workload, and where it puts the data; `None` where there is no plan.
pub struct Planned {
    /// What a plan comes to.
    pub report: PlanReport,
    /// The places, in the order of the report.
    pub placed: Vec<Option<PlacedData>>,
}

/// Plans the cheapest mix of devices for each workload.
pub fn plan(settings: &PlanSettings, hooks: &Hooks<'_>) -> Result<Planned, StudyError> {
    check(&settings.study)?;
    let study = &settings.study;
    settings.classes.check().map_err(|problem| StudyError::Settings { message: problem.to_string() })?;
    let groups = group_inputs(&study.traces);
    let workloads = if study.together && groups.len() > 1 {
        vec![load::together(&groups, &study.read, hooks)?]
    } else {
        groups.iter().map(|paths| load::single(paths, &study.read, hooks)).collect::<Result<_, _>>()?
    };
    let plans = Plans::new(settings, hooks)?;
    let found: Vec<_> = workloads.iter().map(|workload| plans.of(workload, hooks)).collect::<Result<_, _>>()?;
    let (mut found, placed): (Vec<WorkloadPlan>, Vec<_>) = found.into_iter().unzip();
    for (workload, found) in workloads.iter().zip(&mut found) {
        if let Some(mix) = &mut found.plan {
            mix.beside = beside::beside(workload, study, hooks)?;
        }
    }
    let report = PlanReport {
        schema: PLAN_SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        command: study.command.clone(),
        seed: study.seed,
        currency: study.catalogue.currency.clone(),
        plans: found,
        assumptions: assumptions(settings),
    };
    Ok(Planned { report, placed })
}

/// Makes plans of workloads.
pub(crate) struct Plans<'a> {
    settings: &'a PlanSettings,
    types: Vec<PlanType<'a>>,
}

impl<'a> Plans<'a> {
    /// Measures the types of devices to choose from.
    pub(crate) fn new(settings: &'a PlanSettings, hooks: &Hooks<'_>) -> Result<Self, StudyError> {
        Ok(Self { settings, types: types::types(settings, hooks)? })
    }

    /// The plan of a workload, and where it puts the data. A workload without times is an error.
    pub(crate) fn of(
        &self,
        workload: &StudyWorkload,
        hooks: &Hooks<'_>,
    ) -> Result<(WorkloadPlan, Option<PlacedData>), StudyError> {
        let (settings, types) = (self.settings, &self.types[..]);
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
        let classes = match settings.merge {
            true => merged(classes, workload, (&prepared, types), settings, hooks)?,
            false => classes,
        };
        Planner::new(workload, &prepared, (&classes, types), settings, hooks).plan()
    }
}

/// Classes of which neighbours are one if they are planned for the same devices. As they are, if there is no plan.
fn merged(
    classes: DataClasses,
    workload: &StudyWorkload,
    (prepared, types): (&PreparedWorkload, &[PlanType<'_>]),
    settings: &PlanSettings,
    hooks: &Hooks<'_>,
) -> Result<DataClasses, StudyError> {
    let planner = Planner::new(workload, prepared, (&classes, types), settings, hooks);
    hooks.tell("merging classes", 0, None);
    let kinds = match planner.solved(&Corrections::none(types.len()))? {
        Found::Solved(solved) => planner.planned_alike(&solved),
        Found::NoPlan(..) => return Ok(classes),
    };
    Ok(classes.merged(&kinds, || workload.records()))
}

/// The assumptions of plans, then those of studies, which hold of plans, too.
pub(crate) fn assumptions(settings: &PlanSettings) -> Vec<Assumption> {
    let assumption = |text: String, change: &str| Assumption { text, change: change.into() };
    let record = Bytes(settings.classes.record.0);
    let mut all = vec![
        assumption(
            format!(
                "A plan places data by records of {record}, hot ones by class. What is hot in the trace stays hot: \
                 nothing moves."
            ),
            "a longer trace",
        ),
        assumption(
            "A plan takes a device to be as busy as its simulation was with 4,000 requests of each kind alone, random \
             and sequential, of 4 and 128 KiB; sizes between are on a line through these. Drives were written at \
             random before, and disks were asked for one request at a time all over their surface."
                .into(),
            "`device` of a product in a catalogue of your own (--catalogue)",
        ),
        assumption(
            "Where a plan has devices of several products or sizes, the data that are asked for lie side by side on \
             its disks, from the first address on: in truth their arms go further. Disks of one product and size \
             alone are simulated with the data all over them."
                .into(),
            "-",
        ),
        assumption(
            "Plans are chosen by the electricity of idle devices; what is printed adds that of their work, as \
             simulated. Disks are planned for at most half of the time."
                .into(),
            "-",
        ),
    ];
    all.extend(crate::assumptions::assumptions(&settings.study));
    all
}
