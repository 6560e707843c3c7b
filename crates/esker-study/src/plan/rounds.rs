//! Plans, simulates the plan, and plans again with what that has shown.

use esker_core::Bytes;
use esker_plan::{Constraint, Plan, demand};
use esker_results::study::Candidate;
use esker_results::study::plan::{Peaks, PlanRound, WorkloadPlan};

use super::corrections::Planned;
use super::model::{self, Corrections};
use super::moments::QUANTILE;
use super::placed::PlacedData;
use super::planner::Planner;
use super::results;
use super::solved::{Found, Solved};
use super::types::left_out;
use crate::StudyError;

impl Planner<'_> {
    /// The plan, and where it puts the data.
    pub(super) fn plan(&self) -> Result<(WorkloadPlan, Option<PlacedData>), StudyError> {
        let mut corrections = Corrections::none(self.model.types.len());
        let (mut rounds, mut plan, mut no_plan) = (Vec::new(), None, None);
        for round in 0..self.settings.rounds.max(1) {
            self.hooks.tell(&format!("planning, round {}", round + 1), 0, None);
            let solved = match self.solved(&corrections)? {
                Found::Solved(solved) => solved,
                Found::NoPlan(unplanned) => {
                    no_plan = Some(self.no_plan(*unplanned, &corrections)?);
                    break;
                }
            };
            let planned_with = corrections.clone();
            let verified = self.verified(&solved)?;
            let keeps = verified.judgement.keeps_budgets;
            let corrected = if keeps { Vec::new() } else { self.corrected(&mut corrections, &solved, &verified) };
            rounds.push(PlanRound {
                title: verified.title.clone(),
                cost: solved.solution.cost,
                keeps_budgets: keeps,
                reasons: verified.judgement.reasons.clone(),
                corrected: corrected.clone(),
            });
            let is_last = keeps || corrected.is_empty();
            plan = Some((solved, verified, planned_with));
            if is_last {
                break;
            }
        }
        self.hooks.tell("explaining the plan", 0, None);
        let left_out = left_out(&self.settings.study, |name, capacity| {
            plan.as_ref().map(|(solved, ..)| self.bought(&solved.solution.plan, name, capacity))
        })?;
        let placed = plan.as_ref().map(|(solved, ..)| PlacedData::of(self, &solved.solution.plan));
        let plan = plan.map(|(solved, verified, corrections)| results::mix_plan(self, &solved, &corrections, verified));
        let plan = plan.transpose()?;
        let plan = WorkloadPlan {
            name: self.workload.name.clone(),
            inputs: self.workload.inputs.clone(),
            budgets: self.prepared.budgets.clone(),
            need: self.prepared.need.clone(),
            types: self.model.types.len(),
            left_out,
            peaks: self.peaks(),
            plan,
            no_plan,
            rounds,
        };
        Ok((plan, placed))
    }

    /// How many devices of a product and capacity a plan buys, for all copies.
    fn bought(&self, plan: &Plan, name: &str, capacity: Bytes) -> u32 {
        let types = self.model.types.iter().zip(&plan.counts);
        let of_type = types.filter(|(one, _)| one.part.product.name == name && one.part.capacity.bytes == capacity);
        of_type.map(|(one, count)| count.saturating_sub(one.installed) * self.prepared.need.copies.max(1)).sum()
    }

    fn corrected(&self, corrections: &mut Corrections, solved: &Solved, verified: &Candidate) -> Vec<String> {
        let plan = &solved.solution.plan;
        let used = self.used(plan);
        let slow = self.model.may_be_slow(&solved.moments, corrections.slow_share);
        let limit = self.prepared.budgets.p99_us.unwrap_or(f64::INFINITY);
        let is_slow = |at: usize| self.model.types[at].times.alone_p99_us.iter().any(|&p99| p99 > limit);
        let has_slow = plan
            .shares
            .iter()
            .zip(&slow)
            .any(|(shares, &slow)| slow && (0..shares.len()).any(|at| shares[at] > 0.0 && is_slow(at)));
        let filled = filled(solved);
        let planned = Planned { types: self.model.types, used: &used, filled: &filled, has_slow, is_slow: &is_slow };
        corrections.tighten(&planned, verified, &self.prepared.budgets)
    }

    /// What peaks of classes come to, added up and second by second.
    fn peaks(&self) -> Peaks {
        let classes = &self.model.classes.classes;
        let each: Vec<_> = classes.iter().map(|class| demand([&class.seconds[..]], QUANTILE)).collect();
        let together = demand(classes.iter().map(|class| &class.seconds[..]), QUANTILE);
        Peaks {
            added_requests_per_s: each.iter().map(|one| one.requests).sum(),
            together_requests_per_s: together.requests,
            added_bytes_per_s: each.iter().map(|one| one.bytes).sum(),
            together_bytes_per_s: together.bytes,
        }
    }
}

/// Of each type, the largest share of its limits for the time that a plan uses.
fn filled(solved: &Solved) -> Vec<f64> {
    let mut filled = vec![0.0_f64; solved.problem.types.len()];
    for used in &solved.solution.checked.uses {
        if let Constraint::Resource { device_type, resource } = used.constraint
            && solved.problem.types[device_type].resources[resource].name.starts_with(model::TIME)
        {
            filled[device_type] = filled[device_type].max(used.used / used.limit);
        }
    }
    filled
}
