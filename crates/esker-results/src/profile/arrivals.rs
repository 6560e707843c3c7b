//! Distances between arrivals, and idle periods.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::LatencySummary;

/// Times between consecutive arrivals, over all volumes together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterArrival {
    /// Distribution of these times. Mean, deviation and maximum are exact, percentiles within 0.1 %.
    pub gap: LatencySummary,
    /// Squared coefficient of variation: variance over squared mean. 1 for Poisson arrivals, 0 for regular ones, far
    /// above 1 for bursts.
    pub squared_coefficient_of_variation: f64,
    /// Share of requests that arrive at the same instant as the one before.
    pub simultaneous_fraction: f64,
}

/// Gaps between arrivals that are at least this long.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdlePeriods {
    /// The shortest gap that counts.
    pub threshold_us: f64,
    /// Number of gaps.
    pub count: u64,
    /// Total length of the gaps.
    pub total_s: f64,
    /// Total length as a share of the trace's duration.
    pub share: f64,
    /// Length of the longest gap.
    pub longest_s: f64,
}
