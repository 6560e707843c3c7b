//! Results of one simulated run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DeviceReport, PlacementMap, PlacementReport, RequestResults, SettledResults};

/// The version of the schema below. It is raised by changes that would break a reader.
pub const RESULTS_SCHEMA: u32 = 1;

/// All results of one simulated run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunResults {
    /// Version of this schema.
    pub schema: u32,
    /// Version of esker that wrote it.
    pub version: String,
    /// Seed of the run.
    pub seed: u64,
    /// The configuration with all defaults filled in. Running it again repeats the run.
    pub config: serde_json::Value,
    /// The requests sent to the devices.
    pub workload: WorkloadResults,
    /// Response times of the requests.
    pub requests: RequestResults,
    /// Rates over the measured time.
    pub throughput: Throughput,
    /// How the run ended, if not all requests were served.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub saturated: Option<Saturation>,
    /// Write amplification after further passes of the writes; only with `run.settle`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub settled: Option<SettledResults>,
    /// Results of each device of the tree, by name.
    pub devices: BTreeMap<String, DeviceReport>,
    /// Sentences that a reader needs to judge the results.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub remarks: Vec<String>,
    /// Values over time, one entry for each interval; empty unless asked for.
    pub series: Vec<SeriesPoint>,
    /// Where the target's extents are over time, if it places extents; only with a series.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub placement_map: Option<PlacementMap>,
    /// What the simulation cost. Left out with `--no-cost`, because it differs from run to run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<Cost>,
}

/// Counts of requests to the devices in the measured phase.
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
    /// Time from the first arrival to the last, in seconds.
    pub duration_s: f64,
    /// Requests of the workload (including the warm-up) that were not sent to the target, or not as a whole.
    #[serde(skip_serializing_if = "LeftOut::is_nothing", default)]
    pub left_out: LeftOut,
}

/// Requests of a workload that were not sent to the target as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Requests of zero bytes, which no device can serve.
    pub empty_requests: u64,
    /// Requests that begin after the end of the target, with `beyond_capacity = "clip"`.
    pub requests_past_the_end: u64,
    /// Requests that were cut at the end of the target, with `beyond_capacity = "clip"`.
    pub requests_cut_short: u64,
    /// Trims without a whole sector or, with `beyond_capacity = "dense"`, of data that are never read or written.
    pub trims_of_nothing: u64,
}

impl LeftOut {
    /// Whether every request was sent to the target as it is.
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

/// The device could not keep up with the arrivals, so the run was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Saturation {
    /// Since when requests had been waiting without a break, in seconds after the start.
    pub since_s: f64,
    /// When the run was stopped, in seconds after the start.
    pub stopped_s: f64,
    /// Requests waiting when the run was stopped.
    pub backlog_requests: u64,
}

/// One interval of the series over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeriesPoint {
    /// Start of the interval, in seconds after the start of the run.
    pub start_s: f64,
    /// Requests that completed in the interval.
    pub requests: u64,
    /// Bytes moved by these requests.
    pub bytes: u64,
    /// Mean response time.
    pub mean_us: f64,
    /// 99th percentile of the response time.
    pub p99_us: f64,
    /// Requests waiting at the end of the interval.
    pub backlog_requests: u64,
    /// Busy share of each kind of resource during the interval ("bus", "die", "arm", "link", "server"; "operations" and
    /// "throughput" of a cloud volume), the mean for each kind. Work counts in full when it begins, so a value can
    /// exceed 1 if work goes on after the end of the interval, or if a cloud volume lets through what it had saved.
    pub utilisation: BTreeMap<String, f64>,
    /// If the target is a composite device: its children in this interval, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub children: BTreeMap<String, SeriesChild>,
    /// If the target places extents: what was moved in this interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementReport>,
}

/// One child of the target in one interval of the series. Counts the host's requests alone, without what serves no
/// single one of them (copies, shared flushes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeriesChild {
    /// Requests to this child that completed in the interval.
    pub requests: u64,
    /// Their share of those of all children.
    pub share: f64,
    /// Mean time from sending a request to this child until its end; zero if there was none.
    pub mean_us: f64,
    /// If the target places extents: the share that its policy wants this child to have at the end of the interval, of
    /// the requests (`wardrop`, `throughput`) or of the extents (`static-split`). Absent if the policy has no shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_share: Option<f64>,
    /// If the target places extents: how many of them are on this child at the end of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_extents: Option<u64>,
    /// Bytes of these extents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_bytes: Option<u64>,
}

/// What the simulation cost. Covers the measured phase, not preconditioning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Wall-clock seconds.
    pub wall_s: f64,
    /// Simulated requests per wall-clock second.
    pub requests_per_wall_s: f64,
    /// Wall-clock seconds spent on preconditioning.
    pub precondition_s: f64,
    /// Largest resident memory of the process up to now.
    pub peak_memory_bytes: u64,
}
