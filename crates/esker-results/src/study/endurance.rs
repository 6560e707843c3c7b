//! How long the flash lasts, and under which load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A design under a load that has grown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrownLoad {
    /// Requests come so many times as fast as in the trace.
    pub factor: f64,
    /// Whether every request was served.
    pub keeps_up: bool,
    /// 99th percentile in the busiest hour; absent where it cannot keep up.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busiest_hour_p99_us: Option<f64>,
}

/// Wear and cleaning of the flash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endurance {
    /// Programs per page written by the host; absent where the host wrote nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub write_amplification: Option<f64>,
    /// Whether amplification had settled, so that lifetime may be judged.
    pub judged: bool,
    /// How that was found, or why it could not be.
    pub basis: String,
    /// How often the trace was played to get there.
    pub passes: u32,
    /// Bytes that the host writes per day, at the trace's mean rate.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host_bytes_per_day: Option<f64>,
    /// Bytes that the host writes per day, in capacities of the drive (`lifetime_capacity_bytes`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drive_writes_per_day: Option<f64>,
    /// Capacity for which the lifetime is told: that of the drive as sold (its preset), or of the simulated part where
    /// that is larger. Write amplification is that of the simulated part, which is no better than the whole drive's.
    pub lifetime_capacity_bytes: u64,
    /// Years until the mean block reaches its rated erases, growth included.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lifetime_years: Option<f64>,
    /// Whether the figure above is the limit at which it was cut off: "more than".
    pub lifetime_is_lower_bound: bool,
    /// Rated erases per block.
    pub rated_cycles: u64,
    /// Share of programs that cleaning caused.
    pub cleaning_share: f64,
}
