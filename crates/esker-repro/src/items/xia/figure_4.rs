//! Xia 2017, figure 4 and section 2.5.1: hit ratios of plain and of flash-aware caches.

use esker_results::HostManagedCacheReport;

use super::caches::{Cache, POLICIES, Runs, SHARES, SIZES};
use super::workloads::{STAND_IN, Scale, WEB_SEARCH_2, WORKLOADS};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-4",
    title: "Hit ratios of LRU, FLRU, ARC and FARC",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 2.5.1, figure 4; section 2.5.2",
    sections: &["2.5.1", "2.5.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale::COUNTED)
}

/// What each policy of [`POLICIES`] counted for a workload, a share of over-provisioning and a size.
pub(super) struct Matrix {
    reports: Vec<[HostManagedCacheReport; 4]>,
}

impl Matrix {
    /// `of` makes a cache of size, share and policy.
    pub(super) fn of(
        runs: &mut Runs<'_>,
        of: impl Fn(u32, u64, &'static str) -> Cache,
    ) -> Result<Self, ReproduceError> {
        let mut reports = Vec::with_capacity(Self::RUNS / 4);
        for workload in 0..WORKLOADS.len() {
            for share in SHARES {
                for size in SIZES {
                    let mut each = [HostManagedCacheReport::default(); 4];
                    for (policy, report) in POLICIES.into_iter().zip(&mut each) {
                        *report = runs.counted(workload, of(size, share, policy))?;
                    }
                    reports.push(each);
                }
            }
        }
        Ok(Self { reports })
    }

    /// How many runs it takes.
    pub(super) const RUNS: usize = WORKLOADS.len() * SHARES.len() * SIZES.len() * POLICIES.len();

    /// By the places of workload, share, size and policy in their lists.
    pub(super) fn at(&self, workload: usize, share: usize, size: usize, policy: usize) -> &HostManagedCacheReport {
        &self.reports[(workload * SHARES.len() + share) * SIZES.len() + size][policy]
    }

    /// Whether all four caches erase: one whose flash holds all that is read in the run says nothing about erases.
    pub(super) fn all_erase(&self, workload: usize, share: usize, size: usize) -> bool {
        (0..POLICIES.len()).all(|policy| self.at(workload, share, size, policy).erases > 0)
    }

    /// Hit ratio in percent.
    pub(super) fn hits(&self, workload: usize, share: usize, size: usize, policy: usize) -> f64 {
        100.0 * self.at(workload, share, size, policy).hit_ratio
    }
}

/// Every pair of workload and size, by place.
pub(super) fn pairs() -> impl Iterator<Item = (usize, usize)> {
    (0..WORKLOADS.len()).flat_map(|workload| (0..SIZES.len()).map(move |size| (workload, size)))
}

/// A note for figures whose curves the text does not have.
pub(super) const NOTE: &str = "The paper's bars are not in the text; what it says of them is held as claims.";

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let found = Matrix::of(&mut Runs::new(item, context, scale, Matrix::RUNS), Cache::new)?;
    let mut claims = examples(item, &found);
    claims.extend(best(item, &found));
    claims.extend(orders(item, &found));
    let figure = |(place, share): (usize, u64)| Figure {
        title: format!("Xia's figure 4: hit ratios on WebSearch2, over-provisioning {share} %"),
        note: NOTE.into(),
        x: Axis::linear("size of the cache, GB"),
        y: Axis::linear("hit ratio, percent"),
        curves: (0..POLICIES.len()).map(|policy| curve(&found, place, policy)).collect(),
    };
    let figures = SHARES.into_iter().enumerate().map(figure).collect();
    Ok(ItemOutcome { claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(), figures })
}

fn curve(found: &Matrix, share: usize, policy: usize) -> Curve {
    let points = SIZES
        .iter()
        .enumerate()
        .map(|(size, gigabytes)| (f64::from(*gigabytes), found.hits(WEB_SEARCH_2, share, size, policy)));
    Curve::measured(POLICIES[policy], points)
}

/// What the text says of single bars.
fn examples(item: &Item, found: &Matrix) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (policy, published) in [(0, 41.87), (2, 50.4)] {
        let claim = format!("WebSearch2, 3 GB, OP 15 %: hit ratio of {}, percent", POLICIES[policy]);
        let measured = found.hits(WEB_SEARCH_2, 0, 0, policy);
        let reason = "fitted in whole steps of two parameters; the cache begins empty";
        let claim = Claim::within_absolute(item.name, &claim, published, measured, 1.5, reason);
        claims.push(claim.fitted("both parameters of the stand-in"));
    }
    for workload in [0, WEB_SEARCH_2] {
        let claim = format!("{}, 3 GB, OP 15 %: FLRU over LRU, points", WORKLOADS[workload].name);
        let gained = found.hits(workload, 0, 0, 1) - found.hits(workload, 0, 0, 0);
        claims.push(Claim::within_absolute(item.name, &claim, 10.0, gained, 3.0, "\"nearly 10 %\"; 3 points for that"));
    }
    claims
}

/// The largest gains over workloads and sizes.
fn best(item: &Item, found: &Matrix) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (share, published) in [[10.0, 8.0], [19.0, 12.0], [28.0, 21.0]].into_iter().enumerate() {
        for (plain, published) in [0, 2].into_iter().zip(published) {
            let gained = |(workload, size)| {
                found.hits(workload, share, size, plain + 1) - found.hits(workload, share, size, plain)
            };
            let most = pairs().map(gained).fold(f64::NEG_INFINITY, f64::max);
            let claim = format!(
                "OP {} %: largest gain of {} over {}, points",
                SHARES[share],
                POLICIES[plain + 1],
                POLICIES[plain]
            );
            let reason = "a quarter: the best of twenty bars, read off by the author";
            claims.push(Claim::within(item.name, &claim, published, most, 0.25, reason));
        }
    }
    claims
}

fn orders(item: &Item, found: &Matrix) -> Vec<Claim> {
    let least = (0..SHARES.len()).flat_map(|share| pairs().map(move |(workload, size)| (workload, share, size)));
    let least = least
        .map(|(workload, share, size)| found.hits(workload, share, size, 1) - found.hits(workload, share, size, 0));
    let least = least.fold(f64::INFINITY, f64::min);
    let web_search = 0..3;
    let mean = |policy| web_search.clone().map(|workload| found.hits(workload, 0, 0, policy)).sum::<f64>() / 3.0;
    vec![
        Claim::at_least(item.name, "least gain of FLRU over LRU, points", 0.0, least, "its queue is LRU's, and more"),
        Claim::descending(
            item.name,
            "WebSearch1 to 3, 3 GB, OP 15 %: ARC hits more than LRU, percent",
            &[("ARC", mean(2)), ("LRU", mean(0))],
            "\"original ARC gets much better results than LRU\"; it was fitted for WebSearch2",
        ),
        Claim::at_least(
            item.name,
            "WebSearch1 to 3, 3 GB, OP 15 %: hit ratio of FLRU over that of FARC",
            0.95,
            mean(1) / mean(3),
            "\"similar or even better\"; 5 % for \"similar\"",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (13, 3));
        assert!(outcome.figures.iter().all(|figure| figure.curves.len() == 4));
        let flru = outcome.claims.iter().find(|claim| claim.claim.starts_with("least gain")).unwrap();
        assert_eq!(flru.stand_in_holds, Some(true), "{flru:?}");
    }
}
