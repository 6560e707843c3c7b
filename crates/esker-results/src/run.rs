//! What one simulated run says.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DeviceReport, RequestResults, SettledResults};

/// The version of the schema below. A change that would break a reader raises it.
///
/// 2: children of composite devices have response times, hybrids a section `placement`. Results of schema 1 are read,
/// too: there these are zero and absent.
pub const RESULTS_SCHEMA: u32 = 2;

/// The oldest schema of results that can still be read.
pub const RESULTS_SCHEMA_OLDEST: u32 = 1;

/// Everything one simulated run says.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunResults {
    /// Version of this schema.
    pub schema: u32,
    /// Version of esker that wrote it.
    pub version: String,
    /// Seed of the run.
    pub seed: u64,
    /// The configuration, fully resolved: feeding it back repeats the run.
    pub config: serde_json::Value,
    /// What was asked of the devices.
    pub workload: WorkloadResults,
    /// What the requests met.
    pub requests: RequestResults,
    /// Rates over the measured time.
    pub throughput: Throughput,
    /// How the run ended, where not by serving every request.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub saturated: Option<Saturation>,
    /// Write amplification after further passes of the writes; only with `run.settle`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub settled: Option<SettledResults>,
    /// Each device of the tree, by name.
    pub devices: BTreeMap<String, DeviceReport>,
    /// What one should know before one takes these numbers for granted, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub remarks: Vec<String>,
    /// Values over time, one entry per interval; empty unless asked for.
    pub series: Vec<SeriesPoint>,
    /// What the simulation itself cost; left out with `--no-cost`, since it differs from run to run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<Cost>,
}

/// Counts of what was asked of the devices in the measured phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadResults {
    /// Requests of all kinds.
    pub requests: u64,
    /// Reads.
    pub read_requests: u64,
    /// Writes.
    pub write_requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// From the first arrival to the last, in seconds.
    pub duration_s: f64,
    /// Requests of the workload, those of the warm-up included, that the target never saw, or not whole.
    #[serde(skip_serializing_if = "LeftOut::is_nothing", default)]
    pub left_out: LeftOut,
}

/// Requests of a workload that do not reach the target as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LeftOut {
    /// Requests of no bytes, which no device can serve.
    pub empty_requests: u64,
    /// Requests that begin past the target's end, with `beyond_capacity = "clip"`.
    pub requests_past_the_end: u64,
    /// Requests that were cut short at the target's end, with `beyond_capacity = "clip"`.
    pub requests_cut_short: u64,
    /// Trims without a whole sector or, with `beyond_capacity = "dense"`, of what is never read or written.
    pub trims_of_nothing: u64,
}

impl LeftOut {
    /// Whether every request reaches the target as it is.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Rates from the first arrival to the last completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Throughput {
    /// Completed requests per second.
    pub requests_per_s: f64,
    /// Bytes read and written per second.
    pub bytes_per_s: f64,
}

/// The device could not keep up with the arrivals, and the run was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Saturation {
    /// Since when requests have been waiting without a break, seconds after the start.
    pub since_s: f64,
    /// When the run was stopped, seconds after the start.
    pub stopped_s: f64,
    /// Requests that waited then.
    pub backlog_requests: u64,
}

/// One interval of a run over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeriesPoint {
    /// Begin of the interval, seconds after the start.
    pub start_s: f64,
    /// Requests that completed in it.
    pub requests: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Mean response time.
    pub mean_us: f64,
    /// 99th percentile of the response time.
    pub p99_us: f64,
    /// Requests waiting at the interval's end.
    pub backlog_requests: u64,
    /// Busy share of each kind of resource during the interval ("bus", "die", "arm", "link", "server"), mean over all
    /// of the kind. Work counts whole where it begins, so a value can pass 1 where work runs over the interval's end.
    pub utilisation: BTreeMap<String, f64>,
}

/// What the simulation cost; only the measured phase, preconditioning apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Wall-clock seconds.
    pub wall_s: f64,
    /// Simulated requests per wall-clock second.
    pub requests_per_wall_s: f64,
    /// Wall-clock seconds spent on preconditioning.
    pub precondition_s: f64,
    /// Largest resident memory of the process so far.
    pub peak_memory_bytes: u64,
}
