//! Xia 2017, figure 14: hit ratios by over-provisioning, fixed and chosen by the cache.

use super::allocations::FIXED;
use super::figure_13::rows;
use super::write_caches::{PUBLISHED, STAND_IN};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-14",
    title: "Hit ratios with a fixed over-provisioning, and with the cache's own choice",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 4.5.1, figure 14",
    sections: &["4.5.1"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1)
}

fn measure(item: &Item, context: &Context<'_>, smaller: u32) -> Result<ItemOutcome, ReproduceError> {
    let rows = rows(item, context, smaller)?;
    let mut claims = Vec::new();
    for row in &rows[..PUBLISHED] {
        let name = row.volume.name;
        let risen = row.fixed.windows(2).map(|pair| 100.0 * (pair[1].hit_ratio - pair[0].hit_ratio));
        let claim = format!("{name}: points by which more over-provisioning adds hits, at most");
        let reason = "\"decrease or keep the same with the increasing of the over-provisioning space\"";
        claims.push(Claim::at_most(item.name, &claim, 0.0, risen.fold(f64::NEG_INFINITY, f64::max), reason));
        for (percent, run) in FIXED.into_iter().zip(&row.fixed).filter(|(percent, _)| [15, 35, 85].contains(percent)) {
            let claim = format!("{name}: hits with {percent} %, percent");
            claims.push(Claim::beside(item.name, &claim, 100.0 * run.hit_ratio, "the bars are not in the text"));
        }
        let claim = format!("{name}: hits with the own choice, percent");
        claims.push(Claim::beside(item.name, &claim, 100.0 * row.own.hit_ratio, "the bars are not in the text"));
    }
    let figures = rows.iter().map(|row| row.figure("14", "hit ratio", |run| run.hit_ratio)).collect();
    Ok(ItemOutcome { claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(), figures })
}

#[cfg(test)]
mod tests {
    use super::super::tests::small;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = small(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (20, 5));
    }
}
