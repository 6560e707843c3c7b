//! The profile of the requests that a run measures, whether they come from a trace or are made up.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_config::ConfigError;
use esker_core::{Arrival, RequestKind};
use esker_results::profile::Profile;
use esker_trace::{Characteriser, CharacteriserSettings, Operation, Record, VolumeIndex};

use crate::config::{DeviceDescription, Experiment, PreconditionKind, System};
use crate::run_error::RunError;

impl Experiment {
    /// Characterises the requests as they reach the target, after the warm-up. Set `cancel` to stop early with
    /// [`RunError::Cancelled`].
    pub fn profile(&self, cancel: &AtomicBool) -> Result<Profile, RunError> {
        let workload = self.open_workload(cancel)?;
        let capacity = self.empty()?.assemble()?.device.capacity();
        let left_out = Cell::default();
        let arrivals = workload.arrivals(capacity, &self.workload, &left_out);
        let arrivals = arrivals.map_err(|error| self.located(ConfigError::from(error)))?;
        let mut characteriser = Characteriser::new(CharacteriserSettings::default());
        let measured = arrivals.skip(usize::try_from(self.run.warm_up_requests).unwrap_or(usize::MAX));
        for arrival in measured {
            if cancel.load(Ordering::Relaxed) {
                return Err(RunError::Cancelled);
            }
            characteriser.push(&record(&arrival));
        }
        Ok(characteriser.finish(&["target".to_string()]))
    }

    /// Returns this experiment with all devices as from the factory: they are as large, and there at once.
    fn empty(&self) -> Result<Self, ConfigError> {
        let empty = |of: &DeviceDescription| DeviceDescription { precondition: PreconditionKind::None, ..of.clone() };
        let devices: BTreeMap<_, _> =
            self.system.devices().iter().map(|(name, device)| (name.clone(), empty(device))).collect();
        let mut empty = self.clone();
        empty.system = System::of(devices, self.system.target())?;
        Ok(empty)
    }
}

fn record(Arrival { at, request }: &Arrival) -> Record {
    let operation = match request.kind {
        RequestKind::Read => Operation::Read,
        RequestKind::Write { .. } | RequestKind::WriteZeroes { .. } => Operation::Write,
        RequestKind::Trim => Operation::Trim,
        RequestKind::Flush => Operation::Flush,
    };
    let (offset, length) = (request.start.byte_offset(), u32::try_from(request.length.0).unwrap_or(u32::MAX));
    Record { at: *at, offset, length, volume: VolumeIndex(0), operation, response: None }
}
