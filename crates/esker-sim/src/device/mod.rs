//! The kinds of device for experiments.
//!
//! # How to add a kind
//!
//! Add one file, `device/wire.rs`. This one is in the registry of this crate's tests and passes the tests of every
//! kind:
//!
#![doc = "```ignore"]
#![doc = include_str!("worked_example.rs")]
#![doc = "```"]
//!
//! and two lines here: `mod wire;`, and `wire::KIND` in [`DEVICE_KINDS`]. Then `kind = "wire"` works in experiments,
//! and its keys are in the schemas and on the reference page.

mod array;
mod cache_requests;
mod cloud_volume;
mod cluster;
mod constant;
mod engine;
mod flash_cache;
mod hdd;
mod host_managed_cache;
mod hybrid;
mod memory;
mod networked;
mod slowed;
mod ssd;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod worked_example;

use esker_config::Node;
use esker_core::Arrival;
use esker_results::{DeviceReport, Reporting};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use esker_core::registry::{self, Entry, NotFound};
use esker_core::{Preset, ReadError};
use esker_flash::PreconditionedDrives;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use thiserror::Error;

pub use array::ArraySettings;
pub use cluster::ClusterSettings;
pub use constant::{Constant, ConstantSettings, ServiceTimes};
pub use engine::EngineDevice;
pub use flash_cache::{CacheSettings, OwnFlash};
pub use host_managed_cache::{CacheReply, EraseUnit, HostManagedCacheSettings, PageStreams};
pub use hybrid::{Allocate, HYBRID_POLICIES, HybridSettings};
pub(crate) use slowed::Slowed;

/// Every kind of device, in the order in which lists show them.
pub static DEVICE_KINDS: &[DeviceKind] = &[
    ssd::KIND,
    hdd::KIND,
    cloud_volume::KIND,
    hybrid::KIND,
    host_managed_cache::KIND,
    array::KIND,
    flash_cache::KIND,
    cluster::KIND,
    constant::KIND,
    #[cfg(test)]
    worked_example::KIND,
];

/// A kind of device, for `kind = "..."` in a device table. Its parameters are the keys of a table without those that
/// all kinds share (`kind`, `preset`, `precondition`, `utilisation`).
pub type DeviceKind = Entry<DeviceReader>;

/// How devices of a kind are read from a file.
#[derive(Clone, Copy, Debug)]
pub struct DeviceReader {
    /// Named sets of parameters.
    pub presets: fn() -> &'static [Preset],
    /// Reads the kind's own keys of a device table, with the preset's values filled in.
    pub read: fn(&Node) -> Result<Box<dyn DeviceSettings>, ReadError>,
    /// Tables of a device called `example` and of its children. Shown on the reference page, and built by tests.
    pub example: &'static str,
}

/// Settings of one kind of device.
pub trait DeviceSettings: fmt::Debug + Send + Sync {
    /// Returns the kind of device.
    fn kind(&self) -> &'static DeviceKind;

    /// Whether its children may join and be drained in the middle of a run.
    fn changes_children(&self) -> bool {
        false
    }

    /// Whether it takes a child for failed if told so.
    fn notices_failures(&self) -> bool {
        false
    }

    /// Whether it moves data in the background, so that this can be paused and limited while it runs.
    fn moves_in_background(&self) -> bool {
        false
    }

    /// Whether reads of the host make it write to flash below it, as those do that fill a cache.
    fn reads_change_flash(&self) -> bool {
        false
    }

    /// Whether it may use less of the child with this table from the middle of a run on.
    fn shrinks(&self, _child: &str) -> bool {
        false
    }

    /// Returns the children of the device, in order.
    fn children(&self) -> Vec<ChildName> {
        Vec::new()
    }

    /// Reads the files that the settings name; relative paths start from `folder`.
    fn read_files(&mut self, folder: &Path) -> Result<(), ReadError> {
        let _ = folder;
        Ok(())
    }

    /// Returns the settings as JSON with every default filled in, and what files say in place of their names. Reading
    /// them again builds the same device.
    fn resolved(&self) -> serde_json::Value;

    /// Returns what is wrong with a run of `requests` on the device, as far as that is known beforehand. `built` is the
    /// report of the device as built, and `have_times` says whether requests arrive at their times.
    fn check_requests(
        &self,
        _built: &DeviceReport,
        _requests: &mut dyn Iterator<Item = Arrival>,
        _have_times: bool,
    ) -> Result<(), DeviceFault> {
        Ok(())
    }

    /// Builds the device.
    fn build(&self, instance: Instance) -> Result<Box<dyn Reporting>, DeviceFault>;
}

/// A child in a device table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildName {
    /// The dotted key, within the device table, that names it: `children[0]`.
    pub key: String,
    /// The name of its device table.
    pub device: String,
    /// `None` for the device itself; `Some(n)` for n devices with that table.
    pub count: Option<u32>,
}

/// What a device is built with, apart from its settings.
pub struct Instance {
    /// Its name in reports.
    pub name: String,
    /// Its own seed, derived from the run's.
    pub seed: u64,
    /// Whether it is filled or aged before the run.
    pub preconditioned: bool,
    /// Its children, in order.
    pub children: Vec<Child>,
    /// Number of the last children that are not there yet: they join in the middle of the run.
    pub joining: usize,
    /// Where preconditioning finds equal drives.
    pub drives: Option<Arc<PreconditionedDrives>>,
}

impl Instance {
    /// A device as from the factory, with the seed 1, whose `children` are all there.
    pub fn new(name: &str, children: Vec<Child>) -> Self {
        Self { name: name.to_string(), seed: 1, preconditioned: false, children, joining: 0, drives: None }
    }
}

/// A built child.
pub struct Child {
    /// Its name in reports.
    pub name: String,
    /// The device.
    pub device: Box<dyn Reporting>,
}

/// Why a device cannot be built from settings that are each well-formed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct DeviceFault {
    /// The keys within the device's table, most important first.
    pub keys: Vec<String>,
    /// The contradiction, or why it is impossible.
    pub message: String,
    /// What would work instead.
    pub hint: Option<String>,
}

impl DeviceFault {
    /// A fault of the whole device, without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self { keys: Vec::new(), message: message.into(), hint: None }
    }

    /// Sets the keys of the device's table that the fault is about.
    pub fn at(self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { keys: keys.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets the hint: what would work instead.
    pub fn with_hint(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }
}

/// Returns the kind called `name`.
pub fn device_kind(name: &str) -> Result<&'static DeviceKind, NotFound> {
    registry::find(DEVICE_KINDS, "kind of device", name)
}

/// Returns the settings of the preset called `name`, for building them as they are or with changes. `S` must be the
/// settings type of its kind (asserted).
pub fn preset<S: DeserializeOwned + DeviceSettings>(name: &str) -> Result<S, NotFound> {
    let mut all = DEVICE_KINDS.iter().flat_map(|kind| (kind.build.presets)());
    let Some(preset) = all.clone().find(|preset| preset.name == name) else {
        return Err(NotFound::new("preset", name, all.by_ref().map(|preset| preset.name)));
    };
    let settings: Result<S, _> = toml::from_str(preset.toml);
    Ok(settings.unwrap_or_else(|error| panic!("the preset {name} is not of this kind: {error}")))
}

/// Reads settings, for [`DeviceReader::read`].
pub(crate) fn read_settings<T: DeserializeOwned + DeviceSettings + 'static>(
    table: &Node,
) -> Result<Box<dyn DeviceSettings>, ReadError> {
    Ok(Box::new(esker_core::read::<T, _>(table)?))
}

/// Returns the schema of settings, for the parameters of a [`DeviceKind`].
pub(crate) fn schema_of<T: JsonSchema>() -> Schema {
    SchemaGenerator::default().into_root_schema_for::<T>()
}
