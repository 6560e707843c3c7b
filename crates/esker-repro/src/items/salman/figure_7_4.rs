//! Salman 2017, figure 7.4: the standard deviation of writes over time.

use super::cluster::{Case, EPOCHS, Runs, Scale};
use super::hours;
use super::loads::USR;
use super::schemes::SCHEMES;
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/figure-7.4",
    title: "Standard deviation of writes over 68 hours of usr",
    source: "Salman, thesis, 2017, section 7.2, figure 7.4",
    sections: &["7.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

/// Epochs after which runs are stopped.
const QUARTERS: [u64; 4] = [17, 34, 51, EPOCHS];

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Runs::new(item, context, SCHEMES.len() * QUARTERS.len());
    let mut all = Vec::new();
    for (_, balancer) in SCHEMES {
        let at = QUARTERS.map(|until| runs.run(&Case { until, ..Case::of(USR, balancer, scale) }));
        all.push(at.into_iter().map(|found| Ok(found?.pages_sd())).collect::<Result<Vec<f64>, ReproduceError>>()?);
    }
    let mut claims = Vec::new();
    let [first, second, third, end] = [0, 1, 2, 3].map(|at| all[0][at]);
    let values = [("68 h", end), ("51 h", third), ("34 h", second), ("17 h", first)];
    let reason = "\"the standard deviation of writes is positively related to that of erase cycles\", which grows";
    claims.push(Claim::descending(item.name, "Baseline: sd of pages written grows", &values, reason));
    for (at, hours) in QUARTERS.into_iter().enumerate() {
        for scheme in [1, 2] {
            let name = SCHEMES[scheme].0;
            let values = [("Baseline", all[0][at]), (name, all[scheme][at])];
            let claim = format!("sd of pages written at {hours} h, Baseline above {name}");
            let reason = "the same; figure 7.3 has this order";
            claims.push(Claim::descending(item.name, &claim, &values, reason));
        }
    }
    let texts = [
        "Figure 7.4: standard deviation of pages written over the hours of usr",
        "Each point is a run that ends there. An hour is an epoch, a 68th of the whole run.",
        "pages",
    ];
    Ok(hours::outcome(context, claims, texts, QUARTERS.into_iter(), &all))
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (9, 1));
    }
}
