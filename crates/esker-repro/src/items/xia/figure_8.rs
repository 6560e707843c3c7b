//! Xia 2017, figure 8: erases with zero migration, over those of the plain caches.

use super::caches::{Cache, LAYOUTS, POLICIES, Runs, SHARES, SIZES, geometric_mean};
use super::figure_4::{Matrix, NOTE, pairs};
use super::workloads::{STAND_IN, Scale};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-8",
    title: "Erases with zero migration",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 3.4.1, figure 8",
    sections: &["3.4.1"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale::COUNTED)
}

/// Erases of a policy, with and without migration, over those of its plain one with migration.
struct Normalised {
    migrate: Matrix,
    zero_migration: Matrix,
}

impl Normalised {
    /// The pairs of workload and size whose caches all erase.
    fn pairs(&self, share: usize) -> impl Iterator<Item = (usize, usize)> {
        let erase = move |(workload, size): &(usize, usize)| {
            [&self.migrate, &self.zero_migration].iter().all(|matrix| matrix.all_erase(*workload, share, *size))
        };
        pairs().filter(erase)
    }

    /// One pair of workload and size.
    fn at(&self, pair: (usize, usize), share: usize, policy: usize, zero_migration: bool) -> f64 {
        let (workload, size) = pair;
        let matrix = if zero_migration { &self.zero_migration } else { &self.migrate };
        let plain = self.migrate.at(workload, share, size, policy / 2 * 2);
        matrix.at(workload, share, size, policy).erases as f64 / plain.erases as f64
    }

    /// Percent that are saved in the geometric mean.
    fn saved(&self, share: usize, policy: usize, zero_migration: bool) -> f64 {
        100.0 * (1.0 - geometric_mean(self.pairs(share).map(|pair| self.at(pair, share, policy, zero_migration))))
    }

    /// Percent that are saved at most, over all caches of `policies`.
    fn most(&self, policies: [usize; 2]) -> f64 {
        let each = policies.into_iter().flat_map(|policy| {
            (0..SHARES.len())
                .flat_map(move |share| self.pairs(share).map(move |pair| self.at(pair, share, policy, true)))
        });
        100.0 * (1.0 - each.fold(f64::INFINITY, f64::min))
    }
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, scale, 2 * LAYOUTS.len() * Matrix::RUNS);
    let (mut claims, mut figures) = (Vec::new(), Vec::new());
    for (layout, open) in LAYOUTS {
        let cache = |size, share, policy| Cache::new(size, share, policy).open(open);
        let migrate = Matrix::of(&mut runs, cache)?;
        let zero_migration = Matrix::of(&mut runs, |size, share, policy| cache(size, share, policy).zero_migration())?;
        let found = Normalised { migrate, zero_migration };
        claims.extend(judged(item, &found, layout));
        figures.push(figure(&found, layout));
    }
    Ok(ItemOutcome { claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(), figures })
}

fn figure(found: &Normalised, layout: &str) -> Figure {
    let curve = |name: String, policy: usize, zero_migration: bool| {
        let points = SHARES.iter().enumerate();
        let saved = |(share, percent): (usize, &u64)| (*percent as f64, found.saved(share, policy, zero_migration));
        Curve::measured(&name, points.map(saved))
    };
    let plain = [1, 3].map(|policy| curve(POLICIES[policy].to_uppercase(), policy, false));
    let without = (0..POLICIES.len()).map(|policy| curve(POLICIES[policy].to_uppercase() + "-ZM", policy, true));
    Figure {
        title: format!("Xia's figure 8: erases saved against LRU or ARC with migration, {layout}"),
        note: format!("Geometric means over the five workloads and {} sizes. {NOTE}", SIZES.len()),
        x: Axis::linear("over-provisioning, percent"),
        y: Axis::linear("erases saved, percent"),
        curves: plain.into_iter().chain(without).collect(),
    }
}

fn judged(item: &Item, found: &Normalised, layout: &str) -> Vec<Claim> {
    let mut claims = vec![
        Claim::within(
            item.name,
            &format!("{layout}: erases that zero migration saves LRU or ARC at most, percent"),
            72.0,
            found.most([0, 2]),
            1.0 / 6.0,
            "\"up to about 72 %\": the best of 120 bars; a sixth",
        ),
        Claim::within(
            item.name,
            &format!("{layout}: erases that both designs save together at most, percent"),
            90.0,
            found.most([1, 3]),
            1.0 / 9.0,
            "\"nearly 90 %\": the best of 120 bars; a ninth, which is all that is above",
        ),
    ];
    for (policy, name) in [(0, "LRU"), (2, "ARC")] {
        claims.push(Claim::descending(
            item.name,
            &format!("{layout}: {name}: zero migration saves less with more over-provisioning, percent"),
            &[0, 1, 2].map(|share| (["15 %", "25 %", "35 %"][share], found.saved(share, policy, true))),
            "\"the benefit of our zero-migration garbage collection scheme on the lifetime decreases\"",
        ));
    }
    for (share, percent) in SHARES.into_iter().enumerate() {
        let aware = ("flash-aware", found.saved(share, 1, false));
        let zero = ("zero migration", found.saved(share, 0, true));
        let (order, reason) = match share {
            2 => ([aware, zero], "at 35 % \"the flash-aware design can more significantly improve the lifetime\""),
            _ => ([zero, aware], "at 15 and 25 % zero migration \"can gain more benefit\""),
        };
        let claim = format!("{layout}: LRU, OP {percent} %: which design saves more erases alone, percent");
        claims.push(Claim::descending(item.name, &claim, &order, reason));
    }
    for (share, percent) in SHARES.into_iter().enumerate() {
        let alone = found.saved(share, 1, false).max(found.saved(share, 0, true));
        let claim =
            format!("{layout}: LRU, OP {percent} %: both designs save more erases than the better one, percent");
        let order = [("both", found.saved(share, 1, true)), ("the better one", alone)];
        claims.push(Claim::descending(item.name, &claim, &order, "they \"complement each other\""));
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
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (20, 2));
        assert!(outcome.figures.iter().all(|figure| figure.curves.len() == 6));
    }
}
