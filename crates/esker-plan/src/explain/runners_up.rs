//! The next best plans with other types of devices.

use std::collections::BTreeSet;

use crate::problem::{Problem, ProblemError};
use crate::solver::{Observer, Outcome, Restriction, Solution, SolverSettings, solve_within};

/// The best plans that buy other types, cheapest first, at most `count`: each of them does without at least one type
/// that the solution buys, and without one of each plan before it. None if the solution buys nothing.
pub fn runners_up(
    problem: &Problem,
    solution: &Solution,
    count: usize,
    settings: &SolverSettings,
    observer: &mut Observer<'_>,
) -> Result<Vec<Solution>, ProblemError> {
    let mut found: Vec<Solution> = Vec::new();
    let mut better = vec![bought(problem, solution)];
    // What was left out, and the best plan without it.
    let mut frontier: Vec<(BTreeSet<usize>, Solution)> = Vec::new();
    let mut seen: BTreeSet<BTreeSet<usize>> = BTreeSet::new();
    let mut expand = |without: &BTreeSet<usize>, of: &Solution, frontier: &mut Vec<_>| {
        for at in bought(problem, of) {
            let mut without = without.clone();
            without.insert(at);
            if !seen.insert(without.clone()) {
                continue;
            }
            let not_bought: Vec<usize> = without.iter().copied().collect();
            let restriction = Restriction { not_bought: &not_bought, ..Restriction::default() };
            if let Outcome::Planned(plan) = solve_within(problem, &restriction, settings, observer)? {
                frontier.push((without, *plan));
            }
        }
        Ok::<(), ProblemError>(())
    };
    if count > 0 {
        expand(&BTreeSet::new(), solution, &mut frontier)?;
    }
    while found.len() < count && !frontier.is_empty() {
        let cheapest = (0..frontier.len()).min_by(|&a, &b| frontier[a].1.cost.total_cmp(&frontier[b].1.cost));
        let Some(cheapest) = cheapest else { break };
        let (without, next) = frontier.remove(cheapest);
        let types = bought(problem, &next);
        if !better.iter().any(|better| better.is_subset(&types)) {
            better.push(types);
            found.push(next.clone());
        }
        if found.len() < count {
            expand(&without, &next, &mut frontier)?;
        }
    }
    Ok(found)
}

/// The types of which a plan buys devices.
fn bought(problem: &Problem, solution: &Solution) -> BTreeSet<usize> {
    let counts = solution.plan.counts.iter().zip(&problem.types).enumerate();
    counts.filter(|(_, (count, one))| **count > one.installed).map(|(at, _)| at).collect()
}
