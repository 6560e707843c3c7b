//! Salman 2017, figure 7.11: objects moved, and the map.

use super::cluster::{Found, Scale};
use super::loads::PART;
use super::six::{ALL, EDM, EWO, Quantity, Six, name};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/figure-7.11",
    title: "Objects moved, and the map",
    source: "Salman, thesis, 2017, section 7.2.3, figure 7.11",
    sections: &["7.2.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut six = Six::run(item, context, scale)?;
    let of: Quantity = Found::moved;
    let reason = "\"EDM had a much larger number of moved objects than EWO\"";
    six.orders(&ALL, &[EDM, EWO], "objects moved", of, reason);
    for row in ALL {
        let copied: Quantity = |found| found.report.objects_copied as f64;
        let claim = format!("{}: share of EWO's moved objects that were copied", name(row));
        let share = six.value(row, EWO, copied) / six.value(row, EWO, of);
        six.claim(Claim::beside(item.name, &claim, share, "the text has no value"));
    }
    let map: Quantity = |found| found.report.map_bytes as f64;
    let most = ALL.into_iter().map(|row| six.value(row, EWO, map)).fold(0.0, f64::max);
    let reason = "\"only approximately 50KB\"; here there are a fortieth of the objects of an unscaled cluster";
    six.claim(Claim::at_most(item.name, "EWO: map at the end, the most of six loads, bytes", 50_000.0, most, reason));
    let reason = "the same, if an unscaled cluster moves as large a share of its slices";
    let claim = "EWO: map at the end, the most of six loads, times 40, bytes";
    six.claim(Claim::compared(item.name, claim, 50_000.0, most * PART, reason));
    let title = "Figure 7.11: objects moved";
    let figure = six.bars(title, "objects", &[EDM, EWO], |row, scheme| six.value(row, scheme, of));
    Ok(six.outcome(vec![figure]))
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
