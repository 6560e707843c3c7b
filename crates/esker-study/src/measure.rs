//! Replays a workload on a design once, and measures it.

use esker_core::{Nanos, Ratio};
use esker_results::{FlashReport, Report, Reporting};
use esker_sim::{Ceiling, MeasuredRun, RunMeasurements, RunOptions, Workload};

use crate::StudyError;
use crate::busy::Stretch;
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
    let mut measurements = RunMeasurements::new().with_ceiling(ceiling);
    let windows = if timed { Windows::add(&mut measurements, task, design, load) } else { Windows::default() };
    let progress = |_, _| task.hooks.count();
    let options = RunOptions { progress: Some(&progress), cancel: Some(task.hooks.cancel), ..RunOptions::default() };
    let run = simulation.measure(load.requests, &options, measurements).map_err(StudyError::design)?;
    let MeasuredRun { replay, mut measurements, .. } = run;
    let series = measurements.series(&replay, simulation.device());
    let statistics = measurements.statistics().clone();
    let window = |number: Option<usize>| measurements.window(number?).cloned();
    Ok(DesignRun {
        replay,
        hour: window(windows.hour),
        // Without times, the whole run counts as busy.
        busy: if timed { window(windows.busy) } else { Some(statistics.clone()) },
        busy_by_bytes: window(windows.busy_by_bytes),
        last_quarter: window(windows.late),
        series,
        slowest: measurements.slowest(),
        statistics,
        simulation,
    })
}

/// The numbers of the windows of a run; `None` without such a window.
#[derive(Default)]
struct Windows {
    hour: Option<usize>,
    busy: Option<usize>,
    busy_by_bytes: Option<usize>,
    late: Option<usize>,
}

impl Windows {
    /// Adds windows for the busiest hour, the busiest stretches and the requests that count instead of all.
    fn add(measurements: &mut RunMeasurements, task: &Task<'_>, design: &Design, load: &Load<'_>) -> Self {
        let workload = task.workload;
        let mut add = |from: Nanos, to: Nanos| measurements.add_window(load.scaled(from), to);
        let times = task.busy.map(|busy| &busy.times);
        let mut stretch = |stretch: Stretch| add(stretch.from, load.scaled(stretch.to));
        Self {
            busy: times.map(|times| stretch(times.stretch)),
            busy_by_bytes: times.and_then(|times| times.by_bytes).map(stretch),
            hour: workload.profile.busiest_hour.as_ref().map(|hour| {
                let (from, to) = (Nanos::from_secs_f64(hour.start_s), Nanos::from_secs_f64(hour.start_s) + HOUR);
                add(design.judging.hour_from(workload, from, to), load.scaled(to))
            }),
            late: design.judging.late_from(workload).map(|late| add(late, Nanos::NEVER)),
        }
    }
}

/// Returns the flash counters of the first drive in a device tree.
pub(crate) fn flash_report(device: &dyn Reporting) -> Option<FlashReport> {
    let report = Report::of(device);
    report.devices.into_values().find_map(|device| device.flash)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use esker_core::Bytes;

    use super::*;
    use crate::hybrid_tests::{HOT, SyntheticWorkload, asked, small};
    use crate::prepare::PreparedWorkload;
    use crate::{Hooks, load};

    #[test]
    fn without_a_busiest_hour_the_busiest_stretch_is_still_found() {
        let folder = tempfile::tempdir().unwrap();
        let settings = asked(&SyntheticWorkload { terabytes: 1, seconds: 70, ..HOT }.write(folder.path()), small());
        let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
        let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
        let mut workload = load::single(&settings.traces, &settings.read, &hooks).unwrap();
        workload.profile.busiest_hour = None;
        let prepared = PreparedWorkload::of(&workload, &settings).unwrap();
        let offers = prepared.offers(&workload, &settings, &hooks).unwrap();
        let design = offers[0].design(Bytes(workload.map().footprint()), settings.utilisation).unwrap();
        let task = prepared.task(&workload, &settings, &hooks);
        let run = measured_run(&task, &design, &Load::as_traced(&workload), None).unwrap();
        let stretch = prepared.busy.as_ref().unwrap().times.stretch;
        assert_eq!(run.busy.map(|busy| busy.response().count()), Some(stretch.requests));
        assert!(run.hour.is_none());
    }
}
