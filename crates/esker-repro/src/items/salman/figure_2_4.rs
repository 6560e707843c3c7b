//! Salman 2017, figure 2.4: how uneven erases are under an HPC load.

use super::cluster::{Case, Runs, Scale};
use super::figure_2_3::{by_server, figure, most_over_mean};
use super::ior::STAND_IN as IOR;
use super::loads::HPC;
use super::schemes::BASELINE;
use crate::{Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/figure-2.4",
    title: "Erases by server under an HPC load",
    source: "Salman, thesis, 2017, section 2.1.3, figure 2.4",
    sections: &["2.1.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let found = Runs::new(item, context, 1).run(&Case::of(HPC, BASELINE, scale))?;
    let curves = vec![by_server("hpc", &found)];
    let claims = vec![most_over_mean(item, "hpc", &found).on_stand_in(IOR)];
    Ok(ItemOutcome { claims, figures: vec![figure("Figure 2.4: erases by server without balancing", curves)] })
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (1, 1));
    }
}
