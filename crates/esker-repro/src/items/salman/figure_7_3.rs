//! Salman 2017, figure 7.3: the standard deviation of erases over time.

use super::cluster::{Case, EPOCHS, Runs, Scale};
use super::hours;
use super::loads::USR;
use super::schemes::SCHEMES;
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/figure-7.3",
    title: "Standard deviation of erases over 68 hours of usr",
    source: "Salman, thesis, 2017, section 7.2, figure 7.3",
    sections: &["7.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

/// Epochs at which claims look: quarters of the run. The timer of the last one may come after the last request.
const QUARTERS: [usize; 4] = [17, 34, 51, 67];

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, SCHEMES.len());
    let mut all = Vec::new();
    for (_, balancer) in SCHEMES {
        let found = runs.run(&Case::of(USR, balancer, scale))?;
        all.push(found.report.epochs.iter().map(|epoch| epoch.erases_sd).collect::<Vec<f64>>());
    }
    let at = |scheme: usize, epoch: usize| all[scheme].get(epoch - 1).copied().unwrap_or(f64::NAN);
    let [q1, q2, q3, end] = QUARTERS;
    let values = [("67 h", at(0, end)), ("51 h", at(0, q3)), ("34 h", at(0, q2)), ("17 h", at(0, q1))];
    let reason = "\"for baseline, the standard deviation grows with time\"";
    let mut claims = vec![Claim::descending(item.name, "Baseline: sd of erases grows", &values, reason)];
    for scheme in [1, 2] {
        let later = all[scheme].iter().skip(q1).copied().fold(0.0, f64::max);
        let claim = format!("{}: highest sd of erases after 17 h over Baseline's at the end", SCHEMES[scheme].0);
        let reason = "\"remain relatively lower\", as figure 7.1's 141.2 of 412.9, which was taken for 0.35";
        claims.push(Claim::at_most(item.name, &claim, 0.35, later / at(0, end), reason));
    }
    for epoch in QUARTERS {
        let values = [("EDM-like", at(1, epoch)), ("EWO", at(2, epoch))];
        let reason = "\"compared with EDM, EWO delivered the lower standard deviations\"";
        claims.push(Claim::descending(
            item.name,
            &format!("sd of erases at {epoch} h, EDM-like above EWO"),
            &values,
            reason,
        ));
    }
    let texts = [
        "Figure 7.3: standard deviation of erases over the hours of usr",
        "An hour is an epoch, a 68th of the run.",
        "erases",
    ];
    Ok(hours::outcome(context, claims, texts, 1..=EPOCHS, &all))
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (7, 1));
    }
}
