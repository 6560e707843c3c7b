//! Salman 2017, figure 7.6: pages written to all servers under six loads.

use super::cluster::{Found, Scale};
use super::six::{ALL, BASELINE, EDM, EWO, Quantity, Six};
use crate::{Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/figure-7.6",
    title: "Pages written to all servers under six loads",
    source: "Salman, thesis, 2017, section 7.2.1, figure 7.6",
    sections: &["7.2.1"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut six = Six::run(item, context, scale)?;
    let of: Quantity = Found::all_pages;
    let reason = "\"EDM delivered the highest aggregate write requests among the three schemes\"";
    six.orders(&ALL, &[EDM, BASELINE], "pages written", of, reason);
    six.orders(&ALL, &[EDM, EWO], "pages written", of, reason);
    let title = "Figure 7.6: pages written to all servers";
    let figure = six.bars(title, "pages", &[BASELINE, EDM, EWO], |row, scheme| six.value(row, scheme, of));
    Ok(six.outcome(vec![figure]))
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (12, 1));
    }
}
