//! What each constraint costs.

use crate::check::Plan;
use crate::problem::{Constraint, DeviceType, Problem, ProblemError};
use crate::solver::{Observer, Outcome, Restriction, Solution, SolverSettings, solve_within};

/// What a constraint of a problem costs. Prices of the linear programme do not say so: counts are whole, and what is
/// limited by one constraint may be limited by another as soon as that is gone.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstraintCost {
    /// Which constraint.
    pub constraint: Constraint,
    /// Its name.
    pub name: String,
    /// What the plan leaves of the limit, in its unit.
    pub slack: f64,
    /// Cost of the cheapest plan found with the limit 10 % larger, counts rounded up. `None` for installed devices,
    /// which are no limit, or if the search was ended.
    pub cost_if_looser_10_percent: Option<f64>,
    /// Cost of the cheapest plan found without the constraint. For installed devices that is: each may go, and those
    /// that stay cost what they did. `None` if there is none, or if the search was ended.
    pub cost_without: Option<f64>,
}

/// Solves the problem of a solution again, without each of its constraints and with each of them 10 % looser. Costs are
/// within the gap of `settings`; one that is below the solution's by less than that means nothing.
pub fn constraint_costs(
    problem: &Problem,
    solution: &Solution,
    settings: &SolverSettings,
    observer: &mut Observer<'_>,
) -> Result<Vec<ConstraintCost>, ProblemError> {
    let mut costs = Vec::new();
    for used in &solution.checked.uses {
        let constraint = used.constraint;
        let mut cost = |changed: &Problem, start: Option<&Plan>| -> Result<Option<f64>, ProblemError> {
            let restriction = Restriction { start, ..Restriction::default() };
            let outcome = solve_within(changed, &restriction, settings, observer)?;
            Ok(match outcome {
                Outcome::Planned(found) if !found.stopped_early => Some(found.cost),
                _ => None,
            })
        };
        // The plan keeps a looser limit, too: nothing dearer is found.
        let start = Some(&solution.plan);
        let cost_if_looser_10_percent = match problem.loosened(constraint, 1.1) {
            Some(looser) => cost(&looser, start)?,
            None => None,
        };
        let cost_without = match constraint {
            Constraint::Installed(at) => {
                let start = in_use_apart(&solution.plan, at, problem.types[at].installed);
                cost(&with_removable(problem, at), Some(&start))?
            }
            _ => cost(&problem.without(constraint), start)?,
        };
        costs.push(ConstraintCost {
            constraint,
            name: problem.constraint_name(constraint),
            slack: used.slack(),
            cost_if_looser_10_percent,
            cost_without,
        });
    }
    Ok(costs)
}

/// The same problem where what is installed of a type may be removed. Those that stay are owned all the same, and more
/// of them than there are have to be bought: that is two types, alike but for what they cost.
fn with_removable(problem: &Problem, at: usize) -> Problem {
    let mut changed = problem.clone();
    let owner = &problem.types[at];
    let (installed, cost) = (owner.installed, owner.installed_cost);
    changed.types[at] = DeviceType { cost, installed: 0, count_max: Some(installed), ..owner.clone() };
    let count_max = owner.count_max.map(|most| most - installed);
    changed.types.push(DeviceType { installed: 0, count_max, ..owner.clone() });
    for total in &mut changed.totals {
        total.per_device.push(total.per_device[at]);
    }
    for limit in &mut changed.pair_limits {
        limit.values.push(limit.values[at].clone());
    }
    changed
}

/// A plan of that problem: what is installed of the type, and the rest of it, hold data in proportion to their numbers.
fn in_use_apart(plan: &Plan, at: usize, installed: u32) -> Plan {
    let mut apart = plan.clone();
    let count = plan.counts[at];
    let in_use = installed.min(count);
    apart.counts[at] = in_use;
    apart.counts.push(count - in_use);
    for shares in &mut apart.shares {
        let all = shares[at];
        shares[at] = all * f64::from(in_use) / f64::from(count.max(1));
        shares.push(all - shares[at]);
    }
    apart
}
