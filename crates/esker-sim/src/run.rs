//! One run of an experiment, from its file to its results.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use esker_config::ConfigError;
use esker_core::{Hint, Nanos, Problem, ReplayEnd, ReplayError};
use esker_results::{Cost, RESULTS_SCHEMA, Report, RunResults, Saturation, WorkloadResults};

use crate::config::{Experiment, Schedule};
use crate::measured::RunMeasurements;
use crate::remarks::{remarks, undrained, unmade_events};
use crate::run_error::RunError;
use crate::run_options::RunOptions;
use crate::simulation::{MeasuredRun, Simulation};
use crate::workload::Workload;

/// Runs the experiment without its sweep.
pub fn run(experiment: &Experiment, options: &RunOptions) -> Result<RunResults, RunError> {
    let never = AtomicBool::new(false);
    let workload = experiment.open_workload(options.cancel.unwrap_or(&never))?;
    run_workload(experiment, &workload, options)
}

impl Experiment {
    /// Opens the workload and reads its traces. Set `cancel` to stop early with [`RunError::Cancelled`].
    pub fn open_workload(&self, cancel: &AtomicBool) -> Result<Workload, RunError> {
        let opened = Workload::open(&self.workload, self.folder(), self.run.seed, cancel);
        opened.map_err(|error| match error {
            RunError::Config(error) => self.located(error).into(),
            error => error,
        })
    }
}

/// Runs an experiment whose workload is already open.
pub fn run_workload(
    experiment: &Experiment,
    workload: &Workload,
    options: &RunOptions,
) -> Result<RunResults, RunError> {
    let mut results = simulate(experiment, workload, options).map_err(|error| match error {
        RunError::Replay(error) => located(experiment, error),
        error => error,
    })?;
    let remarks = remarks(experiment, workload, &results);
    results.remarks.extend(remarks);
    Ok(results)
}

/// The error of a replay with the key that causes it.
fn located(experiment: &Experiment, error: ReplayError) -> RunError {
    let settings = &experiment.workload;
    let (key, hint) = match error {
        ReplayError::Livelock(_) => return error.into(),
        ReplayError::Change { index, error: ref reason, .. } => {
            let key = Schedule::new(&experiment.run.events, Nanos::ZERO).key(index);
            let problem = match reason.hint() {
                Some(hint) => Problem::with_hint(error.to_string(), hint),
                None => Problem::new(error.to_string()),
            };
            return experiment.located(ConfigError::new(key, problem)).into();
        }
        ReplayError::ArrivesTooLate { .. } if settings.time_scale.is_some() => {
            ("workload.time_scale".to_string(), "take a smaller factor")
        }
        ReplayError::ArrivesTooLate { .. } if settings.synthetic.is_some() => {
            ("workload.synthetic.arrivals".to_string(), "take a higher rate, or fewer `requests`")
        }
        ReplayError::ArrivesTooLate { .. } => {
            ("workload.trace".to_string(), "are its times in the unit of its format?")
        }
        ReplayError::EndsTooLate { .. } => {
            let key = format!("device.{}", experiment.system.target());
            (key, "take shorter times for the devices, or fewer requests")
        }
    };
    experiment.located(ConfigError::new(key, Problem::with_hint(error.to_string(), hint))).into()
}

fn simulate(experiment: &Experiment, workload: &Workload, options: &RunOptions) -> Result<RunResults, RunError> {
    let mut simulation = Simulation::with(experiment.clone(), options.drives)?;
    let begin = Stopwatch::start();
    let run = simulation.measure(workload, options, RunMeasurements::new())?;
    let cost = options.cost.then(|| begin.cost(run.replay.completed, simulation.precondition_time()));
    let mut results = RunResults { cost, ..results(&simulation, run) };
    if results.saturated.is_none() {
        results.settled = simulation.settle(workload, options.cancel)?;
    }
    Ok(results)
}

/// Returns the results of a run that has just ended.
fn results(simulation: &Simulation, run: MeasuredRun) -> RunResults {
    let MeasuredRun { replay, mut measurements, left_out } = run;
    let (experiment, device) = (simulation.experiment(), simulation.device());
    let saturated = match replay.end {
        ReplayEnd::Saturated { since, backlog } => Some(Saturation {
            since_s: since.as_secs_f64(),
            stopped_s: replay.last_event.as_secs_f64(),
            backlog_requests: backlog as u64,
        }),
        _ => None,
    };
    let requests = measurements.requests();
    debug_assert!(
        replay.end != ReplayEnd::Complete || requests.all.count + requests.errors == replay.arrived,
        "every request that arrived ended, well or with an error"
    );
    let mut results = RunResults {
        schema: RESULTS_SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_string(),
        seed: experiment.run.seed,
        config: experiment.resolved(),
        workload: WorkloadResults { left_out, ..measurements.workload(&replay) },
        requests,
        throughput: measurements.throughput(&replay),
        saturated,
        settled: None,
        devices: Report::until(replay.last_event, device).devices,
        remarks: unmade_events(&experiment.run, replay.changes),
        series: measurements.series(&replay, device),
        placement_map: measurements.placement_map(),
        cost: None,
    };
    let undrained = undrained(&experiment.run, replay.changes, &results);
    results.remarks.extend(undrained);
    results
}

/// Measures the cost of the simulation itself. Nothing simulated depends on it.
struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "what a run costs the user, not the device")]
    fn start() -> Self {
        Self(Instant::now())
    }

    fn cost(&self, requests: u64, precondition: Duration) -> Cost {
        let wall_s = self.0.elapsed().as_secs_f64();
        Cost {
            wall_s,
            requests_per_wall_s: if wall_s > 0.0 { requests as f64 / wall_s } else { 0.0 },
            precondition_s: precondition.as_secs_f64(),
            peak_memory_bytes: peak_memory_bytes(),
        }
    }
}

/// Returns the peak resident memory of this process; zero if the system does not report it.
fn peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
