//! Xia 2017, table 8: the volumes. The stand-ins take them as they are.

use super::volumes::{STAND_IN, VOLUMES, VolumeScale};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/table-8",
    title: "Characteristics of the volumes",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 5.4.1, table 8",
    sections: &["5.4.1"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let scale = VolumeScale::COMPARED;
    let part = f64::from(scale.part);
    let mut claims = Vec::new();
    for volume in VOLUMES {
        let (mut count, mut reads) = (0.0, 0.0);
        for access in volume.accesses(scale, context.seed) {
            count += 1.0;
            reads += if access.is_write { 0.0 } else { 1.0 };
        }
        let gigabytes = f64::from(volume.pages(scale)) * part * 8192.0 / f64::from(1 << 30);
        let kilobytes = 8.0 * f64::from(volume.pages_per_request());
        let mut derived = |what: &str, published: f64, measured: f64, tolerance: f64, reason: &str| {
            let claim = format!("{}: {what}", volume.name);
            let claim = Claim::within_absolute(item.name, &claim, published, measured, tolerance, reason);
            claims.push(claim.by_construction("the generator is given it").on_stand_in(STAND_IN));
        };
        derived("address space, GB at full size", volume.gigabytes, gigabytes, 0.1, "whole requests");
        derived("reads, percent", volume.reads, 100.0 * reads / count, 1.0, "requests are drawn");
        derived("mean size, KB", volume.mean_kb, kilobytes, 4.0, "all requests have whole pages of 8 KB");
        let claim = format!("{}: requests, at full size", volume.name);
        let reason = "more than the table has where the volume's requests do not write its address space once";
        claims.push(Claim::compared(item.name, &claim, volume.requests, count * part, reason).on_stand_in(STAND_IN));
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
        assert_eq!((outcome.claims.len(), derived), (60, 45), "{:#?}", outcome.claims);
    }
}
