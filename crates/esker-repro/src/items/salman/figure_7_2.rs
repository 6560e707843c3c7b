//! Salman 2017, figure 7.2: standard deviation of writes under six loads.

use super::cluster::{Found, Scale, deviation, mean};
use super::six::{ALL, BASELINE, EDM, EWO, Quantity, Six};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/figure-7.2",
    title: "Standard deviation of writes under six loads",
    source: "Salman, thesis, 2017, section 7.2, figure 7.2",
    sections: &["7.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut six = Six::run(item, context, scale)?;
    let of: Quantity = Found::pages_sd;
    let relation = "\"the two kinds of standard deviation are positively related\", and figure 7.1 has this order";
    six.orders(&ALL, &[BASELINE, EDM], "sd of pages written", of, relation);
    six.orders(&ALL, &[BASELINE, EWO], "sd of pages written", of, relation);
    let mut pairs = Vec::new();
    for row in ALL {
        for scheme in [BASELINE, EDM, EWO] {
            pairs.push((six.value(row, scheme, Found::erases_sd), six.value(row, scheme, of)));
        }
    }
    let larger = pairs.iter().filter(|(erases, pages)| pages > erases).count();
    let reason = "\"the standard deviations of writes requests were much larger than that of erasure counts\"";
    six.claim(Claim::at_least(
        item.name,
        "runs of 18 with a larger sd of pages than of erases",
        18.0,
        larger as f64,
        reason,
    ));
    let reason = "\"positively related\": a correlation of 0.8 was taken for that";
    let related = correlation(&pairs);
    six.claim(Claim::at_least(item.name, "correlation of both deviations over 18 runs", 0.8, related, reason));
    let title = "Figure 7.2: standard deviation of pages written";
    let figure = six.bars(title, "pages", &[BASELINE, EDM, EWO], |row, scheme| six.value(row, scheme, of));
    Ok(six.outcome(vec![figure]))
}

fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let (xs, ys): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (x, y) = (mean(&xs), mean(&ys));
    let products: Vec<f64> = pairs.iter().map(|pair| (pair.0 - x) * (pair.1 - y)).collect();
    mean(&products) / deviation(&xs) / deviation(&ys)
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (14, 1));
    }
}
