//! Salman 2017, figure 7.5: erases of all servers under six loads.

use super::cluster::{Found, Scale};
use super::schemes::SCHEMES;
use super::six::{ALL, BASELINE, BETTER, COMPARABLE, EDM, EWO, Quantity, Six, name};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/figure-7.5",
    title: "Erases of all servers under six loads",
    source: "Salman, thesis, 2017, section 7.2.1, figure 7.5",
    sections: &["7.2.1"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut six = Six::run(item, context, scale)?;
    let of: Quantity = Found::all_erases;
    for scheme in [BASELINE, EDM, EWO] {
        let least = (0..5).map(|row| six.value(row, scheme, of)).fold(f64::INFINITY, f64::min);
        let claim = format!("{}: erases under mds over the least of the other loads", SCHEMES[scheme].0);
        let reason = "\"mds is relatively lower than that when replaying others\": it writes least";
        six.claim(Claim::at_most(item.name, &claim, 1.0, six.value(5, scheme, of) / least, reason));
    }
    let most = ALL.into_iter().map(|row| six.ratio(row, (EDM, BASELINE), of)).fold(0.0, f64::max);
    let claim = "EDM-like: erases beyond Baseline's, the most of six loads, over all of Baseline's";
    let reason = "\"increased by up to 14%\"; a difference of 10 points";
    six.claim(Claim::share(item.name, claim, 0.14, most - 1.0, reason));
    for row in COMPARABLE {
        let claim = format!("{}: erases, EWO over Baseline", name(row));
        let reason = "\"EWO reduced aggregate erase count under two workloads (src2 and stg)\"";
        six.claim(Claim::at_most(item.name, &claim, 1.0, six.ratio(row, (EWO, BASELINE), of), reason));
    }
    for row in BETTER {
        let claim = format!("{}: erases, EWO over Baseline", name(row));
        let reason = "\"slightly increased in the rest cases\", which was taken for 14 % at most, EDM's limit";
        six.claim(Claim::at_most(item.name, &claim, 1.14, six.ratio(row, (EWO, BASELINE), of), reason));
    }
    let title = "Figure 7.5: erases of all servers";
    let figure = six.bars(title, "erases", &[BASELINE, EDM, EWO], |row, scheme| six.value(row, scheme, of));
    Ok(six.outcome(vec![figure]))
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (10, 1));
    }
}
