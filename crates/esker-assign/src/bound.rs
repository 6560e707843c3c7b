//! A cost that no plan can be below, from any prices at all.
//!
//! Let every row, cap and total have a price that is not negative. Each class then costs at least what it costs on the
//! type that is cheapest for it at these prices, and each count costs what its devices cost less what prices pay for
//! them. Whatever the prices are, the sum is at most the cost of the cheapest plan: bad prices make the bound lower,
//! never wrong.

use crate::relaxation::{NONE, Relaxation};

/// Prices of rows, of caps (one for each pair) and of totals.
#[derive(Clone, Copy, Debug)]
pub struct Prices<'a> {
    /// Of rows.
    pub rows: &'a [f64],
    /// Of caps.
    pub caps: &'a [f64],
    /// Of totals.
    pub totals: &'a [f64],
}

/// The bound at these prices, less what rounding can have added to it. What is fixed is not in it.
pub fn bound(relaxation: &Relaxation, prices: Prices<'_>) -> f64 {
    let (mut sum, mut magnitude) = (0.0, 0.0);
    let mut add = |term: f64| {
        sum += term;
        magnitude += term.abs();
    };
    for class in 0..relaxation.scale.len() {
        let price = |pair: usize| relaxation.worth(pair, prices.rows) + relaxation.cap[pair] * prices.caps[pair];
        add(relaxation.scale[class] * relaxation.pairs(class).map(price).fold(f64::INFINITY, f64::min));
    }
    let mut unpriced: Vec<f64> = relaxation.groups.iter().map(|group| group.cost).collect();
    let mut unpriced_magnitude = unpriced.clone();
    let mut pay = |group: usize, price: f64| {
        unpriced[group] -= price;
        unpriced_magnitude[group] += price.abs();
    };
    for ((&group, rhs), price) in relaxation.row_group.iter().zip(&relaxation.rhs).zip(prices.rows) {
        add(-price * rhs);
        if group != NONE {
            pay(group, *price);
        }
    }
    if relaxation.has_caps {
        for (&index, price) in relaxation.pair_type.iter().zip(prices.caps).filter(|(_, price)| **price > 0.0) {
            add(-price * relaxation.type_count[index]);
            if relaxation.type_group[index] != NONE {
                pay(relaxation.type_group[index], *price);
            }
        }
    }
    for (total, price) in relaxation.totals.iter().zip(prices.totals) {
        add(-price * total.limit);
        for (group, each) in total.per_group.iter().enumerate() {
            pay(group, -each * price);
        }
    }
    let pairs = relaxation.cap.len() + relaxation.settled.len();
    let terms = pairs + relaxation.rhs.len() + relaxation.totals.len() + 8;
    for ((group, unpriced), magnitude) in relaxation.groups.iter().zip(unpriced).zip(unpriced_magnitude) {
        let count = if unpriced > 0.0 { group.min } else { group.max };
        add(unpriced * count);
        // What rounding did to the sum of prices is multiplied by the count.
        add(-f64::EPSILON * terms as f64 * magnitude * count);
    }
    let bound = sum - f64::EPSILON * terms as f64 * magnitude;
    if bound.is_nan() { f64::NEG_INFINITY } else { bound }
}
