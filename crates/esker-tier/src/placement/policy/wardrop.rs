//! Balances response times: in the Wardrop equilibrium no extent would be answered faster elsewhere.

use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::balance::Balance;
use super::homes::Homes;
use super::static_split::checked_weights;
use super::{
    DeviceView, Event, NewExtent, NewPolicy, Placement, PlacementEntry, PlacementError, Rewrite, Wishes, schema_of,
};
use crate::extent::{DeviceIndex, LogicalExtent};

/// The entry of [`super::PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "wardrop",
    summary: "Shifts extents between devices until all of them answer equally fast, or only the fastest is used",
    source: "Wu 2011, section III.B: equation 3.1, with differences relative to the mean and told from noise",
    parameters: ParameterSource::Schema(schema_of::<WardropSettings>),
    capabilities: &[],
    build,
};

/// Settings of [`Wardrop`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct WardropSettings {
    /// Shares of the requests to begin with, one weight per device. With an empty list they are equal.
    weights: Vec<u32>,
    /// Each device gets a request about this often, so that it is noticed when it becomes the faster one; but never
    /// more than half of an equal share.
    #[schemars(extend("least" = "1ns"))]
    probe: Nanos,
    /// The least time from one move to the next.
    interval: Nanos,
}

impl Default for WardropSettings {
    fn default() -> Self {
        Self { weights: Vec::new(), probe: Nanos::from_millis(100), interval: Nanos::from_millis(1) }
    }
}

fn build(policy: &NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError> {
    let WardropSettings { weights, probe, interval } = policy.options()?;
    if probe == Nanos::ZERO {
        return Err(PlacementError::new("probe", "`probe` is 0; a device gets a request once in some time"));
    }
    let weights = checked_weights(&weights, policy.devices)?;
    let homes = Homes::new(&weights, 1.0 / probe.as_secs_f64(), interval);
    Ok(Box::new(Wardrop { homes, balance: Balance::new(policy.devices) }))
}

/// Shifts the shares of [`Homes`] until all devices answer equally fast ([`Balance`]).
#[derive(Debug)]
struct Wardrop {
    homes: Homes,
    balance: Balance,
}

impl Placement for Wardrop {
    fn place(&mut self, new: &NewExtent<'_>, _: &[DeviceView]) -> DeviceIndex {
        self.homes.home(new.extent)
    }

    fn targets(&self) -> Option<Vec<f64>> {
        Some(self.homes.shares.clone())
    }

    fn placed(&mut self, extent: LogicalExtent, _: Bytes, device: Option<DeviceIndex>) {
        self.homes.placed(extent, device);
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        match *event {
            Event::Completed(done) if done.for_host && done.ok && done.kind.has_data() => {
                let astray = self.homes.move_home(now, &done, devices, wishes);
                self.balance.record(now, &done, astray, &mut self.homes);
            }
            Event::Completed(done) if !done.for_host => self.homes.copy_ended(&done),
            Event::Moved { extent, outcome } => self.homes.moved(now, extent, outcome),
            _ => {}
        }
    }

    fn observes(&self) -> bool {
        true
    }

    /// A write that replaces an extent moves it home.
    fn redirect(&mut self, write: &Rewrite<'_>, _: &[DeviceView]) -> Option<DeviceIndex> {
        Some(self.homes.home(write.extent))
    }

    fn redirects(&self) -> bool {
        true
    }

    /// A new device begins with the least share.
    fn devices_joined(&mut self, devices: usize) {
        self.homes.devices_joined(devices);
        self.balance = Balance::new(devices);
    }
}
