//! What a design costs, how much more load it carries, and how far the evidence goes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::LatencySummary;

/// The market of things that one buys, and runs in a machine of one's own.
pub const ON_PREMISES: &str = "on-premises";

/// The product that a design is made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProductSummary {
    /// Its name in the catalogue: `esker devices NAME` shows it.
    pub name: String,
    /// Maker and model.
    pub title: String,
    /// The year in which it came out.
    pub year: u16,
    /// "on-premises", "aws", "azure" or "google".
    pub market: String,
    /// Sort of product, such as "tlc-read-intensive": what its price goes by where its own is not known.
    pub class: String,
    /// Where its figures come from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source: Option<String>,
    /// What of it is assumed, in words.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub assumed: Vec<String>,
    /// Throughput of the simulated drive at the conditions of its data sheet, over what that publishes, by figure:
    /// `random_read`, `random_write` (4 KiB, depth 256), `sequential_read`, `sequential_write` (128 KiB, depth 32).
    /// Figures that nobody published are left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub simulated_over_published: BTreeMap<String, f64>,
}

/// What a design costs over the budgeted years. Amounts are in `currency`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Price of the devices; zero for cloud volumes, which are rented.
    pub purchase: f64,
    /// Electricity of the devices and of their cooling over the years; zero for cloud volumes, whose rent has it.
    pub power: f64,
    /// The total spread over the months, or the rent.
    pub per_month: f64,
    /// Everything over the budgeted years.
    pub total: f64,
    /// "USD", "EUR"...
    pub currency: String,
    /// The date of the price: "2026-04-07".
    pub as_of: String,
    /// Whether the price is assumed: that of its class, or from no source.
    pub assumed: bool,
}

/// The stretch of time in which budgets hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BusyStretch {
    /// Its start, in seconds after the first request.
    pub start_s: f64,
    /// Its length in seconds.
    pub length_s: f64,
    /// Requests that arrive in it.
    pub requests: u64,
}

/// How a design does in the busy stretch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BusyResults {
    /// Response times of the requests that arrive in it.
    pub response_time: LatencySummary,
    /// 99th percentile with other random numbers, if it was simulated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99_us_of_other_seed: Option<f64>,
    /// The busiest resource, such as "arm".
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub resource: Option<String>,
    /// Busy share of that resource; of several alike, of the busiest one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub utilisation: Option<f64>,
}

/// How much more load a design carries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Headroom {
    /// The largest load that keeps the budgets on response times and on resources, as a multiple of the trace's, among
    /// the loads tried.
    pub factor: f64,
    /// Whether even the largest load tried keeps them.
    pub is_lower_bound: bool,
    /// What breaks at the next load tried: a sentence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limited_by: Option<String>,
    /// The next load tried.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub breaks_at: Option<f64>,
    /// 99th percentile in the busy stretch under that load; absent if it cannot keep up.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99_us: Option<f64>,
}

/// What the answer stands on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// "trace".
    pub kind: String,
    /// How far it goes.
    pub grade: Grade,
    /// What lowers the grade, in sentences.
    pub reasons: Vec<String>,
}

/// How far evidence goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// A first idea.
    #[default]
    Low,
    /// Good for a decision that can be taken back.
    Medium,
    /// Good for a purchase.
    High,
}

impl Grade {
    /// The grade as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A design that was not simulated, or not to the end, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuledOut {
    /// Its name, as a candidate would have it.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Its market.
    pub market: String,
    /// Its cost over the years, if it was worked out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub total: Option<f64>,
    /// What ruled it out: "price", "capacity", "endurance", "bandwidth", "class" or "failed".
    pub by: String,
    /// A sentence.
    pub reason: String,
}

/// The answer for one market.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MarketAnswer {
    /// "on-premises", "aws", "azure" or "google".
    pub market: String,
    /// Name of the recommended candidate.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub recommended: Option<String>,
    /// Names of candidates that cannot be told from it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub equals: Vec<String>,
    /// Where none keeps every budget: the candidate that comes nearest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nearest: Option<String>,
    /// Why this one: a sentence.
    pub because: String,
}
