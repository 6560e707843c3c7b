//! Xia 2017, figure 17, which the text calls figure 22: which share of the pages is read, written, or both.

use std::collections::BTreeMap;

use super::volumes::{STAND_IN, VOLUMES, Volume, VolumeScale};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-17",
    title: "Pages that are read, written, or both",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 5.3.1, figure 17",
    sections: &["5.3.1"],
    run,
};

/// Shares of pages that are both read and written, percent, by place in [`VOLUMES`]: section 5.3.1 and, for the last
/// one, 5.4.2.2.
const PUBLISHED: [(usize, f64); 4] = [(0, 41.0), (1, 42.0), (2, 28.0), (7, 10.0)];

/// Shares of the touched pages, percent: only written, only read, both.
pub(super) fn shares(volume: &Volume, scale: VolumeScale, seed: u64) -> [f64; 3] {
    let mut seen: BTreeMap<u32, [bool; 2]> = BTreeMap::new();
    for access in volume.accesses(scale, seed) {
        seen.entry(access.page).or_default()[usize::from(access.is_write)] = true;
    }
    let count = |kind: [bool; 2]| seen.values().filter(|seen| **seen == kind).count() as f64;
    [[false, true], [true, false], [true, true]].map(|kind| 100.0 * count(kind) / seen.len() as f64)
}

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, VolumeScale::COMPARED)
}

fn measure(item: &Item, context: &Context<'_>, scale: VolumeScale) -> Result<ItemOutcome, ReproduceError> {
    let mut claims = Vec::new();
    for (index, volume) in VOLUMES.iter().enumerate() {
        let [_, _, both] = shares(volume, scale, context.seed);
        let claim = format!("{}: pages that are both read and written, percent", volume.name);
        let claim = match PUBLISHED.iter().find(|(volume, _)| *volume == index) {
            Some((_, published)) => {
                let reason = "2 points: shares are drawn";
                Claim::within_absolute(item.name, &claim, *published, both, 2.0, reason)
            }
            None => Claim::at_most(item.name, &claim, 10.0, both, "\"below 10 % or even 5 %\""),
        };
        claims.push(claim.fitted("the overlap that the generator is given").on_stand_in(STAND_IN));
    }
    let reason = "the traces are not distributed with esker";
    claims.push(Claim::unreachable(
        item.name,
        "figure 18: when and where the traces are read and written",
        None,
        reason,
    ));
    Ok(claims.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClaimVerdict;

    #[test]
    fn stand_ins_overlap_as_the_text_says() {
        let outcome = super::super::tests::outcome(|context| measure(&ITEM, context, VolumeScale::COMPARED));
        assert_eq!(outcome.claims.len(), VOLUMES.len() + 1);
        // The generator is given the overlap: that it comes out shows that it works, and nothing of the paper.
        let holds = |claim: &&Claim| claim.verdict == ClaimVerdict::Derived && claim.fitted;
        assert_eq!(outcome.claims.iter().filter(holds).count(), VOLUMES.len(), "{:#?}", outcome.claims);
    }
}
