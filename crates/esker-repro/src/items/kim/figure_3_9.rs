//! Kim 2009, figure 3.9: writes and reads by their sequentiality, and the tail of random writes.
//!
//! The paper compares its simulator with two drives of 2008, which are not available. It claims trends, which are
//! checked. FlashSim 1 is the page map, FlashSim 2 is DFTL. One request at a time goes to a drive that is full, apart
//! from its spare space.

use esker_core::Ratio;
use esker_sim::PreconditionKind;
use esker_trace::{ArrivalPattern, Rate};

use super::drive::{Setup, StandInRun, simulate};
use super::workload::{FINANCIAL, StandIn, shape};
use crate::drive::Drive;
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-3.9",
    title: "Response against sequentiality: trends of the simulator's validation",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 3.4.3, figure 3.9",
    sections: &["3.4.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const SEQUENTIAL_PERCENT: [u64; 6] = [0, 20, 40, 60, 80, 100];
const STAND_IN: &str = "raw requests as in the paper, whose sizes and rates are not in the text";
const SPAN: u64 = 60_000;

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let layers = [("Baseline", "FlashSim 1 (page map)"), ("DFTL", "FlashSim 2 (DFTL)")];
    let runs = 2 * layers.len() * SEQUENTIAL_PERCENT.len();
    let mut figures = Vec::new();
    let mut spans = Vec::new();
    let mut tails = Vec::new();
    for (reads_percent, title) in [(0, "Figure 3.9 (a): writes"), (100, "Figure 3.9 (b): reads")] {
        let mut curves = Vec::new();
        for (layer, name) in layers {
            let mut points = Vec::new();
            for sequential_percent in SEQUENTIAL_PERCENT {
                let done = (figures.len() * layers.len() + curves.len()) * SEQUENTIAL_PERCENT.len() + points.len();
                let workload = StandIn { reads_percent, sequential_percent, ..raw() };
                let run = simulate(item, context, &Setup::new(&workload.shortened(part), layer, (done, runs)))?;
                points.push((sequential_percent as f64, run.device_ms()));
                if reads_percent == 0 && sequential_percent == 20 {
                    tails.push((name, distribution(&run)));
                }
            }
            spans.push((name, points[0].1, points[SEQUENTIAL_PERCENT.len() - 1].1));
            curves.push(Curve::measured(name, points));
        }
        figures.push(Figure {
            title: title.into(),
            note: "The drives' curves are not in the text.".into(),
            x: Axis::linear("sequential requests, %"),
            y: Axis::linear("mean device time, ms"),
            curves,
        });
    }
    figures.push(Figure {
        title: "Figure 3.9 (c): writes, 80 % of them random".into(),
        note: "Share of requests that took at most so long.".into(),
        x: Axis::logarithmic("device time, ms"),
        y: Axis::linear("share of requests"),
        curves: tails.iter().map(|(name, points)| Curve::measured(name, points.clone())).collect(),
    });
    let mut claims = Vec::new();
    for (index, (_, name)) in layers.into_iter().enumerate() {
        let (writes, reads) = (&spans[index], &spans[layers.len() + index]);
        let (write_gain, read_gain) = (writes.1 / writes.2, reads.1 / reads.2);
        claims.push(Claim::descending(
            item.name,
            &format!("{name}: sequential writes are faster, device time in ms"),
            &[("random", writes.1), ("sequential", writes.2)],
            "section 3.4.3, figure 3.9 (a)",
        ));
        claims.push(Claim::descending(
            item.name,
            &format!("{name}: reads vary less with sequentiality than writes, random over sequential"),
            &[("writes", write_gain), ("reads", read_gain)],
            "section 3.4.3, figure 3.9 (b)",
        ));
        let at = |share: f64| tails[index].1.iter().find(|point| point.1 >= share).map_or(f64::NAN, |point| point.0);
        claims.push(Claim::descending(
            item.name,
            &format!("{name}: 80 % random writes have a long tail, 99th percentile over five medians"),
            &[("p99", at(0.99)), ("5 x p50", 5.0 * at(0.5))],
            "section 3.4.3, figure 3.9 (c): \"long-tailed\"; five medians were taken for that",
        ));
    }
    let mut claims: Vec<Claim> = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    claims.push(Claim::unreachable(
        item.name,
        "response of the two real drives",
        None,
        "neither the drives nor their values can be had",
    ));
    Ok(ItemOutcome { claims, figures })
}

/// Starts the drive in the steady state.
fn full(drive: &mut Drive) {
    shape(drive, 4, 300);
    (drive.settings.over_provisioning, drive.settings.spare_factor) = (None, Some(Ratio::percent(15)));
    drive.precondition = PreconditionKind::Steady;
}

/// Requests of 4 KiB at random addresses, far enough apart in time that none waits. The warm-up writes the drive twice.
fn raw() -> StandIn {
    StandIn {
        requests: 20_000,
        warm_up: 60_000,
        read_pages: &[(2, 1)],
        write_pages: &[(2, 1)],
        arrivals: ArrivalPattern::Fixed { rate: Rate::per_second(10) },
        span_pages: SPAN,
        exponent: 0.0,
        recent_percent: 0,
        drive: full,
        ..FINANCIAL.clone()
    }
}

/// Such writes alone, on a drive that is full.
pub(super) fn random_writes() -> StandIn {
    StandIn { reads_percent: 0, sequential_percent: 0, ..raw() }
}

/// Quantiles of device times in ms.
fn distribution(run: &StandInRun) -> Vec<(f64, f64)> {
    let mut times: Vec<f64> = run.served.iter().map(|served| served.device as f64 / 1e6).collect();
    times.sort_by(f64::total_cmp);
    let last = times.len().saturating_sub(1);
    let shares = (0..100).map(|percent| f64::from(percent) / 100.0).chain([0.99, 0.995, 0.999, 1.0]);
    shares.map(|share| (times[(share * last as f64) as usize], share)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::drive::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure, 0.05);
        let curves: usize = outcome.figures.iter().map(|figure| figure.curves.len()).sum();
        assert_eq!((outcome.claims.len(), curves), (7, 6));
    }
}
