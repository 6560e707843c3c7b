//! Branch and bound over counts: the range with the lowest bound first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::branching::Rises;
use super::counts::search_counts;
use super::cover::cover;
use super::incumbent::{Best, Incumbent, Tried};
use super::model::{CountRange, Model};
use super::near::{can_be_near, relax_near};
use super::relax::{Goal, Relaxed, RowPrices, relax};
use super::worth::lower_max;
use super::{Observer, Progress, SolverSettings};
use crate::check::Plan;

/// What rounding can leave between the cost of the cheapest plan and a bound, as a share.
const ROUNDING: f64 = 1e-9;
/// Caps on all shares make bounds of small counts better, and steps slower: they are used up to this many pairs of a
/// class and a type.
const PAIRS_CAPPED: usize = 2_000;

/// A range of counts that is still in question.
struct Node {
    bound: f64,
    /// Number in the order of making, so that ties have an order.
    number: usize,
    range: CountRange,
    /// The fractional counts of its relaxation, if there are any.
    counts: Option<Vec<f64>>,
    /// The prices of its relaxation.
    row_prices: RowPrices,
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
        other.bound.total_cmp(&self.bound).then(other.number.cmp(&self.number))
    }
}

/// How a search ended.
pub(super) struct SearchEnd {
    pub(super) best: Option<Incumbent>,
    pub(super) bound: f64,
    pub(super) nodes: usize,
    pub(super) stopped_early: bool,
}

pub(super) struct Search<'a, 'o> {
    model: &'a Model,
    settings: SolverSettings,
    any_plan: bool,
    every_cap: bool,
    observer: &'a mut Observer<'o>,
    best: Best<'a>,
    rises: Rises,
    open: BinaryHeap<Node>,
    /// Number of ranges looked at.
    nodes: usize,
    /// The lowest bound of the ranges that were given up.
    given_up: f64,
    stopped: bool,
}

impl<'a, 'o> Search<'a, 'o> {
    pub(super) fn new(
        model: &'a Model,
        range: CountRange,
        settings: &SolverSettings,
        any_plan: bool,
        observer: &'a mut Observer<'o>,
    ) -> Self {
        Self {
            model,
            settings: *settings,
            any_plan,
            every_cap: model.classes * model.types.len() <= PAIRS_CAPPED,
            observer,
            best: Best {
                model,
                dearest: 2.0 * model.dearest(&range) + 1.0,
                range,
                incumbent: None,
                bound: f64::NEG_INFINITY,
                row_prices: None,
                // A little less, so that the gap that is printed is not above what was asked for.
                gap: (settings.gap * (1.0 - 1e-9)).max(ROUNDING),
                near: !any_plan && model.classes * model.types.len() > PAIRS_CAPPED && can_be_near(model),
                cuts: Vec::new(),
            },
            rises: Rises::new(model.types.len()),
            open: BinaryHeap::new(),
            nodes: 0,
            given_up: f64::INFINITY,
            stopped: false,
        }
    }

    /// Takes a plan of the problem, which keeps all limits, as the best one so far.
    pub(super) fn begin_with(&mut self, plan: &Plan) {
        let (counts, shares) = (plan.counts.clone(), plan.shares.clone());
        self.best.incumbent = Some(Incumbent { cost: self.model.cost(&counts), counts, shares });
    }

    pub(super) fn run(mut self) -> SearchEnd {
        self.root();
        while let Some(node) = self.next() {
            for range in self.split(&node) {
                if !self.stopped {
                    self.look_at(range, &node);
                } else {
                    self.given_up = self.given_up.min(node.bound);
                }
            }
            self.report();
        }
        let open = self.open.iter().map(|node| node.bound).fold(f64::INFINITY, f64::min);
        let bound = open.min(self.given_up).min(self.best.cost());
        SearchEnd { best: self.best.incumbent, bound, nodes: self.nodes, stopped_early: self.stopped }
    }

    /// Ranges whose bound is at least this are of no interest.
    fn cutoff(&self) -> f64 {
        self.best.cutoff()
    }

    /// The next range to split; `None` at the end.
    fn next(&mut self) -> Option<Node> {
        if self.stopped || (self.any_plan && self.best.incumbent.is_some()) {
            return None;
        }
        let node = self.open.pop()?;
        if node.bound >= self.cutoff() {
            // So are all others.
            self.open.push(node);
            return None;
        }
        Some(node)
    }

    fn root(&mut self) {
        let range = self.best.range.clone();
        let mut relaxed = self.relax(&range, None);
        let prices = self.prices_of_rows(&range, &relaxed);
        let cover = prices.as_ref().and_then(|prices| cover(self.model, &range, prices));
        if let Some(cover) = &cover {
            relaxed.bound = relaxed.bound.max(cover.bound);
        }
        self.best.row_prices = Some(relaxed.row_prices.clone());
        self.best.bound = relaxed.bound.min(self.best.cost());
        if let Some(best) = &relaxed.best {
            self.best.round(best);
        }
        if let Some(cover) = &cover {
            for counts in &cover.counts {
                self.best.consider(counts);
            }
        }
        self.best.descend();
        if let Some(prices) = prices.filter(|_| self.every_cap && !self.any_plan && relaxed.bound < self.cutoff()) {
            relaxed.bound = relaxed.bound.max(self.search_counts(&range, &prices));
        }
        self.keep(range, relaxed);
        if !self.stopped {
            self.report();
        }
    }

    /// A bound of the range by counts alone, and better plans.
    fn search_counts(&mut self, range: &CountRange, prices: &RowPrices) -> f64 {
        let Self { best, nodes, stopped, observer, settings, .. } = self;
        search_counts(best, range, prices, &mut |best, bound| {
            *nodes += 1;
            let best_cost = best.incumbent.as_ref().map(|best| best.cost);
            let progress = Progress { nodes: *nodes, best_cost, bound };
            *stopped |= observer(&progress).is_break() || *nodes >= settings.nodes_max;
            !*stopped
        })
    }

    /// Prices of rows of a range. Those of caps are no part of covers and rows of counts: prices of a relaxation
    /// without caps serve them best.
    fn prices_of_rows(&self, range: &CountRange, relaxed: &Relaxed) -> Option<RowPrices> {
        let complete = |prices: &RowPrices| prices.len() == self.model.types.len();
        if !self.every_cap || !complete(&relaxed.row_prices) {
            return complete(&relaxed.row_prices).then(|| relaxed.row_prices.clone());
        }
        let tolerance = (0.1 * self.settings.gap).max(0.1 * ROUNDING);
        let uncapped = relax(self.model, range, Goal { every_cap: false, cutoff: self.cutoff(), tolerance }, None);
        complete(&uncapped.row_prices).then_some(uncapped.row_prices)
    }

    fn relax(&mut self, range: &CountRange, known: Option<&RowPrices>) -> Relaxed {
        self.nodes += 1;
        let tolerance = (0.1 * self.settings.gap).max(0.1 * ROUNDING);
        relax(self.model, range, Goal { every_cap: self.every_cap, cutoff: self.cutoff(), tolerance }, known)
    }

    fn relax_near(&mut self, range: &CountRange, known: &RowPrices) -> Relaxed {
        self.nodes += 1;
        let tolerance = (0.1 * self.settings.gap).max(0.1 * ROUNDING);
        relax_near(self.model, range, Goal { every_cap: false, cutoff: self.cutoff(), tolerance }, known)
    }

    /// Bounds a range, tries whole counts in it, and keeps it if a cheaper plan can be there.
    fn look_at(&mut self, range: CountRange, parent: &Node) {
        if range.min == range.max {
            self.nodes += 1;
            if self.best.consider(&range.min) == Tried::Unclear {
                self.given_up = self.given_up.min(self.model.cost(&range.min));
            }
            return;
        }
        if self.best.cuts.iter().any(|cut| cut.bound(self.model, &range) >= self.cutoff()) {
            self.given_up = self.given_up.min(self.cutoff());
            self.nodes += 1;
            return;
        }
        let mut relaxed = if self.best.near {
            self.relax_near(&range, &parent.row_prices)
        } else {
            self.relax(&range, Some(&parent.row_prices))
        };
        self.best.cuts.extend(relaxed.cut.take());
        if let Some(counts) = &parent.counts {
            let reached = relaxed.bound.min(self.cutoff());
            self.rises.learn(counts, &range, reached - parent.bound);
        }
        // A part of a range has no cheaper plan than the whole.
        relaxed.bound = relaxed.bound.max(parent.bound);
        if let Some(best) = &relaxed.best
            && best.cost < self.cutoff()
        {
            if self.best.near {
                self.best.row_prices = Some(relaxed.row_prices.clone());
            }
            self.best.round(best);
        }
        self.keep(range, relaxed);
    }

    fn keep(&mut self, mut range: CountRange, relaxed: Relaxed) {
        let cutoff = self.cutoff();
        if relaxed.bound >= cutoff {
            self.given_up = self.given_up.min(relaxed.bound);
            return;
        }
        if self.best.incumbent.is_some() {
            let before = range.clone();
            lower_max(self.model, &mut range, &relaxed.row_prices, cutoff);
            if range != before {
                self.given_up = self.given_up.min(cutoff);
            }
        }
        let counts = relaxed.best.map(|best| best.counts);
        self.open.push(Node {
            bound: relaxed.bound,
            number: self.nodes,
            range,
            counts,
            row_prices: relaxed.row_prices,
        });
    }

    fn report(&mut self) {
        let open = self.open.peek().map_or(f64::INFINITY, |node| node.bound);
        let best_cost = self.best.incumbent.as_ref().map(|best| best.cost);
        let bound = open.min(self.given_up).min(self.best.cost());
        let progress = Progress { nodes: self.nodes, best_cost, bound };
        self.stopped |= (self.observer)(&progress).is_break() || self.nodes >= self.settings.nodes_max;
    }

    /// Two ranges that together are the range of a node.
    fn split(&self, node: &Node) -> Vec<CountRange> {
        let Some((at, last)) = self.split_at(node) else { return vec![node.range.clone()] };
        let (mut below, mut above) = (node.range.clone(), node.range.clone());
        below.max[at] = last;
        above.min[at] = last + 1;
        vec![below, above]
    }

    /// The type whose counts are split, and the last count of the lower range.
    fn split_at(&self, node: &Node) -> Option<(usize, u32)> {
        let CountRange { min, max } = &node.range;
        let choices = (0..min.len()).filter(|&at| min[at] < max[at]);
        let Some(counts) = &node.counts else {
            let widest = choices.max_by_key(|&at| max[at] - min[at])?;
            return Some((widest, min[widest] + (max[widest] - min[widest]) / 2));
        };
        let count = |at: usize| counts[at].clamp(f64::from(min[at]), f64::from(max[at]));
        let weight = |at: usize| {
            let apart = (count(at) - count(at).round()).abs();
            if self.best.near && apart > 1e-6 {
                self.rises.score(at, count(at), self.model.types[at].cost)
            } else if apart > 1e-6 {
                apart * self.model.types[at].cost.max(f64::MIN_POSITIVE)
            } else {
                0.0
            }
        };
        let at = choices.max_by(|&a, &b| weight(a).total_cmp(&weight(b)).then(b.cmp(&a)))?;
        let last = if weight(at) > 0.0 { count(at).floor() as u32 } else { count(at).round() as u32 };
        Some((at, last.clamp(min[at], max[at] - 1)))
    }
}
