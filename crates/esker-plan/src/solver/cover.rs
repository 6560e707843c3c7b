//! A bound that whole counts have to keep, where few devices have to hold everything.
//!
//! At any prices of rows, each class has a price: what it costs on the type that is cheapest for it. A device holds
//! classes worth at most the prices of its rows together. So the devices of a plan, each counted by that, are worth at
//! least all classes. The cheapest whole counts that keep this one inequality are a knapsack, which is solved exactly
//! but for the rounding of what devices are worth, in their favour.

use super::model::{CountRange, Model};
use super::worth::class_prices;

/// What all classes are worth, in units of the knapsack: devices are worth up to one unit more than in truth.
const UNITS: usize = 50_000;

/// Counts that are worth more than all classes by these shares of [`UNITS`] are tried, too: other limits than the one
/// that prices speak of may need a little more.
const MORE: [usize; 9] = [0, 50, 200, 500, 1_000, 2_500, 5_000, 10_000, 20_000];

/// The cheapest counts that are worth as much as all classes.
pub(super) struct Cover {
    /// Those, and some that are worth more: the cheapest ones first.
    pub(super) counts: Vec<Vec<u32>>,
    /// No plan within the range costs less.
    pub(super) bound: f64,
}

/// The cover at these prices; `None` if they say nothing.
pub(super) fn cover(model: &Model, range: &CountRange, row_prices: &[Vec<f64>]) -> Option<Cover> {
    let classes: f64 = class_prices(model, range, row_prices)?.iter().sum();
    let worth = |at: usize| row_prices[at].iter().sum::<f64>();
    let there: f64 = range.min.iter().enumerate().map(|(at, &count)| worth(at) * f64::from(count)).sum();
    let missing = (classes - there) * (1.0 - 1e-9);
    let unit = missing / UNITS as f64;
    if missing.is_nan() || unit <= 0.0 {
        return None;
    }
    let more = (0..model.types.len()).filter(|&at| range.max[at] > range.min[at]);
    let items: Vec<(usize, usize, f64)> = more
        .map(|at| (at, (worth(at) / unit * (1.0 + 1e-9)).ceil() as usize, model.types[at].cost))
        .filter(|(_, units, _)| *units > 0)
        .collect();
    if items.is_empty() {
        return None;
    }
    // Cheapest cost of so many units or more, and the type of the last device.
    let most = UNITS + MORE[MORE.len() - 1];
    let mut best = vec![(0.0, usize::MAX); most + 1];
    for units in 1..=most {
        let mut least = (f64::INFINITY, usize::MAX);
        for &(at, each, cost) in &items {
            let whole = cost + best[units.saturating_sub(each)].0;
            if whole < least.0 {
                least = (whole, at);
            }
        }
        best[units] = least;
    }
    let counts = |mut left: usize| {
        let mut counts = range.min.clone();
        while left > 0 {
            let at = best[left].1;
            counts[at] = counts[at].saturating_add(1);
            let each = items.iter().find(|(item, ..)| *item == at).map_or(left, |(_, each, _)| *each);
            left = left.saturating_sub(each);
        }
        counts
    };
    let bound = model.cost(&range.min) + best[UNITS].0 * (1.0 - 1e-9);
    Some(Cover { counts: MORE.iter().map(|more| counts(UNITS + more)).collect(), bound })
}
