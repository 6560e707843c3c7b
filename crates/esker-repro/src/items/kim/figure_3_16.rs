//! Kim 2009, figure 3.16: the benefit to DFTL of more memory for the map.

use super::drive::{Setup, simulate};
use super::workload::{FINANCIAL, StandIn, TPC_H};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-3.16",
    title: "DFTL with more memory for the map: hits and response",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 3.5.5, figure 3.16",
    sections: &["3.5.5"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

/// Memory for cached entries, KiB.
const MEMORY_KIB: [u32; 9] = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    // The cache is warm: entries that are missing were evicted, not never seen.
    let workloads = [FINANCIAL.clone(), StandIn { warm_up: 200_000, requests: 100_000, ..TPC_H.clone() }];
    let runs = workloads.len() * (MEMORY_KIB.len() + 1);
    let mut claims = Vec::new();
    let (mut hits, mut responses) = (Vec::new(), Vec::new());
    for (at, workload) in workloads.iter().enumerate() {
        let short = workload.shortened(part);
        let first = at * (MEMORY_KIB.len() + 1);
        let baseline = simulate(item, context, &Setup::new(&short, "Baseline", (first, runs)))?.response_ms();
        let (mut hit, mut response) = (Vec::new(), Vec::new());
        for (index, memory) in MEMORY_KIB.into_iter().enumerate() {
            let cache = format!("{memory}KiB");
            let setup = Setup { cache: &cache, ..Setup::new(&short, "DFTL", (first + 1 + index, runs)) };
            let run = simulate(item, context, &setup)?;
            hit.push((f64::from(memory), run.hit_ratio()));
            response.push((f64::from(memory), run.response_ms() / baseline));
        }
        claims.extend(
            text_claims(item, workload, &hit, &response).into_iter().map(|claim| claim.on_stand_in(workload.stand_in)),
        );
        if at == 0 {
            hits.push(Curve::published(workload.name, [(32.0, 0.63)]));
        }
        hits.push(Curve::measured(workload.name, hit));
        responses.push(Curve::measured(workload.name, response));
    }
    let figure = |title: &str, y: &str, curves| Figure {
        title: title.into(),
        note: "Published: the 63 % of section 3.5.1. Both workloads are stand-ins.".into(),
        x: Axis::logarithmic("memory for cached entries, KiB"),
        y: Axis::linear(y),
        curves,
    };
    let figures = vec![
        figure("Figure 3.16: hits", "share of look-ups that hit", hits),
        figure("Figure 3.16: response", "DFTL's mean response over the Baseline's", responses),
    ];
    Ok(ItemOutcome { claims, figures })
}

fn text_claims(item: &Item, workload: &StandIn, hits: &[(f64, f64)], response: &[(f64, f64)]) -> Vec<Claim> {
    let last = |curve: &[(f64, f64)]| curve.last().map_or(f64::NAN, |point| point.1);
    let name = |what: &str| format!("{}: {what}", workload.name);
    // The smallest memory that holds the working set: with at least 99 % of the hits of the largest.
    let enough = hits.iter().position(|(_, hit)| *hit >= 0.99 * last(hits));
    let beyond = enough.map_or(f64::NAN, |enough| response[enough].1 / last(response));
    vec![
        Claim::within(
            item.name,
            &name("share of hits with the largest memory"),
            1.0,
            last(hits),
            0.01,
            "section 3.5.5: \"reaches 100%\"; a hundredth for first touches",
        ),
        Claim::within(
            item.name,
            &name("response over the Baseline's with the largest memory"),
            1.0,
            last(response),
            0.1,
            "section 3.5.5: \"comparable to Baseline\"; a tenth for map pages that are still cleaned",
        ),
        Claim::within(
            item.name,
            &name("response with the first memory that holds the working set, over that with the largest"),
            1.0,
            beyond,
            0.05,
            "section 3.5.5: beyond the working set \"there is no benefit\"",
        ),
        Claim::none(
            item.name,
            &name("steps of memory at which hits fall or response rises"),
            hits.windows(2).filter(|pair| pair[1].1 < pair[0].1).count() as f64
                + response.windows(2).filter(|pair| pair[1].1 > pair[0].1 * 1.01).count() as f64,
            "section 3.5.5: more memory improves both; a hundredth of response for chance",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::drive::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure, 0.01);
        let curves: usize = outcome.figures.iter().map(|figure| figure.curves.len()).sum();
        assert_eq!((outcome.claims.len(), curves), (8, 5));
    }
}
