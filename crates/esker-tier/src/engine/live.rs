//! Settings that an operator changes while an engine serves.

use std::sync::Arc;

use esker_core::{Bytes, Hint, ReadError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::background::BackgroundSettings;
use super::move_limits::{LimitsError, MoveLimits};
use crate::range_map::PinnedRange;

/// The table of a policy: its name, and the keys of that policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicySettings {
    /// The name of the policy, one of `PLACEMENTS`.
    pub kind: String,
    /// The policy's own keys.
    #[serde(flatten)]
    pub options: serde_json::Map<String, serde_json::Value>,
    /// The ranges of the file that the key `map` names, once it was read.
    #[serde(skip)]
    pub mapped: Option<Arc<[PinnedRange]>>,
}

/// The key that names a file with a [`RangeMap`](crate::RangeMap).
const MAP: &str = "map";

impl PolicySettings {
    /// The policy called `kind`, with these keys of its own.
    pub fn new(kind: &str, options: serde_json::Map<String, serde_json::Value>) -> Self {
        Self { kind: kind.to_string(), options, mapped: None }
    }

    /// The policy called `kind`, with the defaults of all its keys.
    pub fn named(kind: &str) -> Self {
        Self::new(kind, serde_json::Map::new())
    }

    /// Returns the file of ranges that the policy's table names.
    pub fn map(&self) -> Option<&str> {
        self.options.get(MAP).and_then(serde_json::Value::as_str)
    }

    /// Returns the table with the ranges themselves instead of the file that was read, so that it needs no file.
    pub fn without_file(&self) -> Self {
        let mut options = self.options.clone();
        if let Some(ranges) = &self.mapped {
            options.remove(MAP);
            let ranges = serde_json::to_value(&ranges[..]).expect("ranges are plain data");
            options.insert("ranges".to_string(), ranges);
        }
        Self::new(&self.kind, options)
    }
}

/// New settings for an engine that serves. Those that are `None` stay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveSettings {
    /// Another policy of placement. Extents stay where they are until it moves them.
    pub policy: Option<PolicySettings>,
    /// All limits of background work.
    pub background: Option<BackgroundSettings>,
    /// The limits of all devices, in their order. Those without an entry have none.
    pub limits: Option<Vec<MoveLimits>>,
}

/// Why an engine does not take new settings.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LiveSettingsError {
    /// The engine moves nothing.
    #[error("this kind of volume moves nothing in the background")]
    Unsupported,
    /// There is no such policy, or its own settings are wrong.
    #[error(transparent)]
    Policy(ReadError),
    /// The limits of devices do not fit them.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// The engine knows no limits of its devices.
    #[error("this kind of volume has no limits of its devices")]
    NoLimits,
    /// The budget does not allow a single move.
    #[error("{budget} a day are less than one extent of {extent}, so nothing could move")]
    Budget {
        /// The bytes that may move in a day.
        budget: Bytes,
        /// Size of an extent.
        extent: Bytes,
    },
}

impl Hint for LiveSettingsError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Unsupported => Some(
                "hybrids have a policy, and hybrids and clusters background work that can be paused or limited"
                    .to_string(),
            ),
            Self::Policy(error) => error.hint(),
            Self::Limits(_) => None,
            Self::NoLimits => Some("hybrids have".to_string()),
            Self::Budget { .. } => Some("allow more, or pause background work".to_string()),
        }
    }
}
