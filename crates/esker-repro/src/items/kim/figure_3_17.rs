//! Kim 2009, figure 3.17: energy by flash operation and layer.

use super::drive::{LAYERS, Setup, simulate};
use super::workload::{FINANCIAL, TPC_H};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-3.17",
    title: "Energy by operation and layer",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 3.5.6, figure 3.17, table 3.2",
    sections: &["3.5.6"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let mut claims = Vec::new();
    let mut figures = Vec::new();
    let mut totals = Vec::new();
    for (at, workload) in [&FINANCIAL, &TPC_H].into_iter().enumerate() {
        let short = workload.shortened(part);
        let mut joules = [[0.0; 3]; 3];
        for (index, layer) in LAYERS.into_iter().enumerate() {
            let run = simulate(item, context, &Setup::new(&short, layer, (3 * at + index, 6)))?;
            let energy = run.flash.energy.unwrap_or_default();
            joules[index] = [energy.read, energy.program, energy.erase].map(|cause| cause.total_pj() as f64 / 1e12);
        }
        let total = joules.map(|operations| operations.iter().sum::<f64>());
        let order = [2, 1, 0].map(|layer| (LAYERS[layer], total[layer]));
        let claim = format!("{}: energy of flash FAST > DFTL > Baseline, J", workload.name);
        claims.push(
            Claim::descending(
                item.name,
                &claim,
                &order,
                "section 3.5.6: map operations cost DFTL more, merges FAST most",
            )
            .on_stand_in(workload.stand_in),
        );
        totals.push(total);
        let operations = ["reads", "programs", "erases"];
        figures.push(Figure {
            title: format!("Figure 3.17: {}", workload.name),
            note: "Energy of all flash operations, transfers inside, by table 3.2. The paper's values are not in the \
                   text; the workload is a stand-in."
                .into(),
            x: Axis::categories("layer", LAYERS),
            y: Axis::linear("J"),
            curves: operations
                .into_iter()
                .enumerate()
                .map(|(at, operation)| Curve::measured_bars(operation, joules.map(|operations| operations[at])))
                .collect(),
        });
    }
    for (index, layer) in LAYERS.into_iter().enumerate() {
        let order = [("Financial", totals[0][index]), ("TPC-H", totals[1][index])];
        let claim = format!("{layer}: energy under Financial > TPC-H, J");
        claims.push(
            Claim::descending(item.name, &claim, &order, "section 3.5.6; TPC-H's stand-in has fewer requests")
                .on_stand_in(FINANCIAL.stand_in),
        );
    }
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
        assert_eq!((outcome.claims.len(), curves), (5, 6));
    }
}
