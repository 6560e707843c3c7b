//! Simulates a design under a workload.

use std::cell::Cell;

use esker_core::{Control, Nanos, Ratio, ReplayEnd, replay, words};
use esker_results::{FlashReport, LatencySummary, Report, Reporting, RequestStatistics};
use esker_sim::{Ceiling, RunMeasurements, Slowest, Watch};

use crate::StudyError;
use crate::arrivals::{Load, arrivals};
use crate::busy::{Busy, Stretch};
use crate::choose::NOISE;
use crate::endurance::{self, FlashWear};
use crate::judge::judge;
use crate::layer;
use crate::load::StudyWorkload;
use crate::offers::Design;
use crate::run::MeasuredRun;
use crate::settling;
use crate::setup::{Setup, set_up};
use crate::strain::{Limits, LoadSearch, Strain, Stretches, headroom, loads, strain};
use crate::task::Task;
use crate::warming::{self, WarmResults};
use esker_results::study::{
    BusiestHour, BusyResults, Candidate, CandidateOutcome, CurvePoint, GrownLoad, JudgedState, ResourceLimit, WarmState,
};

/// Number of points of the distribution of response times.
const CURVE_POINTS: usize = 120;
const HOUR: Nanos = Nanos::from_secs(3600);

/// The results of a simulation. They hold for every offer with the same simulated design.
#[derive(Clone)]
pub(crate) struct SimulationResults {
    /// The results without product, price and life, which depend on the offer.
    pub(crate) candidate: Candidate,
    /// The wear of the flash, if the design has any and served everything.
    pub(crate) flash_wear: Option<FlashWear>,
    pub(crate) slowest: Option<Slowest>,
}

/// Simulates one design: the measured run; if that keeps the budgets and the design has flash, as many further passes
/// as write amplification needs; and the busiest stretches under larger loads.
pub(crate) fn simulate(task: &Task<'_>, design: &Design) -> Result<SimulationResults, StudyError> {
    let Task { workload, settings, hooks, .. } = *task;
    let mut candidate = Candidate::new(&design.name, &design.title, design.kind, design.device_count);
    let mut run = match measured_run(task, design, &Load::AS_TRACED) {
        Ok(run) => run,
        Err(StudyError::Design(fault)) => {
            candidate.outcome = CandidateOutcome::Failed { reason: fault.to_string() };
            return Ok(SimulationResults { candidate, flash_wear: None, slowest: None });
        }
        Err(error) => return Err(error),
    };
    let report = Report::of(&*run.device);
    candidate.capacity_bytes = run.device.capacity().0;
    candidate.config = run.experiment.resolved();
    candidate.limits = limits(&report, &run);
    candidate.translation_layer = layer::of(design, &candidate.config, &run, &report);
    candidate.judged = match (design.is_hybrid(), design.is_cache()) {
        (true, _) => JudgedState::Settled(settling::moved(&report)),
        (_, true) => JudgedState::Warm(WarmState::default()),
        _ => JudgedState::Any,
    };
    candidate.series = std::mem::take(&mut run.series);
    match run.replay.end {
        ReplayEnd::Complete => {
            candidate.requests = Some(run.statistics.results());
            candidate.busiest_hour = busiest_hour(workload, &run);
            candidate.response_curve = curve(&run.statistics);
        }
        ReplayEnd::Saturated { since, backlog } => {
            candidate.outcome = CandidateOutcome::Saturated {
                since_s: since.as_secs_f64(),
                since_clock: words::clock(since.as_secs_f64()),
                stopped_s: run.replay.last_event.as_secs_f64(),
                backlog_requests: backlog as u64,
            };
        }
        ReplayEnd::Stalled { in_flight } => {
            let reason = format!("{in_flight} requests never ended: please report this as a bug");
            candidate.outcome = CandidateOutcome::Failed { reason };
        }
        ReplayEnd::Stopped => return Err(StudyError::Cancelled),
    }
    let mut flash_wear = None;
    if candidate.outcome == CandidateOutcome::Served {
        // The response times of a hybrid are known once its policy has settled, those of a cache once it is warm.
        let of_stretch = |busy: &Option<RequestStatistics>| {
            let busy = busy.as_ref().filter(|_| !design.is_pair())?;
            Some(BusyResults { response_time: LatencySummary::of(&busy.response()), ..BusyResults::default() })
        };
        (candidate.busy, candidate.busy_by_bytes) = (of_stretch(&run.busy), of_stretch(&run.busy_by_bytes));
        let last_quarter = run.last_quarter.as_ref().filter(|late| late.response().count() > 0);
        candidate.last_quarter = last_quarter.map(|late| LatencySummary::of(&late.response()));
        let warm = warm(task, design, &mut candidate)?;
        // Finding the life of flash takes many further passes: too many for a design that will not be bought anyway.
        let judgement = judge(&candidate, task.budgets);
        let may_do = judgement.keeps_budgets && !slow_in_hour(&candidate, task) || judgement.close || settings.thorough;
        if design.flash.is_some() && may_do {
            let late = design.is_hybrid().then(|| settling::late(task, design, &report)).transpose()?;
            if let (Some((settled, _)), JudgedState::Settled(state)) = (&late, &mut candidate.judged) {
                state.settled = Some(*settled);
            }
            let late = late.map(|(_, late)| late).or(warm.as_ref().map(|warm| warm.late));
            flash_wear = Some(endurance::flash_wear(workload, &mut run, &report.devices, late.as_ref(), hooks)?);
        }
        let hopeless = is_hopeless(&candidate, task);
        if let (Some(busy), Some(limits), false) = (task.busy, &task.limits, hopeless) {
            match design.is_cache() {
                true => {
                    let first = warm.map_or(Strain::TOO_MUCH, |warm| warm.strain);
                    candidate.headroom = Some(warming::carried(task, busy, design, limits, &first)?);
                }
                false => under_load(task, busy, limits, &mut run, &mut candidate)?,
            }
        }
    }
    candidate.devices = report.devices;
    let factor = settings.budgets.load_at_the_end();
    let grows = candidate.outcome == CandidateOutcome::Served && workload.has_times() && factor > 1.0;
    if grows && !is_hopeless(&candidate, task) {
        // The run has its own device, which the further passes did not change.
        let time_scale = Ratio::from_f64(1.0 / factor).max(Ratio::parts_per_billion(1));
        let load = Load { time_scale, ..Load::AS_TRACED };
        let run = measured_run(task, design, &load)?;
        candidate.grown = Some(GrownLoad {
            factor,
            keeps_up: run.replay.end == ReplayEnd::Complete,
            busiest_hour_p99_us: match run.replay.end {
                ReplayEnd::Complete => busiest_hour(workload, &run).map(|hour| hour.response_time.p99_us),
                _ => None,
            },
        });
    }
    Ok(SimulationResults { candidate, flash_wear, slowest: run.slowest })
}

/// If the 99th percentile is this many times its budget, nothing saves the design: no larger load is tried.
const HOPELESS: f64 = 4.0;

/// Returns true if a design has already lost under the load of the trace.
fn is_hopeless(candidate: &Candidate, task: &Task<'_>) -> bool {
    let (Some(worst), Some(limit)) = (candidate.worst_percentile(), task.budgets.p99_us) else { return false };
    !task.settings.thorough && candidate.busy.is_some() && worst.p99_us > limit * HOPELESS
}

/// Plays the busy stretch on a design's warm cache. Returns `None` for other designs, and if the cache cannot keep up.
fn warm(task: &Task<'_>, design: &Design, candidate: &mut Candidate) -> Result<Option<WarmResults>, StudyError> {
    let (Some(busy), JudgedState::Warm(state)) = (task.busy, &mut candidate.judged) else { return Ok(None) };
    let Some(warm) = warming::warm(task, busy, design, 1.0)? else { return Ok(None) };
    *state = WarmState { hit_ratio: Some(warm.hit_ratio), warmed: Some(warm.warmed) };
    candidate.busy.clone_from(&warm.strain.busy);
    candidate.busy_by_bytes.clone_from(&warm.strain.busy_by_bytes);
    candidate.last_quarter = warm.last_quarter;
    Ok(Some(warm))
}

/// Plays the busiest stretches under the load of the trace and under the load that has to be carried, to find the
/// busiest resource and the headroom.
fn under_load(
    task: &Task<'_>,
    busy: &Busy,
    limits: &Limits,
    run: &mut MeasuredRun,
    candidate: &mut Candidate,
) -> Result<(), StudyError> {
    let stretches = Stretches::of(busy, &run.experiment, &*run.device)?;
    let MeasuredRun { device, replay_settings, now, .. } = run;
    let first = strain(&stretches, &mut **device, replay_settings, 1.0, now, task.hooks)?;
    if candidate.judged.depends_on_history() {
        candidate.busy.clone_from(&first.busy);
        candidate.busy_by_bytes.clone_from(&first.busy_by_bytes);
    }
    let stretches_of = [(&mut candidate.busy, &first.busy), (&mut candidate.busy_by_bytes, &first.busy_by_bytes)];
    for (results, strained) in stretches_of {
        if let (Some(results), Some(strained)) = (results, strained) {
            results.resource.clone_from(&strained.resource);
            results.utilisation = strained.utilisation;
        }
    }
    let asked = loads(LoadSearch::Asked, limits);
    let found = headroom(&first, limits, &asked, |load| {
        strain(&stretches, &mut **device, replay_settings, load, now, task.hooks)
    })?;
    candidate.headroom = Some(found);
    Ok(())
}

/// Builds a design and replays the workload on it once.
pub(crate) fn measured_run(task: &Task<'_>, design: &Design, load: &Load<'_>) -> Result<MeasuredRun, StudyError> {
    measured_run_below(None, task, design, load)
}

/// Does the same, but stops at the ceiling, if there is one ([`ReplayEnd::Stopped`]).
pub(crate) fn measured_run_below(
    ceiling: Option<Ceiling>,
    task: &Task<'_>,
    design: &Design,
    load: &Load<'_>,
) -> Result<MeasuredRun, StudyError> {
    let Task { workload, settings, hooks, .. } = *task;
    let Setup { mut device, replay_settings, experiment } = set_up(workload, design, load, settings, hooks)?;
    device.control(Nanos::ZERO, Control::StartMeasuring).map_err(StudyError::design)?;
    let mut go_on = |ended| hooks.simulated(ended);
    let mut measured = RunMeasurements::new().with_watch(Watch { go_on: &mut go_on }).with_ceiling(ceiling);
    if workload.has_times() {
        measured = measured.with_series(Nanos::ZERO, &*device).with_children(experiment.system.child_names());
        measured = with_windows(measured, task, design, load);
    }
    let left_out = Cell::default();
    let arrivals = arrivals(&workload.requests, &load.on(&experiment), device.capacity(), &left_out)?;
    let replay = replay(&mut *device, arrivals, &replay_settings, &mut measured).map_err(StudyError::design)?;
    let series = measured.series(&replay, &*device);
    let statistics = measured.statistics().clone();
    // Without times, the whole run counts as busy.
    let (hour, busy) = match workload.has_times() {
        true => (measured.window(0).cloned(), measured.window(1).cloned()),
        false => (None, Some(statistics.clone())),
    };
    let has_by_bytes = task.busy.is_some_and(|busy| busy.times.by_bytes.is_some());
    let busy_by_bytes = has_by_bytes.then(|| measured.window(2).cloned()).flatten();
    let last_quarter = measured.window(3).cloned();
    let now = replay.last_event;
    let slowest = measured.slowest();
    if measured.stopped() {
        return Err(StudyError::Cancelled);
    }
    Ok(MeasuredRun {
        device,
        experiment,
        replay,
        statistics,
        hour,
        busy,
        busy_by_bytes,
        last_quarter,
        series,
        slowest,
        now,
        replay_settings,
    })
}

/// Adds windows for the busiest hour, the busiest stretches and, for a hybrid, the last quarter.
fn with_windows<'a>(
    mut measured: RunMeasurements<'a>,
    task: &Task<'_>,
    design: &Design,
    load: &Load<'_>,
) -> RunMeasurements<'a> {
    let workload = task.workload;
    if let Some(hour) = workload.profile.busiest_hour.as_ref() {
        let (from, to) = (Nanos::from_secs_f64(hour.start_s), Nanos::from_secs_f64(hour.start_s) + HOUR);
        let from = if design.is_pair() { settling::judged_from(workload, from, to) } else { from };
        measured = measured.with_window(load.scaled(from), load.scaled(to));
    }
    if let Some(Busy { times, .. }) = task.busy {
        // If both stretches are the same, the window of the one by bytes is empty.
        let none = Stretch { from: Nanos::NEVER, to: Nanos::NEVER, requests: 0 };
        for stretch in [times.stretch, times.by_bytes.unwrap_or(none)] {
            measured = measured.with_window(load.scaled(stretch.from), load.scaled(stretch.to));
        }
    }
    if let Some(late) = design.is_hybrid().then(|| settling::late_from(workload)).flatten() {
        measured = measured.with_window(load.scaled(late), Nanos::NEVER);
    }
    measured
}

fn busiest_hour(workload: &StudyWorkload, run: &MeasuredRun) -> Option<BusiestHour> {
    let response = match (&workload.profile.busiest_hour, &run.hour) {
        (Some(hour), Some(statistics)) => (hour.start_s, statistics.response()),
        // Without times, the whole run counts as the busiest hour.
        _ => (0.0, run.statistics.response()),
    };
    let (start_s, response) = response;
    (response.count() > 0).then(|| BusiestHour {
        start_s,
        requests: response.count(),
        response_time: LatencySummary::of(&response),
    })
}

/// Returns true if a hybrid or a cache misses the budget for the 99th percentile in the busiest hour by more than
/// noise. A judgement without the results of a busy stretch does not consider that.
fn slow_in_hour(candidate: &Candidate, task: &Task<'_>) -> bool {
    let (Some(hour), Some(limit)) = (candidate.busiest_hour, task.budgets.p99_us) else { return false };
    candidate.judged.depends_on_history() && hour.response_time.p99_us > limit * (1.0 + NOISE)
}

fn curve(statistics: &RequestStatistics) -> Vec<CurvePoint> {
    // A response time of zero, of a trim for example, has no place on a logarithmic axis.
    let points = statistics.response().curve(CURVE_POINTS).into_iter().filter(|(time, _)| *time > Nanos::ZERO);
    points.map(|(time, share)| CurvePoint { time_us: time.as_micros_f64(), share }).collect()
}

/// Returns the utilisation of each kind of resource, the busiest first: the mean over the run from the devices, the
/// peak from the series.
fn limits(report: &Report, run: &MeasuredRun) -> Vec<ResourceLimit> {
    let mut limits: Vec<ResourceLimit> = Vec::new();
    for device in report.devices.values() {
        for (resource, &utilisation) in &device.utilisation {
            let busiest = device.utilisation_busiest.get(resource).copied().unwrap_or(utilisation);
            match limits.iter_mut().find(|limit| limit.resource == *resource) {
                Some(limit) => {
                    limit.utilisation = limit.utilisation.max(utilisation);
                    limit.busiest = limit.busiest.max(busiest);
                }
                None => limits.push(ResourceLimit {
                    resource: resource.clone(),
                    utilisation,
                    busiest,
                    peak: 0.0,
                    peak_s: 0.0,
                }),
            }
        }
    }
    for limit in &mut limits {
        for point in &run.series {
            let busy = point.utilisation.get(&limit.resource).copied().unwrap_or(0.0);
            if busy > limit.peak {
                (limit.peak, limit.peak_s) = (busy, point.start_s);
            }
        }
        limit.peak = limit.peak.max(limit.utilisation);
    }
    let most = |limit: &ResourceLimit| limit.peak.max(limit.busiest);
    limits.sort_by(|a, b| most(b).total_cmp(&most(a)).then_with(|| a.resource.cmp(&b.resource)));
    limits
}

/// Returns the flash counters of the first drive in a device tree.
pub(crate) fn flash_report(device: &dyn Reporting) -> Option<FlashReport> {
    let report = Report::of(device);
    report.devices.into_values().find_map(|device| device.flash)
}
