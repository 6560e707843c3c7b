//! Placement: a policy decides which device holds which extent.

use std::fmt;

use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Ratio};
use esker_tier::{
    BackgroundSettings, Engine, LimitsError, LiveSettings, MemoryCache, MoveLimits, PLACEMENTS, PlacementEngine,
    PlacementSettings, PolicySettings, RestoreError, schema_of,
};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EngineDevice, EngineError, EngineSettings, Presence, Restored, VolumeKind, read};

pub(super) const KIND: VolumeKind = VolumeKind {
    name: "hybrid",
    summary: "Devices of different kinds as one; a policy decides which extent goes where",
    source: "Wu 2011",
    parameters: ParameterSource::Schema(schema_of::<Hybrid>),
    capabilities: &[],
    build: read::<Hybrid>,
};

/// Settings of a hybrid.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Hybrid {
    /// The policy that places extents: a name, or a table with its keys.
    #[serde(default = "wardrop", deserialize_with = "read_policy")]
    policy: PolicySettings,
    /// Bytes of an extent, which is placed as a whole: a multiple of 4 KiB.
    #[serde(default = "default_extent")]
    extent: Bytes,
    /// Capacity offered to the host, in whole extents (default: all but what is kept free).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity: Option<Bytes>,
    /// Share of each device's extents that are kept free, so that extents can move (default: 5% for policies that move
    /// extents, else none).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reserve: Option<Ratio>,
    /// What is allowed of moves in the background (default: everything).
    #[serde(default, skip_serializing_if = "BackgroundSettings::is_unlimited")]
    background: BackgroundSettings,
    /// Limits of what moves to and from each device, in the order in which they were named (default: none).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    limits: Vec<MoveLimits>,
    /// Extents that are kept in memory as a whole, those read last (default: none). Wu 2011 has 100.
    #[serde(default)]
    #[schemars(range(max = 1_000_000))]
    cached_extents: u32,
}

/// The largest number of cached extents.
const CACHED_MAX: u32 = 1_000_000;

fn wardrop() -> PolicySettings {
    PolicySettings::named("wardrop")
}

/// Reads a policy by its name, or its table.
fn read_policy<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PolicySettings, D::Error> {
    struct NameOrTable;
    impl<'de> Visitor<'de> for NameOrTable {
        type Value = PolicySettings;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the name of a policy, or a table with its `kind`")
        }
        fn visit_str<E: de::Error>(self, name: &str) -> Result<PolicySettings, E> {
            Ok(PolicySettings::named(name))
        }
        fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<PolicySettings, A::Error> {
            PolicySettings::deserialize(MapAccessDeserializer::new(table))
        }
    }
    deserializer.deserialize_any(NameOrTable)
}

const fn default_extent() -> Bytes {
    Bytes::mib(1)
}

/// Records that one extent takes in a checkpoint at most: its place, and bits for each 96 blocks.
fn records_an_extent(extent: u64) -> u64 {
    1 + (extent / EXTENT_MULTIPLE).div_ceil(96)
}

/// An extent consists of as many of these bytes: a device of larger sectors would have to read for each write of less.
const EXTENT_MULTIPLE: u64 = 4096;

impl Hybrid {
    fn placement(&self, devices: Vec<Bytes>) -> PlacementSettings {
        let policy = self.policy.clone();
        PlacementSettings { extent: self.extent, devices, policy, policies: PLACEMENTS, free_on_trim: true }
    }

    fn check_limits(&self, devices: usize) -> Result<(), EngineError> {
        let error = |error: LimitsError| EngineError::Settings { message: error.to_string(), hint: None };
        MoveLimits::check(&self.limits, devices).map_err(error)
    }
}

impl EngineSettings for Hybrid {
    fn resolved(&self) -> Value {
        serde_json::to_value(self).expect("settings are plain data")
    }

    fn unit(&self) -> Bytes {
        self.extent
    }

    fn records_max(&self, devices: &[Bytes]) -> u64 {
        let bytes: u64 = devices.iter().map(|device| device.0).sum();
        bytes.div_ceil(self.extent.0.max(1)) * records_an_extent(self.extent.0)
    }

    fn with_capacity(&self, capacity: Bytes) -> Option<Value> {
        Some(Self { capacity: Some(capacity), ..self.clone() }.resolved())
    }

    fn live(&self) -> Option<LiveSettings> {
        Some(LiveSettings {
            policy: Some(self.policy.clone()),
            background: Some(self.background),
            limits: Some(self.limits.clone()),
        })
    }

    fn check_devices(&self, devices: &[EngineDevice]) -> Result<(), EngineError> {
        if self.extent == Bytes::ZERO || !self.extent.0.is_multiple_of(EXTENT_MULTIPLE) {
            let message = format!("`extent` is {}; it has to be a multiple of 4KiB", self.extent);
            return Err(EngineError::Settings { message, hint: None });
        }
        self.check_limits(devices.len())?;
        let sizes = devices.iter().map(|device| device.data).collect();
        self.placement(sizes).check().map_err(|error| EngineError::settings(&error))
    }

    fn restore(&self, from: Restored<'_>) -> Result<Box<dyn Engine>, EngineError> {
        if self.cached_extents > CACHED_MAX {
            let message = format!("`cached_extents` is {}; a cache takes up to {CACHED_MAX}", self.cached_extents);
            return Err(EngineError::Settings { message, hint: None });
        }
        let sizes = from.sizes();
        self.check_limits(sizes.len())?;
        let settings = self.placement(sizes);
        let (missing, removed) = (from.with_presence(Presence::Missing), from.with_presence(Presence::Removed));
        let (missing, removed): (Vec<_>, Vec<_>) = (missing.collect(), removed.collect());
        let engine = PlacementEngine::restore(&settings, from.through, from.checkpoint, from.journal);
        let mut engine = engine.map_err(error_of)?;
        for device in removed {
            engine = engine.with_removed(device).map_err(error_of)?;
        }
        if from.only_reads {
            engine = engine.only_read();
        }
        for device in missing {
            engine = engine.without(device);
        }
        engine = engine.with_limits(self.limits.clone());
        engine = engine.with_background(self.background).map_err(|error| EngineError::settings(&error))?;
        engine.offer_beside(self.capacity, self.reserve).map_err(|error| EngineError::settings(&error))?;
        Ok(match self.cached_extents {
            0 => Box::new(engine),
            extents => Box::new(MemoryCache::new(engine, extents)),
        })
    }
}

fn error_of(error: RestoreError) -> EngineError {
    match error {
        RestoreError::Settings(error) => EngineError::settings(&error),
        error => EngineError::Map(error.to_string()),
    }
}
