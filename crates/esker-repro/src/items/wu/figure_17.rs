//! Wu 2011, figure 17: how much of the data the policy puts on flash under the NetApp traces.

use super::figure_16::{PROCESSES, figure, more_on_disks, share};
use super::pair::{POLICIES, Pair, Placed, Runs, STAND_IN, curve};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/figure-17",
    title: "Share of flash under the NetApp traces",
    source: "Wu, dissertation, Texas A&M University, 2011, section III.C.3 (3.3.3), figure 17",
    sections: &["3.3.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, part, POLICIES.len() * PROCESSES.len());
    let found = runs.curves(Pair::new("wu-netapp", Placed::Flash), &POLICIES, &PROCESSES)?;
    let mut claims = Vec::new();
    for policy in &found {
        claims.push(Claim::within_absolute(
            item.name,
            &format!("{}: share of flash at 10 processes, percent", policy.name),
            50.0,
            share(&policy.last()),
            5.0,
            "published: about 50 %, of which slightly less than a half at most processes",
        ));
        claims.push(more_on_disks(item, policy));
    }
    let curves = found.iter().map(|policy| curve(policy, &PROCESSES, share)).collect();
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    Ok(ItemOutcome { claims, figures: vec![figure("Figure 17, NetApp traces: share of flash", curves)] })
}

#[cfg(test)]
mod tests {
    use super::super::pair::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len(), outcome.figures[0].curves.len()), (4, 1, 2));
    }
}
