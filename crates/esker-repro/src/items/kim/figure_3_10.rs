//! Kim 2009, figure 3.10: the number of data blocks in FAST's full merges.
//!
//! The text gives two points: about 20 % of the full merges join 20 data blocks or more under Financial, and 60 % under
//! TPC-H.

use super::drive::{Setup, StandInRun, simulate};
use super::workload::{CELLO, FINANCIAL, TPC_H};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-3.10",
    title: "Data blocks that FAST's full merges join",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 3.5.1, figure 3.10",
    sections: &["3.5.1"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

/// Data blocks from which on the text calls a merge large.
const LARGE: u32 = 20;
const NOT_FITTED: &str = "section 3.5.1; the stand-in was not chosen for it, but for the mean below";
const MEAN: &str = "table 3.4: erases less one per merge of any kind, per full merge; Financial's and Cello99's \
    stand-ins were chosen with it in view";

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let workloads = [(&FINANCIAL, Some(0.2), 15.3), (&CELLO, None, 15.2), (&TPC_H, Some(0.6), 31.6)];
    let mut claims = Vec::new();
    let mut curves = Vec::new();
    for (index, (workload, published, blocks)) in workloads.into_iter().enumerate() {
        let run = simulate(item, context, &Setup::new(&workload.shortened(part), "FAST", (index, workloads.len())))?;
        let claim = format!("{}: full merges of 20 data blocks or more, share", workload.name);
        let share = run.share_of_merges(LARGE);
        let share = match published {
            Some(published) => Claim::share(item.name, &claim, published, share, NOT_FITTED),
            None => Claim::beside(item.name, &claim, share, "the text has no value"),
        };
        let claim = format!("{}: data blocks per full merge", workload.name);
        let mean = Claim::compared(item.name, &claim, blocks, run.blocks_per_merge(), MEAN);
        claims.extend([share, mean].map(|claim| claim.on_stand_in(workload.stand_in)));
        if let Some(published) = published {
            curves.push(Curve::published(workload.name, [(f64::from(LARGE), 1.0 - published)]));
        }
        curves.push(Curve::measured(workload.name, distribution(&run)));
    }
    let figure = Figure {
        title: "Figure 3.10: data blocks per full merge of FAST".into(),
        note: "Published: the points that the text gives. All workloads are stand-ins.".into(),
        x: Axis::linear("data blocks"),
        y: Axis::linear("share of full merges that join fewer"),
        curves,
    };
    Ok(ItemOutcome { claims, figures: vec![figure] })
}

/// Distribution of full merges by number of data blocks.
fn distribution(run: &StandInRun) -> Vec<(f64, f64)> {
    let last = run.flash.full_merge_data_blocks.keys().last().copied().unwrap_or(0);
    (1..=last + 1).map(|blocks| (f64::from(blocks), 1.0 - run.share_of_merges(blocks))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::drive::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure, 0.1);
        let curves: usize = outcome.figures.iter().map(|figure| figure.curves.len()).sum();
        assert_eq!((outcome.claims.len(), curves), (6, 5));
    }

    /// A switch or partial merge erases one block, a full merge the log block and its data blocks.
    #[test]
    fn blocks_per_merge_follow_from_table_3_4() {
        let mean = |erases: f64, switch: f64, partial: f64, full: f64| (erases - switch - partial - full) / full;
        for (found, expected) in [
            (mean(151_180.0, 374.0, 5_967.0, 8_865.0), 15.3),
            (mean(134_676.0, 1.0, 9_763.0, 7_694.0), 15.2),
            (mean(19_476.0, 5.0, 949.0, 568.0), 31.6),
        ] {
            assert!((found - expected).abs() < 0.05, "{found}");
        }
    }
}
