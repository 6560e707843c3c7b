//! Xia 2017, section 5.3.4: memory of the controller.

use esker_flash::Ssd;
use esker_results::Report;

use super::volumes::VolumeScale;
use super::write_modes::{Scheme, settings};
use crate::drive::FLASH;
use crate::{Claim, Context, Item, ItemFault, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/section-5.3.4",
    title: "Memory that differentiated error correction takes",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 5.3.4",
    sections: &["5.3.4"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let error = |fault: ItemFault| ReproduceError::of(item, fault);
    let mut settings = settings(0, Scheme::CHOSEN, VolumeScale::COMPARED);
    // 64 GB of pages of 8 KB on eight packages.
    settings.geometry.blocks_per_plane = 8 * 1024;
    let ssd = Ssd::new(FLASH, &settings, context.seed).map_err(|fault| error(ItemFault::Cache(fault.into())))?;
    let flash = Report::of(&ssd).devices[FLASH].flash.clone();
    let modes =
        flash.and_then(|flash| flash.write_modes).ok_or(ItemFault::NotReported("write modes")).map_err(error)?;
    let reason = "a count of bits";
    Ok(vec![
        Claim::within_absolute(item.name, "Bloom filters, KB", 2.0, modes.history_bytes as f64 / 1024.0, 0.0, reason),
        Claim::within_absolute(
            item.name,
            "tags of the pages of 64 GB, MB",
            1.0,
            modes.tag_bytes as f64 / f64::from(1 << 20),
            0.0,
            reason,
        ),
    ]
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClaimVerdict;

    #[test]
    fn the_memory_is_that_of_the_paper() {
        let outcome = super::super::tests::outcome(|context| run(&ITEM, context));
        assert!(outcome.claims.iter().all(|claim| claim.verdict == ClaimVerdict::Met), "{:#?}", outcome.claims);
    }
}
