//! Xia 2017, table 4: what zero migration costs in hits.

use super::caches::{Cache, POLICIES, Runs, SHARES, SIZES, geometric_mean};
use super::figure_4::Matrix;
use super::workloads::{STAND_IN, Scale, WORKLOADS};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/table-4",
    title: "Hit ratios with zero migration",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 3.4.2, table 4",
    sections: &["3.4.2"],
    run,
};

/// Points of the geometric mean of hit ratios that zero migration adds: by size, policy and over-provisioning.
const PUBLISHED: [[[f64; 3]; 4]; 4] = [
    [[-0.3802, -0.0567, -0.033], [-1.7799, -1.5657, -0.6274], [-1.1692, -1.0634, -1.3693], [-1.9931, -1.1394, -0.8574]],
    [[-1.8112, -1.1183, -0.4593], [-2.6855, -2.3323, -1.515], [-3.558, -2.7149, -0.7077], [-3.3951, -2.4358, -1.6056]],
    [[-2.2802, -1.3943, -0.9183], [-2.2093, -1.5644, -1.0069], [-1.0991, -1.11, -1.4651], [-1.116, 2.7429, -0.8184]],
    [[-1.3882, -0.8068, -1.069], [-1.225, -0.5285, -0.5426], [-1.0894, 2.5649, -1.0973], [-0.7603, 0.7748, -0.1445]],
];

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale::COUNTED)
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, scale, 2 * Matrix::RUNS);
    let migrate = Matrix::of(&mut runs, Cache::new)?;
    let without = Matrix::of(&mut runs, |size, share, policy| Cache::new(size, share, policy).zero_migration())?;
    let mean = |found: &Matrix, share: usize, size: usize, policy: usize| {
        geometric_mean((0..WORKLOADS.len()).map(|workload| found.hits(workload, share, size, policy)))
    };
    let added = |share, size, policy| mean(&without, share, size, policy) - mean(&migrate, share, size, policy);
    let cells = || {
        (0..SIZES.len()).flat_map(|size| {
            (0..POLICIES.len()).flat_map(move |policy| (0..SHARES.len()).map(move |share| (size, policy, share)))
        })
    };
    let mut claims: Vec<Claim> = cells()
        .map(|(size, policy, share)| {
            let name = POLICIES[policy].to_uppercase();
            let claim = format!("{name}-ZM-{}G, OP {} %: points", SIZES[size], SHARES[share]);
            let reason = "2 points: \"in most circumstances, the drop is less than 2 % or even 1 %\"";
            let published = PUBLISHED[size][policy][share];
            Claim::within_absolute(item.name, &claim, published, added(share, size, policy), 2.0, reason)
        })
        .collect();
    let worst = cells().map(|(size, policy, share)| -added(share, size, policy)).fold(f64::NEG_INFINITY, f64::max);
    let reason = "\"even in the worst cases, the loss is still below 4 %\"";
    claims.push(Claim::at_most(item.name, "largest loss, points", 4.0, worst, reason));
    Ok(ItemOutcome {
        claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(),
        figures: SIZES.iter().enumerate().map(|(size, gigabytes)| figure(size, *gigabytes, &added)).collect(),
    })
}

fn figure(size: usize, gigabytes: u32, added: &dyn Fn(usize, usize, usize) -> f64) -> Figure {
    let curves = (0..POLICIES.len()).flat_map(|policy| {
        let name = POLICIES[policy].to_uppercase() + "-ZM";
        let at = |share: usize| SHARES[share] as f64;
        let measured = (0..SHARES.len()).map(|share| (at(share), added(share, size, policy)));
        let published = (0..SHARES.len()).map(|share| (at(share), PUBLISHED[size][policy][share]));
        [Curve::published(&name, published), Curve::measured(&name, measured)]
    });
    Figure {
        title: format!("Xia's table 4: hits that zero migration adds, {gigabytes} GB"),
        note: "Differences of geometric means over the five workloads; below zero, hits are lost.".into(),
        x: Axis::linear("over-provisioning, percent"),
        y: Axis::linear("difference, points"),
        curves: curves.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (49, 4));
    }
}
