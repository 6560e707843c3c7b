//! What each device of a run did: what all kinds have, then a section per kind, one file each.

mod array;
mod disk;
mod flash;
mod placement;
mod recovery;
mod timeline;
mod zero;

use std::collections::BTreeMap;

use esker_core::Device;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use array::*;
pub use disk::*;
pub use flash::*;
pub use placement::*;
pub use recovery::*;
pub use timeline::*;

use crate::LatencySummary;

/// A device that tells what it did.
pub trait Reporting: Device {
    /// Adds this device (and its children) to `into`, by name. Counters cover the time since
    /// [`esker_core::Control::StartMeasuring`], or since the start.
    fn report(&self, into: &mut Report);
}

impl<D: Reporting + ?Sized> Reporting for Box<D> {
    fn report(&self, into: &mut Report) {
        (**self).report(into);
    }
}

/// Collects the reports of a device tree.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Per device, by name.
    pub devices: BTreeMap<String, DeviceReport>,
}

impl Report {
    /// What `device` and its children did.
    pub fn of<D: Reporting + ?Sized>(device: &D) -> Self {
        let mut report = Self::default();
        device.report(&mut report);
        report
    }

    /// Adds one device. Two devices of one tree never share a name (asserted).
    pub fn add(&mut self, name: &str, report: DeviceReport) {
        let earlier = self.devices.insert(name.to_string(), report);
        assert!(earlier.is_none(), "two devices are called `{name}`");
    }
}

/// What one device did. Sections that make no sense for its kind are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeviceReport {
    /// "ssd", "hdd", "constant", "array", "hybrid"...
    pub kind: String,
    /// Bytes that the host can address.
    pub capacity_bytes: u64,
    /// Requests that ended, with or without an error.
    pub requests: u64,
    /// Busy share of each kind of resource over the measured time, mean over all of the kind.
    pub utilisation: BTreeMap<String, f64>,
    /// The same for the busiest single resource of each kind.
    pub utilisation_busiest: BTreeMap<String, f64>,
    /// Solid-state drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flash: Option<FlashReport>,
    /// Disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskReport>,
    /// Devices of which extents are placed: hybrids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementReport>,
    /// Children of a composite device: the share of requests that each one served.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub children: BTreeMap<String, ChildReport>,
}

/// One child of a composite device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChildReport {
    /// Share of the parent's child requests.
    pub share: f64,
    /// Requests sent to it.
    pub requests: u64,
    /// From the moment that a request was sent to it until it ended. Since schema 2.
    #[serde(default)]
    pub response_time: LatencySummary,
}
