//! Salman 2017, figure 7.1: standard deviation of erases under six loads.

use super::cluster::{Found, Scale};
use super::six::{ALL, BASELINE, BETTER, COMPARABLE, EDM, EWO, Quantity, Six, name};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/figure-7.1",
    title: "Standard deviation of erases under six loads",
    source: "Salman, thesis, 2017, section 7.2, figure 7.1",
    sections: &["7.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut six = Six::run(item, context, scale)?;
    let of: Quantity = Found::erases_sd;
    let highest = "\"Baseline had the highest wear variance among three schemes\"";
    six.orders(&ALL, &[BASELINE, EDM], "sd of erases", of, highest);
    six.orders(&ALL, &[BASELINE, EWO], "sd of erases", of, highest);
    let better = "\"EWO still outperformed EDM in most cases (usr, proj, src1, and mds)\"";
    six.orders(&BETTER, &[EDM, EWO], "sd of erases", of, better);
    for row in COMPARABLE {
        let claim = format!("{}: sd of erases, EWO over EDM-like", name(row));
        let ratio = six.ratio(row, (EWO, EDM), of);
        let reason = "\"comparable\": 140 and 138.4, 414.6 and 410, within 2 %; less is better";
        six.claim(Claim::at_most(item.name, &claim, 1.02, ratio, reason));
    }
    for (what, pair, published) in [
        ("EWO over Baseline", (EWO, BASELINE), 93.7 / 412.9),
        ("EDM-like over Baseline", (EDM, BASELINE), 141.2 / 412.9),
        ("EWO over EDM-like", (EWO, EDM), 93.7 / 141.2),
    ] {
        let claim = format!("usr: sd of erases, {what}");
        let reason = "of 93.7, 141.2 and 412.9; the thresholds behind them are not given";
        six.claim(Claim::compared(item.name, &claim, published, six.ratio(0, pair, of), reason));
    }
    let title = "Figure 7.1: standard deviation of erases";
    let figure = six.bars(title, "erases", &[BASELINE, EDM, EWO], |row, scheme| six.value(row, scheme, of));
    Ok(six.outcome(vec![figure]))
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (21, 1));
    }
}
