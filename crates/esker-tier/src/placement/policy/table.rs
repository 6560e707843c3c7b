//! The table of a policy, and how the policy is made from it.

use esker_core::registry;
use esker_core::{Hint, Problem, ReadError};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::{Placement, PlacementEntry};
pub use crate::engine::PolicySettings;
use crate::range_map::PinnedRange;

impl PolicySettings {
    /// Makes the policy, which is one of `choices`, for `devices` devices; there has to be at least one.
    pub fn build(&self, choices: &[PlacementEntry], devices: usize) -> Result<Box<dyn Placement>, PlacementError> {
        let entry =
            registry::find(choices, "policy", &self.kind).map_err(|name| ReadError::new(name.into()).below("kind"))?;
        if devices == 0 {
            return Err(PlacementError::new("kind", "a policy places extents on at least one device"));
        }
        (entry.build)(&NewPolicy { table: self, choices, devices })
    }
}

/// A policy to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewPolicy<'a> {
    /// Its table.
    table: &'a PolicySettings,
    /// The policies that its table may name in turn.
    choices: &'a [PlacementEntry],
    /// Number of devices, at least one.
    pub devices: usize,
}

impl NewPolicy<'_> {
    /// Returns the policy's own keys as settings of type `T`.
    pub fn options<T: DeserializeOwned>(&self) -> Result<T, PlacementError> {
        Ok(esker_core::read(&serde_json::Value::Object(self.table.options.clone()))?)
    }

    /// Returns the ranges of the file that the policy's table names, if it was read.
    pub(super) fn mapped(&self) -> Option<&[PinnedRange]> {
        self.table.mapped.as_deref()
    }

    /// Makes another policy for the same devices, whose table `settings` is at the key `key` of this one's.
    pub(super) fn other(&self, key: &str, settings: &PolicySettings) -> Result<Box<dyn Placement>, PlacementError> {
        settings.build(self.choices, self.devices).map_err(|error| PlacementError(error.below(key)))
    }
}

/// Why a policy cannot be made: which key of its table, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(transparent)]
pub struct PlacementError(#[from] ReadError);

impl PlacementError {
    /// An error about the policy's own key `key`.
    pub fn new(key: &str, message: impl Into<String>) -> Self {
        Self::of(key, Problem::new(message))
    }

    /// A problem with the policy's own key `key`.
    pub(super) fn of(key: &str, problem: Problem) -> Self {
        Self(ReadError::new(problem).below(key))
    }

    /// Returns this error as one of settings that contain the policy's table at `key`.
    pub fn below(&self, key: &str) -> ReadError {
        self.0.clone().below(key)
    }
}

impl Hint for PlacementError {
    fn hint(&self) -> Option<String> {
        self.0.hint()
    }
}

/// Returns the JSON Schema of the settings of a policy, as its entry in the registry has it.
pub fn schema_of<T: JsonSchema>() -> Schema {
    SchemaGenerator::default().into_root_schema_for::<T>()
}

/// Checks that the device with index `device`, which the key `key` names, exists.
pub fn check_device(key: &str, device: u16, devices: usize) -> Result<(), PlacementError> {
    match usize::from(device) < devices {
        true => Ok(()),
        false => Err(PlacementError::new(key, format!("there is no device {device}; {devices} devices count from 0"))),
    }
}
