//! The kinds of engines that a volume can have: one file each.

mod array;
mod cache;
mod cluster;
mod hybrid;

use esker_core::registry::Entry;
use esker_core::{Bytes, Hint, ReadError};
use esker_tier::{DeviceIndex, Engine, LiveSettings, Record, RecordNumber};
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

/// A kind of engine. `build` reads its settings.
pub type VolumeKind = Entry<fn(&Value) -> Result<Box<dyn EngineSettings>, ReadError>>;

/// The kinds of engines that a volume can have. Their settings have the keys that devices of these kinds have in an
/// experiment, without the names of their devices.
pub const VOLUME_KINDS: &[VolumeKind] = &[hybrid::KIND, cache::KIND, array::KIND, cluster::KIND];

/// The settings of a volume's engine.
pub trait EngineSettings {
    /// All settings, with defaults for those that were not given.
    fn resolved(&self) -> Value;

    /// The engine uses a multiple of this of each device.
    fn unit(&self) -> Bytes;

    /// Copies of all data, which are on different devices.
    fn copies(&self) -> u64 {
        1
    }

    /// The most records that a checkpoint has over `devices` of these sizes.
    fn records_max(&self, devices: &[Bytes]) -> u64;

    /// All settings, with this capacity for the host. `None` if devices alone decide the capacity of such an engine.
    fn with_capacity(&self, capacity: Bytes) -> Option<Value> {
        let _ = capacity;
        None
    }

    /// All settings of a volume that is created on these devices, with the capacity that it has then: devices that
    /// join later do not change it by themselves.
    fn created(&self, capacity: Bytes, devices: usize) -> Value {
        let _ = devices;
        self.with_capacity(capacity).unwrap_or_else(|| self.resolved())
    }

    /// What an engine that serves can take over of these settings; `None` if it moves nothing in the background.
    fn live(&self) -> Option<LiveSettings> {
        None
    }

    /// Returns an error if the engine could not be restored with `devices`. Engines that cannot change their devices
    /// are never asked.
    fn check_devices(&self, devices: &[EngineDevice]) -> Result<(), EngineError> {
        let _ = devices;
        Ok(())
    }

    /// Makes the engine from its records.
    fn restore(&self, from: Restored<'_>) -> Result<Box<dyn Engine>, EngineError>;
}

/// What an engine is made from.
pub struct Restored<'a> {
    pub(super) devices: &'a [EngineDevice],
    /// Whether nothing is written to any of them: the engine has to move nothing by itself.
    pub(super) only_reads: bool,
    /// The last record that the checkpoint includes.
    pub(super) through: RecordNumber,
    pub(super) checkpoint: &'a mut dyn Iterator<Item = Record>,
    /// The records that follow.
    pub(super) journal: &'a mut dyn Iterator<Item = Record>,
}

/// A device of an engine that is restored.
#[derive(Clone, Copy, Debug)]
pub struct EngineDevice {
    /// Bytes for data.
    pub data: Bytes,
    /// Whether it is there.
    pub presence: Presence,
}

/// Whether a device is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    Present,
    /// It belongs to the volume, and was not given.
    Missing,
    /// It was removed, drained or because it was lost, and belongs to the volume no more.
    Removed,
}

impl Restored<'_> {
    fn sizes(&self) -> Vec<Bytes> {
        self.devices.iter().map(|device| device.data).collect()
    }

    fn with_presence(&self, presence: Presence) -> impl Iterator<Item = DeviceIndex> {
        let has = move |(_, device): &(usize, &EngineDevice)| device.presence == presence;
        self.devices.iter().enumerate().filter(has).map(|(index, _)| DeviceIndex(index as u16))
    }
}

/// Why there can be no engine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EngineError {
    /// The settings are wrong.
    #[error("{message}")]
    Settings {
        /// What is wrong.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// The records contradict each other or the settings.
    #[error("the map contradicts itself: {0}")]
    Map(String),
}

impl EngineError {
    pub(super) fn settings<E: std::error::Error + Hint>(error: &E) -> Self {
        Self::Settings { message: error.to_string(), hint: error.hint() }
    }
}

impl Hint for EngineError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Settings { hint, .. } => hint.clone(),
            Self::Map(_) => None,
        }
    }
}

/// Reads settings of type `T`.
fn read<T: EngineSettings + DeserializeOwned + 'static>(table: &Value) -> Result<Box<dyn EngineSettings>, ReadError> {
    Ok(Box::new(esker_core::read::<T, _>(table)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_sound() {
        assert_eq!(esker_core::registry::check(VOLUME_KINDS), Vec::<String>::new());
    }

    #[test]
    fn defaults_are_written_out_and_read_again() {
        for kind in VOLUME_KINDS {
            let resolved = (kind.build)(&serde_json::json!({})).unwrap().resolved();
            assert_eq!((kind.build)(&resolved).unwrap().resolved(), resolved, "{}", kind.name);
            assert!(resolved.as_object().is_some_and(|table| !table.is_empty()), "{}", kind.name);
        }
    }
}
