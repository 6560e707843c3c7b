//! Wu 2011, figure 14: one flash drive and one disk under the NetApp traces.

use super::pair::{Measured, POLICIES, PROCESSES, Pair, Placed, Runs, STAND_IN, by_littles_law, figures, moved};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/figure-14",
    title: "One flash drive and one disk under the NetApp traces",
    source: "Wu, dissertation, Texas A&M University, 2011, section III.C.3 (3.3.3), figure 14",
    sections: &["3.3.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const SYSTEMS: [(&str, Placed); 5] = [
    POLICIES[0],
    POLICIES[1],
    ("flash alone", Placed::Flash),
    ("striping", Placed::Stripes),
    ("disk alone", Placed::Disks),
];

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, part, SYSTEMS.len() * PROCESSES.len());
    let found = runs.curves(Pair::new("wu-netapp", Placed::Flash), &SYSTEMS, &PROCESSES)?;
    let over = |one: usize, other: usize, of: fn(&Measured) -> f64| of(&found[one].last()) / of(&found[other].last());
    let reason = "a ratio of two runs on stand-ins that meet table V within 5 % each: 10 %";
    let mut claims = Vec::new();
    for policy in 0..POLICIES.len() {
        for (other, throughput, latency) in [(2, 1.38, 0.72), (3, 1.16, 0.83)] {
            let (name, other_name) = (POLICIES[policy].0, SYSTEMS[other].0);
            let within = |what: &str, published: f64, measured: f64| {
                let claim = format!("{name}: {what} over that of {other_name} at 10 processes");
                Claim::within(item.name, &claim, published, measured, 0.1, reason)
            };
            claims.push(within("throughput", throughput, over(policy, other, |point| point.mb_per_s)));
            claims.push(by_littles_law(within("latency", latency, over(policy, other, |point| point.latency_ms))));
        }
        claims.push(moved(item, &found[policy]));
    }
    claims.push(Claim::descending(
        item.name,
        "the disk has more throughput than flash at 10 processes",
        &[found[4].named(|point| point.mb_per_s), found[2].named(|point| point.mb_per_s)],
        "MB/s; both were fitted to table V, which says so, too",
    ));
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    Ok(ItemOutcome { claims, figures: figures("Figure 14, NetApp traces", &found, &PROCESSES) })
}

#[cfg(test)]
mod tests {
    use super::super::pair::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len(), outcome.figures[0].curves.len()), (11, 2, 5));
    }
}
