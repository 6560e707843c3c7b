//! An experiment under way: the one way to run one.

mod requests;
mod settle;
mod watched;

use std::cell::Cell;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use esker_config::ConfigError;
use esker_core::{
    Arrival, Control, Nanos, Observer, Problem, Replay, ReplayEnd, ReplaySettings, Request, Stretch, replay,
};
use esker_flash::PreconditionedDrives;
use esker_results::{LeftOut, Report, Reporting};

use crate::assembly::Assembly;
use crate::config::{Experiment, Schedule};
use crate::measured::{RunMeasurements, SERIES_POINTS_MAX};
use crate::run_error::RunError;
use crate::run_options::RunOptions;
use crate::workload::{Workload, WorkloadError};
use requests::Requests;
use watched::watched;

pub use watched::PROGRESS_EVERY;

/// The devices of an experiment, and how far their time has gone. Nothing else runs requests on them, so that the
/// results are those of this experiment.
///
/// [`Simulation::measure`] is the run that the experiment describes. More requests may be played before it, after it or
/// instead of it.
pub struct Simulation {
    experiment: Experiment,
    device: Box<dyn Reporting>,
    precondition_time: Duration,
    now: Nanos,
}

/// The requests of an experiment's run, as they ended.
pub struct MeasuredRun {
    /// How the run ended.
    pub replay: Replay,
    /// What was measured: after the warm-up, or in it if the target could not even keep up with that.
    pub measurements: RunMeasurements,
    /// Requests that did not reach the target as a whole.
    pub left_out: LeftOut,
}

impl Simulation {
    /// Builds and preconditions the devices.
    ///
    /// # Errors
    /// What is wrong with the settings of a device.
    pub fn new(experiment: Experiment) -> Result<Self, ConfigError> {
        Self::with(experiment, None)
    }

    /// Like [`Simulation::new`]; with `drives`, a drive that is preconditioned like one of them takes a copy of it.
    ///
    /// # Errors
    /// What is wrong with the settings of a device.
    pub fn with(experiment: Experiment, drives: Option<&Arc<PreconditionedDrives>>) -> Result<Self, ConfigError> {
        let Assembly { device, precondition_time } = experiment.assemble_with(drives)?;
        Ok(Self { experiment, device, precondition_time, now: Nanos::ZERO })
    }

    /// Returns the experiment.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// Returns the target, with everything under it.
    pub fn device(&self) -> &dyn Reporting {
        &*self.device
    }

    /// Returns the wall-clock time that preconditioning took.
    pub(crate) fn precondition_time(&self) -> Duration {
        self.precondition_time
    }

    /// Returns how far the time of the devices has gone.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Returns the requests of `workload` as the experiment lays them on the target. Their times begin at zero. Counts
    /// in `left_out` what does not reach the target as a whole, while requests are taken.
    ///
    /// # Errors
    /// The workload does not fit the target.
    pub fn arrivals<'a>(
        &self,
        workload: &'a Workload,
        left_out: &'a Cell<LeftOut>,
    ) -> Result<impl Iterator<Item = Arrival> + use<'a>, ConfigError> {
        let arrivals = workload.arrivals(self.device.capacity(), &self.experiment.workload, left_out);
        arrivals.map_err(|error| self.of_target(error))
    }

    /// Runs the experiment: its warm-up, and then the requests that are measured. `measurements` may have windows and a
    /// ceiling, which count after the warm-up.
    ///
    /// # Errors
    /// The workload does not fit the target, a replay cannot go on, or the caller stopped it.
    pub fn measure(
        &mut self,
        workload: &Workload,
        options: &RunOptions<'_>,
        mut measurements: RunMeasurements,
    ) -> Result<MeasuredRun, RunError> {
        let left_out = Cell::default();
        let mut requests = self.requests(workload, &left_out)?;
        self.check_requests(workload)?;
        let one_at_a_time = (!workload.has_times()).then_some(NonZeroU32::MIN);
        let Self { experiment, device, now, .. } = self;
        let (run, device) = (&experiment.run, &mut **device);
        let mut settings = run.replay_settings(experiment.workload.queue_depth.or(one_at_a_time));
        if run.timeline > 0 {
            device.control(*now, Control::RecordTimeline(Stretch::First(run.timeline)))?;
        }
        let mut warmed = 0;
        if run.warm_up_requests > 0 {
            let mut measurements = RunMeasurements::new();
            let mut go_on = |ended| options.go_on(ended, workload.len());
            let replay = watched(&mut measurements, &mut go_on, |observer| {
                requests.replay_some(device, run.warm_up_requests, &settings, observer)
            })?;
            (*now, warmed) = (replay.last_event, replay.completed);
            if let ReplayEnd::Saturated { .. } = replay.end {
                return Ok(MeasuredRun { replay, measurements, left_out: left_out.get() });
            }
        }
        device.control(*now, Control::StartMeasuring)?;
        if run.series.is_some() {
            measurements = measurements.with_series(*now, experiment.system.child_names(), device);
        }
        settings = ReplaySettings { start: *now, sample_every: run.series, ..settings };
        let Schedule { changes, .. } = Schedule::new(&run.events, *now);
        let mut go_on = |ended| options.go_on(warmed + ended, workload.len());
        let replay = watched(&mut measurements, &mut go_on, |observer| {
            requests.replay_rest(device, &settings, &changes, observer)
        })?;
        *now = replay.last_event;
        if measurements.series_too_long() {
            let message = format!("the run has more than {SERIES_POINTS_MAX} of these intervals");
            let problem = Problem::with_hint(message, "take longer ones");
            return Err(experiment.located(ConfigError::new("run.series", problem)).into());
        }
        Ok(MeasuredRun { replay, measurements, left_out: left_out.get() })
    }

    /// Tells the devices `command`.
    ///
    /// # Errors
    /// A device does not know it.
    pub fn control(&mut self, command: Control) -> Result<(), RunError> {
        Ok(self.device.control(self.now, command)?)
    }

    /// Plays requests that come as the run's do, open loop or closed, with its limits. Times of `arrivals` count from
    /// now on. `go_on` is called every [`PROGRESS_EVERY`] requests with the number of those that ended; if it returns
    /// false, the result is [`RunError::Cancelled`].
    ///
    /// # Errors
    /// The replay cannot go on, or the caller stopped it.
    pub fn play(
        &mut self,
        arrivals: impl Iterator<Item = Arrival>,
        observer: &mut impl Observer<dyn Reporting>,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Replay, RunError> {
        let Self { experiment, device, now, .. } = self;
        let start = *now;
        let settings = ReplaySettings { start, ..experiment.run.replay_settings(experiment.workload.queue_depth) };
        let arrivals = arrivals.map(|arrival| Arrival { at: start + arrival.at, ..arrival });
        let replay = watched(observer, go_on, |observer| replay(&mut **device, arrivals, &settings, observer))?;
        *now = replay.last_event;
        Ok(replay)
    }

    /// Lets the devices do their own work, such as cleaning, for `pause` without requests.
    pub fn rest(&mut self, pause: Nanos) {
        self.now += pause;
        let mut done = Vec::new();
        while self.device.next_event() <= self.now {
            let at = self.device.next_event();
            self.device.advance(at, &mut done);
        }
        assert!(done.is_empty(), "a request ended that had not been under way");
    }

    /// Lets time go on until `at`, if it has not. What the devices do meanwhile they do when they are next asked.
    pub fn wait_until(&mut self, at: Nanos) {
        self.now = self.now.max(at);
    }

    /// The requests of the run, which come as the workload's settings say.
    fn requests<'a>(
        &self,
        workload: &'a Workload,
        left_out: &'a Cell<LeftOut>,
    ) -> Result<Requests<impl Iterator<Item = Arrival> + use<'a>, impl Iterator<Item = Request> + use<'a>>, ConfigError>
    {
        let settings = &self.experiment.workload;
        let Some(count) = settings.processes else {
            return Ok(Requests::Stream(self.arrivals(workload, left_out)?.peekable()));
        };
        let think_time = settings.think_time.unwrap_or_default();
        let processes = workload.processes(self.device.capacity(), count, think_time, left_out);
        let processes = processes.map_err(|error| self.of_target(error))?;
        Ok(Requests::Processes { processes, left: workload.len() })
    }

    /// Asks the target whether it makes sense to run these requests on it.
    fn check_requests(&self, workload: &Workload) -> Result<(), ConfigError> {
        let Experiment { system, workload: settings, .. } = &self.experiment;
        if settings.processes.is_some() {
            return Ok(());
        }
        let (target, ignored) = (system.target(), Cell::default());
        let made = || self.arrivals(workload, &ignored).expect("it was made before");
        // Few devices look at any.
        let mut requests = std::iter::once_with(made).flatten();
        let have_times = workload.has_times() && settings.queue_depth.is_none();
        let built = Report::of(&*self.device).devices.remove(target).unwrap_or_default();
        let checked = system.devices()[target].settings.check_requests(&built, &mut requests, have_times);
        checked.map_err(|fault| self.experiment.of_device(target, fault))
    }

    /// The error for a workload that does not fit the target.
    fn of_target(&self, error: WorkloadError) -> ConfigError {
        let message = format!("{} (target `{}`)", error.message, self.experiment.system.target());
        self.experiment.located(WorkloadError { message, ..error }.into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use esker_core::{Bytes, Lba};

    use super::*;

    fn simulation(run: &str) -> Simulation {
        let text = format!(
            "[workload]\nsynthetic = {{ requests = 10 }}\nqueue_depth = 1\n[device.d]\nkind = \"constant\"\n\
             service_time = \"1ms\"\ncapacity = \"1MiB\"\n[run]\ntarget = \"d\"\n{run}"
        );
        Simulation::new(Experiment::from_str(&text, "x.toml").unwrap()).unwrap()
    }

    fn arrivals(count: u64) -> impl Iterator<Item = Arrival> {
        (0..count).map(|_| Arrival { at: Nanos::ZERO, request: Request::read(Lba(0), Bytes(512)) })
    }

    #[test]
    fn what_is_played_later_comes_as_the_run_did_and_begins_where_it_ended() {
        let mut simulation = simulation("warm_up_requests = 4");
        let workload = simulation.experiment().open_workload(&AtomicBool::new(false)).unwrap();
        let run = simulation.measure(&workload, &RunOptions::default(), RunMeasurements::new()).unwrap();
        assert_eq!((run.measurements.requests().all.count, simulation.now()), (6, Nanos::from_millis(10)));
        simulation.rest(Nanos::from_millis(5));
        simulation.wait_until(Nanos::from_millis(2));
        let mut measurements = RunMeasurements::new();
        let replay = simulation.play(arrivals(3), &mut measurements, &mut |_| true).unwrap();
        assert_eq!((replay.first_arrival, replay.last_event), (Nanos::from_millis(15), Nanos::from_millis(18)));
        // One at a time: none waits for another.
        assert_eq!(measurements.statistics().response().max(), Nanos::from_millis(1));
    }

    #[test]
    fn the_caller_stops_what_is_played() {
        let mut asked = Vec::new();
        let mut go_on = |ended| {
            asked.push(ended);
            asked.len() < 2
        };
        let played = simulation("").play(arrivals(100_000), &mut RunMeasurements::new(), &mut go_on);
        assert!(matches!(played, Err(RunError::Cancelled)), "{played:?}");
        assert_eq!(asked, [PROGRESS_EVERY, 2 * PROGRESS_EVERY]);
    }

    #[test]
    fn nothing_settles_unless_the_experiment_asks_for_it() {
        let settle = |run| {
            let mut simulation = simulation(run);
            let workload = simulation.experiment().open_workload(&AtomicBool::new(false)).unwrap();
            simulation.settle(&workload, None)
        };
        assert_eq!(settle("").unwrap(), None);
        let refused = settle("settle = {}").unwrap_err().to_string();
        assert!(refused.contains("run.settle: no part of the target `d` is flash"), "{refused}");
    }
}
