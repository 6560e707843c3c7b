//! The `[run]` table.

use esker_core::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is run, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSettings {
    /// The device that serves the workload.
    pub target: String,
    /// Seed of everything random in the run; each device and the workload draw their own from it.
    #[serde(default = "one")]
    pub seed: u64,
    /// Requests that are served before measuring starts. Measuring starts once the last of them has ended; where that is
    /// after the next arrival, all later arrivals are moved back by the difference.
    #[serde(default)]
    pub warm_up_requests: u64,
    /// Length of the intervals of `series` in the results; none without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Nanos>,
    /// How many requests from the start of measuring on stand in the results of each drive one by one, with their flash
    /// operations.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub timeline: u32,
    /// Open loop: the run ends as saturated once a request has waited this long for the device to take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_limit: Option<Nanos>,
    /// Open loop: the run ends as saturated once this many requests wait.
    #[serde(default = "million")]
    pub backlog_limit: u64,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

const fn one() -> u64 {
    1
}

const fn million() -> u64 {
    1_000_000
}
