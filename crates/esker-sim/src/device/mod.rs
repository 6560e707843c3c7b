//! The kinds of device that an experiment can name.
//!
//! # How to add a kind
//!
//! One file, `device/wire.rs`; in the tests of this crate this one is in the registry, and keeps what they ask of every
//! kind:
//!
#![doc = "```ignore"]
#![doc = include_str!("worked_example.rs")]
#![doc = "```"]
//!
//! and two lines here: `mod wire;`, and `wire::KIND` in [`DEVICE_KINDS`]. `kind = "wire"` then stands for it in
//! experiments, with its keys in the schemas and on the reference page.

mod array;
mod constant;
mod engine;
mod hdd;
mod hybrid;
mod ssd;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod worked_example;

use esker_results::Reporting;
use std::fmt;

use esker_core::registry::{self, Entry, NotFound};
use esker_core::{Preset, ReadError};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::node::Node;

pub use array::ArraySettings;
pub use constant::{Constant, ConstantSettings};
pub use engine::{EffectLog, EngineDevice};
pub use hybrid::{Allocate, HybridSettings};

/// Every kind of device, in the order in which lists show them.
pub static DEVICE_KINDS: &[DeviceKind] = &[
    ssd::KIND,
    hdd::KIND,
    hybrid::KIND,
    array::KIND,
    constant::KIND,
    #[cfg(test)]
    worked_example::KIND,
];

/// One kind of device: what `kind = "..."` in a device table stands for. Its parameters are the keys of a table without
/// those that all kinds share (`kind`, `preset`, `precondition`, `utilisation`).
pub type DeviceKind = Entry<DeviceReader>;

/// How devices of a kind come from a file.
#[derive(Clone, Copy, Debug)]
pub struct DeviceReader {
    /// Named sets of parameters.
    pub presets: fn() -> &'static [Preset],
    /// Reads the kind's own keys of a device table, a preset's already laid under them.
    pub read: fn(&Node) -> Result<Box<dyn DeviceSettings>, ReadError>,
    /// The table of a device called `example`, and those of its children. The reference page shows it, tests build it.
    pub example: &'static str,
}

/// Settings of one kind of device.
pub trait DeviceSettings: fmt::Debug + Send + Sync {
    /// The kind of device.
    fn kind(&self) -> &'static DeviceKind;

    /// The devices that it is built over, in order.
    fn children(&self) -> Vec<ChildName> {
        Vec::new()
    }

    /// The settings as JSON with every default filled in: reading them again builds the same device.
    fn resolved(&self) -> serde_json::Value;

    /// Builds the device.
    fn build(&self, instance: Instance) -> Result<Box<dyn Reporting>, DeviceFault>;
}

/// A child as a device table names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildName {
    /// The dotted key, within the device table, that names it: `children[0]`.
    pub key: String,
    /// The device table that describes it.
    pub device: String,
    /// `None` for the device itself; `Some(n)` for n devices of the same description.
    pub count: Option<u32>,
}

/// What a device is built with, beside its settings.
pub struct Instance {
    /// Its name in reports.
    pub name: String,
    /// Its own seed, derived from the run's.
    pub seed: u64,
    /// Its children, in order.
    pub children: Vec<Child>,
}

/// A child that is built.
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
    /// The keys that it is about, within the device's table: the one that says most about it first.
    pub keys: Vec<String>,
    /// What is contradictory or impossible.
    pub message: String,
    /// What would do.
    pub hint: Option<String>,
}

impl DeviceFault {
    /// A fault of the device as a whole, without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self { keys: Vec::new(), message: message.into(), hint: None }
    }

    /// This fault, about these keys of the device's table.
    pub fn at(self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { keys: keys.into_iter().map(Into::into).collect(), ..self }
    }

    /// This fault, with what would do.
    pub fn with_hint(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }
}

/// The kind called `name`.
pub fn device_kind(name: &str) -> Result<&'static DeviceKind, NotFound> {
    registry::find(DEVICE_KINDS, "kind of device", name)
}

/// The settings of the preset called `name`, to be built as they are or changed first. `S` is the type of its kind's
/// settings (asserted).
pub fn preset<S: DeserializeOwned + DeviceSettings>(name: &str) -> Result<S, NotFound> {
    let mut all = DEVICE_KINDS.iter().flat_map(|kind| (kind.build.presets)());
    let Some(preset) = all.clone().find(|preset| preset.name == name) else {
        return Err(NotFound::new("preset", name, all.by_ref().map(|preset| preset.name)));
    };
    let settings: Result<S, _> = toml::from_str(preset.toml);
    Ok(settings.unwrap_or_else(|error| panic!("the preset {name} is not of this kind: {error}")))
}

/// For [`DeviceReader::read`].
pub(crate) fn read_settings<T: DeserializeOwned + DeviceSettings + 'static>(
    table: &Node,
) -> Result<Box<dyn DeviceSettings>, ReadError> {
    Ok(Box::new(esker_core::read::<T, _>(table)?))
}

/// For the parameters of a [`DeviceKind`].
pub(crate) fn schema_of<T: JsonSchema>() -> Schema {
    SchemaGenerator::default().into_root_schema_for::<T>()
}
