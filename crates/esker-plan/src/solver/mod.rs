//! Finds the cheapest plan of a problem, and proves how far from the cheapest it can be at most.
//!
//! [`solve`] searches counts by branch and bound, best bound first. A range of counts is bounded by its relaxation, in
//! which counts need not be whole (`relax.rs`, by the interior point method of `esker-assign`); the bound itself is
//! computed anew from the prices that this finds, so that an inexact solution makes it weaker and never wrong. Whole
//! counts are tried with all classes placed anew (`incumbent.rs`).

mod branching;
mod counts;
mod cover;
mod incumbent;
mod model;
mod near;
mod polish;
mod relax;
mod relaxation;
mod search;
#[cfg(test)]
mod tests;
mod whole;
mod worth;

use std::ops::ControlFlow;

use crate::check::{CheckedPlan, Plan, Violation, check};
use crate::problem::{Problem, ProblemError};
use model::{CountRange, Model};
use search::{Search, SearchEnd};

/// When the search ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolverSettings {
    /// The search ends once the plan is proved to cost at most this share more than the cheapest. With 0 it goes on
    /// until only rounding is left.
    pub gap: f64,
    /// Number of ranges of counts that are looked at, at most.
    pub nodes_max: usize,
}

impl Default for SolverSettings {
    /// A gap of 0.1 %, 100,000 ranges.
    fn default() -> Self {
        Self { gap: 1e-3, nodes_max: 100_000 }
    }
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Number of ranges of counts looked at.
    pub nodes: usize,
    /// Cost of the best plan so far.
    pub best_cost: Option<f64>,
    /// No plan is cheaper than this.
    pub bound: f64,
}

/// Called after each range of counts; `Break` ends the search.
pub type Observer<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;

/// An observer that lets the search go on.
pub fn keep_going(_: &Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A plan that keeps all limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Counts of devices, and where the classes are.
    pub plan: Plan,
    /// Cost over the planning period.
    pub cost: f64,
    /// No plan is cheaper than this.
    pub bound: f64,
    /// What the plan uses of each limit, as [`check`] found.
    pub checked: CheckedPlan,
    /// Number of ranges of counts looked at.
    pub nodes: usize,
    /// Whether the search ended before the gap asked for was reached.
    pub stopped_early: bool,
}

impl Solution {
    /// By what share of its cost the plan can be too dear, at most.
    pub fn gap(&self) -> f64 {
        if self.cost > self.bound { (self.cost - self.bound) / self.cost } else { 0.0 }
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A plan.
    Planned(Box<Solution>),
    /// That there is no plan.
    Infeasible,
    /// Nothing: it ended before there was a plan, or a proof that there is none.
    Unknown,
}

impl Outcome {
    /// The solution, if there is one.
    pub fn solution(self) -> Option<Solution> {
        match self {
            Self::Planned(solution) => Some(*solution),
            Self::Infeasible | Self::Unknown => None,
        }
    }
}

/// Finds the cheapest plan. The same problem and settings give the same result on every machine.
pub fn solve(
    problem: &Problem,
    settings: &SolverSettings,
    observer: &mut Observer<'_>,
) -> Result<Outcome, ProblemError> {
    solve_within(problem, &Restriction::default(), settings, observer)
}

/// What a search leaves out, and where it begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Restriction<'a> {
    /// Types of which nothing is bought: there is no more than what is installed.
    pub(crate) not_bought: &'a [usize],
    /// A plan that is known; ignored if it is none of this problem.
    pub(crate) start: Option<&'a Plan>,
    /// Whether the first plan will do.
    pub(crate) any_plan: bool,
}

/// Finds the cheapest plan among some.
pub(crate) fn solve_within(
    problem: &Problem,
    restriction: &Restriction<'_>,
    settings: &SolverSettings,
    observer: &mut Observer<'_>,
) -> Result<Outcome, ProblemError> {
    problem.validate()?;
    let (model, mut range) = Model::new(problem);
    for &at in restriction.not_bought {
        range.max[at] = range.min[at];
    }
    let mut search = Search::new(&model, range.clone(), settings, restriction.any_plan, observer);
    if let Some(start) = restriction.start.filter(|start| is_within(start, &range) && check(problem, start).is_ok()) {
        search.begin_with(start);
    }
    let end = search.run();
    Ok(finish(problem, &model, end))
}

fn is_within(plan: &Plan, range: &CountRange) -> bool {
    plan.counts.iter().zip(range.min.iter().zip(&range.max)).all(|(count, (min, max))| (min..=max).contains(&count))
}

/// Places the classes as well as the counts allow, and checks the plan.
fn finish(problem: &Problem, model: &Model, end: SearchEnd) -> Outcome {
    let SearchEnd { best, bound, nodes, stopped_early } = end;
    let Some(best) = best else {
        return if stopped_early { Outcome::Unknown } else { Outcome::Infeasible };
    };
    let better = relax::place(model, &best.counts, relax::Effort::Emptiest, None);
    let mut candidates = vec![best.shares.clone(), best.shares];
    if let relax::Fit::Fits(shares) = better {
        candidates.push(shares);
    }
    let last = candidates.len() - 1;
    whole::make_whole(model, &best.counts, &mut candidates[last]);
    let mut violations: Vec<Violation> = Vec::new();
    while let Some(shares) = candidates.pop() {
        let plan = Plan { counts: best.counts.clone(), shares };
        match check(problem, &plan) {
            Ok(checked) => {
                let cost = checked.cost;
                let bound = bound.min(cost);
                return Outcome::Planned(Box::new(Solution { plan, cost, bound, checked, nodes, stopped_early }));
            }
            Err(found) => violations = found,
        }
    }
    panic!("the solver's plan breaks its limits: {violations:?}")
}
