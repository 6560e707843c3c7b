//! Wu 2011, table I: two processes of Postmark with small files.

use super::volume::{FAST, Part, SLOW, STRIPING, Volume, WARY_MIGRATION};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/table-1",
    title: "Postmark with files of 500 to 10,000 bytes",
    source: "Wu, dissertation, Texas A&M University, 2011, section II.D.5 (2.4.5), table I",
    sections: &["2.4.5"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const NAMES: [&str; 5] =
    ["Transcend, striping", "Transcend, migration", "MemoRight, striping", "MemoRight, migration", "two disks"];
/// Transactions per second, both processes together.
const PUBLISHED: [f64; 5] = [52.0 + 50.0, 58.0 + 57.0, 126.0 + 125.0, 137.0 + 134.0, 121.0 + 115.0];
/// With MemoRight, chunks go to flash as long as there are any on the disk.
const NOT_SETTLED: &str = "transactions are not requests; migration has not come to rest after the warm-up, and how \
                           far it has come depends on the rate of tokens";
const STAND_IN: &str = "reads of whole files and writes of 4 KiB without metadata and cache; all chunks have the same \
                        mix; the devices are stand-ins, too";

fn measure(item: &Item, context: &Context<'_>, scale: f64) -> Result<ItemOutcome, ReproduceError> {
    let volumes = [
        Volume::hybrid(SLOW, STRIPING),
        Volume::hybrid(SLOW, WARY_MIGRATION),
        Volume::hybrid(FAST, STRIPING),
        Volume::hybrid(FAST, WARY_MIGRATION),
        Volume::two_disks(),
    ];
    let mut found = Vec::new();
    for volume in &volumes {
        let part = Part { item, context, index: found.len(), runs: volumes.len(), scale };
        found.push(part.closed_loop(volume, "wu-postmark", 2)?);
    }
    let mut claims: Vec<Claim> = [(1, 0), (3, 2)]
        .into_iter()
        .map(|(with, without)| {
            let claim = format!("{} over {}", NAMES[with], NAMES[without]);
            let reason = "\"migration improved the transaction rate ... by about 10%\"; 15 % for the stand-in";
            let published = PUBLISHED[with] / PUBLISHED[without];
            Claim::within(item.name, &claim, published, found[with] / found[without], 0.15, reason)
        })
        .collect();
    claims.extend((0..4).map(|system| {
        let claim = format!("{} over two disks", NAMES[system]);
        let published = PUBLISHED[system] / PUBLISHED[4];
        Claim::compared(item.name, &claim, published, found[system] / found[4], NOT_SETTLED)
    }));
    let relative = |values: &[f64]| values.iter().map(|value| value / values[4]).collect::<Vec<_>>();
    let figure = Figure {
        title: "Wu's table I: Postmark, small files".into(),
        note: "Rates over that of two disks: published transactions, measured requests.".into(),
        x: Axis::categories("system", NAMES),
        y: Axis::logarithmic("rate over that of two disks"),
        curves: vec![
            Curve::published_bars("Postmark", relative(&PUBLISHED)),
            Curve::measured_bars("Postmark", relative(&found)),
        ],
    };
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    Ok(ItemOutcome { claims, figures: vec![figure] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_measured() {
        let outcome = super::super::volume::tests::short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures[0].curves.len()), (6, 2));
    }
}
