//! Solves relaxations as far as is asked for.

use esker_assign::{Group, Interior, NONE, Prices, Relaxation, bound};

use super::model::{CountRange, Model};
use super::polish::polish;
use super::relaxation::{known_cost, known_prices, relaxation_of_counts, relaxation_of_range};
use crate::check::TOLERANCE;

/// Steps after which an interior point is given up. Most need 10 to 30.
const STEPS_MAX: usize = 80;
/// Steps without any improvement after which it is given up: rounding allows no more.
const STEPS_STALLED: usize = 15;

/// Prices of the resources of each type of the model; empty for types that were not in question.
pub(super) type RowPrices = Vec<Vec<f64>>;

/// What is known of a range of counts.
pub(super) struct Relaxed {
    /// No plan in the range is cheaper.
    pub(super) bound: f64,
    /// The best point found.
    pub(super) best: Option<FractionalPlan>,
    /// Prices of rows at the end.
    pub(super) row_prices: RowPrices,
    /// What they say of counts, also of those beside the range.
    pub(super) cut: Option<Cut>,
}

/// Shares with the counts, whole or not, that they need.
pub(super) struct FractionalPlan {
    pub(super) cost: f64,
    pub(super) counts: Vec<f64>,
    /// The shares, by class and type.
    pub(super) shares: Vec<Vec<f64>>,
}

impl Relaxed {
    /// Nothing yet.
    pub(super) fn unknown() -> Self {
        Self { bound: f64::NEG_INFINITY, best: None, row_prices: Vec::new(), cut: None }
    }

    pub(super) fn impossible() -> Self {
        Self { bound: f64::INFINITY, best: None, row_prices: Vec::new(), cut: None }
    }
}

/// How far a relaxation is solved.
#[derive(Clone, Copy)]
pub(super) struct Goal {
    /// Whether all shares have caps, see [`relaxation_of_range`].
    pub(super) every_cap: bool,
    /// The bound that is enough.
    pub(super) cutoff: f64,
    /// The difference of bound and best cost that is enough, as a share.
    pub(super) tolerance: f64,
}

/// Solves the relaxation of a range of counts as far as is asked for, or until no step gets it further. It begins at
/// `known` prices, if there are any.
pub(super) fn relax(model: &Model, range: &CountRange, goal: Goal, known: Option<&RowPrices>) -> Relaxed {
    let Goal { every_cap, cutoff, tolerance } = goal;
    let Some(relaxation) = relaxation_of_range(model, range, every_cap) else { return Relaxed::impossible() };
    let fixed = model.fixed_cost + known_cost(&relaxation, model);
    let known = known.and_then(|prices| known_prices(&relaxation, prices, |_| 1.0));
    let mut interior = Interior::new(&relaxation, known.as_deref());
    let mut relaxed = Relaxed { bound: f64::NEG_INFINITY, best: None, row_prices: Vec::new(), cut: None };
    let mut best: Option<(f64, Vec<f64>, Vec<f64>)> = None;
    let mut stalled = 0;
    for _ in 0..STEPS_MAX {
        let stepped = interior.step();
        stalled += 1;
        let reached = bound(&relaxation, interior.prices()) + fixed;
        if reached > relaxed.bound {
            relaxed.bound = reached;
            stalled = 0;
        }
        let shares = interior.shares();
        if let Some((cost, counts)) = counts_and_cost(model, &relaxation, range, fixed, &shares)
            && best.as_ref().is_none_or(|(best, _, _)| cost < *best)
        {
            best = Some((cost, counts, shares));
            stalled = 0;
        }
        let gap = best.as_ref().map_or(f64::INFINITY, |(cost, _, _)| cost - relaxed.bound);
        if !stepped || stalled == STEPS_STALLED || relaxed.bound >= cutoff || gap <= tolerance * relaxed.bound.abs() {
            break;
        }
    }
    relaxed.best = best.map(|(cost, counts, shares)| {
        let shares = by_type(model, &relaxation, &shares);
        FractionalPlan { cost, counts, shares }
    });
    relaxed.row_prices = vec![Vec::new(); model.types.len()];
    let prices = interior.prices();
    for (index, &at) in relaxation.types.iter().enumerate() {
        relaxed.row_prices[at] = prices.rows[relaxation.first_row[index]..relaxation.first_row[index + 1]].to_vec();
    }
    relaxed
}

/// The cost and the counts that shares need, if these are in the range.
pub(super) fn counts_and_cost(
    model: &Model,
    relaxation: &Relaxation,
    range: &CountRange,
    fixed: f64,
    shares: &[f64],
) -> Option<(f64, Vec<f64>)> {
    if !relaxation.fits_known_counts(shares, TOLERANCE) {
        return None;
    }
    let needed = relaxation.counts_needed(shares);
    let within = |(group, needed): (&Group, &f64)| *needed <= group.max * (1.0 + TOLERANCE);
    let totals = relaxation.totals.iter().all(|total| {
        let used: f64 = total.per_group.iter().zip(&needed).map(|(each, count)| each * count).sum();
        used <= total.limit + TOLERANCE * (total.limit.abs() + used)
    });
    if !totals || !relaxation.groups.iter().zip(&needed).all(within) {
        return None;
    }
    let cost = relaxation.groups.iter().zip(&needed).map(|(group, count)| group.cost * count).sum::<f64>() + fixed;
    let mut counts: Vec<f64> = vec![0.0; model.types.len()];
    for (&at, (&group, count)) in relaxation.types.iter().zip(relaxation.type_group.iter().zip(&relaxation.type_count))
    {
        counts[at] = if group == NONE { *count } else { needed[group].min(f64::from(range.max[at])) };
    }
    Some((cost, counts))
}

/// Whether all classes fit into whole counts.
pub(super) enum Fit {
    /// They do so: the shares, by class and type.
    Fits(Vec<Vec<f64>>),
    /// They do not, which is proved by a cut; there is none if a class has no device at all that it may be on.
    TooSmall(Option<Cut>),
    /// Rounding does not let it be told.
    Unclear,
}

/// Counts that are too small: all classes need more worth, at some prices, than devices of these counts have. The same
/// prices tell of other counts, too.
pub(super) struct Cut {
    /// Worth of a device of each type; `None` for types that the prices say nothing of.
    each: Vec<Option<f64>>,
    /// What all classes need.
    needed: f64,
    /// The prices of a placement's proof: of rows by type, of caps by type and class. Empty for types that it says
    /// nothing of.
    pub(super) row_prices: RowPrices,
    pub(super) cap_prices: Vec<Vec<f64>>,
}

impl Cut {
    pub(super) fn new(model: &Model, relaxation: &Relaxation, counts: &[u32], prices: Prices<'_>, needed: f64) -> Self {
        let none = || vec![Vec::new(); model.types.len()];
        let (mut row_prices, mut cap_prices, mut each) = (none(), none(), vec![None; model.types.len()]);
        for (index, &at) in relaxation.types.iter().enumerate() {
            let rows = &prices.rows[relaxation.first_row[index]..relaxation.first_row[index + 1]];
            row_prices[at] = rows.iter().map(|price| price / f64::from(counts[at])).collect();
            cap_prices[at] = if relaxation.has_caps { vec![0.0; model.classes] } else { Vec::new() };
        }
        for (index, &class) in relaxation.classes.iter().enumerate().filter(|_| relaxation.has_caps) {
            for pair in relaxation.pairs(index) {
                let at = relaxation.types[relaxation.pair_type[pair]];
                cap_prices[at][class] = prices.caps[pair] / f64::from(counts[at]);
            }
        }
        for &at in &relaxation.types {
            each[at] = Some(row_prices[at].iter().sum::<f64>() + cap_prices[at].iter().sum::<f64>());
        }
        Self { each, needed, row_prices, cap_prices }
    }

    /// The cut of prices of rows at which all classes cost `needed` on those types.
    pub(super) fn of_rows(types: &[usize], row_prices: &RowPrices, needed: f64) -> Self {
        let mut each = vec![None; row_prices.len()];
        for &at in types {
            each[at] = Some(row_prices[at].iter().sum());
        }
        Self { each, needed, row_prices: Vec::new(), cap_prices: Vec::new() }
    }

    /// No plan in the range costs less: devices that cost less than they are worth are bought, others are not.
    pub(super) fn bound(&self, model: &Model, range: &CountRange) -> f64 {
        let (mut sum, mut magnitude) = (self.needed / (1.0 + TOLERANCE) + model.fixed_cost, model.fixed_cost.abs());
        for (at, each) in self.each.iter().enumerate().filter(|(at, _)| range.max[*at] > 0) {
            let Some(each) = each else { return f64::NEG_INFINITY };
            let (min, max) = (f64::from(range.min[at]), f64::from(range.max[at]));
            let unpriced = model.types[at].cost - each;
            sum += unpriced * if unpriced > 0.0 { min } else { max };
            magnitude += (model.types[at].cost + each) * max;
        }
        sum - 1e-11 * (self.needed + magnitude)
    }

    /// Whether the cut proves these counts too small.
    pub(super) fn excludes(&self, counts: &[u32]) -> bool {
        let mut worth = 0.0;
        for (each, &count) in self.each.iter().zip(counts).filter(|(_, count)| **count > 0) {
            let Some(each) = each else { return false };
            worth += each * f64::from(count);
        }
        self.needed > worth * (1.0 + TOLERANCE)
    }
}

/// How far placements are improved.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// Until one fits.
    AnyThatFits,
    /// Until the fullest resource is as empty as can be.
    Emptiest,
}

/// Places all classes on devices of these counts. It begins at `known` prices, if there are any.
pub(super) fn place(model: &Model, counts: &[u32], effort: Effort, known: Option<&RowPrices>) -> Fit {
    let allowed = |at: usize, class: usize| model.types[at].allowed[class];
    let Some(relaxation) = relaxation_of_counts(model, counts, &allowed) else { return Fit::TooSmall(None) };
    let known = known.and_then(|prices| known_prices(&relaxation, prices, |at| f64::from(counts[at])));
    let known = known.map(|prices| {
        let sum: f64 = prices.iter().sum();
        prices.iter().map(|price| price / sum).collect::<Vec<f64>>()
    });
    let mut interior = Interior::new(&relaxation, known.as_deref());
    let mut best: Option<(f64, Vec<f64>)> = None;
    let (mut stalled, mut least) = (0, f64::NEG_INFINITY);
    for _ in 0..STEPS_MAX {
        let stepped = interior.step();
        stalled += 1;
        let shares = interior.shares();
        let full = relaxation.counts_needed(&shares)[0];
        let reached = bound(&relaxation, interior.prices());
        if reached > least {
            (least, stalled) = (reached, 0);
        }
        if best.as_ref().is_none_or(|(best, _)| full < *best) {
            best = Some((full, shares));
            stalled = 0;
        }
        let full = best.as_ref().map_or(f64::INFINITY, |(full, _)| *full);
        if reached > 1.0 + TOLERANCE {
            return Fit::TooSmall(Some(Cut::new(model, &relaxation, counts, interior.prices(), reached)));
        }
        let enough = match effort {
            Effort::AnyThatFits => full <= 1.0,
            Effort::Emptiest => full - least <= 1e-6 * full,
        };
        if !stepped || stalled == STEPS_STALLED || enough {
            break;
        }
    }
    let Some((full, shares)) = best else { return Fit::Unclear };
    // Half of what is tolerated: the rest is for the sums of whoever checks it.
    let fits = |full: f64| full <= 1.0 + 0.5 * TOLERANCE;
    if fits(full) {
        return Fit::Fits(by_type(model, &relaxation, &shares));
    }
    match polish(&relaxation, &shares) {
        Some(shares) if fits(relaxation.counts_needed(&shares)[0]) => Fit::Fits(by_type(model, &relaxation, &shares)),
        _ => Fit::Unclear,
    }
}

pub(super) fn by_type(model: &Model, relaxation: &Relaxation, shares: &[f64]) -> Vec<Vec<f64>> {
    let mut all = vec![vec![0.0; model.types.len()]; model.classes];
    for (index, &class) in relaxation.classes.iter().enumerate() {
        for pair in relaxation.pairs(index) {
            all[class][relaxation.types[relaxation.pair_type[pair]]] = shares[pair];
        }
    }
    for &(class, at) in &relaxation.settled {
        all[class][at] = 1.0;
    }
    all
}
