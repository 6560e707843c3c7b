//! Studies traces: characterises them, simulates candidate designs, and recommends the cheapest design that keeps the
//! budgets.

mod assumptions;
#[cfg(test)]
mod brute_force_tests;
mod budgets;
mod busy;
#[cfg(test)]
mod cache_tests;
mod choose;
mod curve;
mod design;
mod endurance;
mod error;
mod evidence;
#[cfg(test)]
mod family_tests;
#[cfg(test)]
mod hybrid_tests;
mod judge;
mod judging;
mod kinds;
mod late_writes;
mod layer;
mod left_over;
mod lifetime;
mod listed;
mod load;
mod look;
mod measure;
mod misalignment;
mod models;
mod need;
mod offers;
#[cfg(test)]
mod parts_tests;
mod plan;
mod prepare;
mod promotions;
mod run;
mod search;
#[cfg(test)]
mod seeds_tests;
mod setup;
mod sheet;
#[cfg(test)]
mod sheet_tests;
mod simulate;
mod strain;
mod stretch;
mod task;
mod verdict;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use esker_catalogue::{Catalogue, Market, Running};
use esker_core::{Bytes, Ratio, jobs};
use esker_trace::{ReadOptions, group_inputs};

pub use error::{DesignFault, StudyError};
pub use lifetime::{LIFETIME_LIMIT_YEARS, Wear, lifetime_years};
pub use models::{builtin_catalogue, read_catalogue};
pub use need::{DataSettings, SPAN_MAX};
pub use offers::InUse;
pub use plan::{PlacedData, PlacedPart, PlacedVolume, PlanSettings, Planned, plan, ranges_of_experiment};
pub use sheet::at_sheet_conditions;

use esker_results::study::{
    ActiveRegion, Budgets, CandidateOutcome, Evidence, Misalignment, STUDY_SCHEMA, SlowStretch, StudyReport,
    WorkloadStudy,
};
use load::StudyWorkload;
use offers::{Bounds, Offer};
use plan::Plans;
use prepare::PreparedWorkload;
use search::{MarketResult, Search, SimulatedOffer};
use task::Task;

/// The traces to study, and options.
#[derive(Clone, Debug)]
pub struct StudySettings {
    /// The traces; the per-CPU files of one blktrace recording count as one.
    pub traces: Vec<PathBuf>,
    /// Options for reading them.
    pub read: ReadOptions,
    /// Whether all traces form one workload, instead of one each.
    pub together: bool,
    /// Budgets that the user gave; the others get defaults.
    pub budgets: Budgets,
    /// Products that can be bought, with the settings of their devices: see [`read_catalogue`].
    pub catalogue: Catalogue,
    /// Devices that the user already has: candidates that cost only electricity.
    pub in_use: Vec<InUse>,
    /// The market whose answer becomes the headline.
    pub market: Market,
    /// Whether desktop drives may be recommended.
    pub consumer: bool,
    /// Kinds of designs to offer beside devices and volumes of one product, by name: some of [`kinds_on_request`].
    pub kinds: Vec<String>,
    /// Whether to plan the cheapest mix of devices, too.
    pub plan: bool,
    /// How much data has to be stored.
    pub data: DataSettings,
    /// How long devices run, and what electricity costs.
    pub running: Running,
    /// Share of the simulated part of each flash design that holds data.
    pub utilisation: Ratio,
    /// Whether to simulate every design that could win, and to replay the whole trace on each.
    pub thorough: bool,
    /// Seed of preconditioning and sampling.
    pub seed: u64,
    /// Number of threads. The result does not depend on it.
    pub threads: usize,
    /// The command that repeats the study, for the report.
    pub command: String,
}

/// A kind of design that is offered only if [`StudySettings::kinds`] names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindOnRequest {
    /// What several such designs are called: "hybrids".
    pub name: &'static str,
    /// What they are, in one line.
    pub summary: &'static str,
}

/// Returns the kinds of designs that are offered only if asked for, in the order in which they are searched.
pub fn kinds_on_request() -> impl Iterator<Item = KindOnRequest> {
    kinds::on_request().map(|kind| KindOnRequest { name: kind.name, summary: kind.summary })
}

/// Callbacks and flags by which the caller watches and stops a study.
pub struct Hooks<'a> {
    /// Called from several threads with the current task, the amount done and, if known, the total.
    pub progress: &'a (dyn Fn(&str, u64, Option<u64>) + Sync),
    /// Set to true to stop the study.
    pub cancel: &'a AtomicBool,
    /// Number of requests simulated until now.
    pub simulated: &'a AtomicU64,
}

impl Hooks<'_> {
    fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
    fn check(&self) -> Result<(), StudyError> {
        if self.cancelled() { Err(StudyError::Cancelled) } else { Ok(()) }
    }
    fn tell(&self, what: &str, done: u64, total: Option<u64>) {
        (self.progress)(what, done, total);
    }
    /// Counts the requests between two reports of progress as simulated.
    fn count(&self) {
        self.simulated.fetch_add(esker_sim::PROGRESS_EVERY, Ordering::Relaxed);
    }
    /// Returns what to call while requests are simulated.
    fn go_on(&self) -> impl FnMut(u64) -> bool {
        |_| {
            self.count();
            !self.cancelled()
        }
    }
}

/// Runs a study.
pub fn study(settings: &StudySettings, hooks: &Hooks<'_>) -> Result<StudyReport, StudyError> {
    check(settings)?;
    let groups = group_inputs(&settings.traces);
    let with_plans = settings.plan.then(|| PlanSettings::of_study(settings.clone()));
    let plans = with_plans.as_ref().map(|settings| Plans::new(settings, hooks)).transpose()?;
    let mut workloads = Vec::new();
    if settings.together && groups.len() > 1 {
        let workload = load::together(&groups, &settings.read, hooks)?;
        workloads.push(study_workload(&workload, settings, plans.as_ref(), hooks)?);
    } else {
        for paths in &groups {
            let workload = load::single(paths, &settings.read, hooks)?;
            workloads.push(study_workload(&workload, settings, plans.as_ref(), hooks)?);
        }
    }
    Ok(StudyReport {
        schema: STUDY_SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        command: settings.command.clone(),
        seed: settings.seed,
        budgets: settings.budgets.clone(),
        workloads,
        assumptions: match &with_plans {
            Some(settings) => plan::assumptions(settings),
            None => assumptions::assumptions(settings),
        },
        cost: None,
    })
}

fn check(settings: &StudySettings) -> Result<(), StudyError> {
    let error = |message: String| Err(StudyError::Settings { message });
    if settings.utilisation == Ratio::ZERO || settings.utilisation > Ratio::ONE {
        return error(format!(
            "a utilisation of {} makes no sense: it is above 0 % and at most 100 %",
            settings.utilisation
        ));
    }
    if !(settings.budgets.years > 0.0 && settings.budgets.years.is_finite()) {
        return error(format!("{} years make no sense as a budget", settings.budgets.years));
    }
    if settings.data.copies == 0 {
        return error("0 copies of the data make no sense".into());
    }
    kinds::check(settings)?;
    for one in InUse::together(&settings.in_use) {
        one.product(&settings.catalogue, settings.data.copies)?;
    }
    if settings.traces.is_empty() {
        return error("there is no trace to study".into());
    }
    Ok(())
}

fn study_workload(
    workload: &StudyWorkload,
    settings: &StudySettings,
    plans: Option<&Plans<'_>>,
    hooks: &Hooks<'_>,
) -> Result<WorkloadStudy, StudyError> {
    let timed = workload.has_times();
    let prepared = PreparedWorkload::of(workload, settings)?;
    let (all, bounds) = (prepared.offers(workload, settings, hooks)?, prepared.bounds(workload, settings));
    let task = prepared.task(workload, settings, hooks);
    let markets = markets(&task, &prepared, &all, bounds)?;
    task.tell("drawing the miss-ratio curve");
    let miss_ratio_curve = curve::curve(workload, settings.seed, hooks)?;
    let (misalignments, replay) = (misalignments(&task, &markets)?, setup::replay_summary(workload));
    let duration_s = workload.profile.duration_s.filter(|_| timed).ok_or(workload.why_no_times());
    let evidence = evidence(duration_s, markets.first());
    let verdict = verdict::verdict(&verdict::Facts {
        budgets: &prepared.budgets,
        need: &prepared.need,
        replay: &replay,
        profile: &workload.profile,
        why_no_times: workload.why_no_times(),
        measured: prepared.measured.as_ref(),
        markets: &markets,
        curve: &miss_ratio_curve,
        misalignments: &misalignments,
        evidence: &evidence,
    });
    let slowest = slowest(&task, &markets)?;
    let plan = plans.filter(|_| timed).map(|plans| plans.of(workload, hooks)).transpose()?;
    let families = markets.first().map_or(Vec::new(), |found| found.families.clone());
    let (candidates, ruled_out) = listed::divide(markets, settings.thorough);
    let PreparedWorkload { measured, budgets, busy, need, .. } = prepared;
    Ok(WorkloadStudy {
        name: workload.name.clone(),
        verdict: verdict::with_assumed(verdict, workload.traces().remark()),
        budgets,
        busy_stretch: busy.as_ref().map(|busy| busy.times.stretch.results()),
        busy_stretch_by_bytes: busy.as_ref().and_then(|busy| busy.times.by_bytes).map(|stretch| stretch.results()),
        need,
        evidence,
        inputs: workload.inputs.clone(),
        replay,
        active_region: ActiveRegion {
            record_bytes: esker_trace::AREA_BYTES,
            active_bytes: workload.map().footprint(),
            address_span_bytes: workload.profile.address_span_bytes,
            utilisation: settings.utilisation.as_f64(),
        },
        profile: workload.profile.clone(),
        measured,
        candidates,
        ruled_out,
        families,
        slowest,
        miss_ratio_curve,
        plan: plan.map(|(plan, _)| Box::new(plan)),
        misalignments,
    })
}

/// Grades the evidence for the answer of a market, if one was searched.
fn evidence(duration_s: Result<f64, &str>, answered: Option<&MarketResult>) -> Evidence {
    let recommended = answered.and_then(MarketResult::recommended_offer);
    let doubts = recommended.map_or(Vec::new(), |tried| tried.arrangement.doubts());
    evidence::evidence(duration_s, recommended.map(|tried| &tried.candidate), &doubts)
}

/// Searches all markets in parallel. The market that the user asked for comes first.
fn markets(
    task: &Task<'_>,
    prepared: &PreparedWorkload,
    all: &[Offer<'_>],
    bounds: Bounds,
) -> Result<Vec<MarketResult>, StudyError> {
    let (settings, timed) = (task.settings, task.workload.has_times());
    let offered = |market: &Market| all.iter().any(|offer| offer.market() == *market);
    let others = Market::ALL.iter().copied().filter(|market| *market != settings.market);
    // Without times, the answer for another market could not be compared with that for the user's market.
    let others = others.filter(|market| timed && offered(market));
    let markets: Vec<Market> = std::iter::once(settings.market).chain(others).collect();
    let found = jobs::collect(settings.threads, markets.len(), |index| {
        let active = Bytes(task.workload.map().footprint());
        let mut search = Search::new(task, bounds, prepared.demand, &settings.running, active);
        search.market(markets[index], all, timed, task.replayed_whole(index == 0))
    });
    found.into_iter().collect()
}

/// Looks at the slowest requests of a drive.
fn slowest(task: &Task<'_>, markets: &[MarketResult]) -> Result<Option<SlowStretch>, StudyError> {
    let Some(SimulatedOffer { design, slowest: Some(slowest), .. }) = drive_for_stretch(markets) else {
        return Ok(None);
    };
    task.tell(&format!("looking at the slowest requests of {}", design.name));
    match task.busy {
        Some(busy) if task.is_large() => stretch::of_busiest(task, busy, design),
        _ => stretch::around(task, design, *slowest),
    }
}

/// Returns the drive whose slowest requests are shown: the recommended design of the first market or, if that has no
/// flash, the first drive that served everything. A stretch alone shows them only of a design that does the same at any
/// time.
fn drive_for_stretch(markets: &[MarketResult]) -> Option<&SimulatedOffer> {
    let found = markets.first()?;
    let served = |tried: &&SimulatedOffer| {
        let is_flash = tried.design.flash.is_some() && !tried.design.judging.depends_on_history();
        is_flash && tried.candidate.outcome == CandidateOutcome::Served
    };
    let recommended = found.choice.recommended.map(|n| &found.tried[n]).filter(served);
    recommended.or_else(|| found.tried.iter().find(served))
}

/// Returns the volumes whose requests are misaligned by a constant offset, with the cost of that on the drive whose
/// slowest requests are shown.
fn misalignments(task: &Task<'_>, markets: &[MarketResult]) -> Result<Vec<Misalignment>, StudyError> {
    let mut found = misalignment::find(task.workload);
    if found.is_empty() {
        return Ok(found);
    }
    if let Some(SimulatedOffer { design, candidate, .. }) = drive_for_stretch(markets) {
        let cost = misalignment::cost(task, design, candidate, &found)?;
        for misalignment in &mut found {
            misalignment.cost.clone_from(&cost);
        }
    }
    Ok(found)
}
