//! Salman 2017, figure 7.7: extra erases of the two balancers.

use super::cluster::{Found, Scale};
use super::six::{ALL, EDM, EWO, Quantity, Six, name};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/figure-7.7",
    title: "Extra erases of the two balancers",
    source: "Salman, thesis, 2017, section 7.2.1, figure 7.7",
    sections: &["7.2.1"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut six = Six::run(item, context, scale)?;
    let of: Quantity = Found::all_erases;
    for row in ALL {
        let values = [("EDM-like", six.extra(row, EDM, of)), ("EWO", six.extra(row, EWO, of))];
        let claim = format!("{}: extra erases, EDM-like above EWO", name(row));
        let reason = "\"EDM had much larger extra erase cycles than EWO due to extra write overhead\"";
        six.claim(Claim::descending(item.name, &claim, &values, reason));
    }
    // Where migration spares erases, there is nothing of its extra ones to spare.
    let costs = ALL.into_iter().filter(|row| six.extra(*row, EDM, of) > 0.0);
    let spared = costs.map(|row| 1.0 - six.extra(row, EWO, of) / six.extra(row, EDM, of));
    let best = spared.fold(f64::NEG_INFINITY, f64::max);
    let claim = "extra erases that EWO spares against EDM-like, the most of six loads, over EDM-like's";
    let reason = "\"up to 79%\" in section 7.2.1, 70 % in the abstract";
    six.claim(Claim::at_least(item.name, claim, 0.7, best, reason));
    let title = "Figure 7.7: extra erases";
    let figure = six.bars(title, "erases", &[EDM, EWO], |row, scheme| six.extra(row, scheme, of));
    Ok(six.outcome(vec![figure]))
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (7, 1));
    }
}
