//! Xia 2017, figure 9: mean response times, over those of the plain caches.

use super::caches::{Cache, LAYOUTS, POLICIES, Runs, Timed, geometric_mean};
use super::figure_4::NOTE;
use super::workloads::{STAND_IN, Scale, WORKLOADS};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-9",
    title: "Mean response times of flash-aware caches and zero migration",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 3.4.2, figure 9",
    sections: &["3.4.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale::TIMED)
}

/// Sizes in GB and over-provisioning in percent for which the text has values. It takes all of table 2.
pub(super) const CELLS: [(u32, u64); 3] = [(3, 15), (3, 35), (6, 35)];

/// Geometric means over the workloads in one cell and layout, by policy, first with migration, then without.
pub(super) type Means = [[Timed; 4]; 2];

/// How many runs [`means`] takes for each layout.
pub(super) const RUNS: usize = CELLS.len() * 2 * POLICIES.len() * WORKLOADS.len();

/// The means of each of [`CELLS`] with `layout`.
pub(super) fn means(runs: &mut Runs<'_>, layout: usize) -> Result<Vec<Means>, ReproduceError> {
    let mut cells = Vec::new();
    for (size, share) in CELLS {
        let mut found = [[Vec::new(), Vec::new(), Vec::new(), Vec::new()], Default::default()];
        for workload in 0..WORKLOADS.len() {
            for (policy, name) in POLICIES.into_iter().enumerate() {
                let cache = Cache::new(size, share, name).open(LAYOUTS[layout].1);
                found[0][policy].push(runs.timed(workload, cache)?);
                found[1][policy].push(runs.timed(workload, cache.zero_migration())?);
            }
        }
        cells.push(found.map(|policies| policies.map(|all: Vec<Timed>| mean(&all))));
    }
    Ok(cells)
}

fn mean(all: &[Timed]) -> Timed {
    Timed {
        mean_ms: geometric_mean(all.iter().map(|timed| timed.mean_ms)),
        deviation_ms: geometric_mean(all.iter().map(|timed| timed.deviation_ms)),
    }
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, scale, LAYOUTS.len() * RUNS);
    let (mut claims, mut figures) = (Vec::new(), Vec::new());
    for (layout, (name, _)) in LAYOUTS.into_iter().enumerate() {
        let cells = means(&mut runs, layout)?;
        claims.extend(judged(item, &cells, name));
        figures.push(figure(&cells, name));
    }
    Ok(ItemOutcome { claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(), figures })
}

/// Percent by which a cache answers faster than LRU or ARC with migration.
fn faster(cell: &Means, policy: usize, zero_migration: bool) -> f64 {
    100.0 * (1.0 - cell[usize::from(zero_migration)][policy].mean_ms / cell[0][policy / 2 * 2].mean_ms)
}

/// The caches that figure 9 compares with the plain ones.
const CACHES: [(&str, usize, bool); 6] = [
    ("FLRU", 1, false),
    ("LRU-ZM", 0, true),
    ("FLRU-ZM", 1, true),
    ("FARC", 3, false),
    ("ARC-ZM", 2, true),
    ("FARC-ZM", 3, true),
];

fn figure(cells: &[Means], layout: &str) -> Figure {
    let names: Vec<String> = CELLS.iter().map(|(size, share)| format!("{size} GB, OP {share} %")).collect();
    let curve = |(name, policy, zero): (&str, usize, bool)| {
        let points =
            cells.iter().enumerate().map(|(place, cell)| (place as f64, 1.0 - faster(cell, policy, zero) / 100.0));
        Curve::measured(name, points)
    };
    Figure {
        title: format!("Xia's figure 9: mean response over that of LRU or ARC with migration, {layout}"),
        note: format!("Geometric means over the five workloads, for the caches with values in the text. {NOTE}"),
        x: Axis::categories("cache", names.iter().map(String::as_str)),
        y: Axis::linear("mean response, normalised"),
        curves: CACHES.into_iter().map(curve).collect(),
    }
}

fn judged(item: &Item, cells: &[Means], layout: &str) -> Vec<Claim> {
    let reason = "5 points: four of the five workloads are assumed, and no rate is given";
    let within = |place: usize, policy: usize, zero: bool, published: f64| {
        let (size, share) = CELLS[place];
        let (name, ..) = CACHES.into_iter().find(|(_, of, zm)| (*of, *zm) == (policy, zero)).expect("it is compared");
        let claim = format!("{layout}: {size} GB, OP {share} %: {name} answers faster, percent");
        Claim::within_absolute(item.name, &claim, published, faster(&cells[place], policy, zero), 5.0, reason)
    };
    let mut claims = vec![
        within(0, 1, false, 11.0),
        within(0, 3, false, 14.0),
        within(0, 0, true, 14.0),
        within(0, 2, true, 30.0),
        within(2, 1, false, 40.0),
        within(2, 3, false, 40.0),
    ];
    for policy in [0, 2] {
        let slower = -faster(&cells[2], policy, true);
        let claim = format!("{layout}: 6 GB, OP 35 %: {}-ZM answers slower, percent", POLICIES[policy].to_uppercase());
        claims.push(Claim::at_most(item.name, &claim, 2.0, slower, "\"by up to 2 %\""));
    }
    for (cell, (size, share)) in cells.iter().zip(CELLS) {
        for policy in [1, 3] {
            let name = POLICIES[policy].to_uppercase();
            let claim = format!("{layout}: {size} GB, OP {share} %: {name}-ZM answers faster, percent");
            let reason = "\"always ... from about 20 % to 40 %\": ten to each side of 30";
            claims.push(Claim::within_absolute(item.name, &claim, 30.0, faster(cell, policy, true), 10.0, reason));
        }
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (28, 2));
        assert!(outcome.figures.iter().all(|figure| figure.curves.len() == 6));
    }
}
