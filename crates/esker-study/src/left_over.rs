//! What filling a drive leaves over: cleaning that goes on by itself when a run begins. It comes once, and says nothing
//! of the years to come.

use std::cell::Cell;
use std::collections::BTreeMap;

use esker_core::{Arrival, Control, Nanos, Ratio};
use esker_results::{DeviceReport, Report};
use esker_sim::RunMeasurements;

use crate::StudyError;
use crate::design::Design;
use crate::setup::set_up;
use crate::task::Task;

/// Drives that have nothing else to do are done with it long before.
const REST: Nanos = Nanos::from_secs(60);

/// By name of a drive and by resource, the share of `whole`, the time of a run with the results `devices`, that went
/// into it: as much as the same drives work in that time if only the first request is asked of them.
pub(crate) fn left_over(
    task: &Task<'_>,
    design: &Design,
    devices: &BTreeMap<String, DeviceReport>,
    whole: Nanos,
) -> Result<BTreeMap<String, BTreeMap<String, f64>>, StudyError> {
    if design.flash.is_none() || !task.workload.has_times() || whole == Nanos::ZERO {
        return Ok(BTreeMap::new());
    }
    let mut simulation = set_up(task, design, Ratio::ONE)?;
    simulation.control(Control::StartMeasuring).map_err(StudyError::design)?;
    // A drive begins with it once anything was asked of it.
    let left_out = Cell::default();
    let arrivals = simulation.arrivals(&task.workload.requests, &left_out).map_err(StudyError::design)?;
    let first: Vec<Arrival> = arrivals.take(1).map(|arrival| Arrival { at: Nanos::ZERO, ..arrival }).collect();
    let played = simulation.play(first.into_iter(), &mut RunMeasurements::new(), &mut task.hooks.go_on());
    played.map_err(StudyError::design)?;
    let rest = whole.min(REST);
    simulation.rest(rest.saturating_sub(simulation.now()));
    let of_rest = rest.as_secs_f64() / whole.as_secs_f64();
    let idle = Report::until(rest, simulation.device()).devices;
    let of_drive = |(name, idle): (String, DeviceReport)| {
        let cleaned = |one: &DeviceReport| one.flash.as_ref().map(|flash| flash.programs.cleaning as f64);
        let (alone, in_run) = (cleaned(&idle)?, cleaned(devices.get(&name)?)?);
        // A drive that was too busy to clean did not get to all of it.
        let done = if alone > 0.0 { (in_run / alone).min(1.0) } else { 1.0 };
        let shares = idle.busy_shares().map(|(resource, share)| (resource.to_string(), share * of_rest * done));
        let shares: BTreeMap<String, f64> = shares.filter(|(_, share)| *share > 0.0).collect();
        (!shares.is_empty()).then_some((name, shares))
    };
    Ok(idle.into_iter().filter_map(of_drive).collect())
}
