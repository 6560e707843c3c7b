//! Turns a study's workload into requests for a design.

use std::cell::Cell;

use esker_core::{Arrival, Bytes, Nanos, Ratio};
use esker_results::LeftOut;
use esker_sim::{BeyondCapacity, Experiment, TargetLayout, Workload};

use crate::StudyError;

/// How the workload is mapped to a design.
#[derive(Clone, Copy)]
pub(crate) struct Load<'a> {
    /// Bytes to add to the addresses of each volume.
    pub(crate) shifts: &'a [u64],
    /// Factor for the trace's times.
    pub(crate) time_scale: Ratio,
    /// On disks, the bytes over which volumes are spread; `None` packs touched areas side by side.
    pub(crate) spread_over: Option<Bytes>,
}

impl Load<'_> {
    pub(crate) const AS_TRACED: Load<'static> = Load { shifts: &[], time_scale: Ratio::ONE, spread_over: None };

    /// Returns this load with the `spread_over` of an experiment's design.
    pub(crate) fn on(self, experiment: &Experiment) -> Self {
        Self { spread_over: experiment.workload.spread_over, ..self }
    }

    /// Returns the time at which a request of the trace arrives under this load.
    pub(crate) fn scaled(&self, at: Nanos) -> Nanos {
        esker_sim::scaled(at, self.time_scale)
    }
}

/// Returns how touched areas are laid out on a design.
pub(crate) fn beyond_capacity(spread_over: Option<Bytes>) -> BeyondCapacity {
    if spread_over.is_some() { BeyondCapacity::Spread } else { BeyondCapacity::Dense }
}

/// Returns a workload's requests under `load` on a design of `capacity`: exactly those of the design's experiment file.
pub(crate) fn arrivals<'a>(
    requests: &'a Workload,
    load: &Load<'a>,
    capacity: Bytes,
    left_out: &'a Cell<LeftOut>,
) -> Result<impl Iterator<Item = Arrival> + use<'a>, StudyError> {
    let Load { shifts, time_scale, spread_over } = *load;
    let layout = TargetLayout { beyond_capacity: beyond_capacity(spread_over), spread_over, time_scale, shifts };
    requests.arrivals(capacity, &layout, left_out).map_err(StudyError::design)
}
