//! Kim 2009, table 3.2: parameters of the simulation.

use super::single_page::read_and_write;
use crate::drive::Drive;
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/table-3.2",
    title: "Times and energy of a page, and the two real drives",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 3.4.3, table 3.2",
    sections: &["3.4.3"],
    run,
};

/// MB/s of reads and writes of the real drives.
const REAL: [(&str, f64, f64); 2] = [("Mtron MSP-7000", 120.0, 90.0), ("Super Talent FSD32GB25M", 60.0, 45.0)];

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let drive = Drive::preset("kim-slc-32g").changed(|ssd| ssd.geometry.blocks_per_plane = 256);
    let (read, write) = read_and_write(item, context, &drive)?;
    let erase = drive.settings.timing.block_erase.0 as f64 / 1e6;
    let rows = [
        ("page read, us", 130.9, read.us),
        ("page write, us", 405.9, write.us),
        ("block erase, ms", 1.5, erase),
        ("page read, uJ", 4.72, read.microjoules),
        ("page write, uJ", 38.04, write.microjoules),
    ];
    let mut claims = Vec::new();
    for (claim, published, measured) in rows {
        let claim = Claim::within(item.name, claim, published, measured, 1e-3, "table 3.2, to its last digit");
        claims.push(claim.by_construction("the preset `kim-slc-32g` has it"));
    }
    for (name, reads, writes) in REAL {
        for (what, published) in [("reads", reads), ("writes", writes)] {
            let reason = "the drive cannot be had, and its translation layer and buffer are not published";
            let claim = format!("{name}: {what}, MB/s");
            claims.push(Claim::unreachable(item.name, &claim, Some(published), reason));
        }
    }
    Ok(claims.into())
}

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::*;
    use crate::ClaimVerdict;

    #[test]
    fn the_preset_has_the_parameters_of_the_table() {
        let outcome = outcome(&ITEM, run);
        let derived = outcome.claims.iter().filter(|claim| claim.verdict == ClaimVerdict::Derived).count();
        assert_eq!((outcome.claims.len(), derived), (9, 5), "{:#?}", outcome.claims);
    }
}
