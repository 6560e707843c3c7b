//! Kim 2009, figure 3.14: response under increasing load, and the load at which each layer saturates.
//!
//! Workload A writes at random, B in sequence; the text gives no more. The stand-ins have 90 % writes, with Financial's
//! sizes; 2 % of A's requests continue the one before, and 80 % of B's.

use esker_core::Ratio;
use esker_trace::{ArrivalPattern, Rate};

use super::drive::{LAYERS, Setup, simulate};
use super::workload::{FINANCIAL, StandIn, shape};
use crate::drive::Drive;
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-3.14",
    title: "Response under rising load: random and sequential writes",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 3.5.3, figure 3.14",
    sections: &["3.5.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

/// Requests per second.
const RATES: [u32; 11] = [25, 50, 100, 200, 300, 400, 600, 800, 1200, 1600, 2400];
/// A layer counts as saturated when the response time is this many times that at the lowest load.
const KNEE: f64 = 10.0;
const STAND_IN: &str = "synthetic as in the paper, whose parameters are not in the text";

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let workloads = [("A (random writes)", 2), ("B (sequential writes)", 80)];
    let runs = workloads.len() * LAYERS.len() * RATES.len();
    let mut figures = Vec::new();
    let mut knees = Vec::new();
    for (name, sequential_percent) in workloads {
        let mut curves = Vec::new();
        for layer in LAYERS {
            let mut points = Vec::new();
            for rate in RATES {
                let done = (figures.len() * LAYERS.len() + curves.len()) * RATES.len() + points.len();
                let workload = StandIn {
                    requests: 20_000,
                    warm_up: 60_000,
                    reads_percent: 10,
                    sequential_percent,
                    span_pages: 160_000,
                    drive: small,
                    log: "3%",
                    arrivals: ArrivalPattern::Poisson { rate: Rate::per_second(rate.into()) },
                    ..FINANCIAL.clone()
                };
                let run = simulate(item, context, &Setup::new(&workload.shortened(part), layer, (done, runs)))?;
                points.push((f64::from(rate), run.response_ms()));
            }
            knees.push(knee(&points));
            curves.push(Curve::measured(layer, points));
        }
        figures.push(Figure {
            title: format!("Figure 3.14: workload {name}"),
            note: "The paper's curves are not in the text; what it says of them is held as claims.".into(),
            x: Axis::logarithmic("requests per second"),
            y: Axis::logarithmic("mean response, ms"),
            curves,
        });
    }
    let claims = claims(item, &knees);
    Ok(ItemOutcome { claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(), figures })
}

/// A drive as for Financial, but so small that sixty thousand requests fill it: all layers clean all the time.
fn small(drive: &mut Drive) {
    shape(drive, 4, 700);
    drive.settings.over_provisioning = Some(Ratio::percent(6));
}

/// Claims about the knees of the Baseline, DFTL and FAST, first under A, then under B.
fn claims(item: &Item, knees: &[f64]) -> Vec<Claim> {
    let reason = "requests per second at which the mean response is ten times that of the lowest load, on a straight \
                  line between loads; the text gives the order";
    let named = |layers: [usize; 2]| layers.map(|index| (NAMES[index], knees[index]));
    let mut claims: Vec<Claim> = (0..6)
        .map(|index| {
            Claim::beside(
                item.name,
                &format!("knee of {}, requests per second", NAMES[index]),
                knees[index],
                "the text has no value",
            )
        })
        .collect();
    claims.extend([
        Claim::descending(item.name, "A: DFTL sustains more load than FAST", &named([1, 2]), reason),
        Claim::descending(item.name, "FAST sustains more load under B than under A", &named([5, 2]), reason),
        Claim::descending(item.name, "B: DFTL sustains more load than FAST", &named([4, 5]), reason),
        Claim::within(
            item.name,
            "B: DFTL's knee over the Baseline's",
            1.0,
            knees[4] / knees[3],
            0.25,
            "section 3.5.3: DFTL \"is able to approximate the performance of Baseline scheme\"; a quarter of the load \
            was taken for that",
        ),
    ]);
    claims
}

const NAMES: [&str; 6] =
    ["Baseline under A", "DFTL under A", "FAST under A", "Baseline under B", "DFTL under B", "FAST under B"];

/// The load at which the response time is [`KNEE`] times that at the lowest load; the highest load if it never is.
fn knee(points: &[(f64, f64)]) -> f64 {
    let limit = KNEE * points[0].1;
    match points.iter().position(|(_, response)| *response > limit) {
        None | Some(0) => points[points.len() - 1].0,
        Some(after) => {
            let ((x0, y0), (x1, y1)) = (points[after - 1], points[after]);
            x0 + (limit - y0) / (y1 - y0) * (x1 - x0)
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
        assert_eq!((outcome.claims.len(), curves), (10, 6));
    }

    #[test]
    fn the_knee_is_where_the_response_is_ten_times_the_first() {
        assert!((knee(&[(10.0, 1.0), (20.0, 2.0), (40.0, 18.0)]) - 30.0).abs() < 1e-12);
        assert_eq!(knee(&[(10.0, 1.0), (20.0, 2.0)]), 20.0);
    }
}
