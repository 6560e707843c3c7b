//! Wu 2011, table II: two processes of Postmark with files of up to 500,000 bytes. Migration-2 leaves chunks alone that
//! are used by large requests.

use super::volume::{FAST, Part, SLOW, STRIPING, Volume, WARY_MIGRATION};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/table-2",
    title: "Postmark with files of 500 to 500,000 bytes: sizes of requests count, too",
    source: "Wu, dissertation, Texas A&M University, 2011, section II.D.5 (2.4.5), table II",
    sections: &["2.4.5"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const NAMES: [&str; 7] = [
    "Transcend, striping",
    "Transcend, Migration-1",
    "Transcend, Migration-2",
    "MemoRight, striping",
    "MemoRight, Migration-1",
    "MemoRight, Migration-2",
    "two disks",
];
/// MB/s read, both processes together.
const PUBLISHED: [f64; 7] = [3.19 + 3.19, 3.35 + 3.33, 3.47 + 3.45, 5.39 + 5.33, 5.69 + 5.67, 5.91 + 6.38, 5.15 + 5.13];
const STAND_IN: &str = "reads of 128 KiB and writes of 16 KiB without metadata and cache; all chunks have the same \
                        mix; the devices are stand-ins, too";

fn measure(item: &Item, context: &Context<'_>, scale: f64) -> Result<ItemOutcome, ReproduceError> {
    let second = WARY_MIGRATION.replace(" }", ", request_max = \"64KiB\" }");
    let mut volumes: Vec<Volume<'_>> = Vec::new();
    for flash in [SLOW, FAST] {
        volumes.extend([STRIPING, WARY_MIGRATION, &second].map(|policy| Volume::hybrid(flash, policy)));
    }
    volumes.push(Volume::two_disks());
    let mut found = Vec::new();
    for volume in &volumes {
        let part = Part { item, context, index: found.len(), runs: volumes.len(), scale };
        found.push(part.closed_loop(volume, "wu-postmark-large", 2)?);
    }
    let over = |with: usize, without: usize, published: f64, reason: &str| {
        let claim = format!("{} over {}", NAMES[with], NAMES[without]);
        Claim::within(item.name, &claim, published, found[with] / found[without], 0.1, reason)
    };
    let text = "section II.D.5, of all columns of the table; 10 % for the stand-in";
    let reads = "read throughput of the table; 10 % for the stand-in";
    let mut claims = vec![
        over(1, 0, PUBLISHED[1] / PUBLISHED[0], reads),
        over(2, 0, PUBLISHED[2] / PUBLISHED[0], reads),
        over(4, 3, 1.07, text),
        over(5, 3, 1.2, text),
    ];
    claims.extend([0, 3].map(|system: usize| {
        let claim = format!("{} over two disks", NAMES[system]);
        let published = PUBLISHED[system] / PUBLISHED[6];
        Claim::compared(item.name, &claim, published, found[system] / found[6], "read throughput of the table")
    }));
    let relative = |values: &[f64]| values.iter().map(|value| value / values[6]).collect::<Vec<_>>();
    let figure = Figure {
        title: "Wu's table II: Postmark, large files".into(),
        note: "Rates over that of two disks: published read throughput, measured requests.".into(),
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
