//! Wu 2011, figure 9: IOzone with four processes, 0 to 4 of which read: the Transcend hybrid against two disks.

use super::volume::{Part, SLOW, STRIPING, Volume, WARY_MIGRATION};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/figure-9",
    title: "IOzone with n reading and m writing processes",
    source: "Wu, dissertation, Texas A&M University, 2011, section II.D.5 (2.4.5), figure 9",
    sections: &["2.4.5"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const MIXES: [&str; 5] = ["0R4W", "1R3W", "2R2W", "3R1W", "4R0W"];
const STAND_IN: &str = "four processes that all have the same mix, on files of their kind, with requests of 4 KiB; \
                        the devices are stand-ins, too";

fn measure(item: &Item, context: &Context<'_>, scale: f64) -> Result<ItemOutcome, ReproduceError> {
    let systems = [
        ("two disks", Volume::two_disks()),
        ("striping", Volume::hybrid(SLOW, STRIPING)),
        ("migration", Volume::hybrid(SLOW, WARY_MIGRATION)),
    ];
    let mut found: Vec<Vec<f64>> = Vec::new();
    for (_, volume) in &systems {
        let mut of_system = Vec::new();
        for mix in MIXES {
            let index = found.len() * MIXES.len() + of_system.len();
            let part = Part { item, context, index, runs: systems.len() * MIXES.len(), scale };
            of_system.push(part.closed_loop(volume, &format!("wu-iozone-{}", mix.to_lowercase()), 4)?);
        }
        found.push(of_system);
    }
    let claims = claims(item, &found[0], &found[1], &found[2]);
    let curves = systems.iter().zip(found).map(|((name, _), found)| Curve::measured_bars(name, found));
    let figure = Figure {
        title: "Wu's figure 9: IOzone on the Transcend hybrid and on two disks".into(),
        note: "The values of the paper's bars are not in the text.".into(),
        x: Axis::categories("reading and writing processes", MIXES),
        y: Axis::logarithmic("requests per second"),
        curves: curves.collect(),
    };
    Ok(ItemOutcome { claims, figures: vec![figure] })
}

fn claims(item: &Item, disks: &[f64], striping: &[f64], migration: &[f64]) -> Vec<Claim> {
    let order = |mix: usize, more: (&str, f64), less: (&str, f64), reason: &str| {
        let claim = format!("{}: {} above {}, requests per second", MIXES[mix], more.0, less.0);
        Claim::descending(item.name, &claim, &[more, less], reason)
    };
    let worse = "striping \"is not as good as that of the 2-harddisk system, especially the writing performance\"";
    let better = "with migration the hybrid \"achieved significant improvement, even surpassed the 2-harddisk system\"";
    let mut all: Vec<Claim> =
        (0..2).map(|mix| order(mix, ("two disks", disks[mix]), ("striping", striping[mix]), worse)).collect();
    all.push(Claim::within(
        item.name,
        "1R3W: migration over two disks",
        1.0,
        migration[1] / disks[1],
        0.25,
        "\"almost the same\"; 25 % because sizes and skew are assumed",
    ));
    all.extend((2..5).map(|mix| order(mix, ("migration", migration[mix]), ("two disks", disks[mix]), better)));
    let gains: Vec<(&str, f64)> = (1..5).rev().map(|mix| (MIXES[mix], migration[mix] / disks[mix])).collect();
    all.push(Claim::descending(
        item.name,
        "migration over two disks grows with the share of reads",
        &gains,
        "\"higher performance improvement when the ratio of read/write requests is higher\"",
    ));
    all.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mix_is_measured_on_every_system() {
        let outcome = super::super::volume::tests::short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures[0].curves.len()), (7, 3));
    }
}
