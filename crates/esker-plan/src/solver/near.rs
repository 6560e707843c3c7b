//! Relaxations of many classes, in which each class is only on the types that are cheap for it.
//!
//! Most of a relaxation's work is for pairs of a class and a type that are in no plan. Here steps are taken with pairs
//! that are nearly the cheapest of their class, and with those for which devices that nobody needs would be bought
//! first. Classes that cost next to nothing, all of them together, begin on one type each. The bound is of all pairs;
//! those that become cheap on the way are added to the point as it is, once they save enough.

use esker_assign::{Interior, Relaxation};

use super::model::{CountRange, Model};
use super::relax::{Cut, Fit, FractionalPlan, Goal, Relaxed, RowPrices, by_type, counts_and_cost};
use super::relaxation::{known_cost, known_prices, relaxation_of_counts, relaxation_of_pairs};
use crate::check::TOLERANCE;

/// Steps of a relaxation at most.
const STEPS_MAX: usize = 60;
/// Pairs that cost at most this times the cheapest of their class are looked at.
const NEAR: f64 = 1.15;
/// Of each type, at least enough classes are looked at to fill this number of devices.
const DEVICES: f64 = 1.0;
/// Classes that cost least, and together at most this share of what all cost, begin on the type that is cheapest for
/// each, and on no other.
const SETTLED: f64 = 0.005;
/// Pairs are added once they save more than this share of the difference between cost and bound, and than that share
/// of what all classes cost.
const SAVED: f64 = 0.05;
const SAVED_OF_ALL: f64 = 1e-6;
/// Those that save most are added, until all others save less than this share of what has to be saved.
const LEFT: f64 = 0.2;
/// The range will be split once the cost found is nearer to the bound than this share of the way to the cutoff.
const OPEN: f64 = 0.1;

/// What each class costs on each type, at prices of rows.
struct Costs {
    /// By type, then by class; infinite where the class is not allowed.
    all: Vec<f64>,
    /// The least of each class.
    least: Vec<f64>,
}

impl Costs {
    fn of(model: &Model, usable: &[usize], prices: &RowPrices) -> Self {
        let mut costs = Self {
            all: vec![f64::INFINITY; model.types.len() * model.classes],
            least: vec![f64::INFINITY; model.classes],
        };
        for &at in usable {
            let (one, prices) = (&model.types[at], &prices[at]);
            let of_type = &mut costs.all[at * model.classes..(at + 1) * model.classes];
            for (class, (cost, loads)) in of_type.iter_mut().zip(one.loads.chunks_exact(one.rows)).enumerate() {
                if one.allowed[class] {
                    *cost = loads.iter().zip(prices).map(|(load, price)| load * price).sum();
                    costs.least[class] = costs.least[class].min(*cost);
                }
            }
        }
        costs
    }
}

/// Whether relaxations of this model can be solved so: its classes are limited by sums only.
pub(super) fn can_be_near(model: &Model) -> bool {
    model.types.iter().all(|one| one.rows > 0 && one.caps.iter().all(|&cap| cap == 0.0))
}

/// Solves the relaxation of a range like [`super::relax::relax`], from `known` prices of all types. It ends early when
/// the range will be split in any case; there are no shares then.
pub(super) fn relax_near(model: &Model, range: &CountRange, goal: Goal, known: &RowPrices) -> Relaxed {
    let usable: Vec<usize> = (0..model.types.len()).filter(|&at| range.max[at] > 0).collect();
    let mut near = near_pairs(model, &usable, known);
    let Some(mut relaxation) = of_near(model, range, &near) else { return Relaxed::impossible() };
    let Some(start) = known_prices(&relaxation, known, |_| 1.0) else { return Relaxed::unknown() };
    let mut point = Interior::new(&relaxation, Some(&start)).into_point();
    let mut relaxed = Relaxed::unknown();
    relaxed.row_prices = known.clone();
    let fixed = model.fixed_cost + known_cost(&relaxation, model);
    let mut best: Option<(f64, Vec<f64>)> = None;
    let mut steps = 0;
    loop {
        let mut interior = Interior::resume(&relaxation, point);
        let added = loop {
            steps += 1;
            let stepped = interior.step();
            let (prices, totals) = prices_of(model, &relaxation, range, &interior, known);
            let costs = Costs::of(model, &usable, &prices);
            let reached = bound(model, range, &usable, &costs, &prices, &totals);
            if reached > relaxed.bound {
                relaxed.cut = Some(Cut::of_rows(&usable, &prices, costs.least.iter().sum()));
                (relaxed.bound, relaxed.row_prices) = (reached, prices);
            }
            if let Some((cost, counts)) = counts_and_cost(model, &relaxation, range, fixed, &interior.shares())
                && best.as_ref().is_none_or(|(best, _)| cost < *best)
            {
                best = Some((cost, counts));
            }
            let cost = best.as_ref().map_or(f64::INFINITY, |(cost, _)| *cost);
            let apart = cost - relaxed.bound;
            let open = apart <= OPEN * (goal.cutoff - relaxed.bound);
            if !stepped
                || steps >= STEPS_MAX
                || relaxed.bound >= goal.cutoff
                || apart <= goal.tolerance * relaxed.bound.abs()
                || open
            {
                break false;
            }
            if add_cheap(model, &usable, &costs, &mut near, apart) {
                break true;
            }
        };
        if !added {
            break;
        }
        let old = interior.into_point();
        let Some(wider) = of_near(model, range, &near) else { break };
        point = old.with_pairs(&relaxation, &wider);
        relaxation = wider;
    }
    relaxed.best = best.map(|(cost, counts)| FractionalPlan { cost, counts, shares: Vec::new() });
    relaxed
}

/// Places all classes on devices of these counts, as [`super::relax::place`] does until any placement fits.
pub(super) fn place_near(model: &Model, counts: &[u32], known: &RowPrices) -> Fit {
    let usable: Vec<usize> = (0..counts.len()).filter(|&at| counts[at] > 0).collect();
    let mut near = near_pairs(model, &usable, known);
    let allowed = |near: &[bool]| relaxation_of_counts(model, counts, &|at, class| near[at * model.classes + class]);
    let Some(mut relaxation) = allowed(&near) else { return Fit::TooSmall(None) };
    let Some(start) = known_prices(&relaxation, known, |at| f64::from(counts[at])) else { return Fit::Unclear };
    let sum: f64 = start.iter().sum();
    let start: Vec<f64> = start.iter().map(|price| price / sum).collect();
    let mut point = Interior::new(&relaxation, Some(&start)).into_point();
    let mut steps = 0;
    loop {
        let mut interior = Interior::resume(&relaxation, point);
        loop {
            steps += 1;
            let stepped = interior.step();
            let shares = interior.shares();
            let full = relaxation.counts_needed(&shares)[0];
            if full <= 1.0 {
                return Fit::Fits(by_type(model, &relaxation, &shares));
            }
            let mut prices = known.clone();
            let found = interior.prices();
            for (index, &at) in relaxation.types.iter().enumerate() {
                let rows = &found.rows[relaxation.first_row[index]..relaxation.first_row[index + 1]];
                prices[at] = rows.iter().map(|price| price / f64::from(counts[at])).collect();
            }
            let costs = Costs::of(model, &usable, &prices);
            let (needed, worth): (f64, f64) = (costs.least.iter().sum(), found.rows.iter().sum());
            if needed > worth * (1.0 + TOLERANCE) {
                return Fit::TooSmall(Some(Cut::new(model, &relaxation, counts, found, needed)));
            }
            if !stepped || steps >= STEPS_MAX {
                return Fit::Unclear;
            }
            if add_cheap(model, &usable, &costs, &mut near, full * worth - needed) {
                break;
            }
        }
        let old = interior.into_point();
        let Some(wider) = allowed(&near) else { return Fit::Unclear };
        point = old.with_pairs(&relaxation, &wider);
        relaxation = wider;
    }
}

fn of_near(model: &Model, range: &CountRange, near: &[bool]) -> Option<Relaxation> {
    relaxation_of_pairs(model, range, &|at, class| near[at * model.classes + class])
}

/// The pairs that are looked at, by type, then by class.
fn near_pairs(model: &Model, usable: &[usize], known: &RowPrices) -> Vec<bool> {
    let costs = Costs::of(model, usable, known);
    let mut near = vec![false; costs.all.len()];
    let settled = settled(&costs.least);
    for &at in usable {
        let of_type = at * model.classes..(at + 1) * model.classes;
        let (costs_here, near) = (&costs.all[of_type.clone()], &mut near[of_type]);
        let mut others = Vec::new();
        let mut room = DEVICES * known[at].iter().sum::<f64>();
        for (class, (&cost, &least)) in costs_here.iter().zip(&costs.least).enumerate() {
            near[class] = cost <= if settled[class] { least } else { NEAR * least };
            if near[class] {
                room -= cost
            } else if cost.is_finite() && !settled[class] {
                others.push((cost / least, class))
            }
        }
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, class) in others {
            if room <= 0.0 {
                break;
            }
            near[class] = true;
            room -= costs_here[class];
        }
    }
    near
}

/// Whether each class is one of those that cost so little that it hardly matters where they are.
fn settled(least: &[f64]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..least.len()).collect();
    order.sort_by(|&a, &b| least[a].total_cmp(&least[b]).then(a.cmp(&b)));
    let mut settled = vec![false; least.len()];
    let mut left = SETTLED * least.iter().sum::<f64>();
    for class in order {
        left -= least[class];
        if left < 0.0 {
            break;
        }
        settled[class] = true;
    }
    settled
}

/// Adds pairs that cost less than all others of their class, if that saves enough of the difference between a cost and
/// its bound.
fn add_cheap(model: &Model, usable: &[usize], costs: &Costs, near: &mut [bool], difference: f64) -> bool {
    let mut cheapest = vec![f64::INFINITY; model.classes];
    for &at in usable {
        let of_type = at * model.classes..(at + 1) * model.classes;
        for ((cheapest, cost), near) in cheapest.iter_mut().zip(&costs.all[of_type.clone()]).zip(&near[of_type]) {
            if *near {
                *cheapest = cheapest.min(*cost);
            }
        }
    }
    let all: f64 = costs.least.iter().sum();
    let ignored = (SAVED_OF_ALL * all).max(SAVED * if difference.is_finite() { difference } else { all });
    let savings = costs.least.iter().zip(&cheapest).map(|(least, cheapest)| cheapest - least).enumerate();
    let mut savings: Vec<(usize, f64)> = savings.filter(|(_, saving)| *saving > 0.0).collect();
    let mut left: f64 = savings.iter().map(|(_, saving)| saving).sum();
    if left <= ignored {
        return false;
    }
    savings.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    for (class, saving) in savings {
        if left <= LEFT * ignored {
            break;
        }
        left -= saving;
        for pair in usable.iter().map(|at| at * model.classes + class) {
            near[pair] |= costs.all[pair] < cheapest[class];
        }
    }
    true
}

/// Prices of rows by type, and of totals. Devices of a type of which there need not be any are worth what they cost:
/// that only raises the bound.
fn prices_of(
    model: &Model,
    relaxation: &Relaxation,
    range: &CountRange,
    interior: &Interior<'_>,
    known: &RowPrices,
) -> (RowPrices, Vec<f64>) {
    let found = interior.prices();
    let mut prices = known.clone();
    for (index, &at) in relaxation.types.iter().enumerate() {
        let of_type = &mut prices[at];
        of_type.copy_from_slice(&found.rows[relaxation.first_row[index]..relaxation.first_row[index + 1]]);
        let (worth, cost) = (of_type.iter().sum::<f64>(), model.types[at].cost);
        if range.min[at] == 0 && worth > 0.0 && worth < cost {
            of_type.iter_mut().for_each(|price| *price *= cost / worth);
        }
    }
    (prices, found.totals.to_vec())
}

/// The bound at these prices of all pairs: what [`esker_assign::bound`] is for a relaxation.
fn bound(
    model: &Model,
    range: &CountRange,
    usable: &[usize],
    costs: &Costs,
    prices: &RowPrices,
    totals: &[f64],
) -> f64 {
    let mut sum: f64 = costs.least.iter().sum();
    let mut magnitude = sum.abs() + model.fixed_cost.abs();
    for &at in usable {
        let (min, max) = (f64::from(range.min[at]), f64::from(range.max[at]));
        let worth: f64 = prices[at].iter().sum();
        let (mut unpriced, mut size) = (model.types[at].cost - worth, model.types[at].cost + worth);
        for (total, price) in model.totals.iter().zip(totals) {
            unpriced += price * total.per_device[at];
            size += price * total.per_device[at].abs();
        }
        sum += unpriced * if unpriced > 0.0 { min } else { max };
        magnitude += size * max;
    }
    for (total, price) in model.totals.iter().zip(totals) {
        sum -= price * total.limit;
        magnitude += (price * total.limit).abs();
    }
    let terms = model.classes + usable.len() * (8 + model.totals.len()) + 8;
    let bound = sum + model.fixed_cost - f64::EPSILON * terms as f64 * magnitude;
    if bound.is_nan() { f64::NEG_INFINITY } else { bound }
}
