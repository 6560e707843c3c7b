//! Kim 2009, table 2.1: small and large blocks of flash.

use esker_core::{Bytes, Nanos};

use super::single_page::read_and_write;
use crate::drive::Drive;
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/table-2.1",
    title: "Access times of flash with small and with large blocks",
    source: "Kim, dissertation, Pennsylvania State University, 2009, sections 2.1 and 2.2, table 2.1",
    sections: &["2.1", "2.2"],
    run,
};

/// A row of the table.
struct Row {
    name: &'static str,
    /// Page, spare bytes and block with those of its pages.
    bytes: [f64; 3],
    read_us: f64,
    write_us: f64,
    change: fn(&mut Drive),
}

const ROWS: [Row; 2] = [
    Row {
        name: "small block",
        bytes: [512.0, 16.0, (16 * 1024 + 512) as f64],
        read_us: 41.75,
        write_us: 226.75,
        change: small_block,
    },
    Row {
        name: "large block",
        bytes: [2048.0, 64.0, (128 * 1024 + 4 * 1024) as f64],
        read_us: 130.9,
        write_us: 405.9,
        change: |_| {},
    },
];

/// What its part takes without the transfer: 15 us to read cells, 200 us to program them.
fn small_block(drive: &mut Drive) {
    let ssd = &mut drive.settings;
    ssd.geometry.page_size = Bytes(512);
    ssd.geometry.spare_size = Bytes(16);
    ssd.geometry.pages_per_block = 32;
    ssd.timing.page_read = Nanos::from_micros(15);
    ssd.timing.page_program = Nanos::from_micros(200);
}

const CELLS: &str = "the drive has the times of its cells; the bus of the large-block part is that of both";

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let mut claims = Vec::new();
    for row in &ROWS {
        let mut drive = Drive::preset("kim-slc-32g").changed(|ssd| ssd.geometry.blocks_per_plane = 256);
        (row.change)(&mut drive);
        let geometry = &drive.settings.geometry;
        let (page, spare) = (geometry.page_size.0 as f64, geometry.spare_size.0 as f64);
        let measured = [page, spare, (page + spare) * f64::from(geometry.pages_per_block)];
        let name = |what: &str| format!("{}: {what}", row.name);
        for ((what, published), measured) in ["page", "spare area", "block"].iter().zip(row.bytes).zip(measured) {
            let claim = name(&format!("{what}, bytes"));
            let claim = Claim::within_absolute(item.name, &claim, published, measured, 0.0, "table 2.1");
            claims.push(claim.by_construction("the drive is given it"));
        }
        let (read, write) = read_and_write(item, context, &drive)?;
        let reason = "table 2.1; 1 %: 0.3 us of its times are commands";
        for (what, published, measured) in [("read", row.read_us, read.us), ("write", row.write_us, write.us)] {
            let claim = Claim::within(item.name, &name(&format!("page {what}, us")), published, measured, 0.01, reason);
            claims.push(claim.by_construction(CELLS));
        }
        let erase = drive.settings.timing.block_erase.0 as f64 / 1e6;
        let reason = "table 2.1; table 3.2 has 1.5 ms for the same part, which the preset takes";
        claims.push(Claim::compared(item.name, &name("block erase, ms"), 2.0, erase, reason));
        let reason = "section 2.2: writes take up to 4 or 5 times as long as reads; by its own table 3.1 and 5.4 times";
        claims.push(Claim::beside(item.name, &name("write over read"), write.us / read.us, reason));
    }
    Ok(claims.into())
}

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::*;
    use crate::ClaimVerdict;

    #[test]
    fn pages_take_the_times_of_the_table() {
        let outcome = outcome(&ITEM, run);
        let derived = outcome.claims.iter().filter(|claim| claim.verdict == ClaimVerdict::Derived).count();
        assert_eq!((outcome.claims.len(), derived), (14, 10), "{:#?}", outcome.claims);
    }
}
