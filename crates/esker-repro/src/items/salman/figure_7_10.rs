//! Salman 2017, figure 7.10: mean response over time.

use super::cluster::{Case, EPOCHS, Runs, Scale, mean};
use super::hours;
use super::loads::USR;
use super::schemes::SCHEMES;
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/figure-7.10",
    title: "Mean response over 68 hours of usr",
    source: "Salman, thesis, 2017, section 7.2.2, figure 7.10",
    sections: &["7.2.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

/// Hours for which "all the three schemes had the same average response time".
const SAME: usize = 4;

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, SCHEMES.len());
    let mut all = Vec::new();
    for (_, balancer) in SCHEMES {
        let mut hours = runs.run(&Case::of(USR, balancer, scale))?.responses_ms;
        hours.truncate(EPOCHS as usize);
        all.push(hours);
    }
    let early = |scheme: usize| mean(&all[scheme][..SAME.min(all[scheme].len())]);
    let late = |scheme: usize| mean(&all[scheme][SAME.min(all[scheme].len())..]);
    let mut claims = Vec::new();
    for scheme in [1, 2] {
        let name = SCHEMES[scheme].0;
        let claim = format!("mean response in the first four hours, {name} over Baseline");
        let reason =
            "\"for the first four hours, all the three schemes had the same average response time\", within 5 %";
        claims.push(Claim::within(item.name, &claim, 1.0, early(scheme) / early(0), 0.05, reason));
        let values = [("Baseline", late(0)), (name, late(scheme))];
        let claim = format!("mean response after four hours, ms, Baseline above {name}");
        let reason = "\"after that, the average response time of EWO and EDM is shown to be below that of Baseline\"";
        claims.push(Claim::descending(item.name, &claim, &values, reason));
    }
    let values = [("EDM-like", late(1)), ("EWO", late(2))];
    let reason = "\"EWO has the smallest average response time among the three schemes\"";
    claims.push(Claim::descending(
        item.name,
        "mean response after four hours, ms, EDM-like above EWO",
        &values,
        reason,
    ));
    let texts = ["Figure 7.10: mean response over the hours of usr", "An hour is an epoch, a 68th of the run.", "ms"];
    Ok(hours::outcome(context, claims, texts, 1..=EPOCHS, &all))
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (5, 1));
    }
}
