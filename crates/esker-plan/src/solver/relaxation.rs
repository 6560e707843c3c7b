//! Relaxations of the planner's model: which types and classes are in them, and what each needs.
//!
//! A group is a type whose count is not known. To find out whether given counts will do, all types are one group: loads
//! are then shares of all devices of a type, and `y` is how full the fullest is.

use esker_assign::{Group, GroupTotal, NONE, Relaxation};

use super::model::{CountRange, Model};

/// How the pairs of a type are turned into rows.
struct TypeUse {
    /// The type's number in the model.
    at: usize,
    group: usize,
    count: f64,
    /// Loads are divided by this.
    divisor: f64,
}

/// Fractional counts within a range. `None` if there is no plan in the range whatever the counts.
pub(super) fn relaxation_of_range(model: &Model, range: &CountRange, every_cap: bool) -> Option<Relaxation> {
    let allowed = |at: usize, class: usize| model.types[at].allowed[class];
    of(model, range, every_cap, &allowed)
}

/// The relaxation with those pairs of a type and a class alone for which `pairs` is true; all of them are allowed.
/// Nothing has caps.
pub(super) fn relaxation_of_pairs(
    model: &Model,
    range: &CountRange,
    pairs: &dyn Fn(usize, usize) -> bool,
) -> Option<Relaxation> {
    of(model, range, false, pairs)
}

fn of(model: &Model, range: &CountRange, every_cap: bool, pairs: &dyn Fn(usize, usize) -> bool) -> Option<Relaxation> {
    let mut relaxation = Relaxation::new();
    let mut uses = Vec::new();
    for (at, one) in model.types.iter().enumerate() {
        let (min, max) = (f64::from(range.min[at]), f64::from(range.max[at]));
        if max == 0.0 {
            continue;
        }
        if min < max {
            uses.push(TypeUse { at, group: relaxation.groups.len(), count: 0.0, divisor: 1.0 });
            relaxation.groups.push(Group { cost: one.cost, min, max });
        } else {
            uses.push(TypeUse { at, group: NONE, count: min, divisor: 1.0 });
        }
    }
    for total in &model.totals {
        let mut left = GroupTotal { per_group: vec![0.0; relaxation.groups.len()], limit: total.limit };
        for one in &uses {
            match one.group {
                NONE => left.limit -= total.per_device[one.at] * one.count,
                group => left.per_group[group] = total.per_device[one.at],
            }
        }
        relaxation.totals.push(left);
    }
    relaxation.typical_cost = uses.iter().map(|one| model.types[one.at].cost).fold(0.0, f64::max);
    add_pairs(&mut relaxation, model, &uses, every_cap, pairs)?;
    Some(relaxation)
}

/// How full the fullest devices have to be with these counts: the cost of the only group. `None` if a class has no
/// type of which there is a device.
pub(super) fn relaxation_of_counts(
    model: &Model,
    counts: &[u32],
    pairs: &dyn Fn(usize, usize) -> bool,
) -> Option<Relaxation> {
    let mut relaxation = Relaxation::new();
    let known = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let uses: Vec<TypeUse> =
        known.map(|(at, &count)| TypeUse { at, group: 0, count: 0.0, divisor: f64::from(count) }).collect();
    relaxation.groups.push(Group { cost: 1.0, min: 0.0, max: 1.0 });
    relaxation.typical_cost = 1.0;
    add_pairs(&mut relaxation, model, &uses, false, pairs)?;
    // What each class needs by itself, together, is more than enough.
    let worst = |pair: usize| relaxation.loads_of(pair).iter().fold(relaxation.cap[pair], |a, &b| a.max(b));
    let all: f64 = (0..relaxation.scale.len())
        .map(|class| relaxation.scale[class] * relaxation.pairs(class).map(worst).fold(0.0, f64::max))
        .sum();
    let settled: f64 = relaxation.rhs.iter().map(|rhs| -rhs).sum();
    relaxation.groups[0].max = 2.0 * (all + settled) + 1.0;
    Some(relaxation)
}

fn add_pairs(
    relaxation: &mut Relaxation,
    model: &Model,
    uses: &[TypeUse],
    every_cap: bool,
    pairs: &dyn Fn(usize, usize) -> bool,
) -> Option<()> {
    for one in uses {
        let rows = std::iter::repeat_n((one.group, one.count), model.types[one.at].rows);
        relaxation.add_type(one.at, one.group, one.count, rows);
    }
    for class in 0..model.classes {
        let first = relaxation.cap.len();
        for (index, one) in uses.iter().enumerate().filter(|(_, one)| pairs(one.at, class)) {
            let device_type = &model.types[one.at];
            // A share is at most 1, and needs a whole device.
            let cap = device_type.caps[class].max(if every_cap { 1.0 } else { 0.0 }) / one.divisor;
            relaxation.add_pair(index, device_type.loads_of(class).iter().map(|load| load / one.divisor), cap);
        }
        match relaxation.cap.len() - first {
            0 => return None,
            1 if relaxation.cap[first] == 0.0 => relaxation.settle_class(class),
            _ => relaxation.add_class(class),
        }
    }
    Some(())
}

/// What the devices of types whose count is known cost.
pub(super) fn known_cost(relaxation: &Relaxation, model: &Model) -> f64 {
    let known = relaxation.types.iter().zip(relaxation.type_group.iter().zip(&relaxation.type_count));
    known.filter(|(_, (group, _))| **group == NONE).map(|(&at, (_, count))| model.types[at].cost * count).sum()
}

/// Prices of rows from those of the model's types, each times `factor` of its type. `None` if a type has none.
pub(super) fn known_prices(
    relaxation: &Relaxation,
    prices: &[Vec<f64>],
    factor: impl Fn(usize) -> f64,
) -> Option<Vec<f64>> {
    let known = relaxation.types.iter().flat_map(|&at| prices[at].iter().map(move |price| (at, price)));
    let known: Vec<f64> = known.map(|(at, price)| price * factor(at)).collect();
    (known.len() == relaxation.rhs.len() && known.iter().sum::<f64>() > 0.0).then_some(known)
}
