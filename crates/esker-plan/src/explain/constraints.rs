//! What each constraint costs.

use crate::problem::{Constraint, Problem, ProblemError};
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
    /// Cost of the cheapest plan found without the constraint; without installed devices, every device is bought.
    /// `None` if there is none, or if the search was ended.
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
        let mut cost = |changed: &Problem| -> Result<Option<f64>, ProblemError> {
            // The plan keeps a looser limit, too: nothing dearer is found.
            let restriction = Restriction { start: Some(&solution.plan), ..Restriction::default() };
            let outcome = solve_within(changed, &restriction, settings, observer)?;
            Ok(match outcome {
                Outcome::Planned(found) if !found.stopped_early => Some(found.cost),
                _ => None,
            })
        };
        let cost_if_looser_10_percent = match problem.loosened(constraint, 1.1) {
            Some(looser) => cost(&looser)?,
            None => None,
        };
        let cost_without = cost(&problem.without(constraint))?;
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
