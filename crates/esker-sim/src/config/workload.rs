//! The `[workload]` table.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is asked of the target: a trace or a synthetic workload, and how it is replayed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSettings {
    /// Trace file, relative to the experiment's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// The trace's format, where it should not be found by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Closed loop: always this many requests under way, whatever the arrival times. Without it: open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<NonZeroU32>,
    /// Only the first so many requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<u64>,
    /// What to do with addresses that the target does not have.
    #[serde(default)]
    pub beyond_capacity: BeyondCapacity,
}

/// What to do with requests that reach past the target's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BeyondCapacity {
    /// Refuse to run.
    #[default]
    Error,
    /// Addresses go round: modulo the target's capacity.
    Wrap,
    /// Leave out what lies past the end.
    Clip,
    /// Give every 4 KiB page that the workload touches a new place, in order of address, without gaps.
    Dense,
}

impl WorkloadSettings {
    /// Finds contradictions; returns the key within the table and what is wrong.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        Ok(())
    }
}
