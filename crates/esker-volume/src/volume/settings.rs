//! The settings of a volume's engine, as its superblocks keep them.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_core::{Nanos, Ratio, registry};
use esker_tier::PinnedRange;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::VolumeError;
use super::kinds::{EngineSettings, VOLUME_KINDS};
use crate::format::Superblock;

/// The engine of a volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VolumeSettings {
    /// The names of its devices when it was created, to tell which one is missing.
    #[serde(default)]
    pub devices: Vec<String>,
    /// Its kind, one of [`VOLUME_KINDS`].
    pub kind: String,
    /// The keys of that kind.
    #[serde(flatten)]
    pub options: Map<String, Value>,
}

impl VolumeSettings {
    /// An engine of this kind. `options` is a table of the keys of that kind (asserted); those left out have their
    /// default.
    pub fn new(kind: &str, options: Value) -> Self {
        let Value::Object(options) = options else { panic!("options are a table") };
        Self { devices: Vec::new(), kind: kind.to_string(), options }
    }

    /// Returns the engine's own settings.
    ///
    /// # Errors
    /// If there is no such kind, or if an option is wrong.
    pub(super) fn engine(&self) -> Result<Box<dyn EngineSettings>, VolumeError> {
        let kind = registry::find(VOLUME_KINDS, "kind of volume", &self.kind).map_err(VolumeError::Kind)?;
        (kind.build)(&Value::Object(self.options.clone())).map_err(VolumeError::Option)
    }

    /// Returns the text that superblocks keep.
    ///
    /// # Errors
    /// If it is too long for them.
    pub(super) fn text(&self) -> Result<String, VolumeError> {
        let text = serde_json::to_string(self).map_err(VolumeError::SettingsText)?;
        if text.len() > Superblock::SETTINGS_MAX {
            return Err(VolumeError::SettingsLength(text.len()));
        }
        Ok(text)
    }

    /// Returns these settings with the defaults of all options that were not given.
    ///
    /// # Errors
    /// If there is no such kind, or if an option is wrong.
    pub fn resolved(&self) -> Result<Self, VolumeError> {
        Ok(Self { devices: self.devices.clone(), ..Self::new(&self.kind, self.engine()?.resolved()) })
    }
}

/// A map of ranges to pin, which is kept outside the devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeMap {
    /// What the settings call it: whoever opens the volume finds it by that.
    pub name: String,
    /// The ranges. Devices have their index in [`VolumeState::devices`](super::VolumeState).
    pub ranges: Arc<[PinnedRange]>,
}

/// The keys of the policy that pins ranges, and where a volume's settings have it.
const POLICY: &str = "policy";
const PINNED: &str = "pinned";
const MAP: &str = "map";
const REST: &str = "rest";

impl VolumeSettings {
    /// Returns the name of the map whose ranges are pinned.
    pub fn map_name(&self) -> Option<&str> {
        self.options.get(POLICY)?.get(MAP)?.as_str()
    }

    /// Pins the ranges of the map `name`. `rest` is the policy for all others, by name or as a table; if left out, it
    /// is the one that these settings have.
    pub fn pin(&mut self, name: &str, rest: Option<Value>) {
        let own = || match self.options.get(POLICY) {
            Some(policy) if policy.get("kind").and_then(Value::as_str) == Some(PINNED) => policy.get(REST).cloned(),
            policy => policy.cloned(),
        };
        let mut policy = serde_json::json!({ "kind": PINNED, MAP: name });
        match rest.or_else(own) {
            Some(Value::String(kind)) => policy[REST] = serde_json::json!({ "kind": kind }),
            Some(table) => policy[REST] = table,
            None => {}
        }
        self.options.insert(POLICY.to_string(), policy);
    }
}

/// Settings of the engine to change. Those that are `None` stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChangedSettings {
    /// The policy of placement: its name, or a table with its keys. Extents stay where they are until it moves them.
    pub policy: Option<Value>,
    /// Whether nothing moves in the background.
    pub paused: Option<bool>,
    /// How many bytes moves of the policy may write in any 24 hours.
    pub moved_bytes_per_day: Option<MoveBudget>,
    /// Limits of devices, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, ChangedLimits>,
}

/// Limits of a device to change ([`MoveLimits`](esker_tier::MoveLimits)). Those that are `None` stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChangedLimits {
    /// Extents leave it only while more than this share of its extents is taken.
    pub leave_above: Option<Ratio>,
    /// After which time without requests of the host it is left asleep.
    pub asleep_after: Option<AsleepAfter>,
}

/// After which time without requests of the host a device is left asleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AsleepAfter {
    /// It is always in use.
    Never,
    /// After this time.
    Time(Nanos),
}

/// How many bytes moves may write in any 24 hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MoveBudget {
    /// Any number.
    Unlimited,
    /// So many, at least one extent.
    Bytes(u64),
}
