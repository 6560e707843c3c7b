//! Kim 2009, figure 3.13: how much faster flash would have to be for FAST to keep up with DFTL.

use esker_core::{ByteRate, Nanos};
use esker_flash::{SsdSettings, TimingSettings};

use super::drive::{Setup, simulate};
use super::workload::FINANCIAL;
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-3.13",
    title: "FAST on faster flash against DFTL",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 3.5.2, figure 3.13",
    sections: &["3.5.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const SPEEDS: [u64; 6] = [1, 2, 3, 4, 6, 8];
/// FAST's mean response over DFTL's in table 3.5: 2.75 and 0.61 ms.
const PUBLISHED_AT_ONE: f64 = 4.51;
/// Times and rate of the preset (table 3.2: without and with the transfer).
const READ_NS: u64 = 25_000;
const PROGRAM_NS: u64 = 300_000;
const ERASE_NS: u64 = 1_500_000;
const BUS_BYTES_PER_S: u64 = 19_943_343;

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let workload = FINANCIAL.shortened(part);
    let runs = SPEEDS.len() + 1;
    let dftl = simulate(item, context, &Setup::new(&workload, "DFTL", (0, runs)))?.response_ms();
    let mut points = Vec::new();
    for (index, speed) in SPEEDS.into_iter().enumerate() {
        let timing = TimingSettings {
            page_read: Nanos(READ_NS / speed),
            page_program: Nanos(PROGRAM_NS / speed),
            block_erase: Nanos(ERASE_NS / speed),
            blocks_per_erase: 1,
            bus_rate: ByteRate(BUS_BYTES_PER_S * speed),
        };
        let change = |ssd: &mut SsdSettings| ssd.timing = timing;
        let setup = Setup { change: &change, ..Setup::new(&workload, "FAST", (index + 1, runs)) };
        points.push((speed as f64, simulate(item, context, &setup)?.response_ms() / dftl));
    }
    let at_one = points[0].1;
    let claims = vec![
        Claim::compared(
            item.name,
            "flash speed-up that FAST needs to match DFTL",
            4.0,
            needed(&points),
            "section 3.5.2; interpolated between the speeds that were run",
        ),
        Claim::compared(
            item.name,
            "flash speed-up at which FAST takes 1 / 4.51 of its time, as much less as DFTL takes in table 3.5",
            4.0,
            needed(
                &points.iter().map(|(speed, ratio)| (*speed, ratio / at_one * PUBLISHED_AT_ONE)).collect::<Vec<_>>(),
            ),
            "the same without our DFTL, whose requests wait for all their map operations",
        ),
        Claim::compared(
            item.name,
            "FAST over DFTL on the same flash",
            PUBLISHED_AT_ONE,
            at_one,
            "table 3.5: 2.75 and 0.61 ms",
        ),
    ];
    Ok(ItemOutcome {
        claims: claims.into_iter().map(|claim| claim.on_stand_in(FINANCIAL.stand_in)).collect(),
        figures: vec![figure(points)],
    })
}

fn figure(points: Vec<(f64, f64)>) -> Figure {
    Figure {
        title: "Figure 3.13: FAST on faster flash, Financial".into(),
        note: "Mean response over DFTL's on flash of single speed. Published: table 3.5 and the text's \"4 times \
               faster\". The workload is a stand-in."
            .into(),
        x: Axis::linear("flash speed-up"),
        y: Axis::linear("mean response over DFTL's"),
        curves: vec![
            Curve::published("FAST", [(1.0, PUBLISHED_AT_ONE), (4.0, 1.0)]),
            Curve::measured("FAST", points),
            Curve::measured("DFTL, single speed", [(1.0, 1.0), (8.0, 1.0)]),
        ],
    }
}

/// Where the ratio falls to one, by linear interpolation between speeds; infinite if it never does.
fn needed(points: &[(f64, f64)]) -> f64 {
    let Some(after) = points.iter().position(|(_, ratio)| *ratio <= 1.0) else { return f64::INFINITY };
    match after {
        0 => points[0].0,
        _ => {
            let ((x0, y0), (x1, y1)) = (points[after - 1], points[after]);
            x0 + (y0 - 1.0) / (y0 - y1) * (x1 - x0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::drive::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure, 0.01);
        let curves: usize = outcome.figures.iter().map(|figure| figure.curves.len()).sum();
        assert_eq!((outcome.claims.len(), curves), (3, 3));
    }

    #[test]
    fn the_needed_speed_lies_between_its_neighbours() {
        assert!((needed(&[(1.0, 4.0), (2.0, 2.0), (4.0, 0.5)]) - 2.0 - 2.0 / 1.5).abs() < 1e-12);
        assert_eq!(needed(&[(1.0, 0.9)]), 1.0);
        assert_eq!(needed(&[(1.0, 4.0), (8.0, 1.1)]), f64::INFINITY);
    }

    /// Speed 1 is that of the preset.
    #[test]
    fn times_are_those_of_the_preset() {
        let transfer_us = 2_112.0 / BUS_BYTES_PER_S as f64 * 1e6;
        assert!((READ_NS as f64 / 1e3 + transfer_us - 130.9).abs() < 0.01);
        assert!((PROGRAM_NS as f64 / 1e3 + transfer_us - 405.9).abs() < 0.01);
    }
}
