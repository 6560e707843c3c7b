//! One run of an experiment, from its file to its results.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use esker_config::ConfigError;
use esker_core::{Arrival, Bytes, Control, Nanos, Replay, ReplayEnd, ReplayError, Request, RequestKind, Stretch};
use esker_results::{Cost, LeftOut, RESULTS_SCHEMA, Report, Reporting, RunResults, Saturation, SettledResults};

use crate::assembly::Assembly;
use crate::config::{Experiment, Schedule, SettleSettings, WorkloadSettings};
use crate::measured::{RunMeasurements, SERIES_POINTS_MAX};
use crate::remarks::{remarks, undrained, unmade_events};
use crate::requests::Requests;
use crate::run_error::RunError;
use crate::stopping::Watch;
use crate::workload::{TargetLayout, Workload, WorkloadError};
use esker_core::{Hint, Problem};

/// Options for observing and stopping a run.
#[derive(Clone, Copy, Default)]
pub struct RunOptions<'a> {
    /// Called regularly with the number of ended requests, and of all requests.
    pub progress: Option<&'a (dyn Fn(u64, u64) + Sync)>,
    /// Set to true to stop the run, which then returns [`RunError::Cancelled`].
    pub cancel: Option<&'a AtomicBool>,
    /// Whether results include the cost of the simulation itself, which differs from run to run.
    pub cost: bool,
}

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
    let Assembly { mut device, precondition_time } = experiment.assemble()?;
    let capacity = device.capacity();
    let settings = &experiment.workload;
    let left_out = Cell::new(LeftOut::default());
    let mut requests = requests(experiment, workload, capacity, &left_out)?;
    check_requests(experiment, workload, &*device)?;

    let begin = Stopwatch::start();
    let go_on = |ended| {
        options.progress.inspect(|progress| progress(ended, workload.len()));
        !options.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    };
    let run = &experiment.run;
    let one_at_a_time = (!workload.has_times()).then_some(NonZeroU32::MIN);
    let mut replay_settings = run.replay_settings(settings.queue_depth.or(one_at_a_time));
    if run.timeline > 0 {
        device.control(Nanos::ZERO, Control::RecordTimeline(Stretch::First(run.timeline)))?;
    }
    let mut warmed = 0;
    if run.warm_up_requests > 0 {
        let mut watch = |ended| go_on(ended);
        let mut ignored = RunMeasurements::new().with_watch(Watch { go_on: &mut watch });
        let end = requests.replay_some(&mut *device, run.warm_up_requests, &replay_settings, &mut ignored)?;
        check_end(&end, &ignored)?;
        warmed = end.completed;
        replay_settings.start = end.last_event;
        if let ReplayEnd::Saturated { .. } = end.end {
            // Nothing was measured. Return the results of the warm-up, which are all there is.
            let cost = options.cost.then(|| begin.cost(end.completed, precondition_time));
            let mut results = finish_results(experiment, &mut ignored, &end, &*device, cost);
            results.workload.left_out = left_out.get();
            results.remarks = unmade_events(run, end.changes);
            return Ok(results);
        }
    }
    device.control(replay_settings.start, Control::StartMeasuring)?;

    let mut watch = |ended| go_on(warmed + ended);
    let mut measured = RunMeasurements::new().with_watch(Watch { go_on: &mut watch });
    if run.series.is_some() {
        let children = experiment.system.child_names();
        measured = measured.with_series(replay_settings.start, &*device).with_children(children);
        measured = measured.with_placement_map(&*device);
        replay_settings.sample_every = run.series;
    }
    let Schedule { changes, .. } = Schedule::new(&run.events, replay_settings.start);
    let end = requests.replay_rest(&mut *device, &replay_settings, &changes, &mut measured)?;
    if measured.series_too_long() {
        let message = format!("the run has more than {SERIES_POINTS_MAX} of these intervals");
        let problem = Problem::with_hint(message, "take longer ones");
        return Err(experiment.located(ConfigError::new("run.series", problem)).into());
    }
    check_end(&end, &measured)?;
    let cost = options.cost.then(|| begin.cost(end.completed, precondition_time));
    let mut results = finish_results(experiment, &mut measured, &end, &*device, cost);
    results.workload.left_out = left_out.get();
    results.remarks = unmade_events(run, end.changes);
    let undrained = undrained(run, end.changes, &results);
    results.remarks.extend(undrained);
    if let (Some(settle), None) = (&run.settle, &results.saturated) {
        results.settled = Some(settled(experiment, workload, &mut *device, end.last_event, settle, options)?);
    }
    Ok(results)
}

/// The requests of the run, which come as the workload's settings say.
fn requests<'a>(
    experiment: &Experiment,
    workload: &'a Workload,
    capacity: Bytes,
    left_out: &'a Cell<LeftOut>,
) -> Result<Requests<impl Iterator<Item = Arrival> + use<'a>, impl Iterator<Item = Request> + use<'a>>, ConfigError> {
    let settings = &experiment.workload;
    let Some(count) = settings.processes else {
        return Ok(Requests::Stream(arrivals(experiment, workload, capacity, left_out)?.peekable()));
    };
    let processes = workload.processes(capacity, count, settings.think_time.unwrap_or_default(), left_out);
    let processes = processes.map_err(|error| of_target(experiment, error))?;
    Ok(Requests::Processes { processes, left: workload.len() })
}

/// Asks the target whether it makes sense to run these requests on it.
fn check_requests(experiment: &Experiment, workload: &Workload, device: &dyn Reporting) -> Result<(), ConfigError> {
    let settings = &experiment.workload;
    if settings.processes.is_some() {
        return Ok(());
    }
    let (target, ignored) = (experiment.system.target(), Cell::default());
    let made = || arrivals(experiment, workload, device.capacity(), &ignored).expect("it was made before");
    // Few devices look at any.
    let mut requests = std::iter::once_with(made).flatten();
    let have_times = workload.has_times() && settings.queue_depth.is_none();
    let built = Report::of(device).devices.remove(target).unwrap_or_default();
    let checked = experiment.system.devices()[target].settings.check_requests(&built, &mut requests, have_times);
    checked.map_err(|fault| experiment.of_device(target, fault))
}

fn arrivals<'a>(
    experiment: &Experiment,
    workload: &'a Workload,
    capacity: Bytes,
    left_out: &'a Cell<LeftOut>,
) -> Result<impl Iterator<Item = Arrival> + use<'a>, ConfigError> {
    let WorkloadSettings { beyond_capacity, spread_over, .. } = experiment.workload;
    let layout = TargetLayout {
        beyond_capacity,
        spread_over,
        time_scale: experiment.workload.time_scale(),
        ..TargetLayout::default()
    };
    workload.arrivals(capacity, &layout, left_out).map_err(|error| of_target(experiment, error))
}

/// The error for a workload that does not fit the target.
fn of_target(experiment: &Experiment, error: WorkloadError) -> ConfigError {
    let message = format!("{} (target `{}`)", error.message, experiment.system.target());
    experiment.located(WorkloadError { message, ..error }.into())
}

/// Repeats writes, and reads that fill a cache, after the measured run, which ended at `now`.
fn settled(
    experiment: &Experiment,
    workload: &Workload,
    device: &mut dyn Reporting,
    now: Nanos,
    settle: &SettleSettings,
    options: &RunOptions,
) -> Result<SettledResults, RunError> {
    let (capacity, ignored) = (device.capacity(), Cell::default());
    // It is already known that the workload fits the target.
    drop(arrivals(experiment, workload, capacity, &ignored)?);
    let with_reads = experiment.system.reads_change_flash();
    let changes = || {
        let all = arrivals(experiment, workload, capacity, &ignored).expect("it was made before");
        all.filter(move |arrival| with_reads || arrival.request.kind != RequestKind::Read)
    };
    let mut go_on = || !options.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed));
    crate::settle::settle(device, &mut { now }, settle, changes, &mut go_on)?.ok_or_else(|| {
        let target = experiment.system.target();
        let message = format!("no part of the target `{target}` is flash, so there is nothing to settle");
        experiment.located(ConfigError::new("run.settle", Problem::with_hint(message, "leave it out"))).into()
    })
}

fn check_end(replay: &Replay, measured: &RunMeasurements) -> Result<(), RunError> {
    match replay.end {
        ReplayEnd::Stalled { in_flight } => Err(RunError::Stalled { at: replay.last_event, in_flight }),
        ReplayEnd::Stopped if measured.stopped() => Err(RunError::Cancelled),
        ReplayEnd::Complete | ReplayEnd::Stopped | ReplayEnd::Saturated { .. } => Ok(()),
    }
}

/// Combines measurements and device reports into results.
pub fn finish_results(
    experiment: &Experiment,
    measured: &mut RunMeasurements,
    replay: &Replay,
    device: &dyn Reporting,
    cost: Option<Cost>,
) -> RunResults {
    let report = Report::of(device);
    let saturated = match replay.end {
        ReplayEnd::Saturated { since, backlog } => Some(Saturation {
            since_s: since.as_secs_f64(),
            stopped_s: replay.last_event.as_secs_f64(),
            backlog_requests: backlog as u64,
        }),
        _ => None,
    };
    let requests = measured.requests();
    debug_assert!(
        replay.end != ReplayEnd::Complete || requests.all.count + requests.errors == replay.arrived,
        "every request that arrived ended, well or with an error"
    );
    RunResults {
        schema: RESULTS_SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_string(),
        seed: experiment.run.seed,
        config: experiment.resolved(),
        workload: measured.workload(replay),
        requests,
        throughput: measured.throughput(replay),
        saturated,
        settled: None,
        devices: report.devices,
        remarks: Vec::new(),
        series: measured.series(replay, device),
        placement_map: measured.placement_map(),
        cost,
    }
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
