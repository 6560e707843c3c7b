//! Kim 2009, figure 3.19: the memory that DFTL and FAST save, used as a cache for data.
//!
//! The Baseline's map of a 32 GB drive takes 16 MiB, that of DFTL and FAST 32 KiB. The difference is a write-back
//! buffer that also caches reads.

use esker_core::{Bytes, Nanos, Ratio};
use esker_flash::{BufferMode, SsdSettings, WriteBufferSettings};

use super::drive::{Setup, StandInRun, simulate};
use super::workload::{FINANCIAL, TPC_H};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-3.19",
    title: "Spare memory as a cache for data",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 3.5.7, figure 3.19",
    sections: &["3.5.7"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const CACHE: WriteBufferSettings = WriteBufferSettings {
    size: Bytes::kib(16_352),
    mode: BufferMode::WriteBack,
    latency: Nanos::ZERO,
    high_water: Ratio::ONE,
    low_water: Ratio::ONE,
    keep_reads: true,
    power_protected: false,
};
const SIZE: &str = "16 MiB less 32 KiB (section 3.5.7); the text has no latency, so none, and no water marks: a write \
    that finds it full waits until room is made";

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let setups = [("Baseline", false), ("DFTL", false), ("DFTL", true), ("FAST", false), ("FAST", true)];
    let names = ["Baseline", "DFTL", "DFTL + cache", "FAST", "FAST + cache"];
    let mut claims = Vec::new();
    let mut bars = Vec::new();
    for (at, workload) in [&FINANCIAL, &TPC_H].into_iter().enumerate() {
        let short = workload.shortened(part);
        let mut runs: Vec<StandInRun> = Vec::new();
        for (index, (layer, cached)) in setups.into_iter().enumerate() {
            let change = |ssd: &mut SsdSettings| ssd.write_buffer = cached.then_some(CACHE);
            let part = (at * setups.len() + index, 2 * setups.len());
            let setup = Setup { change: &change, ..Setup::new(&short, layer, part) };
            runs.push(simulate(item, context, &setup)?);
        }
        let over: Vec<f64> = runs.iter().map(|run| run.response_ms() / runs[0].response_ms()).collect();
        let absorbed = absorbed(&runs[2]);
        let financial = workload.name == "Financial";
        let name = |what: &str| format!("{}: {what}", workload.name);
        let compared = |what: &str, published, measured, reason| {
            Claim::compared(item.name, &name(what), published, measured, reason)
        };
        let order = |what: &str, pair: [usize; 2]| {
            let values = pair.map(|index| (names[index], over[index]));
            Claim::descending(item.name, &name(what), &values, "section 3.5.7, mean response over the Baseline's")
        };
        let mut found = vec![
            Claim::share(
                item.name,
                &name("share of pages that the cache keeps from flash, DFTL"),
                if financial { 0.85 } else { 0.58 },
                absorbed,
                SIZE,
            ),
            order("FAST + cache improves on FAST", [3, 4]),
            order("FAST + cache is still worse than the Baseline", [4, 0]),
        ];
        found.push(if financial {
            compared("DFTL + cache: mean response over the Baseline's", 0.28, over[2], "section 3.5.7: 72 % better")
        } else {
            order("DFTL + cache is still worse than the Baseline", [2, 0])
        });
        claims.extend(found.into_iter().map(|claim| claim.on_stand_in(workload.stand_in)));
        if financial {
            bars.push(Curve::published_bars(workload.name, [1.0, f64::NAN, 0.28, f64::NAN, f64::NAN]));
        }
        bars.push(Curve::measured_bars(workload.name, over));
    }
    let figure = Figure {
        title: "Figure 3.19: mean response with and without a cache".into(),
        note: "Over the Baseline without one. Published: what the text gives. Both workloads are stand-ins.".into(),
        x: Axis::categories("layer", names),
        y: Axis::logarithmic("mean response over the Baseline's"),
        curves: bars,
    };
    Ok(ItemOutcome { claims, figures: vec![figure] })
}

/// Share of the host's pages that were neither read from flash nor written to it.
fn absorbed(run: &StandInRun) -> f64 {
    let buffer = run.flash.write_buffer.unwrap_or_default();
    let asked = buffer.pages_read + buffer.pages_written;
    let to_flash = buffer.pages_read - buffer.pages_read_from_buffer + buffer.pages_to_flash;
    1.0 - to_flash as f64 / asked.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::drive::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure, 0.01);
        let curves: usize = outcome.figures.iter().map(|figure| figure.curves.len()).sum();
        assert_eq!((outcome.claims.len(), curves), (8, 3));
    }
}
