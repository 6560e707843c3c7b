//! Replays a workload on a design once, and measures it.

use esker_core::{Nanos, Ratio};
use esker_results::{FlashReport, Report, Reporting};
use esker_sim::{Ceiling, MeasuredRun, RunMeasurements, RunOptions, Workload};

use crate::StudyError;
use crate::busy::{Busy, Stretch};
use crate::design::Design;
use crate::load::StudyWorkload;
use crate::run::DesignRun;
use crate::setup::set_up;
use crate::task::Task;

const HOUR: Nanos = Nanos::from_secs(3600);

/// What a design serves.
#[derive(Clone, Copy)]
pub(crate) struct Load<'a> {
    /// The requests of the traces, or the same at other addresses.
    pub(crate) requests: &'a Workload,
    /// Factor for their times.
    pub(crate) time_scale: Ratio,
}

impl<'a> Load<'a> {
    pub(crate) fn as_traced(workload: &'a StudyWorkload) -> Self {
        Self { requests: &workload.requests, time_scale: Ratio::ONE }
    }

    /// Returns the time at which a request of the trace arrives under this load.
    fn scaled(&self, at: Nanos) -> Nanos {
        esker_sim::scaled(at, self.time_scale)
    }
}

/// Builds a design and replays a load on it once, up to the ceiling if there is one
/// ([`esker_core::ReplayEnd::Stopped`]).
pub(crate) fn measured_run(
    task: &Task<'_>,
    design: &Design,
    load: &Load<'_>,
    ceiling: Option<Ceiling>,
) -> Result<DesignRun, StudyError> {
    let timed = task.workload.has_times();
    let mut simulation = set_up(task, design, load.time_scale)?;
    let measurements = RunMeasurements::new().with_ceiling(ceiling);
    let measurements = if timed { with_windows(measurements, task, design, load) } else { measurements };
    let progress = |_, _| task.hooks.count();
    let options = RunOptions { progress: Some(&progress), cancel: Some(task.hooks.cancel), cost: false };
    let run = simulation.measure(load.requests, &options, measurements).map_err(StudyError::design)?;
    let MeasuredRun { replay, mut measurements, .. } = run;
    let series = measurements.series(&replay, simulation.device());
    let statistics = measurements.statistics().clone();
    let window = |number| measurements.window(number).cloned();
    let by_bytes = task.busy.is_some_and(|busy| busy.times.by_bytes.is_some());
    Ok(DesignRun {
        replay,
        hour: window(0),
        // Without times, the whole run counts as busy.
        busy: if timed { window(1) } else { Some(statistics.clone()) },
        busy_by_bytes: window(2).filter(|_| by_bytes),
        last_quarter: window(3),
        series,
        slowest: measurements.slowest(),
        statistics,
        simulation,
    })
}

/// Adds windows for the busiest hour, the busiest stretches and the requests that count instead of all.
fn with_windows(
    mut measurements: RunMeasurements,
    task: &Task<'_>,
    design: &Design,
    load: &Load<'_>,
) -> RunMeasurements {
    let workload = task.workload;
    if let Some(hour) = workload.profile.busiest_hour.as_ref() {
        let (from, to) = (Nanos::from_secs_f64(hour.start_s), Nanos::from_secs_f64(hour.start_s) + HOUR);
        let from = design.judging.hour_from(workload, from, to);
        measurements = measurements.with_window(load.scaled(from), load.scaled(to));
    }
    if let Some(Busy { times, .. }) = task.busy {
        // If both stretches are the same, the window of the one by bytes is empty.
        let none = Stretch { from: Nanos::NEVER, to: Nanos::NEVER, requests: 0 };
        for stretch in [times.stretch, times.by_bytes.unwrap_or(none)] {
            measurements = measurements.with_window(load.scaled(stretch.from), load.scaled(stretch.to));
        }
    }
    if let Some(late) = design.judging.late_from(workload) {
        measurements = measurements.with_window(load.scaled(late), Nanos::NEVER);
    }
    measurements
}

/// Returns the flash counters of the first drive in a device tree.
pub(crate) fn flash_report(device: &dyn Reporting) -> Option<FlashReport> {
    let report = Report::of(device);
    report.devices.into_values().find_map(|device| device.flash)
}
