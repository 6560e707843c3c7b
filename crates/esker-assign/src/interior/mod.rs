//! A primal-dual interior point method (Mehrotra 1992) for [`Relaxation`]: shares are eliminated class by class, so
//! that the equations of a step are as many as rows, totals and groups, however many classes there are.

mod aim;
mod factor;
mod newton;
mod point;

use crate::bound::Prices;
use crate::relaxation::{Group, Relaxation};
pub use factor::Matrix;
use newton::Newton;
pub use point::Point;

/// Products at known prices, as a share of those without: nearer to the optimum, and not so near as to be stuck.
const KNOWN_PRODUCT: f64 = 0.1;
/// The least known price, as a share of the usual one.
const KNOWN_LEAST: f64 = 0.01;
/// Products where counts are too small, as a share of what that lacks at its prices.
const LACKING_PRODUCT: f64 = 0.1;

/// The search for the optimum of one relaxation.
pub struct Interior<'a> {
    relaxation: &'a Relaxation,
    point: Point,
    newton: Newton,
}

impl<'a> Interior<'a> {
    /// Begins at prices of rows that were good for a problem like this one, or that pay half of each cost.
    pub fn new(relaxation: &'a Relaxation, known: Option<&[f64]>) -> Self {
        let row_price = start_prices(relaxation, known);
        let even: Vec<f64> = (0..relaxation.scale.len())
            .flat_map(|class| relaxation.pairs(class).map(move |_| 1.0 / relaxation.pairs(class).len() as f64))
            .collect();
        let mut interior = Self { relaxation, newton: Newton::new(relaxation), point: Point::default() };
        interior.begin(&row_price, &even, 1.0);
        if known.is_some() {
            let shares = interior.shares();
            interior.begin(&row_price, &shares, KNOWN_PRODUCT);
        }
        interior
    }

    /// Goes on from a point of this relaxation.
    pub fn resume(relaxation: &'a Relaxation, point: Point) -> Self {
        Self { relaxation, newton: Newton::new(relaxation), point }
    }

    /// The point that was reached.
    pub fn into_point(self) -> Point {
        self.point
    }

    /// Sets the point at these prices, with counts that shares from 0 to 1 need.
    fn begin(&mut self, row_price: &[f64], shares: &[f64], product: f64) {
        let relaxation = self.relaxation;
        let needed = relaxation.counts_needed(shares);
        let between = |(group, needed): (&Group, &f64)| {
            let margin = 0.1 * (group.max - group.min).min(1.0);
            (1.1 * needed).clamp(group.min + margin, group.max - margin)
        };
        let count: Vec<f64> = relaxation.groups.iter().zip(&needed).map(between).collect();
        let cost: f64 = relaxation.groups.iter().zip(&count).map(|(group, count)| group.cost * count).sum();
        let products = (relaxation.cap.len() + relaxation.rhs.len()) as f64;
        let mean = cost.max(relaxation.typical_cost).max(1e-9) / products;
        // Where counts are too small for the shares, products begin as large as what is lacking.
        let lacking = relaxation.lacking(shares, &count);
        let worst = lacking.iter().zip(row_price).map(|(lacking, price)| lacking * price).fold(0.0, f64::max);
        self.point = Point::at(relaxation, row_price, &count, (product * mean).max(LACKING_PRODUCT * worst));
    }

    /// Takes a step. False if none is possible.
    pub fn step(&mut self) -> bool {
        self.newton.step(self.relaxation, &mut self.point)
    }

    /// The prices of the point, from which a bound is computed.
    pub fn prices(&self) -> Prices<'_> {
        Prices { rows: &self.point.row_price, caps: &self.point.cap_price, totals: &self.point.total_price }
    }

    /// The share of each pair, from 0 to 1.
    pub fn shares(&self) -> Vec<f64> {
        let mut shares = self.point.share.clone();
        for class in 0..self.relaxation.scale.len() {
            let shares = &mut shares[self.relaxation.pairs(class)];
            let sum: f64 = shares.iter().sum();
            let even = 1.0 / shares.len() as f64;
            // Where rounding has left nothing of a class, any shares will do.
            let usable = sum > f64::MIN_POSITIVE && sum.is_finite();
            shares.iter_mut().for_each(|share| *share = if usable { *share / sum } else { even });
        }
        shares
    }
}

/// Prices of rows to begin with: none near 0, from where it would take long to come back.
fn start_prices(relaxation: &Relaxation, known: Option<&[f64]>) -> Vec<f64> {
    let mut rows_of = vec![0usize; relaxation.groups.len()];
    for &group in &relaxation.row_group {
        if let Some(rows) = rows_of.get_mut(group) {
            *rows += 1;
        }
    }
    let rows = relaxation.rhs.len().max(1);
    let usual = |&group: &usize| match relaxation.groups.get(group) {
        Some(of) if of.cost > 0.0 => 0.5 * of.cost / rows_of[group] as f64,
        _ => 0.5 * relaxation.typical_cost.max(1e-9) / rows as f64,
    };
    let prices = relaxation.row_group.iter().map(usual);
    match known {
        Some(known) => prices.zip(known).map(|(usual, known)| known.max(KNOWN_LEAST * usual)).collect(),
        None => prices.collect(),
    }
}
