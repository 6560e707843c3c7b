//! Xia 2017, figure 26: erases.

use super::volumes::{STAND_IN, VOLUMES, VolumeScale};
use super::write_modes::{COMPARED, LOAD, Measured, State, all, bars, matrix};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-26",
    title: "Erases, normal, AGCR and differentiated",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 5.4.2.3, figure 26",
    sections: &["5.4.2.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, VolumeScale::COMPARED)
}

pub(super) fn measure(item: &Item, context: &Context<'_>, scale: VolumeScale) -> Result<ItemOutcome, ReproduceError> {
    let found = matrix(item, context, State::full(scale), (&all(), &COMPARED), LOAD)?;
    let claims = claims(item, &found).into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    let figure = bars("Xia's figure 26: erases", &found, |run| run.flash.erases.max(1) as f64);
    Ok(ItemOutcome { claims, figures: vec![figure] })
}

/// What the text says of the figure, of the runs of all volumes under [`COMPARED`].
pub(super) fn claims(item: &Item, found: &[Vec<Measured>]) -> Vec<Claim> {
    let more = |runs: &[Measured], scheme: usize| {
        100.0 * (runs[scheme].flash.erases as f64 / runs[0].flash.erases.max(1) as f64 - 1.0)
    };
    let mut claims = Vec::new();
    for (volume, runs) in VOLUMES.iter().zip(found) {
        let claim = format!("{}: more erases than normal, percent", volume.name);
        let reason = "2: \"for all of the workloads, the increased erase ratios ... are within 2 %\"";
        claims.push(Claim::at_most(item.name, &claim, 2.0, more(runs, 2), reason));
    }
    let mean = |scheme: usize| found.iter().map(|runs| more(runs, scheme)).sum::<f64>() / found.len() as f64;
    let reason = "\"compared with AGCR, our workload-aware scheme introduces less ... extra erase operations\"";
    let values = [("AGCR", mean(1)), ("differentiated", mean(2))];
    claims.push(Claim::descending(item.name, "more erases than normal, percent, mean", &values, reason));
    claims
}

#[cfg(test)]
mod tests {
    use super::super::tests::few;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = few(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (16, 1));
    }
}
