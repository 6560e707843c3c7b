//! Wu 2011, figure 13: one flash drive and one disk under dbench.

use super::pair::{POLICIES, PROCESSES, Pair, Placed, Runs, STAND_IN, figures, moved};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/figure-13",
    title: "One flash drive and one disk under dbench",
    source: "Wu, dissertation, Texas A&M University, 2011, section III.C.3 (3.3.3), figure 13",
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
    ("disk alone", Placed::Disks),
    ("80/20", Placed::Split(80)),
];

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, part, SYSTEMS.len() * PROCESSES.len());
    let found = runs.curves(Pair::new("wu-dbench", Placed::Flash), &SYSTEMS, &PROCESSES)?;
    let mut claims = Vec::new();
    let throughput = |system: usize| found[system].named(|point| point.mb_per_s);
    for policy in 0..POLICIES.len() {
        let name = POLICIES[policy].0;
        claims.push(Claim::at_least(
            item.name,
            &format!("{name}: throughput over that of 80/20 at 10 processes"),
            0.95,
            throughput(policy).1 / throughput(4).1,
            "\"nearly as well as or better than\" was taken for 5 %",
        ));
        for alone in [2, 3] {
            claims.push(Claim::descending(
                item.name,
                &format!("{name}: more throughput than {} at 10 processes", throughput(alone).0),
                &[throughput(policy), throughput(alone)],
                "MB/s; the text says so of higher numbers of processes",
            ));
        }
        claims.push(moved(item, &found[policy]));
    }
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    Ok(ItemOutcome { claims, figures: figures("Figure 13, dbench", &found, &PROCESSES) })
}

#[cfg(test)]
mod tests {
    use super::super::pair::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len(), outcome.figures[0].curves.len()), (8, 2, 5));
    }
}
