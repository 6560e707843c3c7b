//! The least cost of fractional counts that keep all rows: a linear programme with one unknown for each type.

use super::rows::Row;
use crate::solver::model::Model;

/// Steps of the simplex method at most; the prices of any step are a bound.
const STEPS_MAX: usize = 400;
/// A row that lacks less than this share is kept, and a pivot below it is none.
const SMALL: f64 = 1e-9;

/// Between which counts.
#[derive(Clone, Copy)]
pub(in crate::solver) struct Limits<'a> {
    pub(in crate::solver) min: &'a [u32],
    pub(in crate::solver) max: &'a [u32],
    /// The bound that is enough.
    pub(in crate::solver) cutoff: f64,
}

/// What the programme found.
pub(in crate::solver) struct LeastCost {
    /// No whole counts within the limits that keep all rows cost less.
    pub(in crate::solver) bound: f64,
    /// Fractional counts of about that cost.
    pub(in crate::solver) counts: Vec<f64>,
    /// What one more device of each type adds to the bound.
    pub(in crate::solver) reduced: Vec<f64>,
}

/// A column of the programme over prices: one price for each row, one for each largest count, and what is left over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Row(usize),
    Most(usize),
    Left(usize),
}

/// A row less what the least counts keep of it. No count needs to be worth more than what is missing then.
struct Missing {
    each: Vec<f64>,
    needed: f64,
}

/// Finds prices of the rows that make the bound as large as can be, by the simplex method: the counts are the prices of
/// its equations. It begins without any price, which is possible since no device costs less than nothing.
struct Simplex<'a> {
    cost: Vec<f64>,
    most: Vec<f64>,
    rows: &'a [Missing],
    basis: Vec<Column>,
    /// The inverse of the basis, row by row.
    inverse: Vec<Vec<f64>>,
    /// The price of each basic column.
    price: Vec<f64>,
}

/// The least cost of counts within the limits that keep all rows, and all totals of the model.
pub(in crate::solver) fn least_cost(model: &Model, rows: &[Row], limits: Limits<'_>) -> LeastCost {
    let free: Vec<usize> = (0..model.types.len()).filter(|&at| limits.min[at] < limits.max[at]).collect();
    let missing = missing(model, rows, limits, &free);
    let known = model.cost(limits.min);
    let mut end = LeastCost {
        bound: known,
        counts: limits.min.iter().map(|&count| f64::from(count)).collect(),
        reduced: model.types.iter().map(|one| one.cost).collect(),
    };
    let mut simplex = Simplex::new(
        free.iter().map(|&at| model.types[at].cost).collect(),
        free.iter().map(|&at| f64::from(limits.max[at] - limits.min[at])).collect(),
        &missing,
    );
    simplex.run(limits.cutoff - known);
    let (bound, reduced) = simplex.bound();
    end.bound = known + bound;
    let counts = simplex.counts();
    for (index, &at) in free.iter().enumerate() {
        end.counts[at] += counts[index].clamp(0.0, simplex.most[index]);
        end.reduced[at] = reduced[index];
    }
    end
}

fn missing(model: &Model, rows: &[Row], limits: Limits<'_>, free: &[usize]) -> Vec<Missing> {
    let min = |at: usize| f64::from(limits.min[at]);
    let mut all = Vec::with_capacity(rows.len() + model.totals.len());
    for row in rows {
        let there: f64 = (0..limits.min.len()).map(|at| row.each[at] * min(at)).sum();
        let needed = row.needed - there;
        // Scaled, so that rows can be compared.
        if needed > SMALL * row.needed {
            let each = free.iter().map(|&at| (row.each[at] / needed).min(1.0)).collect();
            all.push(Missing { each, needed: 1.0 });
        }
    }
    for total in &model.totals {
        let left = total.limit - (0..limits.min.len()).map(|at| total.per_device[at] * min(at)).sum::<f64>();
        let most = free.iter().map(|&at| total.per_device[at]).fold(f64::MIN_POSITIVE, f64::max);
        let each = free.iter().map(|&at| -total.per_device[at] / most).collect();
        all.push(Missing { each, needed: -left / most });
    }
    all
}

impl<'a> Simplex<'a> {
    fn new(cost: Vec<f64>, most: Vec<f64>, rows: &'a [Missing]) -> Self {
        let unit = |at: usize| (0..cost.len()).map(|other| if other == at { 1.0 } else { 0.0 }).collect();
        Self {
            inverse: (0..cost.len()).map(unit).collect(),
            basis: (0..cost.len()).map(Column::Left).collect(),
            price: cost.clone(),
            cost,
            most,
            rows,
        }
    }

    /// Steps until no price makes the bound larger, or it is `enough`.
    fn run(&mut self, enough: f64) {
        for _ in 0..STEPS_MAX {
            let counts = self.counts();
            let Some(column) = self.entering(&counts) else { return };
            if !self.enter(column, enough) || self.value() >= enough {
                return;
            }
        }
    }

    /// The counts that belong to the basis: prices of the equations.
    fn counts(&self) -> Vec<f64> {
        let mut counts = vec![0.0; self.cost.len()];
        for (column, inverse) in self.basis.iter().zip(&self.inverse) {
            let worth = self.worth(*column);
            if worth != 0.0 {
                counts.iter_mut().zip(inverse).for_each(|(count, value)| *count += worth * value);
            }
        }
        counts
    }

    fn value(&self) -> f64 {
        self.basis.iter().zip(&self.price).map(|(column, price)| self.worth(*column) * price).sum()
    }

    /// What a price adds to the bound.
    fn worth(&self, column: Column) -> f64 {
        match column {
            Column::Row(at) => self.rows[at].needed,
            Column::Most(at) => -self.most[at],
            Column::Left(_) => 0.0,
        }
    }

    /// The column whose equation of counts is broken most.
    fn entering(&self, counts: &[f64]) -> Option<Column> {
        let mut worst = (SMALL, None);
        let mut see = |lack: f64, column: Column| {
            if lack > worst.0 {
                worst = (lack, Some(column));
            }
        };
        for (at, row) in self.rows.iter().enumerate() {
            let there: f64 = row.each.iter().zip(counts).map(|(each, count)| each * count).sum();
            see(row.needed - there, Column::Row(at));
        }
        for (at, (count, most)) in counts.iter().zip(&self.most).enumerate() {
            see(count - most, Column::Most(at));
            see(-count, Column::Left(at));
        }
        worst.1
    }

    /// Raises the price of a column as far as no other becomes negative, or until the bound is `enough`. False if it
    /// can be raised without end.
    fn enter(&mut self, column: Column, enough: f64) -> bool {
        let change: Vec<f64> = self.inverse.iter().map(|inverse| self.times(inverse, column)).collect();
        let ratios = change.iter().zip(&self.price).enumerate().filter(|(_, (change, _))| **change > SMALL);
        let leaving =
            ratios.map(|(at, (change, price))| (at, price.max(0.0) / change)).min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((leaving, length)) = leaving else {
            self.price_without_end(column, &change, enough);
            return false;
        };
        for (price, change) in self.price.iter_mut().zip(&change) {
            *price = (*price - length * change).max(0.0);
        }
        (self.price[leaving], self.basis[leaving]) = (length, column);
        let pivot = change[leaving];
        let row: Vec<f64> = self.inverse[leaving].iter().map(|value| value / pivot).collect();
        for (at, inverse) in self.inverse.iter_mut().enumerate() {
            if at != leaving && change[at] != 0.0 {
                inverse.iter_mut().zip(&row).for_each(|(value, row)| *value -= change[at] * row);
            }
        }
        self.inverse[leaving] = row;
        true
    }

    /// No counts keep the rows: the price is so high that the bound is above what is enough. It replaces what is left
    /// over of some type, which is in no bound.
    fn price_without_end(&mut self, column: Column, change: &[f64], enough: f64) {
        let rate = self.worth(column)
            - change.iter().zip(&self.basis).map(|(change, basic)| change * self.worth(*basic)).sum::<f64>();
        if rate <= 0.0 {
            return;
        }
        let length = 2.0 * (enough.abs() + self.value().abs() + 1.0) / rate;
        for (price, change) in self.price.iter_mut().zip(change) {
            *price -= length * change;
        }
        self.basis.push(column);
        self.price.push(length);
        self.inverse.push(vec![0.0; self.cost.len()]);
    }

    fn times(&self, inverse: &[f64], column: Column) -> f64 {
        match column {
            Column::Row(at) => self.rows[at].each.iter().zip(inverse).map(|(each, value)| each * value).sum(),
            Column::Most(at) => -inverse[at],
            Column::Left(at) => inverse[at],
        }
    }

    /// The bound at the prices of rows, whatever rounding did to them, and what is left of each cost.
    fn bound(&self) -> (f64, Vec<f64>) {
        let (mut sum, mut magnitude) = (0.0, 0.0);
        let (mut left, mut sizes) = (self.cost.clone(), self.cost.clone());
        for (column, price) in self.basis.iter().zip(&self.price) {
            let (&Column::Row(at), price) = (column, price.max(0.0)) else { continue };
            let row = &self.rows[at];
            sum += price * row.needed;
            magnitude += (price * row.needed).abs();
            for (at, each) in row.each.iter().enumerate() {
                left[at] -= price * each;
                sizes[at] += (price * each).abs();
            }
        }
        for ((left, size), most) in left.iter().zip(&sizes).zip(&self.most) {
            sum += left.min(0.0) * most;
            magnitude += size * most;
        }
        (sum - 64.0 * f64::EPSILON * magnitude, left)
    }
}
