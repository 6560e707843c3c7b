//! Xia 2017, figure 5: geometric means of hit ratios over the workloads.

use super::caches::{Cache, POLICIES, Runs, SHARES, SIZES, geometric_mean};
use super::figure_4::{Matrix, NOTE};
use super::workloads::{STAND_IN, Scale, WORKLOADS};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-5",
    title: "Geometric means of hit ratios, by over-provisioning and by size",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 2.5.1, figure 5",
    sections: &["2.5.1"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale::COUNTED)
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let found = Matrix::of(&mut Runs::new(item, context, scale, Matrix::RUNS), Cache::new)?;
    let mean = |share: usize, size: usize, policy: usize| {
        geometric_mean((0..WORKLOADS.len()).map(|workload| found.hits(workload, share, size, policy)))
    };
    let gain = |share, size, plain| mean(share, size, plain + 1) - mean(share, size, plain);
    let mut claims = Vec::new();
    for (share, published) in [7.3, 13.9, 20.3].into_iter().enumerate() {
        let claim = format!("3 GB, OP {} %: FLRU over LRU, points of the geometric mean", SHARES[share]);
        let reason = "a quarter: four of the five workloads are given the parameters of the fifth";
        claims.push(Claim::within(item.name, &claim, published, gain(share, 0, 0), 0.25, reason));
    }
    for (share, percent) in SHARES.into_iter().enumerate() {
        claims.push(Claim::descending(
            item.name,
            &format!("3 GB, OP {percent} %: FLRU gains more over LRU than FARC over ARC, points"),
            &[("FLRU", gain(share, 0, 0)), ("FARC", gain(share, 0, 2))],
            "\"LRU can acquire more benefits from our flash-aware design\"",
        ));
    }
    claims.push(Claim::descending(
        item.name,
        "OP 15 %: gain from 3 to 6 GB, points",
        &[("LRU", mean(0, 3, 0) - mean(0, 0, 0)), ("ARC", mean(0, 3, 2) - mean(0, 0, 2))],
        "\"LRU can get more benefit from the increase of cache capacity\"",
    ));
    claims.push(Claim::descending(
        item.name,
        "OP 15 %: FLRU gains most in small caches, points",
        &[("3 GB", gain(0, 0, 0)), ("6 GB", gain(0, 3, 0))],
        "with 15 % and 6 GB \"the benefit from FLRU and FARC is limited\"",
    ));
    let gains = [(0, "FLRU over LRU"), (2, "FARC over ARC")].map(|(plain, name)| {
        let points = SHARES.iter().enumerate().map(|(share, percent)| (*percent as f64, gain(share, 0, plain)));
        Curve::measured(name, points)
    });
    let sizes = (0..POLICIES.len()).map(|policy| {
        let points = SIZES.iter().enumerate();
        Curve::measured(
            POLICIES[policy],
            points.map(|(size, gigabytes)| (f64::from(*gigabytes), mean(0, size, policy))),
        )
    });
    let figure = |title: &str, x: &str, y: &str, curves: Vec<Curve>| Figure {
        title: title.into(),
        note: NOTE.into(),
        x: Axis::linear(x),
        y: Axis::linear(y),
        curves,
    };
    let figures = vec![
        figure("Xia's figure 5(a), 3 GB", "over-provisioning, percent", "gain, points", gains.into()),
        figure("Xia's figure 5(b), OP 15 %", "size of the cache, GB", "hit ratio, percent", sizes.collect()),
    ];
    Ok(ItemOutcome { claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(), figures })
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (8, 2));
    }
}
