//! A whole problem, stated device by device and class by class.

mod scaled;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::bound::bound;
use crate::interior::Interior;
use scaled::Scaled;

/// Steps after which an interior point is given up. Most need 10 to 30.
const STEPS_MAX: usize = 80;
/// Steps without any improvement after which it is given up: rounding allows no more.
const STEPS_STALLED: usize = 15;
/// How often the search begins. Where a limit is reached to the last bit, rounding can leave points on its wrong side
/// until they are lost: a search from the prices that were found takes another way.
const ATTEMPTS: usize = 3;
/// By what share limits may be exceeded, since sums are rounded.
const TOLERANCE: f64 = 1e-8;

/// A problem of whole devices whose rows are given: used by placement policies.
#[derive(Clone, Debug, Default)]
pub struct Assignment {
    /// Cost and largest value of each group.
    groups: Vec<(f64, f64)>,
    /// First row of each device after the first, and the number of rows.
    row_ends: Vec<usize>,
    rows: Vec<RowLimit>,
    /// The same for pairs of each class.
    pair_ends: Vec<usize>,
    /// Of each pair: its device, and where its loads begin.
    pairs: Vec<(usize, usize)>,
    loads: Vec<f64>,
}

/// What limits a row of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowLimit {
    /// This much and no more.
    Constant(f64),
    /// As much as the quantity of the group of this number is, and so much more (or less, if it is negative).
    Group(usize, f64),
}

/// Shares that cost least, or nearly so.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// By class, then by device. Those of a class add up to 1.
    pub shares: Vec<Vec<f64>>,
    /// The quantity of each group: as small as the shares allow.
    pub groups: Vec<f64>,
    /// What these quantities cost.
    pub cost: f64,
    /// No shares cost less.
    pub bound: f64,
}

impl Assignment {
    /// A problem without devices and classes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a group: a quantity `y` from 0 to `max`, which may be infinite, that costs `cost * y`. Returns its number.
    pub fn add_group(&mut self, cost: f64, max: f64) -> usize {
        debug_assert!(cost >= 0.0, "a cost of {cost}");
        self.groups.push((cost, max));
        self.groups.len() - 1
    }

    /// Adds a device with these rows, whose groups there are already. Returns its number.
    pub fn add_device(&mut self, rows: &[RowLimit]) -> usize {
        self.rows.extend(rows);
        self.row_ends.push(self.rows.len());
        self.row_ends.len() - 1
    }

    /// Adds a class with each device that may hold it, once, and what each row of that device is loaded with if all of
    /// the class is there.
    pub fn add_class(&mut self, on: &[(usize, &[f64])]) {
        for &(device, loads) in on {
            debug_assert_eq!(loads.len(), self.rows_of(device).len(), "loads for the rows of device {device}");
            debug_assert!(loads.iter().all(|&load| load >= 0.0 && load.is_finite()), "{loads:?}");
            self.pairs.push((device, self.loads.len()));
            self.loads.extend(loads);
        }
        self.pair_ends.push(self.pairs.len());
    }

    /// The shares that cost least, until they cost at most the share `tolerance` more than the bound, or rounding
    /// allows no more. `None` if the classes do not fit. Limits can be exceeded by rounding.
    pub fn solve(&self, tolerance: f64) -> Option<Solution> {
        let scaled = Scaled::new(self)?;
        let relaxation = &scaled.relaxation;
        if relaxation.scale.is_empty() {
            let cost = scaled.cost(&[], TOLERANCE)?;
            return Some(scaled.solution(self, &[], cost));
        }
        let mut search = Search { scaled: &scaled, tolerance, best: None, least: 0.0, prices: None };
        for _ in 0..ATTEMPTS {
            if search.attempt() {
                break;
            }
        }
        let (_, shares) = search.best?;
        Some(scaled.solution(self, &shares, search.least))
    }

    /// The rows of a device.
    fn rows_of(&self, device: usize) -> Range<usize> {
        let first = if device == 0 { 0 } else { self.row_ends[device - 1] };
        first..self.row_ends[device]
    }

    /// The pairs of a class.
    fn pairs_of(&self, class: usize) -> Range<usize> {
        let first = if class == 0 { 0 } else { self.pair_ends[class - 1] };
        first..self.pair_ends[class]
    }

    /// The rows of a pair's device, each with the pair's load.
    fn loads_of(&self, pair: usize) -> impl Iterator<Item = (usize, f64)> {
        let (device, first) = self.pairs[pair];
        self.rows_of(device).zip(self.loads[first..].iter().copied())
    }
}

/// The search for shares in scaled units.
struct Search<'a> {
    scaled: &'a Scaled,
    tolerance: f64,
    /// The least cost so far, and its shares.
    best: Option<(f64, Vec<f64>)>,
    /// Nothing costs less.
    least: f64,
    /// The prices of rows that say so.
    prices: Option<Vec<f64>>,
}

impl Search<'_> {
    /// Takes steps from the prices found so far. Whether they came as near as is asked for, or proved that the classes
    /// do not fit.
    fn attempt(&mut self) -> bool {
        let relaxation = &self.scaled.relaxation;
        let mut interior = Interior::new(relaxation, self.prices.as_deref());
        let mut stalled = 0;
        for _ in 0..STEPS_MAX {
            let stepped = interior.step();
            stalled += 1;
            let reached = bound(relaxation, interior.prices());
            if reached > self.least {
                self.prices = Some(interior.prices().rows.to_vec());
                (self.least, stalled) = (reached, 0);
            }
            let shares = interior.shares();
            if let Some(cost) = self.scaled.cost(&shares, TOLERANCE)
                && self.best.as_ref().is_none_or(|(best, _)| cost < *best)
            {
                self.best = Some((cost, shares));
                stalled = 0;
            }
            let enough = match &self.best {
                Some((cost, _)) => cost - self.least <= self.tolerance * self.least,
                // Whatever fits would cost less.
                None => self.least > self.scaled.dearest() * (1.0 + TOLERANCE),
            };
            if enough {
                return true;
            }
            if !stepped || stalled == STEPS_STALLED {
                break;
            }
        }
        false
    }
}
