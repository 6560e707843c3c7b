//! Maps a study's workload to its designs.

use std::cell::Cell;

use esker_core::{Arrival, Bytes, Nanos, Ratio};
use esker_results::LeftOut;
use esker_sim::{BeyondCapacity, TargetLayout, Workload};

use crate::StudyError;

/// How the workload is mapped to a design.
#[derive(Clone, Copy)]
pub(crate) struct Load<'a> {
    /// Bytes to add to the addresses of each volume.
    pub(crate) shifts: &'a [u64],
    /// Factor for the trace's times.
    pub(crate) time_scale: Ratio,
}

impl Load<'_> {
    pub(crate) const AS_TRACED: Load<'static> = Load { shifts: &[], time_scale: Ratio::ONE };

    /// Returns a time of the trace under this load.
    pub(crate) fn scaled(&self, at: Nanos) -> Nanos {
        esker_sim::scaled(at, self.time_scale)
    }
}

/// Returns a workload's requests under `load` on a design of `capacity`, exactly as the design's experiment has them.
pub(crate) fn arrivals<'a>(
    requests: &'a Workload,
    load: &Load<'a>,
    capacity: Bytes,
    left_out: &'a Cell<LeftOut>,
) -> Result<impl Iterator<Item = Arrival> + use<'a>, StudyError> {
    let layout =
        TargetLayout { beyond_capacity: BeyondCapacity::Dense, time_scale: load.time_scale, shifts: load.shifts };
    requests.arrivals(capacity, &layout, left_out).map_err(StudyError::design)
}
