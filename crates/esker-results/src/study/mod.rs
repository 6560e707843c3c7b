//! Results of a study: plain data with one versioned JSON schema. The HTML report is drawn from them and nothing else.

mod advice;
mod alignment;
mod cache;
mod cached_volume;
mod candidate;
mod composition;
mod endurance;
mod family;
mod hybrid;
mod judged_state;
pub mod plan;
mod read;
mod slow;
mod verdict;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use advice::*;
pub use alignment::*;
pub use cache::*;
pub use cached_volume::*;
pub use candidate::*;
pub use composition::*;
pub use endurance::*;
pub use family::*;
pub use hybrid::*;
pub use judged_state::*;
pub use read::ReadStudyError;
pub use slow::*;
pub use verdict::*;

use crate::LatencySummary;
use crate::profile::Profile;

/// The version of the schema below. It is raised by changes that would break a reader.
pub const STUDY_SCHEMA: u32 = 1;

/// The result of `esker study`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyReport {
    /// Version of this schema.
    pub schema: u32,
    /// Version of esker that wrote it.
    pub version: String,
    /// The command that repeats the study.
    pub command: String,
    /// Seed of preconditioning and sampling.
    pub seed: u64,
    /// The budgets against which designs are judged.
    pub budgets: Budgets,
    /// One entry for each trace, or one for all traces together.
    pub workloads: Vec<WorkloadStudy>,
    /// All assumptions, most consequential first.
    pub assumptions: Vec<Assumption>,
    /// What the study cost; left out with `--no-cost`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<StudyCost>,
}

/// Limits that a design has to keep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budgets {
    /// Largest allowed 99th percentile of the response time, in the busy stretch and in the busiest hour.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99_us: Option<f64>,
    /// Years that the flash has to last.
    pub years: f64,
    /// Growth of the load per year, as a fraction.
    pub growth_per_year: f64,
    /// Largest number of devices in a design.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub devices: Option<u32>,
    /// Largest busy share of the busiest resource in the busy stretch.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub utilisation: Option<f64>,
    /// The load that has to be carried, as a multiple of the trace's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub headroom: Option<f64>,
    /// Which of these were not asked for, in words: "p99: no worse than today's".
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub defaults: Vec<String>,
}

impl Budgets {
    /// The load at the end of the budgeted years, as a multiple of today's.
    pub fn load_at_the_end(&self) -> f64 {
        (1.0 + self.growth_per_year).powf(self.years)
    }
}

/// One workload, characterised and simulated.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadStudy {
    /// Name of the trace, or "all traces together".
    pub name: String,
    /// The answer in words.
    pub verdict: Verdict,
    /// The budgets that its designs were judged by, defaults filled in.
    pub budgets: Budgets,
    /// When budgets hold: the busiest minute if that has a thousand requests, else the shortest stretch that has them.
    /// Absent if the trace has no times.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy_stretch: Option<BusyStretch>,
    /// Likewise the minute with most bytes, or the thousand requests in a row with most bytes a second: budgets hold in
    /// it, too. Absent if `busy_stretch` has as many bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy_stretch_by_bytes: Option<BusyStretch>,
    /// What has to be stored, and where that comes from.
    pub need: Need,
    /// What the answer stands on.
    pub evidence: Evidence,
    /// The traces of the workload.
    pub inputs: Vec<InputSummary>,
    /// How the workload was replayed.
    pub replay: ReplaySummary,
    /// The space that the designs were sized for.
    pub active_region: ActiveRegion,
    /// Profile of the workload, as in `esker trace info --json`.
    pub profile: Profile,
    /// Response times that the trace itself recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub measured: Option<Measured>,
    /// The designs that were simulated, in the order of the report.
    pub candidates: Vec<Candidate>,
    /// The designs that were not, and why.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub ruled_out: Vec<RuledOut>,
    /// The best design of each family that was offered in the market of the verdict. Empty without times.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub families: Vec<FamilyAnswer>,
    /// The slowest request of a drive and those around it. The drive is the recommended one or, if that has no flash,
    /// the first one that served everything.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub slowest: Option<SlowStretch>,
    /// How much a cache would help.
    pub miss_ratio_curve: MissRatioCurve,
    /// The cheapest mix of devices of any products; absent unless it was asked for, or without times.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub plan: Option<Box<plan::WorkloadPlan>>,
    /// Constant misalignments of the requests, and what they cost.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub misalignments: Vec<Misalignment>,
}

/// What has to be stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// Bytes of data today.
    pub data_bytes: u64,
    /// Where that comes from: a sentence.
    pub basis: String,
    /// How many times as much data there are at the end of the budgeted years.
    pub growth_factor: f64,
    /// Copies kept of the data.
    pub copies: u32,
    /// Share of a device that data may fill.
    pub fill_limit: f64,
    /// Capacity on sale that all this asks for.
    pub capacity_bytes: u64,
}

/// One trace as it was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputSummary {
    /// File name without its folder.
    pub name: String,
    /// Format that it was read as.
    pub format: String,
    /// Names of its volumes.
    pub volumes: Vec<String>,
    /// Requests read.
    pub requests: u64,
    /// Notes of the reader: sorted records, skipped lines, ignored events.
    pub notes: Vec<String>,
}

/// How the workload was replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplaySummary {
    /// Requests arrive at the trace's times ("open"), or a fixed number is always under way ("closed").
    pub mode: ReplayMode,
    /// Number of requests under way in closed-loop replay.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue_depth: Option<u32>,
    /// Why this mode was chosen.
    pub reason: String,
}

/// Open-loop or closed-loop replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReplayMode {
    /// Requests arrive at the times of the trace.
    Open,
    /// A fixed number of requests is always under way.
    Closed,
}

/// The touched space, mapped densely, and the cold data beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActiveRegion {
    /// Size of a record, the unit of the dense mapping.
    pub record_bytes: u64,
    /// Number of touched records times their size: the dense address space.
    pub active_bytes: u64,
    /// Distance from the lowest to the highest address touched, summed over volumes.
    pub address_span_bytes: u64,
    /// Share of each flash design's host capacity that holds data (active and cold) at the start of the run.
    pub utilisation: f64,
}

/// Response times of the traced system: "today, as measured".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// All requests with a response time.
    pub all: LatencySummary,
    /// Reads.
    pub read: LatencySummary,
    /// Writes.
    pub write: LatencySummary,
    /// 99th percentile in the busiest hour.
    pub busiest_hour_p99_us: f64,
    /// Number of requests with a response time.
    pub requests: u64,
}

/// Memory and work of a translation layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TranslationLayer {
    /// Name in experiment files.
    pub name: String,
    /// Bytes of controller memory for its tables in the drive as sold.
    pub map_bytes: u64,
    /// Erases in the measured run.
    pub erases: u64,
    /// Merges in the measured run that joined whole data blocks with their updates.
    pub full_merges: u64,
    /// Share of look-ups in the map that needed no flash; absent if the whole map is in memory.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hit_ratio: Option<f64>,
}

/// The hour with the most requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BusiestHour {
    /// Start of the hour, in seconds after the start.
    pub start_s: f64,
    /// Number of requests in the hour.
    pub requests: u64,
    /// Response times of these requests.
    pub response_time: LatencySummary,
}

/// One point of a distribution function.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CurvePoint {
    /// A response time.
    pub time_us: f64,
    /// Share of requests that took at most this long.
    pub share: f64,
}

/// Busy share of one kind of resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceLimit {
    /// "bus", "die", "arm", "link".
    pub resource: String,
    /// Mean busy share over the whole run.
    pub utilisation: f64,
    /// Busy share of the busiest single resource.
    pub busiest: f64,
    /// Busy share in the busiest interval of the series.
    pub peak: f64,
    /// Start of that interval, in seconds after the start.
    pub peak_s: f64,
}

/// The budgets that a design keeps. Absent if a budget was not set or cannot be judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// Whether it served everything and keeps every budget that could be judged.
    pub keeps_budgets: bool,
    /// Whether it keeps the 99th percentile: in the busiest times by requests and by bytes, in the busiest hour, and
    /// over the whole trace.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99: Option<bool>,
    /// The largest of these percentiles.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worst_p99: Option<JudgedPercentile>,
    /// Whether its flash lasts as long as asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub years: Option<bool>,
    /// Whether it uses no more devices than allowed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub devices: Option<bool>,
    /// Whether its busiest resource is idle enough in the busy stretches.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub utilisation: Option<bool>,
    /// Whether it carries the larger load, too.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub headroom: Option<bool>,
    /// Whether chance decides: a budget is kept or broken by less than the noise.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub close: bool,
    /// One sentence for each budget that is broken.
    pub reasons: Vec<String>,
}

/// An assumption of the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    /// The assumption.
    pub text: String,
    /// How to change it, as an option of the command or a key of an experiment file.
    pub change: String,
}

/// What the study cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyCost {
    /// Wall-clock seconds.
    pub wall_s: f64,
    /// Largest resident memory of the process.
    pub peak_memory_bytes: u64,
    /// Number of requests simulated, over all candidates and passes.
    pub simulated_requests: u64,
}
