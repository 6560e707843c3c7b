//! The price at which a type of device enters or leaves the cheapest plan.

use crate::problem::{Problem, ProblemError};
use crate::solver::{Observer, Outcome, Restriction, Solution, SolverSettings, solve_within};

/// Prices tried at most. Each is exact for the plan before it, so that a handful is enough.
const PRICES_MAX: usize = 100;

/// Up to which price a type is bought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BreakEven {
    /// Cost of a device above which none is bought.
    Price(f64),
    /// It is never bought, even for nothing.
    Never,
    /// It is bought at any price: there is no plan without it.
    Always,
    /// The search was ended before an answer.
    Unknown,
}

/// Finds the price up to which devices of a type are bought, all other prices as they are.
///
/// A plan with `n` bought devices costs `rest + n * price`, and is worth it as long as that is less than the cheapest
/// plan without them. From a price of nothing on, the price at which the best plan stops to be worth it is the next one
/// to be tried, until no plan is.
pub fn break_even(
    problem: &Problem,
    device_type: usize,
    settings: &SolverSettings,
    observer: &mut Observer<'_>,
) -> Result<BreakEven, ProblemError> {
    let not_bought = [device_type];
    let restriction = Restriction { not_bought: &not_bought, ..Restriction::default() };
    let without = match solve_within(problem, &restriction, settings, observer)? {
        Outcome::Planned(solution) => solution.cost,
        Outcome::Infeasible => return Ok(BreakEven::Always),
        Outcome::Unknown => return Ok(BreakEven::Unknown),
    };
    let mut priced = problem.clone();
    let mut price = None;
    for _ in 0..PRICES_MAX {
        priced.types[device_type].cost = price.unwrap_or(0.0);
        let Outcome::Planned(found) = solve_within(&priced, &Restriction::default(), settings, observer)? else {
            return Ok(BreakEven::Unknown);
        };
        if found.stopped_early {
            return Ok(BreakEven::Unknown);
        }
        let Solution { plan, cost, .. } = *found;
        let bought = plan.counts[device_type] - problem.types[device_type].installed;
        if bought == 0 || cost >= without - settings.gap.max(1e-9) * without {
            return Ok(price.map_or(BreakEven::Never, BreakEven::Price));
        }
        let rest = cost - f64::from(bought) * price.unwrap_or(0.0);
        price = Some((without - rest) / f64::from(bought));
    }
    Ok(BreakEven::Unknown)
}
