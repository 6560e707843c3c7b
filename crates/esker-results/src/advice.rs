//! Results of `esker cluster advise`: when drives wear out, and whether balancing is worth its own writes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the JSON schema of [`AdviceResults`].
pub const ADVICE_SCHEMA: u32 = 1;

/// Result of `esker cluster advise`. Its table and sentences are drawn from this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdviceResults {
    /// Version of this schema.
    pub schema: u32,
    /// Version of esker that wrote it.
    pub version: String,
    /// The command that repeats it.
    pub command: String,
    /// The years that are looked ahead, from the last sample on.
    pub horizon_years: f64,
    /// Currency of all prices: three letters, as in ISO 4217.
    pub currency: String,
    /// Every drive that a sample tells of.
    pub drives: Vec<DriveAdvice>,
    /// Drives of a host whose data should change places once.
    pub exchanges: Vec<DriveExchange>,
    /// What concerns the Ceph cluster, if there are its dumps.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cluster: Option<ClusterAdvice>,
    /// What it comes to.
    pub verdict: AdviceVerdict,
}

/// A figure with the least and the most that it may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FigureRange {
    /// The least.
    pub low: f64,
    /// The best estimate.
    pub likely: f64,
    /// The most.
    pub high: f64,
}

/// When something happens, with its range. What would take more than 100 years is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MomentRange {
    /// The earliest, in seconds since 1970 (UTC).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub earliest_unix_s: Option<i64>,
    /// The best estimate, in seconds since 1970 (UTC).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub likely_unix_s: Option<i64>,
    /// The latest, in seconds since 1970 (UTC).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub latest_unix_s: Option<i64>,
}

/// A drive, and when it wears out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriveAdvice {
    /// What it is called: "osd.3", or the device of its last sample.
    pub name: String,
    /// The model, as the drive says.
    pub model: String,
    /// The serial number, as the drive says.
    pub serial: String,
    /// The size for the host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capacity_bytes: Option<u64>,
    /// Samples of different times.
    pub samples: u64,
    /// The time of the first sample, in seconds since 1970 (UTC).
    pub first_sample_unix_s: i64,
    /// The time of the last sample, in seconds since 1970 (UTC).
    pub last_sample_unix_s: i64,
    /// What the host has written since the drive was new, at the last sample.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub written_bytes: Option<u64>,
    /// The share of its life that the drive itself says is used, at the last sample.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub own_wear_percent: Option<u64>,
    /// What the host writes in a day.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub written_bytes_per_day: Option<FigureRange>,
    /// What the host may write in all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub endurance_bytes: Option<FigureRange>,
    /// Where `endurance_bytes` comes from.
    pub endurance_source: Vec<String>,
    /// When the drive is worn out, if it is written on as it was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worn_out: Option<MomentRange>,
    /// Price of another one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub price: Option<f64>,
    /// Where `price` comes from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub price_source: Option<String>,
    /// Why it cannot be judged, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_judged: Option<String>,
    /// What the drive warns of.
    pub warnings: Vec<String>,
}

/// Two drives of a host whose data should change places once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriveExchange {
    /// The drive that wears out first.
    pub worn: String,
    /// The drive that takes over its writes.
    pub fresh: String,
    /// When to do it best, in seconds since 1970 (UTC): both drives then wear out at the same time.
    pub best_unix_s: i64,
    /// When the first of them is worn out then: both at once, unless it is too late for that. In seconds since 1970
    /// (UTC); left out if in more than 100 years.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worn_out_unix_s: Option<i64>,
    /// What the exchange itself writes at most: all of both drives.
    pub copied_bytes: u64,
    /// Drives that need not be bought within the horizon.
    pub drives_saved: FigureRange,
    /// What they cost.
    pub money_saved: f64,
    /// What the life costs that the exchange itself uses.
    pub money_spent: f64,
}

/// A Ceph cluster, and what should move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterAdvice {
    /// The cluster.
    pub fsid: String,
    /// The epoch of the map that the moves are made for.
    pub epoch: u64,
    /// What moves may copy.
    pub budget_bytes: u64,
    /// What drives are written for each byte that clients write to a replica: logs, metadata, padding.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub written_per_client_byte: Option<f64>,
    /// What should move, in order.
    pub moves: Vec<PgMove>,
    /// What the moves copy.
    pub copied_bytes: u64,
    /// When the first drive is worn out, if nothing moves.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_worn_out_unix_s: Option<i64>,
    /// When the first drive is worn out after the moves.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_worn_out_after_unix_s: Option<i64>,
    /// Drives that need not be bought within the horizon.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drives_saved: Option<FigureRange>,
    /// What they cost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub money_saved: Option<f64>,
    /// What the life costs that the moves themselves use.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub money_spent: Option<f64>,
    /// What was left out of the plan, and why.
    pub left_out: Vec<String>,
}

/// A placement group that should leave a drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PgMove {
    /// The placement group: "2.1f".
    pub pg: String,
    /// The OSD that it leaves.
    pub from: u64,
    /// The OSD that it goes to.
    pub to: u64,
    /// What is copied.
    pub copied_bytes: u64,
    /// What clients write to each of its replicas in a day.
    pub written_bytes_per_day: u64,
}

/// What an advice comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Advised {
    /// Balancing saves drives whichever end of the ranges is true.
    Balance,
    /// Nothing wears out within the horizon that balancing would save.
    NothingToDo,
    /// Balancing saves drives by the best estimates, but not at the other end of the ranges.
    Unclear,
    /// Too little is known.
    NotJudged,
}

/// What it comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdviceVerdict {
    /// The verdict.
    pub advised: Advised,
    /// Why, in sentences.
    pub reasons: Vec<String>,
}
