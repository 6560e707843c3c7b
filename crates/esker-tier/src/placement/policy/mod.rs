//! Policies: which device an extent goes to.

mod static_split;

use std::fmt::Debug;

use esker_core::registry::{self, Entry};
use esker_core::{Bytes, DeviceState, Hint, Nanos, Problem, ReadError, Request, RequestKind, Telemetry};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::extent::{DeviceIndex, LogicalExtent};

pub use static_split::{StaticSplit, StaticSplitSettings};

/// Every policy, in the order in which lists show them.
pub static PLACEMENTS: &[PlacementEntry] = &[static_split::ENTRY];

/// One policy: how it is made, for so many devices, from the keys of its table.
pub type PlacementEntry = Entry<BuildPlacement>;

/// Makes a policy for so many devices from its table.
pub type BuildPlacement = fn(&PolicySettings, devices: usize) -> Result<Box<dyn Placement>, PlacementError>;

/// Decides where extents go. A policy knows what it is told, and nothing of clocks, journals or copies.
pub trait Placement: Debug + Send {
    /// The device that a fresh extent should go to. Where that has no room or takes no writes, the engine takes the
    /// next one by index that has and does.
    fn place(&mut self, extent: LogicalExtent, devices: &[DeviceView]) -> DeviceIndex;

    /// How many of the first `extents` logical extents it wants on each of so many devices, where it was told to keep
    /// to fixed shares.
    fn shares(&self, extents: u32, devices: usize) -> Option<Vec<u32>> {
        let _ = (extents, devices);
        None
    }

    /// Learns of something that happened, and may wish for something. A policy under which nothing moves needs none of
    /// it.
    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        let _ = (now, event, devices, wishes);
    }

    /// Whether it wants to be told of events at all.
    fn observes(&self) -> bool {
        false
    }
}

/// What a policy is told.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The host asks for something.
    Request(&'a Request),
    /// A request to a device ended, of the host or of a copy.
    Completed(Completed),
    /// A move that it wished for ended, or could not begin.
    Moved {
        /// Which extent.
        extent: LogicalExtent,
        /// How.
        outcome: MoveOutcome,
    },
    /// What a device says about itself.
    Device {
        /// Which one.
        device: DeviceIndex,
        /// What it says.
        telemetry: &'a Telemetry,
    },
    /// The time it wished to be woken at has come.
    Timer,
}

/// A request to a device that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The device.
    pub device: DeviceIndex,
    /// What it was asked for.
    pub kind: RequestKind,
    /// How much of it.
    pub length: Bytes,
    /// When it was sent.
    pub sent: Nanos,
    /// When the device ended it. On a real device this is when it happened, not when the engine was told.
    pub at: Nanos,
    /// Whether it was part of a host's request, not of a copy.
    pub for_host: bool,
    /// Whether it ended without an error.
    pub ok: bool,
}

/// What a policy wishes for.
#[derive(Debug, Default)]
pub struct Wishes {
    /// Extents to copy, and the devices to copy them to.
    pub moves: Vec<(LogicalExtent, DeviceIndex)>,
    /// When to be told of [`Event::Timer`], at the latest.
    pub wake_at: Option<Nanos>,
}

/// How a move ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveOutcome {
    /// The extent is there now.
    Done,
    /// It did not begin: the extent has no data, is there already, or is being copied.
    NothingToDo,
    /// It did not begin: the device has no free extent or takes no writes, or as many copies are under way as there may
    /// be.
    NoRoom,
    /// The host wrote to the extent during each of several tries.
    WrittenMeanwhile,
    /// A device failed on the way.
    Failed,
}

/// What a policy may know of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceView {
    /// Extents without data.
    pub free_extents: u32,
    /// Whether it serves.
    pub state: DeviceState,
}

/// A policy's table: its name, and whatever keys that policy has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicySettings {
    /// A name of [`PLACEMENTS`].
    pub kind: String,
    /// The policy's own keys.
    #[serde(flatten)]
    pub options: serde_json::Map<String, serde_json::Value>,
}

/// Why a policy cannot be made: which key of its table, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(transparent)]
pub struct PlacementError(#[from] ReadError);

impl PlacementError {
    /// What is wrong with the policy's own key `key`.
    fn new(key: &str, message: impl Into<String>) -> Self {
        Self(ReadError::new(Problem::new(message)).below(key))
    }

    /// This error as one of the settings that have the policy's table at `key`.
    pub fn below(&self, key: &str) -> ReadError {
        self.0.clone().below(key)
    }
}

impl Hint for PlacementError {
    fn hint(&self) -> Option<String> {
        self.0.hint()
    }
}

impl PolicySettings {
    /// Makes the policy for `devices` devices.
    pub fn build(&self, devices: usize) -> Result<Box<dyn Placement>, PlacementError> {
        let entry = registry::find(PLACEMENTS, "policy", &self.kind)
            .map_err(|name| ReadError::new(name.into()).below("kind"))?;
        (entry.build)(self, devices)
    }

    /// The policy's own keys as settings of type `T`.
    fn options<T: DeserializeOwned>(&self) -> Result<T, PlacementError> {
        Ok(esker_core::read(&serde_json::Value::Object(self.options.clone()))?)
    }
}

fn schema_of<T: JsonSchema>() -> Schema {
    SchemaGenerator::default().into_root_schema_for::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_sound() {
        assert_eq!(registry::check(PLACEMENTS), Vec::<String>::new());
    }

    #[test]
    fn mistakes_are_named() {
        let policy =
            |text: &str| serde_json::from_str::<PolicySettings>(text).unwrap().build(2).unwrap_err().to_string();
        assert_eq!(
            policy(r#"{"kind":"static-slit"}"#),
            "kind: `static-slit` is no policy; did you mean `static-split`?"
        );
        let found = policy(r#"{"kind":"static-split","wieghts":[1]}"#);
        assert_eq!(found, "wieghts: unknown key; did you mean `weights`?");
    }
}
