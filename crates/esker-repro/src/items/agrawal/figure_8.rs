//! Agrawal 2008, figure 8: latency and moved pages against the share of free blocks below which cleaning begins.
//!
//! At every threshold the host keeps its 85 % of the data pages. TPC-C's requests are too few to make a filled drive
//! clean as long as in the paper, so that drive starts in the steady state.

use esker_core::Ratio;
use esker_sim::PreconditionKind;

use super::drives::baseline;
use super::workloads::{ALL, PaperWorkload, TPCC, pages_moved, response_ms};
use crate::drive::Drive;
use crate::traces::{self, PlannedRun};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "agrawal/figure-8",
    title: "Latency and moved pages against the threshold of cleaning",
    source: "Agrawal et al., USENIX ATC 2008, section 4.5, figure 8",
    sections: &["4.5"],
    run,
};

/// Shares of free blocks, percent, and spare factors that leave the host 85 % of the data pages, in parts per billion.
const THRESHOLDS: [(u32, u64); 3] = [(2, 132_653_060), (5, 105_263_160), (10, 55_555_560)];

const RISES: &str = "\"the access latencies increase in TPC-C with the threshold\"";
const FOLLOWS: &str = "\"is explained by\" the pages moved during cleaning";
const LITTLE: &str = "\"other workloads show little difference\": 5 % to either side";

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let mut outcome = ItemOutcome::default();
    let (mut latencies, mut moves) = (Vec::new(), Vec::new());
    for (index, workload) in ALL.into_iter().enumerate() {
        let asked = match workload.settings(context) {
            Ok(asked) => asked,
            Err(missing) => {
                outcome.claims.push(Claim::unreachable(item.name, &change(workload), Some(1.0), &missing));
                continue;
            }
        };
        let (mut response, mut moved) = (Vec::new(), Vec::new());
        for (place, (threshold, _)) in THRESHOLDS.into_iter().enumerate() {
            let threshold = f64::from(threshold);
            let part = (index * THRESHOLDS.len() + place, ALL.len() * THRESHOLDS.len());
            let plan = PlannedRun::new(drive(workload, place).system(), asked.clone());
            let results = traces::run(item, context, plan, part)?;
            response.push((threshold, response_ms(&results)));
            moved.push((threshold, pages_moved(&results) as f64));
        }
        claims(item, workload, &response, &moved, &mut outcome.claims);
        let first = response[0].1;
        let relative = response.iter().map(|(threshold, response)| (*threshold, response / first));
        latencies.push(Curve::measured(workload.name, relative));
        moves.push(Curve::measured(workload.name, moved));
    }
    let note = "The text gives no values. TPC-C and Exchange are made up; TPC-C's drive is in the steady state.";
    outcome.figures.push(Figure {
        title: "Agrawal's figure 8(a): latency against the threshold of cleaning".into(),
        note: note.into(),
        x: Axis::linear("free blocks below which cleaning begins, %"),
        y: Axis::linear("mean response over that at 2 %"),
        curves: latencies,
    });
    outcome.figures.push(Figure {
        title: "Agrawal's figure 8(b): pages moved against the threshold of cleaning".into(),
        note: note.into(),
        x: Axis::linear("free blocks below which cleaning begins, %"),
        y: Axis::linear("pages moved"),
        curves: moves,
    });
    Ok(outcome)
}

fn drive(workload: &PaperWorkload, place: usize) -> Drive {
    let (threshold, spare) = THRESHOLDS[place];
    let drive = baseline().changed(|ssd| {
        ssd.cleaning.threshold = Ratio::percent(threshold.into());
        ssd.spare_factor = Some(Ratio::parts_per_billion(spare));
    });
    if workload.name == TPCC.name { drive.preconditioned(PreconditionKind::Steady) } else { drive }
}

fn change(workload: &PaperWorkload) -> String {
    format!("{}: mean response at a threshold of 10 % over that at 2 %", workload.name)
}

fn claims(
    item: &Item,
    workload: &PaperWorkload,
    response: &[(f64, f64)],
    moved: &[(f64, f64)],
    claims: &mut Vec<Claim>,
) {
    let named = |values: &[(f64, f64)]| -> Vec<(String, f64)> {
        values.iter().rev().map(|(threshold, value)| (format!("{threshold} %"), *value)).collect()
    };
    let descending = |claim: &str, values: &[(f64, f64)], reason| {
        let values = named(values);
        let values: Vec<_> = values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        workload.on(Claim::descending(item.name, claim, &values, reason))
    };
    let (first, last) = (response[0].1, response[response.len() - 1].1);
    if workload.name == TPCC.name {
        claims.push(descending("TPC-C: mean response rises with the threshold, ms", response, RISES));
        claims.push(descending("TPC-C: moved pages rise with the threshold", moved, FOLLOWS));
    } else {
        claims.push(workload.on(Claim::within(item.name, &change(workload), 1.0, last / first, 0.05, LITTLE)));
        let most = moved.iter().fold(0.0f64, |most, (_, moved)| most.max(*moved));
        let claim = format!("{}: pages moved at any of the thresholds", workload.name);
        claims.push(Claim::beside(item.name, &claim, most, "the figure's values are not in the text"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::workloads::tests::short;
    use super::*;

    #[test]
    fn the_host_has_the_same_share_at_every_threshold() {
        for (threshold, spare) in THRESHOLDS {
            let host = (1.0 - spare as f64 / 1e9) * (1.0 - f64::from(threshold) / 100.0);
            assert!((host - 0.85).abs() < 1e-7, "{threshold} %: {host}");
        }
    }

    #[test]
    fn every_threshold_can_be_built() {
        for place in 0..THRESHOLDS.len() {
            assert_eq!(short(&ITEM, drive(&TPCC, place), 0).requests.all.count, 200);
        }
    }
}
