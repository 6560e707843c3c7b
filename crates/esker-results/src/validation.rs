//! Results of `esker validate`: how far simulated response times are from measured ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the JSON schema of [`ValidationResults`].
pub const VALIDATION_SCHEMA: u32 = 1;

/// Result of `esker validate`. Its table and its page are drawn from this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidationResults {
    /// Version of this schema.
    pub schema: u32,
    /// Version of esker that wrote it.
    pub version: String,
    /// The command that repeats it.
    pub command: String,
    /// Seed of everything random.
    pub seed: u64,
    /// The device that was simulated: a preset or an experiment file.
    pub device: String,
    /// The file of measured response times.
    pub measured: String,
    /// Number of requests.
    pub requests: u64,
    /// Mean of the measured response times.
    pub measured_mean_ms: f64,
    /// Mean of the simulated response times.
    pub simulated_mean_ms: f64,
    /// Root mean square difference of the two sorted lists of response times (Ruemmler and Wilkes 1994).
    pub demerit_ms: f64,
    /// The same over the measured mean.
    pub demerit_relative: f64,
    /// Classes of requests, all of them first. Classes without requests are left out.
    pub classes: Vec<ValidationClass>,
}

/// The response times of one class of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidationClass {
    /// What the requests have in common: "reads, far".
    pub name: String,
    /// Number of requests.
    pub requests: u64,
    /// Mean of the measured response times.
    pub measured_mean_ms: f64,
    /// Mean of the simulated response times.
    pub simulated_mean_ms: f64,
    /// Root mean square difference of the two sorted lists of response times.
    pub demerit_ms: f64,
    /// The same over the measured mean; absent if that is zero.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub demerit_relative: Option<f64>,
    /// Both distributions at rising shares of the requests.
    pub distribution: Vec<ValidationQuantile>,
}

/// A share of the requests of a class, and the response times within which so many end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidationQuantile {
    /// Share of the requests, from 0 to 1.
    pub share: f64,
    /// Response time that was measured.
    pub measured_ms: f64,
    /// Response time that was simulated.
    pub simulated_ms: f64,
}
