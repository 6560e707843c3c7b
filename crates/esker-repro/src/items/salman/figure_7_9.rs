//! Salman 2017, figure 7.9: mean response under six loads.

use super::cluster::Scale;
use super::schemes::SCHEMES;
use super::six::{ALL, BASELINE, EDM, EWO, Quantity, Six, name};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/figure-7.9",
    title: "Mean response under six loads",
    source: "Salman, thesis, 2017, section 7.2.2, figure 7.9",
    sections: &["7.2.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut six = Six::run(item, context, scale)?;
    let of: Quantity = |found| found.response_ms;
    let reason = "\"the Baseline's average response time is the highest among the three schemes\"";
    six.orders(&ALL, &[BASELINE, EDM], "mean response, ms", of, reason);
    six.orders(&ALL, &[BASELINE, EWO], "mean response, ms", of, reason);
    for row in ALL {
        let claim = format!("{}: mean response, EWO over EDM-like", name(row));
        let reason = "\"compared with EDM, EWO has a better performance\"";
        six.claim(Claim::at_most(item.name, &claim, 1.0, six.ratio(row, (EWO, EDM), of), reason));
    }
    for (what, pair, published) in
        [("EDM-like over Baseline", (EDM, BASELINE), 0.96 / 1.46), ("EWO over Baseline", (EWO, BASELINE), 0.94 / 1.46)]
    {
        let claim = format!("mean response over all six loads, {what}");
        let reason = "of 1.46, 0.96 and 0.94 ms; the text does not say of which load";
        six.claim(Claim::compared(item.name, &claim, published, six.mean_ratio(pair, of), reason));
    }
    for scheme in [BASELINE, EDM, EWO] {
        let mean = (0..5).map(|row| six.value(row, scheme, of)).sum::<f64>() / 5.0;
        let claim = format!("{}: mean response under mds over the mean of the other loads", SCHEMES[scheme].0);
        let reason = "\"mds is relatively lower than that when replaying others\"";
        six.claim(Claim::at_most(item.name, &claim, 1.0, six.value(5, scheme, of) / mean, reason));
    }
    let title = "Figure 7.9: mean response";
    let figure = six.bars(title, "ms", &[BASELINE, EDM, EWO], |row, scheme| six.value(row, scheme, of));
    Ok(six.outcome(vec![figure]))
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (23, 1));
    }
}
