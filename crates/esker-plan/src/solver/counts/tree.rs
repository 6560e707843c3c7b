//! Whole counts that keep all rows: branch and bound over linear programmes.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::programme::{LeastCost, Limits, least_cost};
use super::rows::Row;
use crate::solver::model::{CountRange, Model};

/// A count this near to a whole number is one.
const WHOLE: f64 = 1e-6;

/// A range of counts that is still in question.
struct Node {
    bound: f64,
    number: usize,
    range: CountRange,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Node {}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Node {
    /// The lowest bound is the greatest node, since a heap gives the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.bound.total_cmp(&self.bound).then(self.number.cmp(&other.number))
    }
}

/// All counts that are still in question, with a bound of each range. Rows that are found later raise the bounds.
pub(in crate::solver) struct CountTree {
    open: BinaryHeap<Node>,
    /// Number of programmes solved.
    programmes: usize,
    number: usize,
}

/// Where a tree has come to.
pub(in crate::solver) enum Reached {
    /// Nothing below the cutoff is left.
    Cutoff,
    /// The cheapest whole counts that keep all rows.
    Counts(Vec<u32>),
    /// The limit on programmes was reached.
    End,
}

impl CountTree {
    pub(in crate::solver) fn new(range: CountRange) -> Self {
        Self { open: BinaryHeap::from([Node { bound: f64::NEG_INFINITY, number: 0, range }]), programmes: 0, number: 0 }
    }

    /// No counts cost less, but for those above the cutoffs of searches before.
    pub(in crate::solver) fn bound(&self) -> f64 {
        self.open.peek().map_or(f64::INFINITY, |node| node.bound)
    }

    /// Splits ranges, those with the lowest bound first, until whole counts keep all rows. `most` programmes in all are
    /// solved.
    pub(in crate::solver) fn search(&mut self, model: &Model, rows: &[Row], cutoff: f64, most: usize) -> Reached {
        while let Some(mut node) = self.open.pop() {
            if node.bound >= cutoff || self.programmes >= most {
                let end = if node.bound >= cutoff { Reached::Cutoff } else { Reached::End };
                self.open.push(node);
                return end;
            }
            self.programmes += 1;
            let least = least_cost(model, rows, Limits { min: &node.range.min, max: &node.range.max, cutoff });
            node.bound = node.bound.max(least.bound);
            if node.bound >= cutoff {
                continue;
            }
            narrow(&mut node, &least, cutoff);
            if node.bound > self.bound() {
                self.open.push(node);
                continue;
            }
            let Some((at, last)) = split_at(model, &node.range, &least.counts) else {
                self.open.push(node);
                return Reached::Counts(least.counts.iter().map(|count| count.round() as u32).collect());
            };
            self.split(node, at, last);
        }
        Reached::Cutoff
    }

    fn split(&mut self, node: Node, at: usize, last: u32) {
        let (mut below, mut above) = (node.range.clone(), node.range);
        below.max[at] = last;
        above.min[at] = last + 1;
        for range in [below, above] {
            self.number += 1;
            self.open.push(Node { bound: node.bound, number: self.number, range });
        }
    }
}

/// Leaves out counts that cost at least the cutoff.
fn narrow(node: &mut Node, least: &LeastCost, cutoff: f64) {
    let CountRange { min, max } = &mut node.range;
    for at in 0..min.len() {
        let reduced = least.reduced[at];
        if reduced > 0.0 && min[at] < max[at] {
            let more = ((cutoff - least.bound) / reduced * (1.0 + 1e-9)).ceil();
            if more < f64::from(max[at] - min[at]) {
                max[at] = min[at] + more as u32;
            }
        }
    }
}

/// The type whose fractional count costs most, and the last count of the lower range; `None` if all counts are whole.
fn split_at(model: &Model, range: &CountRange, counts: &[f64]) -> Option<(usize, u32)> {
    let apart = |at: usize| (counts[at] - counts[at].round()).abs();
    let choices = (0..counts.len()).filter(|&at| range.min[at] < range.max[at] && apart(at) > WHOLE);
    let weight = |at: usize| apart(at) * model.types[at].cost.max(f64::MIN_POSITIVE);
    let at = choices.max_by(|&a, &b| weight(a).total_cmp(&weight(b)).then(b.cmp(&a)))?;
    Some((at, (counts[at].floor() as u32).clamp(range.min[at], range.max[at] - 1)))
}
