//! Arrays: stripes over all devices. They compute places and keep no map.

use esker_core::Bytes;
use esker_core::registry::ParameterSource;
use esker_tier::{Engine, StripeEngine, StripeSettings, schema_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EngineError, EngineSettings, Presence, Restored, VolumeKind, read};

pub(super) const KIND: VolumeKind = VolumeKind {
    name: "array",
    summary: "Stripes over all devices, without redundancy (RAID-0)",
    source: "Patterson, Gibson and Katz, SIGMOD 1988 (RAID)",
    parameters: ParameterSource::Schema(schema_of::<Array>),
    capabilities: &[],
    build: read::<Array>,
};

/// Settings of an array.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Array {
    /// Bytes on one device before the next one's turn: whole sectors.
    #[serde(default = "default_stripe")]
    stripe: Bytes,
}

const fn default_stripe() -> Bytes {
    Bytes::kib(64)
}

impl EngineSettings for Array {
    fn resolved(&self) -> Value {
        serde_json::to_value(self).expect("settings are plain data")
    }

    fn unit(&self) -> Bytes {
        self.stripe
    }

    fn records_max(&self, _: &[Bytes]) -> u64 {
        0
    }

    fn restore(&self, from: Restored<'_>) -> Result<Box<dyn Engine>, EngineError> {
        let settings = StripeSettings { unit: self.stripe, devices: from.sizes() };
        let engine = StripeEngine::new(&settings).map_err(|error| EngineError::settings(&error))?;
        let engine = from.with_presence(Presence::Missing).fold(engine, StripeEngine::without);
        match from.checkpoint.chain(from.journal).next() {
            Some(record) => Err(EngineError::Map(format!("an array has no map, and there is {record:?}"))),
            None => Ok(Box::new(engine)),
        }
    }
}
