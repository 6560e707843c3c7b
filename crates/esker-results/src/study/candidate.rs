//! A design of a study, and how it coped.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::{DeviceReport, RequestResults, SeriesPoint};

/// One design, simulated.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Unique and short: "tlc-op-15".
    pub name: String,
    /// For people: "TLC data-centre SSD, 15 % over-provisioned".
    pub title: String,
    /// "ssd", "hdd", "array".
    pub kind: String,
    /// Physical devices it takes.
    pub device_count: u32,
    /// Bytes that the host can address.
    pub capacity_bytes: u64,
    /// The whole experiment, with its workload, devices and run: in a file beside the traces, `esker sim` repeats these
    /// figures exactly, but for those of the busiest hour, of a misalignment and of the load at the end of the budgeted
    /// years (set `workload.time_scale` to one over its factor for that).
    pub config: serde_json::Value,
    /// How it went.
    pub outcome: Outcome,
    /// Statistics of all requests; absent unless served, since a mean of a growing backlog means nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests: Option<RequestResults>,
    /// The busiest hour alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busiest_hour: Option<BusiestHour>,
    /// Distribution of response times.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub response_curve: Vec<CurvePoint>,
    /// Over time.
    pub series: Vec<SeriesPoint>,
    /// What is busiest, most used first.
    pub limits: Vec<ResourceLimit>,
    /// Translation layer; flash only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub translation_layer: Option<TranslationLayer>,
    /// Wear and cleaning; flash only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub endurance: Option<Endurance>,
    /// Under the load at the end of the budgeted years; absent where the load does not grow, the trace has no times, or
    /// the design does not even carry the load of today.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub grown: Option<GrownLoad>,
    /// Which budgets it keeps.
    pub judgement: Judgement,
    /// Each device in full, by name.
    pub devices: BTreeMap<String, DeviceReport>,
}

impl Candidate {
    /// A design of which nothing is known yet but what it is.
    pub fn new(name: &str, title: &str, kind: &str, device_count: u32) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            kind: kind.into(),
            device_count,
            capacity_bytes: 0,
            config: serde_json::Value::Null,
            outcome: Outcome::Served,
            requests: None,
            busiest_hour: None,
            response_curve: Vec::new(),
            series: Vec::new(),
            limits: Vec::new(),
            translation_layer: None,
            endurance: None,
            grown: None,
            judgement: Judgement::default(),
            devices: BTreeMap::new(),
        }
    }
}

/// How a design coped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "result", rename_all = "lowercase", deny_unknown_fields)]
pub enum Outcome {
    /// Every request was served.
    Served,
    /// It could not keep up with the arrivals and was stopped.
    Saturated {
        /// Since when requests had been waiting without a break, seconds after the start.
        since_s: f64,
        /// Since when they had been waiting, as hh:mm after the start, with days before it where there are any.
        since_clock: String,
        /// When it was stopped.
        stopped_s: f64,
        /// Requests that waited then.
        backlog_requests: u64,
    },
    /// It could not be simulated.
    Failed {
        /// Why.
        reason: String,
    },
}
