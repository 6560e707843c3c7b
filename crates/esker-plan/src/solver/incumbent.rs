//! The best plan so far, and how better ones are looked for near it.

use super::model::{CountRange, Model};
use super::near::place_near;
use super::relax::{Cut, Effort, Fit, FractionalPlan, RowPrices, place};

/// Where placements take long: how many counts next to the best ones are tried.
const TRIED_NEAR: usize = 20;

/// Counts into which all classes fit.
pub(super) struct Incumbent {
    pub(super) cost: f64,
    pub(super) counts: Vec<u32>,
    pub(super) shares: Vec<Vec<f64>>,
}

/// Whether counts made a better plan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tried {
    Better,
    NoBetter,
    /// Rounding does not let it be told whether the classes fit.
    Unclear,
}

/// The best plan, among counts of a range.
pub(super) struct Best<'a> {
    pub(super) model: &'a Model,
    pub(super) range: CountRange,
    pub(super) incumbent: Option<Incumbent>,
    /// No plan is cheaper than this.
    pub(super) bound: f64,
    /// The share of its cost by which the best plan may be too dear.
    pub(super) gap: f64,
    /// Prices of the range of all counts, where placements begin.
    pub(super) row_prices: Option<RowPrices>,
    /// More than any counts cost: only ranges without a plan have such a bound.
    pub(super) dearest: f64,
    /// Whether placements and relaxations may begin with the cheapest types of each class.
    pub(super) near: bool,
    /// Proofs that counts are too small, found on the way.
    pub(super) cuts: Vec<Cut>,
}

impl Best<'_> {
    pub(super) fn cost(&self) -> f64 {
        self.incumbent.as_ref().map_or(f64::INFINITY, |best| best.cost)
    }

    /// Plans that cost this much are of no interest.
    pub(super) fn cutoff(&self) -> f64 {
        let cost = self.cost();
        if cost.is_infinite() { self.dearest } else { cost - self.gap * cost.abs() }
    }

    /// Keeps the counts if they are cheaper than the best ones and all classes fit into them.
    pub(super) fn consider(&mut self, counts: &[u32]) -> Tried {
        if !self.would_be_better(counts) || self.cuts.iter().any(|cut| cut.excludes(counts)) {
            return Tried::NoBetter;
        }
        let near = self.row_prices.as_ref().filter(|_| self.near).map(|prices| place_near(self.model, counts, prices));
        let fit = match near {
            None | Some(Fit::Unclear) => place(self.model, counts, Effort::AnyThatFits, self.row_prices.as_ref()),
            Some(fit) => fit,
        };
        match fit {
            Fit::Fits(shares) => {
                self.keep(counts.to_vec(), shares);
                Tried::Better
            }
            Fit::TooSmall(cut) => {
                self.cuts.extend(cut);
                Tried::NoBetter
            }
            Fit::Unclear => Tried::Unclear,
        }
    }

    fn keep(&mut self, counts: Vec<u32>, shares: Vec<Vec<f64>>) {
        self.incumbent = Some(Incumbent { cost: self.model.cost(&counts), counts, shares });
    }

    /// Whether the counts are in the range, keep all totals, and are cheaper than the best ones.
    fn would_be_better(&self, counts: &[u32]) -> bool {
        let cost = self.model.cost(counts);
        let mut within = counts.iter().zip(self.range.min.iter().zip(&self.range.max));
        (self.bound..self.cost() * (1.0 - 1e-12)).contains(&cost)
            && within.all(|(count, (min, max))| (min..=max).contains(&count))
            && self.model.keeps_totals(counts)
    }

    /// Rounds fractional counts up, where all classes fit as they are, then tries to do with less.
    pub(super) fn round(&mut self, fractional: &FractionalPlan) {
        let counts = &fractional.counts;
        // Not those that are whole but for rounding.
        let nearly: Vec<u32> = counts.iter().map(|count| (count - 1e-7).ceil().max(0.0) as u32).collect();
        let nearest: Vec<u32> = counts.iter().map(|count| count.round() as u32).collect();
        let up: Vec<u32> = counts.iter().map(|count| count.ceil() as u32).collect();
        let mut better = false;
        if fractional.shares.is_empty() {
            better |= self.consider(&up) == Tried::Better;
        } else if self.would_be_better(&up) {
            self.keep(up.clone(), fractional.shares.clone());
            better = true;
        }
        // Without types of which there is only a scrap, where the others' rounding leaves room for it.
        let scrap = |count: &f64| if *count < 0.5 { 0 } else { count.ceil() as u32 };
        let no_scraps: Vec<u32> = counts.iter().map(scrap).collect();
        better |= no_scraps != up && self.consider(&no_scraps) == Tried::Better;
        better |= nearly != up && self.consider(&nearly) == Tried::Better;
        better |= nearest != nearly && self.consider(&nearest) == Tried::Better;
        if better {
            self.descend();
        }
    }

    /// Tries one device less of each type, and one device in place of another or of two others, until nothing is
    /// cheaper.
    pub(super) fn descend(&mut self) {
        while let Some(best) = &self.incumbent {
            if best.cost - self.bound <= self.gap * best.cost {
                return;
            }
            let mut moves = self.moves(&best.counts.clone());
            if self.near {
                moves.truncate(TRIED_NEAR);
            }
            if !moves.iter().any(|counts| self.consider(counts) == Tried::Better) {
                return;
            }
        }
    }

    /// Cheaper counts next to these: those that save most first.
    fn moves(&self, counts: &[u32]) -> Vec<Vec<u32>> {
        let types = 0..counts.len();
        let mut moves = Vec::new();
        for less in types.clone().filter(|&at| counts[at] > self.range.min[at]) {
            let mut fewer = counts.to_vec();
            fewer[less] -= 1;
            for more in types.clone().filter(|&at| at != less && counts[at] < self.range.max[at]) {
                if self.model.types[more].cost < self.model.types[less].cost {
                    let mut other = fewer.clone();
                    other[more] += 1;
                    moves.push((self.model.cost(&other), other));
                }
            }
            for other in types.clone().filter(|&at| at >= less && fewer[at] > self.range.min[at]) {
                let cost = self.model.types[less].cost + self.model.types[other].cost;
                for more in types.clone().filter(|&at| at != less && at != other && counts[at] < self.range.max[at]) {
                    if self.model.types[more].cost < cost {
                        let mut one_for_two = fewer.clone();
                        one_for_two[other] -= 1;
                        one_for_two[more] += 1;
                        moves.push((self.model.cost(&one_for_two), one_for_two));
                    }
                }
            }
            moves.push((self.model.cost(&fewer), fewer));
        }
        moves.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        moves.into_iter().map(|(_, counts)| counts).collect()
    }
}
