//! A design of a study, and how it performed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::{DeviceReport, LatencySummary, RequestResults, SeriesPoint};

/// One design, with its simulation.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Short, unique name: "micron-5400-pro-240GB".
    pub name: String,
    /// Name for people: "Micron 5400 PRO, 240 GB".
    pub title: String,
    /// The kind of the simulated device that requests go to: "ssd", "hdd", "cloud-volume", "array", "hybrid", "cache".
    pub kind: String,
    /// Number of physical devices.
    pub device_count: u32,
    /// Bytes that the host can address.
    pub capacity_bytes: u64,
    /// The product.
    pub product: ProductSummary,
    /// How its parts work together.
    pub composition: Composition,
    /// Its parts, if it has devices of several products; `product` stands for all of them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub parts: Vec<DesignPart>,
    /// Capacity of one device as it is sold; absent for a design of several products.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capacity_on_sale_bytes: Option<u64>,
    /// Capacity of one copy's volume as it is sold, of a design of several products.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub volume_on_sale_bytes: Option<u64>,
    /// Number of devices bought, of all copies.
    pub count: u32,
    /// What they cost.
    pub cost: Cost,
    /// What is left of the data when a device fails.
    pub survival: Survival,
    /// The whole experiment, with its workload, devices and run. In a file beside the traces, `esker sim` repeats these
    /// results exactly, except those of the busiest hour, of a misalignment, and of the load at the end of the budgeted
    /// years (for that set `workload.time_scale` to one over its factor).
    pub config: serde_json::Value,
    /// How the simulation ended.
    pub outcome: CandidateOutcome,
    /// Statistics of all requests. Absent unless all were served, because the mean over a growing backlog means
    /// nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests: Option<RequestResults>,
    /// Results of the busy stretch, in which budgets hold.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy: Option<BusyResults>,
    /// Likewise of the busiest stretch by bytes; absent if it is the same stretch.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy_by_bytes: Option<BusyResults>,
    /// The state in which it was judged.
    pub judged: JudgedState,
    /// Of a design whose times depend on what it has served, response times in the last quarter of the trace: they
    /// count instead of those of all requests, the first of which found it in another state.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_quarter: Option<LatencySummary>,
    /// How much more load it carries.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub headroom: Option<Headroom>,
    /// Results of the busiest hour alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busiest_hour: Option<BusiestHour>,
    /// Distribution of response times; of the designs that matter most.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub response_curve: Vec<CurvePoint>,
    /// Results over time; of the designs that matter most.
    pub series: Vec<SeriesPoint>,
    /// The resources by busy share, busiest first.
    pub limits: Vec<ResourceLimit>,
    /// The translation layer; flash only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub translation_layer: Option<TranslationLayer>,
    /// Wear and cleaning; flash only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub endurance: Option<Endurance>,
    /// Result under the load at the end of the budgeted years. Absent if the load does not grow, the trace has no
    /// times, or the design does not even carry today's load.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub grown: Option<GrownLoad>,
    /// Of drives, by name and resource: the share of the time of the run in which they worked off what filling them had
    /// left over to clean. It comes once, so that electricity over the years is without it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub left_over: BTreeMap<String, BTreeMap<String, f64>>,
    /// Of a volume, how the load empties its credits; absent if it does not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub runs_dry: Option<RunsDry>,
    /// The budgets that the design keeps.
    pub judgement: Judgement,
    /// Full results of each device, by name.
    pub devices: BTreeMap<String, DeviceReport>,
}

impl Candidate {
    /// The simulated devices called `name`: one, or several, which are then `ssd0.0`, `ssd0.1` and so on.
    pub fn devices_called(&self, name: &str) -> Vec<&DeviceReport> {
        self.named(name).map(|(_, device)| device).collect()
    }

    fn named<'a>(&'a self, name: &str) -> impl Iterator<Item = (&'a String, &'a DeviceReport)> {
        let is_called =
            move |device: &str| device.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        self.devices.iter().filter(move |(device, _)| is_called(device))
    }

    /// The mean share of the time in which the busiest part of each device called `name` worked for the load, without
    /// what filling it had left over; `None` if there is no such device.
    pub fn busy_for_load(&self, name: &str) -> Option<f64> {
        let of_device = |(name, device): (&String, &DeviceReport)| {
            let left_over = |resource: &str| self.left_over.get(name).and_then(|left| left.get(resource)).copied();
            let shares = device.busy_shares().map(|(resource, share)| share - left_over(resource).unwrap_or(0.0));
            shares.fold(0.0, f64::max)
        };
        let each: Vec<f64> = self.named(name).map(of_device).collect();
        (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
    }

    /// A design that has not been simulated yet, without what is particular to an offer: product, price and life.
    pub fn new(name: &str, title: &str, kind: &str, device_count: u32) -> Self {
        Self {
            name: name.into(),
            title: title.into(),
            kind: kind.into(),
            device_count,
            capacity_bytes: 0,
            product: ProductSummary::default(),
            composition: Composition::default(),
            parts: Vec::new(),
            capacity_on_sale_bytes: None,
            volume_on_sale_bytes: None,
            count: device_count,
            cost: Cost::default(),
            survival: Survival::default(),
            config: serde_json::Value::Null,
            outcome: CandidateOutcome::Served,
            requests: None,
            busy: None,
            busy_by_bytes: None,
            judged: JudgedState::default(),
            last_quarter: None,
            headroom: None,
            busiest_hour: None,
            response_curve: Vec::new(),
            series: Vec::new(),
            limits: Vec::new(),
            translation_layer: None,
            endurance: None,
            grown: None,
            left_over: BTreeMap::new(),
            runs_dry: None,
            judgement: Judgement::default(),
            devices: BTreeMap::new(),
        }
    }

    /// The title with the year of the product: "Micron 7450 PRO, 960 GB (2022)".
    pub fn title_and_year(&self) -> String {
        match self.product.year {
            year if year > 0 && self.parts.is_empty() => format!("{} ({year})", self.title),
            _ => self.title.clone(),
        }
    }

    /// Response times of all requests that count: of a design whose times depend on what it has served, those of the
    /// last quarter of the trace.
    pub fn counted_response(&self) -> Option<LatencySummary> {
        if self.judged.depends_on_history() {
            return self.last_quarter;
        }
        self.requests.as_ref().map(|requests| requests.all.response_time)
    }

    /// Every 99th percentile that the budget for it is about, where `of_busy` says which one counts in the busy
    /// stretches.
    pub fn percentiles(&self, of_busy: impl Fn(&BusyResults) -> f64) -> Vec<JudgedPercentile> {
        let whole = if self.judged.depends_on_history() { JudgedTime::LastQuarter } else { JudgedTime::WholeTrace };
        let times = [
            (JudgedTime::BusiestByRequests, self.busy.as_ref().map(&of_busy)),
            (JudgedTime::BusiestByBytes, self.busy_by_bytes.as_ref().map(&of_busy)),
            (JudgedTime::BusiestHour, self.busiest_hour.map(|hour| hour.response_time.p99_us)),
            (whole, self.counted_response().map(|counted| counted.p99_us)),
        ];
        times.into_iter().filter_map(|(time, p99)| Some(JudgedPercentile { p99_us: p99?, time })).collect()
    }

    /// The largest 99th percentile that the budget for it is about, and of equal ones the first: with other random
    /// numbers where these were tried and it is larger with them. `None` unless all requests were served.
    pub fn worst_percentile(&self) -> Option<JudgedPercentile> {
        let of_busy = |busy: &BusyResults| {
            let first = busy.response_time.p99_us;
            busy.p99_us_of_other_seed.map_or(first, |other| other.max(first))
        };
        let larger =
            |one: JudgedPercentile, other: JudgedPercentile| if other.p99_us > one.p99_us { other } else { one };
        self.percentiles(of_busy).into_iter().reduce(larger)
    }

    /// How busy its busiest resource is in the busy stretches, with the time in which it is that and the resource.
    pub fn worst_utilisation(&self) -> Option<(f64, JudgedTime, &str)> {
        let times = [(&self.busy, JudgedTime::BusiestByRequests), (&self.busy_by_bytes, JudgedTime::BusiestByBytes)];
        let all = times.into_iter().filter_map(|(busy, time)| {
            let busy = busy.as_ref()?;
            Some((busy.utilisation?, time, busy.resource.as_deref().unwrap_or_default()))
        });
        all.reduce(|one, other| if other.0 > one.0 { other } else { one })
    }

    /// Whether it is rented: then its price is known by the month.
    pub fn is_rented(&self) -> bool {
        let is_bought = self.cost.purchase > 0.0 || self.cost.power > 0.0;
        self.product.market != ON_PREMISES && !is_bought
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestClass;

    /// What is shown of all requests is never above the worst: a hybrid that settles is shown as it is then.
    #[test]
    fn the_worst_percentile_is_at_least_that_of_all_requests_that_count() {
        let summary = |p99_us: f64| LatencySummary { p99_us, ..LatencySummary::default() };
        let busy = BusyResults { response_time: summary(700.0), ..BusyResults::default() };
        let requests = RequestResults {
            all: RequestClass { response_time: summary(9_000.0), ..RequestClass::default() },
            ..RequestResults::default()
        };
        let any = Candidate { requests: Some(requests), busy: Some(busy), ..Candidate::new("a", "a", "hybrid", 2) };
        let settled = Candidate {
            judged: JudgedState::Settled(SettledState::default()),
            last_quarter: Some(summary(400.0)),
            ..any.clone()
        };
        let p99s = |one: &Candidate| (one.counted_response().unwrap().p99_us, one.worst_percentile().unwrap());
        let [(all, worst), (late, settled_worst)] = [&any, &settled].map(p99s);
        assert_eq!((all, worst.p99_us, worst.time), (9_000.0, 9_000.0, JudgedTime::WholeTrace));
        assert_eq!((late, settled_worst.p99_us), (400.0, 700.0));
        let slow_late = Candidate { last_quarter: Some(summary(800.0)), ..settled.clone() };
        assert_eq!(slow_late.worst_percentile().unwrap().time, JudgedTime::LastQuarter);
        assert_eq!(Candidate { last_quarter: None, ..settled }.counted_response(), None);
    }

    #[test]
    fn what_costs_neither_a_purchase_nor_power_is_rented_in_the_cloud_alone() {
        let of = |market: &str, purchase: f64, power: f64| Candidate {
            product: ProductSummary { market: market.into(), ..ProductSummary::default() },
            cost: Cost { purchase, power, ..Cost::default() },
            ..Candidate::new("a", "a", "ssd", 1)
        };
        assert!(of("aws", 0.0, 0.0).is_rented());
        // What one has costs nothing but power, and perhaps not even that.
        assert!(!of(ON_PREMISES, 0.0, 10.0).is_rented() && !of(ON_PREMISES, 0.0, 0.0).is_rented());
        assert!(!of(ON_PREMISES, 90.0, 10.0).is_rented());
    }
}

/// How the simulation of a design ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "result", rename_all = "lowercase", deny_unknown_fields)]
#[schemars(rename = "Outcome")]
pub enum CandidateOutcome {
    /// Every request was served.
    Served,
    /// It could not keep up with the arrivals, so the run was stopped.
    Saturated {
        /// Since when requests had been waiting without a break, in seconds after the start.
        since_s: f64,
        /// `since_s` as hh:mm after the start, with days before it if there are any.
        since_clock: String,
        /// When the run was stopped, in seconds after the start.
        stopped_s: f64,
        /// Requests waiting when the run was stopped.
        backlog_requests: u64,
    },
    /// It could not be simulated.
    Failed {
        /// The reason.
        reason: String,
    },
}
