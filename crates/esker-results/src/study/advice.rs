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
    /// How the electricity was worked out: for each sort of device; empty for cloud volumes.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub electricity: Vec<Electricity>,
}

impl Cost {
    /// Mean power of all devices in watts, without what the building adds. `None` for cloud volumes.
    pub fn watts(&self) -> Option<f64> {
        (!self.electricity.is_empty()).then(|| self.electricity.iter().map(Electricity::watts).sum())
    }
}

/// The electricity of devices of one product: (idle + busy x (active - idle) + supplement) x devices x hours x price x
/// power usage effectiveness.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Electricity {
    /// The product's name for people.
    pub product: String,
    /// Devices, of all copies.
    pub devices: u32,
    /// Power of one that waits, in watts.
    pub idle_w: f64,
    /// Power of one that works, in watts.
    pub active_w: f64,
    /// What the place of one takes besides, always, in watts.
    pub supplement_w: f64,
    /// Share of the time in which its busiest part works.
    pub busy: f64,
    /// Price of a kilowatt-hour.
    pub price_per_kwh: f64,
    /// Power of the building divided by that of the machines in it.
    pub power_usage_effectiveness: f64,
}

impl Electricity {
    /// Mean power of all its devices, in watts.
    pub fn watts(&self) -> f64 {
        let each = self.idle_w + self.busy * (self.active_w - self.idle_w) + self.supplement_w;
        each * f64::from(self.devices)
    }

    /// Kilowatt-hours over the budgeted years, without what the building adds.
    pub fn kilowatt_hours(&self, years: f64) -> f64 {
        self.watts() / 1e3 * years * 8_760.0
    }
}

/// What is left of the data when devices fail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Survival {
    /// Devices that may fail, whichever they are, before data are lost: without mirrors one less than there are copies.
    pub failures_survived: u32,
    /// Devices of one copy of which each loses that copy by failing.
    pub devices_of_one_copy: u32,
    /// Share of devices that fail in a year, for each sort of them; empty if one is not known.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub annual_failure_rates: Vec<f64>,
    /// Whether such a rate is assumed.
    pub rates_are_assumed: bool,
    /// Share of such designs that lose data within the budgeted years, none being replaced before it fails. Absent if a
    /// rate is not known, and with further copies or mirrors.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loss_over_years: Option<f64>,
    /// What everything costs over the budgeted years with a second copy on as many devices again. Absent if there is
    /// one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub two_copies_total: Option<f64>,
}

/// A stretch of time in which budgets hold.
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

/// How a design does in a busy stretch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BusyResults {
    /// Response times of the requests that arrive in it.
    pub response_time: LatencySummary,
    /// 99th percentile with other random numbers, if it was simulated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99_us_of_other_seed: Option<f64>,
    /// Whether it could not keep up with other random numbers: then there is no percentile with them.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub saturates_with_other_seed: bool,
    /// The busiest resource, such as "arm".
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub resource: Option<String>,
    /// Busy share of that resource; of several alike, of the busiest one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub utilisation: Option<f64>,
}

impl BusyResults {
    /// Whether it was simulated with other random numbers, too.
    pub fn was_tried_again(&self) -> bool {
        self.p99_us_of_other_seed.is_some() || self.saturates_with_other_seed
    }
}

/// A time of the trace in which the budget for the 99th percentile has to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JudgedTime {
    /// The stretch with most requests.
    BusiestByRequests,
    /// The stretch with most bytes.
    BusiestByBytes,
    /// The hour with most requests.
    BusiestHour,
    /// All of it.
    WholeTrace,
    /// Its last quarter, of a design whose times depend on what it has served.
    LastQuarter,
}

impl JudgedTime {
    /// The end of a sentence: "99 % of requests within 2 ms in the busiest time".
    pub const fn within(self) -> &'static str {
        match self {
            Self::BusiestByRequests => "in the busiest time",
            Self::BusiestByBytes => "in the busiest time by bytes",
            Self::BusiestHour => "in the busiest hour",
            Self::WholeTrace => "over the whole trace",
            Self::LastQuarter => "in the last quarter of the trace",
        }
    }
}

/// A 99th percentile, and the time of the trace in which it is that.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgedPercentile {
    /// The 99th percentile; with other random numbers if it is larger with those.
    pub p99_us: f64,
    /// When.
    pub time: JudgedTime,
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
    /// 99th percentile under that load, in the busy stretch by requests or by bytes, whichever is larger; absent if it
    /// cannot keep up, or misses the budget by far.
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
    /// What ruled it out: "price", "capacity", "endurance", "bandwidth", "class", "discontinued" or "failed";
    /// "simulation" if it was simulated and results say no more of it.
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
    /// Name of the recommended candidate; null if there is none.
    pub recommended: Option<String>,
    /// Names of candidates that cannot be told from it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub equals: Vec<String>,
    /// Names of cheaper candidates that miss a budget by so little that chance decides.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub close: Vec<String>,
    /// Where none keeps every budget: the candidate that comes nearest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nearest: Option<String>,
    /// Why this one: a sentence.
    pub because: String,
}
