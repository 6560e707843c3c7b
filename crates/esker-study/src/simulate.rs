//! Simulates a design under a workload.

use esker_core::{Nanos, Ratio, ReplayEnd, words};
use esker_results::{LatencySummary, Report, RequestStatistics};
use esker_sim::Slowest;

use crate::StudyError;
use crate::choose::NOISE;
use crate::design::Design;
use crate::endurance::{self, FlashWear};
use crate::judge::judge;
use crate::layer;
use crate::left_over::left_over;
use crate::load::StudyWorkload;
use crate::measure::{Load, measured_run};
use crate::run::DesignRun;
use crate::task::Task;
use esker_results::study::{
    BusiestHour, BusyResults, Candidate, CandidateOutcome, CurvePoint, GrownLoad, ResourceLimit,
};

/// Number of points of the distribution of response times.
const CURVE_POINTS: usize = 120;

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
    let mut candidate = Candidate::new(&design.name, &design.title, design.device_kind(), design.device_count);
    let mut run = match measured_run(task, design, &Load::as_traced(workload), None) {
        Ok(run) => run,
        Err(StudyError::Design(fault)) => {
            candidate.outcome = CandidateOutcome::Failed { reason: fault.to_string() };
            return Ok(SimulationResults { candidate, flash_wear: None, slowest: None });
        }
        Err(error) => return Err(error),
    };
    let report = Report::until(run.replay.last_event, run.simulation.device());
    candidate.capacity_bytes = run.simulation.device().capacity().0;
    candidate.config = run.simulation.experiment().resolved();
    candidate.limits = limits(&report, &run);
    candidate.translation_layer = layer::of(design, &candidate.config, &run, &report);
    candidate.judged = design.judging.state(&report);
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
        end @ (ReplayEnd::Stalled { .. } | ReplayEnd::Stopped) => unreachable!("there is no ceiling: {end:?}"),
    }
    let mut flash_wear = None;
    if candidate.outcome == CandidateOutcome::Served {
        // Of a design whose times depend on what it has served, the stretches are played in the state that counts.
        let of_stretch = |busy: &Option<RequestStatistics>| {
            let busy = busy.as_ref().filter(|_| !design.judging.depends_on_history())?;
            Some(BusyResults { response_time: LatencySummary::of(&busy.response()), ..BusyResults::default() })
        };
        (candidate.busy, candidate.busy_by_bytes) = (of_stretch(&run.busy), of_stretch(&run.busy_by_bytes));
        let last_quarter = run.last_quarter.as_ref().filter(|late| late.response().count() > 0);
        candidate.last_quarter = last_quarter.map(|late| LatencySummary::of(&late.response()));
        let played = design.judging.play_busy(task, design, &mut candidate)?;
        // Finding the life of flash takes many further passes: too many for a design that will not be bought anyway.
        let judgement = judge(&candidate, task.budgets);
        let may_do = judgement.keeps_budgets && !slow_in_hour(&candidate, task) || judgement.close || settings.thorough;
        if design.flash.is_some() && may_do {
            let late =
                design.judging.late_writes(task, design, run.simulation.device(), played.as_ref(), &mut candidate)?;
            flash_wear =
                Some(endurance::flash_wear(workload, &mut run.simulation, &report.devices, late.as_ref(), hooks)?);
        }
        let hopeless = is_hopeless(&candidate, task);
        if let (Some(busy), Some(limits), false) = (task.busy, &task.limits, hopeless) {
            design.judging.headroom(task, design, (busy, limits), played, &mut run, &mut candidate)?;
        }
    }
    candidate.left_over = left_over(task, design, &report.devices, run.replay.last_event)?;
    candidate.devices = report.devices;
    let factor = settings.budgets.load_at_the_end();
    let grows = candidate.outcome == CandidateOutcome::Served && workload.has_times() && factor > 1.0;
    if grows && !is_hopeless(&candidate, task) {
        // The run has its own device, which the further passes did not change.
        let time_scale = Ratio::from_f64(1.0 / factor).max(Ratio::parts_per_billion(1));
        let run = measured_run(task, design, &Load { time_scale, ..Load::as_traced(workload) }, None)?;
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

fn busiest_hour(workload: &StudyWorkload, run: &DesignRun) -> Option<BusiestHour> {
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

/// Returns true if a design misses the budget for the 99th percentile in the busiest hour by more than noise, and its
/// busy stretches may not have been played yet. A judgement without their results does not consider that.
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
fn limits(report: &Report, run: &DesignRun) -> Vec<ResourceLimit> {
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
