//! What results say of a plan.

use esker_plan::{Load, demand};
use esker_results::DeviceReport;
use esker_results::study::Candidate;
use esker_results::study::plan::{MixPlan, PlacedClass, PlacedShare, PlannedDevices, Verified};

use super::model::Corrections;
use super::moments::QUANTILE;
use super::planner::Planner;
use super::solved::Solved;
use crate::StudyError;

pub(super) fn mix_plan(
    planner: &Planner<'_>,
    solved: &Solved,
    corrections: &Corrections,
    verified: Candidate,
) -> Result<MixPlan, StudyError> {
    let solution = &solved.solution;
    let in_plan: Vec<usize> = (0..planner.model.types.len()).filter(|&at| solution.plan.counts[at] > 0).collect();
    let devices = in_plan.iter().map(|&at| devices(planner, solved, at, &verified)).collect();
    Ok(MixPlan {
        title: planner.title(&solution.plan.counts),
        devices,
        classes: classes(planner, (solved, corrections), &in_plan),
        cost: solution.cost,
        bound: solution.bound,
        gap: solution.gap(),
        constraints: planner.constraints(solved)?,
        runners_up: planner.runners_up(solved)?,
        others: planner.others(solved)?,
        beside: Vec::new(),
        break_even: planner.break_even(solved)?,
        way: planner.way(solved, &in_plan),
        what_if: planner.what_if(solved, corrections)?,
        verified: Verified {
            keeps_budgets: verified.judgement.keeps_budgets,
            reasons: verified.judgement.reasons.clone(),
            predicted_p99_us: planner.model.p99_us(&solution.plan, &solved.moments),
            design: Box::new(verified),
        },
    })
}

fn devices(planner: &Planner<'_>, solved: &Solved, at: usize, verified: &Candidate) -> PlannedDevices {
    let (one, plan) = (&planner.model.types[at], &solved.solution.plan);
    let copies = planner.prepared.need.copies.max(1);
    let seconds = planner.model.classes.time.as_secs_f64().max(1.0);
    let busy = |resource: &str| {
        let classes = planner.model.classes.classes.iter().zip(&plan.shares);
        classes.map(|(class, shares)| shares[at] * one.times.busy_s(resource, &class.total)).sum::<f64>()
    };
    let busiest = one.times.resources().map(busy).fold(0.0, f64::max);
    let simulated = simulated(planner, solved, at, verified);
    let name = planner.device_name(&solved.solution.plan, at);
    PlannedDevices {
        product: one.part.product.name.clone(),
        title: one.title(),
        kind: one.part.product.kind.clone(),
        capacity_bytes: one.part.capacity.bytes.0,
        count: plan.counts[at] * copies,
        in_use: one.installed.min(plan.counts[at]) * copies,
        cost_each: solved.problem.types[at].cost / f64::from(copies),
        predicted_utilisation: busiest / seconds / f64::from(plan.counts[at]),
        simulated_utilisation: verified.busy_for_load(&name).filter(|_| !simulated.is_empty()),
        predicted_life_years: planner.planned_life_years(solved, at),
        simulated_life_years: planner.simulated_life_years((solved, verified), at, &simulated),
    }
}

/// The simulated devices of a type: none if nothing that is asked for is on it.
fn simulated<'v>(planner: &Planner<'_>, solved: &Solved, at: usize, verified: &'v Candidate) -> Vec<&'v DeviceReport> {
    if !planner.used(&solved.solution.plan).contains(&at) {
        return Vec::new();
    }
    verified.devices_called(&planner.device_name(&solved.solution.plan, at))
}

fn classes(
    planner: &Planner<'_>,
    (solved, corrections): (&Solved, &Corrections),
    in_plan: &[usize],
) -> Vec<PlacedClass> {
    let model = &planner.model;
    let slow = model.may_be_slow(&solved.moments, corrections.slow_share);
    let bytes = model.bytes();
    let of_class = |(number, name): (usize, &String)| {
        let class = model.classes.classes.get(number);
        let total = class.map_or_else(Load::default, |class| class.total);
        let peak = demand(class.map(|class| &class.seconds[..]), QUANTILE);
        let shares = &solved.solution.plan.shares[number];
        let placed = in_plan.iter().enumerate().filter(|(_, at)| shares[**at] > 0.0);
        PlacedClass {
            name: name.clone(),
            bytes: bytes[number],
            requests: total.requests(),
            read_share: (total.random_reads + total.sequential_reads) as f64 / total.requests().max(1) as f64,
            requests_per_s: peak.requests,
            bytes_per_s: peak.bytes,
            written_bytes_per_day: total.written_bytes as f64 * model.days_of_trace,
            may_be_slow: slow.get(number).copied().unwrap_or(true),
            placed: placed.map(|(device, &at)| PlacedShare { device, share: shares[at] }).collect(),
        }
    };
    planner.names.iter().enumerate().map(of_class).filter(|class| class.bytes > 0.0).collect()
}
