//! Replays a workload on a design once, and measures it.

use std::cell::Cell;

use esker_core::{Control, Nanos, replay};
use esker_results::{FlashReport, Report, Reporting};
use esker_sim::{Ceiling, RunMeasurements, Watch};

use crate::StudyError;
use crate::arrivals::{Load, arrivals};
use crate::busy::{Busy, Stretch};
use crate::design::Design;
use crate::run::MeasuredRun;
use crate::setup::{Setup, set_up};
use crate::task::Task;

const HOUR: Nanos = Nanos::from_secs(3600);

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

/// Adds windows for the busiest hour, the busiest stretches and the requests that count instead of all.
fn with_windows<'a>(
    mut measured: RunMeasurements<'a>,
    task: &Task<'_>,
    design: &Design,
    load: &Load<'_>,
) -> RunMeasurements<'a> {
    let workload = task.workload;
    if let Some(hour) = workload.profile.busiest_hour.as_ref() {
        let (from, to) = (Nanos::from_secs_f64(hour.start_s), Nanos::from_secs_f64(hour.start_s) + HOUR);
        let from = design.judging.hour_from(workload, from, to);
        measured = measured.with_window(load.scaled(from), load.scaled(to));
    }
    if let Some(Busy { times, .. }) = task.busy {
        // If both stretches are the same, the window of the one by bytes is empty.
        let none = Stretch { from: Nanos::NEVER, to: Nanos::NEVER, requests: 0 };
        for stretch in [times.stretch, times.by_bytes.unwrap_or(none)] {
            measured = measured.with_window(load.scaled(stretch.from), load.scaled(stretch.to));
        }
    }
    if let Some(late) = design.judging.late_from(workload) {
        measured = measured.with_window(load.scaled(late), Nanos::NEVER);
    }
    measured
}

/// Returns the flash counters of the first drive in a device tree.
pub(crate) fn flash_report(device: &dyn Reporting) -> Option<FlashReport> {
    let report = Report::of(device);
    report.devices.into_values().find_map(|device| device.flash)
}
