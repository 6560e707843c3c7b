//! Flash caches: the first device caches lines of the second one.

use esker_cache::NO_ADMISSION;
use esker_core::registry::{Choice, ParameterSource};
use esker_core::{Bytes, Ratio};
use esker_tier::{
    CacheRole, Engine, FlashCacheEngine, FlashCacheError, FlashCacheSettings, SlotOrder, WriteHandling, schema_of,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EngineError, EngineSettings, Presence, Restored, VolumeKind, read};

pub(super) const KIND: VolumeKind = VolumeKind {
    name: "cache",
    summary: "The first device caches lines of the second one",
    source: "Xia, chapters 1 and 2",
    parameters: ParameterSource::Schema(schema_of::<Cache>),
    capabilities: &[],
    build: read::<Cache>,
};

/// Settings of a cache.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Cache {
    /// Bytes of a line, which is cached as a whole: whole sectors.
    #[serde(default = "default_line")]
    line: Bytes,
    /// The replacement policy: a name, or a table with its parameters.
    #[serde(default = "lru")]
    policy: Choice,
    /// The order in which the slots of the flash are used.
    #[serde(default)]
    slots: SlotOrder,
    /// The admission policy, which refuses lines that miss: a name, or a table with its parameters.
    #[serde(default = "no_admission")]
    admission: Choice,
    /// Whether the backing device serves some of the reads that hit, and which: a name, or a table with its parameters.
    #[serde(default = "esker_tier::no_routing", skip_serializing_if = "esker_tier::routes_nothing")]
    routing: Choice,
    /// Which requests bring a line into the cache.
    #[serde(default)]
    role: CacheRole,
    /// What happens to writes.
    #[serde(default)]
    write: WriteHandling,
    /// While no request of the host is under way, dirty lines are copied back until no larger share of the flash is
    /// dirty.
    #[serde(default = "default_low")]
    dirty_low: Ratio,
    /// From this share of dirty lines on, they are copied back whatever the host does.
    #[serde(default = "default_high")]
    dirty_high: Ratio,
    /// Whether slots of the flash that become free are trimmed there.
    #[serde(default)]
    trim_freed: bool,
}

const fn default_line() -> Bytes {
    Bytes::kib(4)
}

fn lru() -> Choice {
    Choice::named("lru")
}

fn no_admission() -> Choice {
    Choice::named(NO_ADMISSION)
}

const fn default_low() -> Ratio {
    Ratio::percent(40)
}

const fn default_high() -> Ratio {
    Ratio::percent(60)
}

impl EngineSettings for Cache {
    fn resolved(&self) -> Value {
        serde_json::to_value(self).expect("settings are plain data")
    }

    fn unit(&self) -> Bytes {
        self.line
    }

    /// A line has a record while it has a slot.
    fn records_max(&self, devices: &[Bytes]) -> u64 {
        devices.first().map_or(0, |flash| flash.0.div_ceil(self.line.0.max(1)))
    }

    fn restore(&self, from: Restored<'_>) -> Result<Box<dyn Engine>, EngineError> {
        let [flash, backing] = from.sizes()[..] else {
            let message = format!("a cache has two devices, and {} were given", from.devices.len());
            let hint = "name the one that caches first, then the one that it caches".to_string();
            return Err(EngineError::Settings { message, hint: Some(hint) });
        };
        let missing: Vec<_> = from.with_presence(Presence::Missing).collect();
        let settings = FlashCacheSettings {
            line: self.line,
            policy: self.policy.clone(),
            slots: self.slots,
            admission: self.admission.clone(),
            routing: self.routing.clone(),
            role: self.role,
            write: self.write,
            dirty_low: self.dirty_low,
            dirty_high: self.dirty_high,
            trim_freed: self.trim_freed,
            ..FlashCacheSettings::new(flash, backing)
        };
        let engine = FlashCacheEngine::restore(&settings, from.through, from.checkpoint, from.journal);
        let mut engine = engine.map_err(|error| error_of(&error))?;
        if from.only_reads {
            engine = engine.only_read();
        }
        Ok(Box::new(missing.into_iter().fold(engine, FlashCacheEngine::without)))
    }
}

fn error_of(error: &FlashCacheError) -> EngineError {
    match error.keys() {
        [] => EngineError::Map(error.to_string()),
        _ => EngineError::settings(error),
    }
}
