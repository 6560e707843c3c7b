//! Kim 2009, table 3.4: the cost of cleaning and translation, by layer and workload.

use super::overheads::{Counts, OverheadRow, rows};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/table-3.4",
    title: "Erases, merges, copies and map operations by layer and workload",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 3.5.1, table 3.4",
    sections: &["3.5.1"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const COUNT: &str = "table 3.4; a count, which follows the stand-in's locality and number of requests";

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let mut claims = Vec::new();
    for (row, counts) in rows(item, context, part)? {
        for (what, published, measured) in columns(row, &counts) {
            let claim = format!("{}, {}: {what}", row.workload.name, row.layer);
            let claim = match published {
                0.0 => Claim::none(item.name, &claim, measured, "table 3.4 has none"),
                _ => Claim::compared(item.name, &claim, published, measured, COUNT),
            };
            claims.push(claim.on_stand_in(row.workload.stand_in));
        }
    }
    Ok(claims.into())
}

/// The columns of the table for this layer: name, published, measured.
fn columns(row: &OverheadRow, counts: &Counts) -> Vec<(&'static str, f64, f64)> {
    let mut columns = vec![
        ("erases of data blocks", row.data_erases, counts.data_erases),
        ("switch merges", row.merges[0], counts.merges[0]),
        ("partial merges", row.merges[1], counts.merges[1]),
        ("full merges", row.merges[2], counts.merges[2]),
        ("(1) and (5) data pages copied", row.copies, counts.copies),
    ];
    if row.layer == "DFTL" {
        columns.extend([
            ("erases of map blocks", row.map_erases, counts.map_erases),
            ("(2) and (6) map pages copied", row.map_copies, counts.map_copies),
            ("(3) map reads for translation", row.map_reads, counts.map_reads),
            ("(7) map writes for translation", row.map_writes, counts.map_writes),
            ("(4) map reads because data pages had moved", row.updates[0], counts.updates[0]),
            ("(8) map writes because data pages had moved", row.updates[1], counts.updates[1]),
        ]);
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::super::drive::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure, 0.01);
        let curves: usize = outcome.figures.iter().map(|figure| figure.curves.len()).sum();
        assert_eq!((outcome.claims.len(), curves), (6 * 5 + 4 * 11, 0));
    }
}
