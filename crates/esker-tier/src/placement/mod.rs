//! Policies: which device an extent goes to.

mod static_split;

use std::fmt::Debug;

use esker_core::{DeviceState, Hint, did_you_mean};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::extent::{DeviceIndex, LogicalExtent};

pub use static_split::{StaticSplit, StaticSplitSettings};

/// Every policy, in the order in which lists show them.
pub static PLACEMENTS: &[PlacementEntry] = &[static_split::ENTRY];

/// One policy.
#[derive(Clone, Copy, Debug)]
pub struct PlacementEntry {
    /// Its name in configuration files.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Publication and section that it follows.
    pub source: &'static str,
    /// Makes it, for so many devices, from the keys of its table.
    pub build: BuildPlacement,
    /// JSON Schema of its keys.
    pub schema: fn() -> Schema,
}

/// Makes a policy for so many devices from its table.
pub type BuildPlacement = fn(&PolicySettings, devices: usize) -> Result<Box<dyn Placement>, PlacementError>;

/// Decides where extents go.
pub trait Placement: Debug + Send {
    /// The device that a fresh extent should go to. Where that has no room or takes no writes, the engine takes the
    /// next one by index that has and does.
    fn place(&mut self, extent: LogicalExtent, devices: &[DeviceView]) -> DeviceIndex;

    /// How many of the first `extents` logical extents it wants on each of so many devices, where it
    /// was told to keep to fixed shares.
    fn shares(&self, extents: u32, devices: usize) -> Option<Vec<u32>> {
        let _ = (extents, devices);
        None
    }
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

/// Why a policy cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlacementError {
    /// No policy has this name.
    #[error("`{found}` is no policy{}", suggestion(found))]
    Unknown {
        /// The name as given.
        found: String,
    },
    /// A key is unknown, missing or not what it should be.
    #[error("policy `{policy}`: {message}")]
    Settings {
        /// The policy.
        policy: &'static str,
        /// What is wrong.
        message: String,
    },
}

fn suggestion(found: &str) -> String {
    match did_you_mean(found, PLACEMENTS.iter().map(|entry| entry.name)) {
        Some(name) => format!("; did you mean `{name}`?"),
        None => format!("; there is: {}", PLACEMENTS.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")),
    }
}

impl Hint for PlacementError {
    fn hint(&self) -> Option<String> {
        let names = || PLACEMENTS.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
        matches!(self, Self::Unknown { .. }).then(|| format!("the policies are: {}", names()))
    }
}

impl PolicySettings {
    /// Makes the policy for `devices` devices.
    pub fn build(&self, devices: usize) -> Result<Box<dyn Placement>, PlacementError> {
        let entry = PLACEMENTS.iter().find(|entry| entry.name == self.kind);
        let entry = entry.ok_or_else(|| PlacementError::Unknown { found: self.kind.clone() })?;
        (entry.build)(self, devices)
    }

    /// The policy's own keys as settings of type `T`.
    fn options<T: DeserializeOwned>(&self, policy: &'static str) -> Result<T, PlacementError> {
        T::deserialize(serde_json::Value::Object(self.options.clone()))
            .map_err(|error| PlacementError::Settings { policy, message: error.to_string() })
    }
}

fn schema_of<T: JsonSchema>() -> Schema {
    SchemaGenerator::default().into_root_schema_for::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_policy_has_a_schema() {
        for (index, entry) in PLACEMENTS.iter().enumerate() {
            assert!(PLACEMENTS[..index].iter().all(|earlier| earlier.name != entry.name));
            assert!((entry.schema)().as_object().is_some_and(|schema| schema.contains_key("properties")));
        }
    }

    #[test]
    fn mistakes_are_named() {
        let policy =
            |text: &str| serde_json::from_str::<PolicySettings>(text).unwrap().build(2).unwrap_err().to_string();
        assert_eq!(policy(r#"{"kind":"static-slit"}"#), "`static-slit` is no policy; did you mean `static-split`?");
        assert_eq!(
            policy(r#"{"kind":"static-split","wieghts":[1]}"#),
            "policy `static-split`: unknown field `wieghts`, expected `weights`"
        );
    }
}
