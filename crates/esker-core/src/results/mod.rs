//! The results of a run: one versioned JSON schema, documented field by field. Names end in their unit.

mod array;
mod flash;
mod recovery;
mod remarks;
mod settled;
mod timeline;
mod zero;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use array::*;
pub use flash::*;
pub use recovery::*;
pub use remarks::remarks;
pub use settled::*;
pub use timeline::*;

/// The version of the schema below. A change that would break a reader raises it.
pub const RESULTS_SCHEMA: u32 = 1;

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

/// Summary of a distribution of times, in microseconds. Mean, deviation and maximum are
/// exact, percentiles within 0.1 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencySummary {
    /// Arithmetic mean.
    pub mean_us: f64,
    /// Standard deviation.
    pub stddev_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 95th percentile.
    pub p95_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Longest.
    pub max_us: f64,
}

/// One class of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestClass {
    /// Requests that completed without error.
    pub count: u64,
    /// Arrival to completion.
    pub response_time: LatencySummary,
    /// Begin of service to completion.
    pub device_time: LatencySummary,
    /// Arrival to begin of service.
    pub queue_time: LatencySummary,
}

/// Completed requests by class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestResults {
    /// All kinds, trims and flushes included.
    pub all: RequestClass,
    /// Reads.
    pub read: RequestClass,
    /// Writes.
    pub write: RequestClass,
    /// Requests that ended with an error.
    pub errors: u64,
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

/// What one device did. Sections that make no sense for its kind are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeviceReport {
    /// "ssd", "hdd", "constant", "array", "hybrid"...
    pub kind: String,
    /// Bytes that the host can address.
    pub capacity_bytes: u64,
    /// Requests that ended, with or without an error.
    pub requests: u64,
    /// Busy share of each kind of resource over the measured time, mean over all of the kind.
    pub utilisation: BTreeMap<String, f64>,
    /// Busy share of the busiest single resource of each kind.
    pub utilisation_busiest: BTreeMap<String, f64>,
    /// Solid-state drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flash: Option<FlashReport>,
    /// Disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskReport>,
    /// Children of a composite device: the share of requests that each one served.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub children: BTreeMap<String, ChildReport>,
}

/// One child of a composite device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChildReport {
    /// Share of the parent's child requests.
    pub share: f64,
    /// Requests sent to it.
    pub requests: u64,
}

/// What a disk did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DiskReport {
    /// Seeks over at least one cylinder.
    pub seeks: u64,
    /// Mean seek time over all requests, moved or not.
    pub mean_seek_us: f64,
    /// Mean rotational wait over all requests.
    pub mean_rotation_us: f64,
    /// Mean transfer time over all requests.
    pub mean_transfer_us: f64,
    /// Mean cylinders passed per request.
    pub mean_seek_cylinders: f64,
}
