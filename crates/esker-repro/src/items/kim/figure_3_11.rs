//! Kim 2009, figure 3.11: table 3.4 as bars, and the text's claims about it.

use super::drive::LAYERS;
use super::overheads::{Counts, OverheadRow, rows};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-3.11",
    title: "Overheads of the layers: merges, erases, extra reads and writes",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 3.5.1, figure 3.11",
    sections: &["3.5.1"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const WORKLOADS: [&str; 3] = ["Financial", "Cello99", "TPC-H"];

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let found = rows(item, context, part)?;
    let of = |workload: &str, layer: &str| {
        found.iter().find(|(row, _)| row.workload.name == workload && row.layer == layer).map(|(_, counts)| counts)
    };
    let erases = |workload: &str, layer: &str| {
        of(workload, layer).map_or(f64::NAN, |counts| counts.data_erases + counts.map_erases)
    };
    let mut claims = Vec::new();
    for workload in WORKLOADS {
        let stand_in =
            found.iter().find(|(row, _)| row.workload.name == workload).map_or("", |(row, _)| row.workload.stand_in);
        let order = ["FAST", "DFTL"].map(|layer| (layer, erases(workload, layer)));
        let claim = format!("{workload}: FAST erases more blocks than DFTL");
        claims.push(
            Claim::descending(item.name, &claim, &order, "section 3.5.1: for all workloads").on_stand_in(stand_in),
        );
        let full = of(workload, "DFTL").map_or(f64::NAN, |counts| counts.merges[2]);
        let claim = format!("{workload}: DFTL's full merges");
        claims.push(
            Claim::none(item.name, &claim, full, "section 3.5.1: replaced by partial ones").on_stand_in(stand_in),
        );
    }
    let stand_in = super::workload::FINANCIAL.stand_in;
    let switches =
        ["DFTL", "FAST"].map(|layer| (layer, of("Financial", layer).map_or(f64::NAN, |counts| counts.merges[0])));
    let more = "section 3.5.1: \"higher number of switch merges for even random-write dominant Financial trace\"";
    claims.push(
        Claim::descending(item.name, "Financial: DFTL has more switch merges than FAST", &switches, more)
            .on_stand_in(stand_in),
    );
    if let (Some(dftl), Some(fast)) = (of("Financial", "DFTL"), of("Financial", "FAST")) {
        let without = |counts: &Counts| {
            let copies = 2.0 * (counts.copies + counts.map_copies);
            copies + counts.map_reads + counts.map_writes + counts.data_erases + counts.map_erases
        };
        let with = |counts: &Counts| without(counts) + counts.updates[0] + counts.updates[1];
        let reason = "table 3.4's own counts; section 3.5.2 says \"about 3 times\" fewer";
        let claim = "Financial: DFTL's erases, extra reads and extra writes over FAST's, without (4) and (8)";
        let shares = [
            Claim::compared(item.name, claim, 0.265, without(dftl) / without(fast), reason),
            Claim::compared(
                item.name,
                "Financial: DFTL's erases, extra reads and extra writes over FAST's, with (4) and (8)",
                0.270,
                with(dftl) / with(fast),
                reason,
            ),
        ];
        claims.extend(shares.map(|claim| claim.on_stand_in(stand_in)));
    }
    let bars = |title: &str, y: &str, published: fn(&OverheadRow) -> f64, measured: fn(&Counts) -> f64| {
        let pick = |layer: &str, value: &dyn Fn(&(&'static OverheadRow, Counts)) -> f64| {
            WORKLOADS.map(|workload| {
                let row = found.iter().find(|(row, _)| row.workload.name == workload && row.layer == layer);
                row.map_or(f64::NAN, value)
            })
        };
        let curves = LAYERS.into_iter().flat_map(|layer| {
            [
                Curve::published_bars(layer, pick(layer, &|(row, _)| published(row))),
                Curve::measured_bars(layer, pick(layer, &|(_, counts)| measured(counts))),
            ]
        });
        Figure {
            title: title.into(),
            note: "Published: table 3.4. All workloads are stand-ins; TPC-H's has fewer requests than the table \
                accounts for."
                .into(),
            x: Axis::categories("workload", WORKLOADS),
            y: Axis::logarithmic(y),
            curves: curves.collect(),
        }
    };
    let figures = vec![
        bars("Figure 3.11 (a): full merges", "full merges", |row| row.merges[2], |counts| counts.merges[2]),
        bars(
            "Figure 3.11 (b): erases",
            "blocks erased",
            |row| row.data_erases + row.map_erases,
            |counts| counts.data_erases + counts.map_erases,
        ),
        bars(
            "Figure 3.11 (c): extra reads",
            "pages read for cleaning and translation",
            |row| row.copies + row.map_copies + row.map_reads + row.updates[0],
            |counts| counts.copies + counts.map_copies + counts.map_reads + counts.updates[0],
        ),
        bars(
            "Figure 3.11 (c): extra writes",
            "pages written for cleaning and translation",
            |row| row.copies + row.map_copies + row.map_writes + row.updates[1],
            |counts| counts.copies + counts.map_copies + counts.map_writes + counts.updates[1],
        ),
    ];
    Ok(ItemOutcome { claims, figures })
}

#[cfg(test)]
mod tests {
    use super::super::drive::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure, 0.01);
        let curves: usize = outcome.figures.iter().map(|figure| figure.curves.len()).sum();
        assert_eq!((outcome.claims.len(), curves), (9, 4 * 6));
    }

    /// The shares in the claims follow from table 3.4: erases, (1) to (8).
    #[test]
    fn the_shares_follow_from_table_3_4() {
        let dftl = 10_176.0 + 4_240.0 + 2.0 * 19_369.0 + 2.0 * 5_945.0 + 517_456.0 + 258_017.0;
        let fast = 151_180.0 + 2.0 * 1_508_490.0;
        assert!((dftl / fast - 0.265f64).abs() < 0.0005, "{}", dftl / fast);
        let with_updates = dftl + 2.0 * 7_582.0;
        assert!((with_updates / fast - 0.270f64).abs() < 0.0005, "{}", with_updates / fast);
    }
}
