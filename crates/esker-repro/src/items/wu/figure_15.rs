//! Wu 2011, figure 15: one flash drive and four disks under dbench.

use super::pair::{Measured, POLICIES, PROCESSES, Pair, Placed, Runs, STAND_IN, figures, moved};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/figure-15",
    title: "One flash drive and four disks under dbench",
    source: "Wu, dissertation, Texas A&M University, 2011, section III.C.3 (3.3.3), figure 15",
    sections: &["3.3.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const SYSTEMS: [(&str, Placed); 5] = [
    POLICIES[0],
    POLICIES[1],
    ("striping over all five", Placed::Stripes),
    ("80/20", Placed::Split(80)),
    ("four disks alone", Placed::Disks),
];

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, part, SYSTEMS.len() * PROCESSES.len() + POLICIES.len());
    let one_disk = Pair::new("wu-dbench", Placed::Flash);
    let found = runs.curves(Pair { disks: 4, ..one_disk }, &SYSTEMS, &PROCESSES)?;
    let with_one = runs.curves(one_disk, &POLICIES, &[10])?;
    let throughput: fn(&Measured) -> f64 = |point| point.mb_per_s;
    let mut claims = Vec::new();
    for (policy, with_one) in found.iter().zip(&with_one) {
        for other in &found[POLICIES.len()..] {
            claims.push(Claim::descending(
                item.name,
                &format!("{}: more throughput than {} at 10 processes", policy.name, other.name),
                &[policy.named(throughput), other.named(throughput)],
                "MB/s; the text gives the order",
            ));
        }
        claims.push(Claim::descending(
            item.name,
            &format!("{}: more throughput with four disks than with one at 10 processes", policy.name),
            &[("four", policy.last().mb_per_s), ("one", with_one.last().mb_per_s)],
            "MB/s; the text gives the order",
        ));
        claims.push(moved(item, policy));
    }
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    Ok(ItemOutcome {
        claims,
        figures: figures("Figure 15, dbench, one flash drive and four disks", &found, &PROCESSES),
    })
}

#[cfg(test)]
mod tests {
    use super::super::pair::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len(), outcome.figures[0].curves.len()), (10, 2, 5));
    }
}
