//! Which constraints leave a problem without a plan.

use crate::problem::{Constraint, Problem, ProblemError};
use crate::solver::{Observer, Outcome, Restriction, SolverSettings, solve_within};

/// Constraints that together leave no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// The constraints. That all data have to be placed is not among them.
    pub constraints: Vec<Constraint>,
    /// Whether there is a plan as soon as any one of them is left out, and all constraints that are not here. False if
    /// the search was ended before that was known.
    pub irreducible: bool,
}

/// Finds constraints that clash, by leaving out one after the other as long as there is no plan. `None` if the problem
/// has a plan.
pub fn clash(
    problem: &Problem,
    settings: &SolverSettings,
    observer: &mut Observer<'_>,
) -> Result<Option<Clash>, ProblemError> {
    if has_plan(problem, settings, observer)? != Some(false) {
        return Ok(None);
    }
    let mut left = problem.clone();
    let mut clash = Clash { constraints: Vec::new(), irreducible: true };
    for constraint in problem.constraints() {
        let without = left.without(constraint);
        match has_plan(&without, settings, observer)? {
            Some(false) => left = without,
            known => {
                clash.constraints.push(constraint);
                clash.irreducible &= known.is_some();
            }
        }
    }
    Ok(Some(clash))
}

/// Whether there is a plan; `None` if the search was ended before that was known.
pub(super) fn has_plan(
    problem: &Problem,
    settings: &SolverSettings,
    observer: &mut Observer<'_>,
) -> Result<Option<bool>, ProblemError> {
    let restriction = Restriction { any_plan: true, ..Restriction::default() };
    match solve_within(problem, &restriction, settings, observer) {
        Ok(Outcome::Planned(_)) => Ok(Some(true)),
        // No counts help a class that no type may hold.
        Ok(Outcome::Infeasible) | Err(ProblemError::NoTypeAllowed { .. }) => Ok(Some(false)),
        Ok(Outcome::Unknown) => Ok(None),
        Err(error) => Err(error),
    }
}
