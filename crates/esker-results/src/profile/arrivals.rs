//! How far apart do requests arrive, and when does nothing arrive?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::LatencySummary;

/// Times between consecutive arrivals, over all volumes together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterArrival {
    /// Their distribution. Mean, deviation and maximum are exact, percentiles within 0.1 %.
    pub gap: LatencySummary,
    /// Squared coefficient of variation: variance over squared mean. 1 for Poisson arrivals, 0 for regular ones, far
    /// above 1 for bursts.
    pub squared_coefficient_of_variation: f64,
    /// Share of requests that arrive at the same instant as their predecessor.
    pub simultaneous_fraction: f64,
}

/// Gaps between arrivals of at least some length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdlePeriods {
    /// Shortest gap that counts.
    pub threshold_us: f64,
    /// How many there are.
    pub count: u64,
    /// Their total length.
    pub total_s: f64,
    /// The same as a share of the trace's duration.
    pub share: f64,
    /// The longest.
    pub longest_s: f64,
}
