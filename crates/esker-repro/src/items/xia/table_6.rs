//! Xia 2017, table 6, which the text calls table 8: the volumes of chapter 4. The stand-ins take them as they are.

use std::collections::BTreeSet;

use super::write_caches::{PAGES_A_GB, PUBLISHED, STAND_IN, WRITE_VOLUMES};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/table-6",
    title: "Characteristics of the volumes of chapter 4",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 4.5, table 6",
    sections: &["4.5"],
    run,
};

/// Nothing runs on a device.
const PART: u32 = 256;

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let mut claims = Vec::new();
    for volume in &WRITE_VOLUMES[..PUBLISHED] {
        let pages = f64::from(volume.pages_per_request());
        let count = volume.requests(volume.amount_gb, PART);
        let used: BTreeSet<u32> = volume.writes(count, PART, context.seed).into_iter().collect();
        let gigabytes = |requests: usize| requests as f64 * pages * f64::from(PART) / PAGES_A_GB;
        for (what, published, measured, tolerance, reason) in [
            ("working set, GB", volume.working_set_gb, gigabytes(used.len()), 0.1, "first uses are drawn"),
            ("bytes requested, GB", volume.amount_gb, gigabytes(count), 0.01, "whole requests"),
            ("mean size, KB", volume.mean_kb, 4.0 * pages, 0.15, "all requests have whole pages"),
        ] {
            let claim = format!("{}: {what}, at full size", volume.name);
            let claim = Claim::within(item.name, &claim, published, measured, tolerance, reason);
            claims.push(claim.by_construction("the generator is given it").on_stand_in(STAND_IN));
        }
        let claim = format!("{}: windows of section 4.4 in the bytes requested", volume.name);
        let reason = "the runs of figures 13 to 16 are longer";
        claims.push(Claim::beside(item.name, &claim, volume.amount_gb / volume.window_gb, reason));
    }
    Ok(claims.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClaimVerdict;

    #[test]
    fn the_stand_ins_have_what_the_table_has() {
        let outcome = super::super::tests::outcome(|context| run(&ITEM, context));
        let derived = outcome.claims.iter().filter(|claim| claim.verdict == ClaimVerdict::Derived).count();
        assert_eq!((outcome.claims.len(), derived), (16, 12), "{:#?}", outcome.claims);
    }
}
