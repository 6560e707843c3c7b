//! Salman 2017, figure 7.12: an HPC load on more and more servers.

use super::cluster::{Case, Runs, Scale};
use super::ior::STAND_IN as IOR;
use super::loads::HPC;
use super::schemes::SCHEMES;
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/figure-7.12",
    title: "Standard deviation of erases under an HPC load on 50, 100 and 200 servers",
    source: "Salman, thesis, 2017, section 7.2.4, figure 7.12",
    sections: &["7.2.4"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

/// Counts of servers: "by increasing the number from 50 to 200".
const SERVERS: [u32; 3] = [50, 100, 200];

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, SCHEMES.len() * SERVERS.len());
    let mut all = Vec::new();
    for (_, balancer) in SCHEMES {
        let found = SERVERS.map(|servers| runs.run(&Case::of(HPC, balancer, scale).on_servers(servers)));
        all.push(found.into_iter().map(|found| Ok(found?.erases_sd())).collect::<Result<Vec<f64>, ReproduceError>>()?);
    }
    let mut claims = Vec::new();
    for (at, servers) in SERVERS.into_iter().enumerate() {
        let ratio = all[2][at] / all[0][at];
        let claim = format!("{servers} servers: sd of erases, EWO over Baseline");
        let reason = "\"EWO scales efficiently\", which was taken for half of Baseline's at most";
        claims.push(Claim::at_most(item.name, &claim, 0.5, ratio, reason));
        let claim = format!("{servers} servers: sd of erases, EWO over EDM-like");
        claims.push(Claim::beside(item.name, &claim, all[2][at] / all[1][at], "the text has no value"));
    }
    let share = |at: usize| all[2][at] / all[0][at];
    let values = [("50", share(0)), ("100", share(1)), ("200", share(2))];
    let reason = "\"as the number of nodes are increased, EWO seems to perform better\"";
    let claim = "sd of erases, EWO over Baseline, falls with the number of servers";
    claims.push(Claim::descending(item.name, claim, &values, reason));
    let curve = |scheme: usize| {
        Curve::measured(SCHEMES[scheme].0, SERVERS.map(f64::from).into_iter().zip(all[scheme].iter().copied()))
    };
    let figure = Figure {
        title: "Figure 7.12: standard deviation of erases under an HPC load".into(),
        note: "The load is the same on all clusters; servers are as full.".into(),
        x: Axis::linear("servers"),
        y: Axis::linear("erases"),
        curves: (0..SCHEMES.len()).map(curve).collect(),
    };
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(IOR)).collect();
    Ok(ItemOutcome { claims, figures: vec![figure] })
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
