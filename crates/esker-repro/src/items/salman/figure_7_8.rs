//! Salman 2017, figure 7.8: extra pages written of the two balancers.

use super::cluster::{Found, Scale};
use super::six::Six;
use crate::{Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/figure-7.8",
    title: "Extra pages written of the two balancers",
    source: "Salman, thesis, 2017, section 7.2.1, figure 7.8",
    sections: &["7.2.1"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let six = Six::run(item, context, scale)?;
    Ok(six.extras(("pages written", "pages"), "Figure 7.8: extra pages written", Found::all_pages))
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
