//! The search among counts alone: which counts can be large enough is said by rows, each of which is a proof by prices.
//!
//! At any prices of resources, each class has a price: what it costs on the type that is cheapest for it. Devices are
//! worth the prices of what they have, and those of a plan are worth at least all classes (Benders 1962). Such a row
//! has one unknown for each type, however many classes there are. Whole counts need not be worth more than what is
//! missing (Crowder, Johnson and Padberg 1983), so that half a device counts for half of what is needed only, however
//! large it is. Counts that keep all rows and are too small nevertheless give one more row.

mod programme;
mod rows;
mod tree;

use super::incumbent::{Best, Tried};
use super::model::CountRange;
use super::relax::RowPrices;
use rows::Rows;
use tree::{CountTree, Reached};

/// Counts that are tried at most.
const TRIES_MAX: usize = 300;
/// Programmes that are solved at most.
const PROGRAMMES_MAX: usize = 20_000;

/// Tries the cheapest counts that keep all rows, one after the other: each is a plan, or gives a row. Returns a bound
/// of the plans in the range, but for those that cost at least the cutoff. `go_on` is asked after each try.
pub(super) fn search_counts(
    best: &mut Best<'_>,
    range: &CountRange,
    prices: &RowPrices,
    go_on: &mut dyn FnMut(&Best<'_>, f64) -> bool,
) -> f64 {
    let usable = range.max.iter().map(|&max| max > 0).collect();
    let Some(mut rows) = Rows::new(best.model, usable, prices) else { return f64::NEG_INFINITY };
    let mut tree = CountTree::new(range.clone());
    let before = std::mem::take(&mut best.cuts);
    // Counts below the bound are no plan, but what is wrong with them is worth knowing.
    let bound = std::mem::replace(&mut best.bound, f64::NEG_INFINITY);
    for _ in 0..TRIES_MAX {
        let reached = tree.search(best.model, &rows.all, best.cutoff(), PROGRAMMES_MAX);
        let Reached::Counts(counts) = reached else { break };
        match best.consider(&counts) {
            Tried::Better => {}
            Tried::NoBetter if best.cuts.last().is_some_and(|cut| rows.add(best.model, &counts, cut)) => {}
            Tried::NoBetter | Tried::Unclear => break,
        }
        if !go_on(best, tree.bound().max(bound).min(best.cost())) {
            break;
        }
    }
    best.cuts.extend(before);
    best.bound = bound;
    tree.bound().min(best.cutoff())
}
