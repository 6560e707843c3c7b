//! Results of a plan: plain data with one versioned JSON schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Assumption, Budgets, Candidate, InputSummary, Need};

/// The version of the schema below. It is raised by changes that would break a reader.
pub const PLAN_SCHEMA: u32 = 1;

/// The result of `esker plan`. Costs are over the budgeted years, in the currency of the catalogue.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanReport {
    /// Version of this schema.
    pub schema: u32,
    /// Version of esker that wrote it.
    pub version: String,
    /// The command that repeats the plan.
    pub command: String,
    /// Seed of preconditioning.
    pub seed: u64,
    /// The currency of all costs.
    pub currency: String,
    /// One entry for each trace, or one for all traces together.
    pub plans: Vec<WorkloadPlan>,
    /// All assumptions.
    pub assumptions: Vec<Assumption>,
}

/// The plan of one workload.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadPlan {
    /// Name of the trace, or "all traces together".
    pub name: String,
    /// The traces of the workload.
    pub inputs: Vec<InputSummary>,
    /// The budgets, defaults filled in.
    pub budgets: Budgets,
    /// What has to be stored.
    pub need: Need,
    /// Number of types of devices to choose from: products at their capacities on sale.
    pub types: usize,
    /// Devices in use that the copies of the data cannot share evenly, in words: the plan leaves them out, or counts
    /// them as bought.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub left_out: Vec<String>,
    /// What adding up peaks would have asked for, and what is asked for second by second.
    pub peaks: Peaks,
    /// The plan; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub plan: Option<MixPlan>,
    /// Why there is no plan.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub no_plan: Option<NoPlan>,
    /// Plans that were made and simulated, in order. The last one is the plan, unless there is none.
    pub rounds: Vec<PlanRound>,
}

/// Peaks of classes that do not meet: 95th percentiles of the seconds in which something is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peaks {
    /// Requests per second: those of all classes added up.
    pub added_requests_per_s: u64,
    /// Requests per second of all classes together.
    pub together_requests_per_s: u64,
    /// Bytes per second: those of all classes added up.
    pub added_bytes_per_s: u64,
    /// Bytes per second of all classes together.
    pub together_bytes_per_s: u64,
}

/// A mix of devices, with a place for each class of data.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MixPlan {
    /// The devices, as one line: "2 x ... + 5 x ...".
    pub title: String,
    /// The devices.
    pub devices: Vec<PlannedDevices>,
    /// The classes of data, and where they are.
    pub classes: Vec<PlacedClass>,
    /// Cost with idle devices: what the plan is chosen by.
    pub cost: f64,
    /// No plan is cheaper than this, if devices in use that are left out are no part of it.
    pub bound: f64,
    /// By what share of its cost the plan can be too dear at most.
    pub gap: f64,
    /// The constraints of the devices in the plan, and what each costs.
    pub constraints: Vec<PlanConstraint>,
    /// The next best plans, each without one of the types of better ones: not simulated.
    pub runners_up: Vec<OtherPlan>,
    /// The best plans of other sorts: not simulated.
    pub others: Vec<OtherPlan>,
    /// The cheapest designs of the kinds that were asked for, found and judged by simulation, as in a study.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub beside: Vec<OtherPlan>,
    /// Of each type that is bought, the price up to which it is.
    pub break_even: Vec<BreakEvenPrice>,
    /// The plans for other loads, more data and other prices: not simulated.
    pub what_if: Vec<WhatIf>,
    /// From the devices in use to the plan; absent if none are, or if they cannot hold the data of today.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub way: Option<Way>,
    /// What the simulation of the plan says.
    pub verified: Verified,
}

impl MixPlan {
    /// Says why `simulated_life_years` are those of random writes; `None` if they are not, or if there are none.
    pub fn why_lives_are_of_random_writes(&self) -> Option<String> {
        self.devices.iter().find(|one| one.simulated_life_years.is_some())?;
        match &self.verified.design.endurance {
            Some(endurance) if endurance.judged => None,
            Some(endurance) => Some(format!("Flash life, simulated: {}", endurance.basis)),
            None => Some(
                "Flash life, simulated: write amplification is not measured of a plan that misses another budget. Life \
                 is judged as if all were written at random."
                    .into(),
            ),
        }
    }
}

/// Devices of one type in a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedDevices {
    /// The product: its name in the catalogue.
    pub product: String,
    /// Maker, model and capacity.
    pub title: String,
    /// "ssd" or "hdd".
    pub kind: String,
    /// Capacity of one device as it is sold.
    pub capacity_bytes: u64,
    /// Number of devices, of all copies.
    pub count: u32,
    /// How many of these are in use already.
    pub in_use: u32,
    /// Cost of one more device.
    pub cost_each: f64,
    /// Mean share of the time over the whole trace in which a device is busy, by measured times of single requests.
    pub predicted_utilisation: f64,
    /// Likewise, as simulated; absent if nothing that is asked for is on it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub simulated_utilisation: Option<f64>,
    /// Years that the flash of all these devices lasts, at most 100, if data are written as planned and overwritten at
    /// random; absent without flash.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub predicted_life_years: Option<f64>,
    /// Likewise, with the bytes of the simulation and its write amplification, or that of random writes where it had
    /// not settled (`verified.design.endurance.judged`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub simulated_life_years: Option<f64>,
}

/// A class of data in a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacedClass {
    /// What its data have in common.
    pub name: String,
    /// Bytes at the end of the budgeted years.
    pub bytes: f64,
    /// Requests in the whole trace.
    pub requests: u64,
    /// Share of reads among them.
    pub read_share: f64,
    /// 95th percentile of requests in a second, of those in which there are any.
    pub requests_per_s: u64,
    /// 95th percentile of bytes in a second.
    pub bytes_per_s: u64,
    /// Bytes written in a day.
    pub written_bytes_per_day: f64,
    /// Whether its requests may take longer than the budget: they are few.
    pub may_be_slow: bool,
    /// The devices that hold it.
    pub placed: Vec<PlacedShare>,
}

/// A share of a class on devices of one type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacedShare {
    /// Place in the list of devices.
    pub device: usize,
    /// From 0 to 1.
    pub share: f64,
}

/// A constraint, and what it costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanConstraint {
    /// What is limited, and of which devices.
    pub name: String,
    /// What the plan uses, in its unit.
    pub used: f64,
    /// What may be used.
    pub limit: f64,
    /// What is left.
    pub slack: f64,
    /// Cost of the cheapest plan with the limit 10 % larger.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost_if_looser_10_percent: Option<f64>,
    /// Cost of the cheapest plan without it; where the limit is that devices in use stay: if they could be removed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost_without: Option<f64>,
}

/// Another plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherPlan {
    /// What sort it is: "runner-up", "only disks", "only flash", "one product"; "one hybrid", "one cache".
    pub sort: String,
    /// Its devices.
    pub title: String,
    /// Cost: with idle devices, or as simulated if it was. Absent if there is no such plan.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<f64>,
}

/// Up to which price a type is bought.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BreakEvenPrice {
    /// The type.
    pub title: String,
    /// Cost of one now, electricity included.
    pub cost: f64,
    /// Cost above which none is bought; absent if there is no plan without it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub up_to: Option<f64>,
}

/// What the plan would be if something were different.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhatIf {
    /// What is different.
    pub changed: Changed,
    /// How many times as large it is.
    pub factor: f64,
    /// The devices.
    pub title: String,
    /// Cost with idle devices; absent if there is no such plan.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<f64>,
}

/// What may be different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Changed {
    /// Requests and writes.
    Load,
    /// Bytes of data at the end of the budgeted years.
    Data,
    /// Prices of all flash devices.
    PriceOfFlash,
    /// Prices of all disks.
    PriceOfDisks,
}

impl Changed {
    /// For people: "the load".
    pub fn words(self) -> &'static str {
        match self {
            Self::Load => "the load",
            Self::Data => "the data",
            Self::PriceOfFlash => "the price of flash",
            Self::PriceOfDisks => "the price of disks",
        }
    }
}

/// How data get from the devices in use, on which all lie evenly, to where they are planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// One after the other, in an order in which no device gets fuller than it may be.
    pub moves: Vec<DataMove>,
    /// Bytes that are moved, of all copies.
    pub bytes: f64,
    /// Hours for all moves, in the time that the load of the trace leaves.
    pub hours: f64,
    /// Bytes for which there is no room on the way; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stuck_bytes: Option<f64>,
}

/// Data that move from devices of one type to those of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataMove {
    /// Name of the class.
    pub class: String,
    /// Where they are, by the place in the list of devices.
    pub from: usize,
    /// Where they go, likewise: from devices in use to bought ones, if it is the same place.
    pub to: usize,
    /// Bytes, of all copies.
    pub bytes: f64,
    /// Hours that it takes.
    pub hours: f64,
}

/// What the simulation of a plan says.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verified {
    /// Whether the plan keeps every budget in the simulation.
    pub keeps_budgets: bool,
    /// Budgets that it misses.
    pub reasons: Vec<String>,
    /// 99th percentile of the response time in the busiest times as the model has it, in microseconds: of requests each
    /// of which comes right behind the one before, with write buffers full, and none waiting for another one.
    pub predicted_p99_us: f64,
    /// The simulated design, as `esker study` shows it: costs with simulated electricity, response times, life.
    pub design: Box<Candidate>,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoPlan {
    /// In words.
    pub reason: String,
    /// Constraints of which each is needed for there to be no plan.
    pub clash: Vec<String>,
    /// The smallest changes that help, each by itself, the smallest first.
    pub remedies: Vec<PlanRemedy>,
}

/// Changes of limits after which there is a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRemedy {
    /// In words.
    pub text: String,
    /// Cost of the cheapest plan after them.
    pub cost: f64,
}

/// A plan that was made and simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRound {
    /// Its devices.
    pub title: String,
    /// Cost with idle devices.
    pub cost: f64,
    /// Whether it keeps every budget in the simulation.
    pub keeps_budgets: bool,
    /// Budgets that it misses.
    pub reasons: Vec<String>,
    /// What was corrected in the model after that.
    pub corrected: Vec<String>,
}
