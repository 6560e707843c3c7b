//! Xia 2017, figure 23: mean response of the three schemes.

use super::volumes::{STAND_IN, VOLUMES, VolumeScale};
use super::write_modes::{COMPARED, LOAD, Measured, State, all, bars, matrix};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-23",
    title: "Mean response, normal, AGCR and differentiated",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 5.4.2.2, figure 23",
    sections: &["5.4.2.2"],
    run,
};

/// By how many percent the mean response is shorter than the normal one: of the paper's scheme, and of AGCR.
const PUBLISHED: [(usize, f64, f64); 3] = [(0, 52.0, 45.0), (1, 47.0, 30.0), (2, 32.0, 2.0)];

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, VolumeScale::COMPARED)
}

pub(super) fn measure(item: &Item, context: &Context<'_>, scale: VolumeScale) -> Result<ItemOutcome, ReproduceError> {
    let found = matrix(item, context, State::full(scale), (&all(), &COMPARED), LOAD)?;
    let mut claims = claims(item, &found);
    // How much the assumed load matters.
    for load in [0.1, 0.3] {
        let runs = matrix(item, context, State::full(scale), (&[1], &COMPARED), load)?;
        let claim = format!("hm0: shorter, percent, where the normal drive is busy for {load} of the time");
        claims.push(Claim::beside(item.name, &claim, shorter(&runs[0], 2), "the load is assumed: 0.5 elsewhere"));
    }
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    let figure = bars("Xia's figure 23: mean response", &found, |run| run.all_us);
    Ok(ItemOutcome { claims, figures: vec![figure] })
}

/// By how many percent the mean response under a scheme is shorter than the normal one.
fn shorter(runs: &[Measured], scheme: usize) -> f64 {
    100.0 * (1.0 - runs[scheme].all_us / runs[0].all_us)
}

/// What the text says of the figure, of the runs of all volumes under [`COMPARED`].
pub(super) fn claims(item: &Item, found: &[Vec<Measured>]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (volume, own, agcr) in PUBLISHED {
        let (name, runs) = (VOLUMES[volume].name, &found[volume]);
        for (scheme, index, published) in [("differentiated", 2, own), ("AGCR", 1, agcr)] {
            let claim = format!("{name}: mean response shorter than normal, percent, {scheme}");
            let reason = "10 points: the paper's bars, from the text; its rates of requests are not published";
            claims.push(Claim::percent(item.name, &claim, published, shorter(runs, index), reason));
        }
        let values = [("AGCR", runs[1].all_us), ("differentiated", runs[2].all_us)];
        let reason = "\"our workload-aware design can show remarkable advantage over AGCR\"";
        claims.push(Claim::descending(item.name, &format!("{name}: mean response, us"), &values, reason));
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::super::tests::few;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = few(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (11, 1));
    }
}
