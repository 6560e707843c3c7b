//! Agrawal 2008, figure 6: the benefit of interleaving within a package, and the number of operations that wait for a
//! package.
//!
//! Rates are one over the mean response time, as in table 4, relative to the baseline. Interleaving dies: the two dies
//! of a package work independently. Interleaving planes: pairs of planes of a die read, program and erase at the same
//! time. The number of waiting operations is taken from the first 2,000 requests: each flash operation waits from the
//! request's arrival until it begins.

use esker_results::{FlashReport, RunResults};

use esker_flash::{MultiPlane, SsdSettings, WriteFrontiers};

use super::drives::baseline;
use super::workloads::{ALL, PaperWorkload, response_ms};
use crate::traces::{self, PlannedRun};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "agrawal/figure-6",
    title: "Rates with interleaving of dies and planes, and operations that wait",
    source: "Agrawal et al., USENIX ATC 2008, section 4.3, figure 6",
    sections: &["4.3"],
    run,
};

/// Sets an active block per plane, so that neighbouring pages can lie on neighbouring planes.
fn planes(ssd: &mut SsdSettings) {
    ssd.write_frontiers = WriteFrontiers::Plane;
}

fn two_dies(ssd: &mut SsdSettings) {
    planes(ssd);
    ssd.geometry.dies_per_package = 2;
    ssd.geometry.planes_per_die = 4;
}

fn pairs(ssd: &mut SsdSettings) {
    planes(ssd);
    ssd.array.multi_plane = MultiPlane::Pairs;
}

fn two_dies_and_pairs(ssd: &mut SsdSettings) {
    two_dies(ssd);
    pairs(ssd);
}

/// A way to interleave: its name, and the change of settings.
type Way = (&'static str, fn(&mut SsdSettings));

/// All ways; the first is the baseline.
const WAYS: [Way; 4] = [
    ("none", |_| {}),
    ("dies", two_dies),
    ("pairs of planes", pairs),
    ("dies and pairs of planes", two_dies_and_pairs),
];
/// Requests of the baseline that the results list one by one.
const TIMELINE: u32 = 2_000;
const PACKAGES: f64 = 8.0;
/// Least speed-up that counts as a benefit.
const BENEFIT: f64 = 0.05;

const RISES: &str = "the figure's values are not in the text; a benefit is 5 % or more";
const STAYS: &str = "\"do not benefit from interleaving\": 5 % to either side";
const WAITING: &str = "\"very close to zero\": at most one in twenty";

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let mut outcome = ItemOutcome::default();
    let (mut rates, mut waiting) = (vec![Vec::new(); WAYS.len()], Vec::new());
    for (index, workload) in ALL.into_iter().enumerate() {
        let asked = match workload.settings(context) {
            Ok(asked) => asked,
            Err(missing) => {
                for claim in [rate_claim(workload), waiting_claim(workload)] {
                    outcome.claims.push(Claim::unreachable(item.name, &claim, None, &missing));
                }
                rates.iter_mut().for_each(|rates| rates.push(f64::NAN));
                waiting.push(f64::NAN);
                continue;
            }
        };
        let mut responses = Vec::new();
        for (way, (_, change)) in WAYS.iter().enumerate() {
            let plan = PlannedRun::new(baseline().changed(change).system(), asked.clone());
            let plan = PlannedRun { timeline: timeline(way), ..plan };
            let results = traces::run(item, context, plan, (index * WAYS.len() + way, ALL.len() * WAYS.len()))?;
            responses.push(response_ms(&results));
            if way == 0 {
                waiting.push(waiting_per_package(&results));
            }
        }
        for (rates, response) in rates.iter_mut().zip(&responses) {
            rates.push(responses[0] / response);
        }
        claims(item, workload, &responses, waiting[index], &mut outcome.claims);
    }
    let names = || ALL.iter().map(|workload| workload.name);
    let bars = |name: &str, values: Vec<f64>| Curve {
        points: Curve::measured_bars(name, values).points.into_iter().filter(|point| point.1.is_finite()).collect(),
        ..Curve::measured_bars(name, [])
    };
    outcome.figures.push(Figure {
        title: "Agrawal's figure 6(a): rates with interleaving over those without".into(),
        note: "The text gives no values. TPC-C and Exchange are made up.".into(),
        x: Axis::categories("workload", names()),
        y: Axis::linear("rate over that of the baseline"),
        curves: WAYS.iter().zip(rates).map(|((way, _), rates)| bars(way, rates)).collect(),
    });
    outcome.figures.push(Figure {
        title: "Agrawal's figure 6(b): operations that wait".into(),
        note: "Mean over the packages of the baseline, from the first 2,000 requests. The text gives no values.".into(),
        x: Axis::categories("workload", names()),
        y: Axis::linear("operations that wait, per package"),
        curves: vec![bars("baseline", waiting)],
    });
    Ok(outcome)
}

fn timeline(way: usize) -> u32 {
    if way == 0 { TIMELINE } else { 0 }
}

fn rate_claim(workload: &PaperWorkload) -> String {
    format!("{}: rate with interleaved dies and planes over that of the baseline", workload.name)
}

fn waiting_claim(workload: &PaperWorkload) -> String {
    format!("{}: operations that wait, per package", workload.name)
}

fn claims(item: &Item, workload: &PaperWorkload, responses: &[f64], waiting: f64, claims: &mut Vec<Claim>) {
    let gain = responses[0] / responses[WAYS.len() - 1];
    let claim = rate_claim(workload);
    claims.push(workload.on(match workload.is_real() {
        true => Claim::at_least(item.name, &claim, 1.0 + BENEFIT, gain, RISES),
        false => Claim::within(item.name, &claim, 1.0, gain, BENEFIT, STAYS),
    }));
    let claim = waiting_claim(workload);
    claims.push(match workload.is_real() {
        true => Claim::beside(item.name, &claim, waiting, "the figure's values are not in the text"),
        false => workload.on(Claim::at_most(item.name, &claim, 0.05, waiting, WAITING)),
    });
}

/// Host operations that wait for a package, on average over time and packages, from the timeline.
fn waiting_per_package(results: &RunResults) -> f64 {
    let flash: Option<&FlashReport> = results.devices.values().find_map(|device| device.flash.as_ref());
    let Some(timeline) = flash.and_then(|flash| flash.timeline.as_ref()) else { return f64::NAN };
    let arrival = |request: u32| timeline.requests[request as usize].arrival_ns;
    let waits =
        timeline.operations.iter().filter_map(|operation| Some(operation.begin_ns - arrival(operation.request?)));
    let (Some(first), Some(last)) = (timeline.requests.first(), timeline.operations.iter().map(|op| op.end_ns).max())
    else {
        return f64::NAN;
    };
    waits.sum::<u64>() as f64 / (last - first.arrival_ns) as f64 / PACKAGES
}

#[cfg(test)]
mod tests {
    use super::super::workloads::tests::short;
    use super::*;

    #[test]
    fn every_way_to_interleave_can_be_built_and_the_baseline_tells_what_waits() {
        for (index, (_, change)) in WAYS.iter().enumerate() {
            let results = short(&ITEM, baseline().changed(change), timeline(index));
            assert_eq!(results.requests.all.count, 200);
            assert_eq!(waiting_per_package(&results).is_finite(), index == 0);
        }
    }

    #[test]
    fn what_waits_is_counted_from_arrival_to_the_beginning_of_each_operation() {
        let request = esker_results::TimelineRequest { arrival_ns: 100, ..Default::default() };
        let operation = |begin_ns, end_ns, request| esker_results::TimelineOperation {
            begin_ns,
            end_ns,
            request,
            ..Default::default()
        };
        let timeline = esker_results::TimelineReport {
            requests: vec![request],
            operations: vec![operation(100, 200, Some(0)), operation(200, 500, Some(0)), operation(300, 400, None)],
            ..Default::default()
        };
        let flash = FlashReport { timeline: Some(timeline), ..FlashReport::default() };
        let device = esker_results::DeviceReport { flash: Some(flash), ..Default::default() };
        let mut results = short(&ITEM, baseline(), 0);
        results.devices = [("flash".to_string(), device)].into();
        assert_eq!(waiting_per_package(&results), 100.0 / 400.0 / PACKAGES);
    }
}
