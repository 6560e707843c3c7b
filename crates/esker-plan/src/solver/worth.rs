//! Leaves out counts that are too dear whatever the others are.

use super::model::{CountRange, Model};

/// Lowers the largest counts of a range: a plan with more devices of a type costs at least `cutoff`.
///
/// Each class has a price: what it costs on the type that is cheapest for it at `row_prices`. Devices of a type are
/// worth at most what the classes that fit on them are worth, which is a knapsack: a type has so much room, its classes
/// need room and are worth their prices. What devices cost above their worth is added to the bound of all plans.
pub(super) fn lower_max(model: &Model, range: &mut CountRange, row_prices: &[Vec<f64>], cutoff: f64) {
    let types: Vec<usize> = (0..model.types.len()).filter(|&at| range.max[at] > 0).collect();
    let Some(class_prices) = class_prices(model, range, row_prices) else { return };
    let cost_on = |class: usize, at: usize| cost_on(model, row_prices, class, at);
    let unpriced: Vec<f64> =
        (0..model.types.len()).map(|at| model.types[at].cost - row_prices[at].iter().sum::<f64>()).collect();
    let least = |at: usize| {
        let count = if unpriced[at] > 0.0 { range.min[at] } else { range.max[at] };
        unpriced[at] * f64::from(count)
    };
    let all: f64 = model.fixed_cost + class_prices.iter().sum::<f64>() + types.iter().map(|&at| least(at)).sum::<f64>();
    let mut max = range.max.clone();
    for &at in &types {
        let mut items: Vec<(f64, f64)> = (0..model.classes)
            .filter(|&class| model.types[at].allowed[class])
            .map(|class| (cost_on(class, at), class_prices[class]))
            .filter(|(_, worth)| *worth > 0.0)
            .collect();
        items.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        let others = all - least(at);
        max[at] = largest_count(model.types[at].cost, &row_prices[at], &items, range, at, cutoff - others);
    }
    range.max = max;
}

/// What each class costs on the type of the range that is cheapest for it at these prices; `None` if there is none.
pub(super) fn class_prices(model: &Model, range: &CountRange, row_prices: &[Vec<f64>]) -> Option<Vec<f64>> {
    let price = |class: usize| {
        let types = (0..model.types.len()).filter(|&at| range.max[at] > 0 && model.types[at].allowed[class]);
        types.map(|at| cost_on(model, row_prices, class, at)).min_by(f64::total_cmp)
    };
    (0..model.classes).map(price).collect()
}

fn cost_on(model: &Model, row_prices: &[Vec<f64>], class: usize, at: usize) -> f64 {
    model.types[at].loads_of(class).iter().zip(&row_prices[at]).map(|(load, price)| load * price).sum()
}

/// The largest count whose devices cost less than `most` above their worth. `items` are room and worth, best first.
fn largest_count(cost: f64, prices: &[f64], items: &[(f64, f64)], range: &CountRange, at: usize, most: f64) -> u32 {
    let room_each: f64 = prices.iter().sum();
    let (mut room, mut worth, mut next) = (0.0, 0.0, 0);
    for count in 1..=range.max[at] {
        let end = room_each * f64::from(count);
        while next < items.len() && room + items[next].0 <= end {
            room += items[next].0;
            worth += items[next].1;
            next += 1;
        }
        let part = items.get(next).map_or(0.0, |&(needs, worth)| worth * ((end - room) / needs).min(1.0));
        let above = cost * f64::from(count) - worth - part;
        // Cost above worth is convex in the count: it only grows from here on.
        let allowance = 1e-9 * (cost * f64::from(count) + worth);
        if count > range.min[at] && above - allowance > most && above > 0.0 {
            return (count - 1).max(range.min[at]);
        }
    }
    range.max[at]
}
