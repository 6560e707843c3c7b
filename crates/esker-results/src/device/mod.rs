//! What each device of a run did: what all kinds have, then a section per kind, one file each.

mod array;
mod cache_parts;
mod cloud_volume;
mod cluster;
mod composite;
mod disk;
mod disk_timeline;
mod flash;
mod flash_cache;
mod host_managed_cache;
mod layer;
mod placement;
mod recovery;
mod timeline;
mod zero;

use std::collections::BTreeMap;

use esker_core::{Device, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use array::*;
pub use cache_parts::*;
pub use cloud_volume::*;
pub use cluster::*;
pub use composite::*;
pub use disk::*;
pub use disk_timeline::*;
pub use flash::*;
pub use flash_cache::*;
pub use host_managed_cache::*;
pub use layer::*;
pub use placement::*;
pub use recovery::*;
pub use timeline::*;

use crate::LatencySummary;

/// A device that can report its results.
pub trait Reporting: Device {
    /// Adds the results of this device and its children to `into`, by name. Counters start at
    /// [`esker_core::Control::StartMeasuring`], or at the start of the run.
    fn report(&self, into: &mut Report);

    /// The device as one that has children, if it has.
    fn composite(&self) -> Option<&dyn Composite> {
        None
    }
}

/// Collects the reports of a device tree.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Results of each device, by name.
    pub devices: BTreeMap<String, DeviceReport>,
    end: Nanos,
}

impl Report {
    /// The results of `device` and its children, each up to its own last event.
    pub fn of<D: Reporting + ?Sized>(device: &D) -> Self {
        Self::until(Nanos::ZERO, device)
    }

    /// The results of `device` and its children up to the end of a run, also of those that had nothing to do at last.
    pub fn until<D: Reporting + ?Sized>(end: Nanos, device: &D) -> Self {
        let mut report = Self { end, ..Self::default() };
        device.report(&mut report);
        report
    }

    /// Returns the moment up to which a device whose last event was at `last_event` reports shares of time and energy.
    pub fn end(&self, last_event: Nanos) -> Nanos {
        self.end.max(last_event)
    }

    /// Adds the results of one device. No two devices of a tree may have the same name (asserted).
    pub fn add(&mut self, name: &str, report: DeviceReport) {
        let earlier = self.devices.insert(name.to_string(), report);
        assert!(earlier.is_none(), "two devices are called `{name}`");
    }
}

/// What results call the link between host and drive.
pub const LINK: &str = "link";

/// Results of one device. Sections of other kinds of device are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceReport {
    /// "ssd", "hdd", "cloud-volume", "constant", "array", "hybrid", "cache"...
    pub kind: String,
    /// Bytes that the host can address.
    pub capacity_bytes: u64,
    /// Requests that ended, with or without an error.
    pub requests: u64,
    /// Busy share of the resources over the measured time: the mean for each kind. Of work under way at its end, a disk
    /// and a constant device count what has been done by then.
    pub utilisation: BTreeMap<String, f64>,
    /// Busy share of the busiest single resource of each kind.
    pub utilisation_busiest: BTreeMap<String, f64>,
    /// For solid-state drives.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flash: Option<FlashReport>,
    /// For disks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub disk: Option<DiskReport>,
    /// For cloud volumes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cloud_volume: Option<CloudVolumeReport>,
    /// For devices that place extents: hybrids.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub placement: Option<PlacementReport>,
    /// For hybrids with cached extents.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memory_cache: Option<MemoryCacheReport>,
    /// For flash caches.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flash_cache: Option<FlashCacheReport>,
    /// For caches that own their flash.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host_managed_cache: Option<HostManagedCacheReport>,
    /// For clusters.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cluster: Option<ClusterReport>,
    /// For composite devices: the children and their requests, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub children: BTreeMap<String, ChildReport>,
}

impl DeviceReport {
    /// How busy each kind of resource is: the mean of its kind, but of a link its busier direction. Reads use one of
    /// them and writes the other, so that one that is idle is of no use to what waits for the other.
    pub fn busy_shares(&self) -> impl Iterator<Item = (&str, f64)> {
        self.utilisation.iter().map(|(resource, &mean)| match resource.as_str() {
            LINK => (LINK, self.utilisation_busiest.get(LINK).copied().unwrap_or(mean)),
            other => (other, mean),
        })
    }

    /// The share of the time in which the busiest part of the device works.
    pub fn busiest_share(&self) -> f64 {
        self.busy_shares().map(|(_, share)| share).fold(0.0, f64::max)
    }
}

/// What became of a child that does not serve all requests any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChildState {
    /// It takes no more writes.
    ReadOnly,
    /// Data that it had acknowledged may be lost: it takes no more writes, its flushes fail, and nothing is copied from
    /// it or to it. Reads are still sent to it.
    Failed,
}

/// One child of a composite device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChildReport {
    /// Its share of the host's requests that ended, without what serves no single one of them (copies, shared flushes).
    pub share: f64,
    /// Requests sent to this child, of every kind.
    pub requests: u64,
    /// Time from sending a request of the host to this child until its end.
    pub response_time: LatencySummary,
    /// If it does not serve all requests at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ChildState>,
    /// When the last of its data had moved to the others, if it was to be drained: time since the start of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drained_at_s: Option<f64>,
}
