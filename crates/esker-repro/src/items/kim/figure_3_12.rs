//! Kim 2009, figure 3.12 and table 3.5: response times of the three layers under the four workloads.
//!
//! The text does not have the curves, only the means (table 3.5) and a description of the tails.

use super::drive::{LAYERS, Setup, StandInRun, simulate};
use super::times::{TABLE_3_5, compared};
use super::workload::StandIn;
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-3.12",
    title: "Distribution of response times by layer and workload (with table 3.5)",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 3.5.2, figure 3.12, table 3.5",
    sections: &["3.5.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const DRAWN: usize = 200;

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let mut outcome = ItemOutcome::default();
    for (at, (workload, published)) in TABLE_3_5.iter().enumerate() {
        let means = published.map(|[response, ..]| response.0);
        let short = workload.shortened(part);
        let mut runs = Vec::new();
        for (index, layer) in LAYERS.into_iter().enumerate() {
            let run = simulate(item, context, &Setup::new(&short, layer, (3 * at + index, 12)))?;
            let name = format!("{}, {layer}", workload.name);
            let claims = compared(item, &name, &published[index], &run, |_| "table 3.5");
            outcome.claims.extend(claims.into_iter().map(|claim| claim.on_stand_in(workload.stand_in)));
            runs.push(times(&run));
        }
        let claims = text_claims(item, workload, &runs);
        outcome.claims.extend(claims.into_iter().map(|claim| claim.on_stand_in(workload.stand_in)));
        outcome.figures.push(Figure {
            title: format!("Figure 3.12: {}", workload.name),
            note:
                "Share of requests that took at most so long, driver's queue included. Published: the means of table \
                   3.5, at half height. The workload is a stand-in."
                    .into(),
            x: Axis::logarithmic("response time, ms"),
            y: Axis::linear("share of requests"),
            curves: curves(&runs, means),
        });
    }
    Ok(outcome)
}

/// The text's claims about a workload's curves.
fn text_claims(item: &Item, workload: &StandIn, runs: &[Vec<f64>]) -> Vec<Claim> {
    let mean = |layer: usize| runs[layer].iter().sum::<f64>() / runs[layer].len().max(1) as f64;
    let order = |layers: [usize; 3]| layers.map(|layer| (LAYERS[layer], mean(layer)));
    let ordered = |layers: [usize; 3]| {
        let claim = format!(
            "{}: mean response {} > {} > {}",
            workload.name, LAYERS[layers[0]], LAYERS[layers[1]], LAYERS[layers[2]]
        );
        Claim::descending(item.name, &claim, &order(layers), "table 3.5")
    };
    match workload.name {
        "Financial" => vec![
            ordered([2, 1, 0]),
            Claim::share(
                item.name,
                "Financial: DFTL's mean response below FAST's, share",
                0.78,
                1.0 - mean(1) / mean(2),
                "section 3.5.2; here every request waits for its map operations, of which table 3.5 charges few (see \
                kim/table-3.5)",
            ),
        ],
        "Cello99" => vec![
            ordered([2, 1, 0]),
            Claim::compared(
                item.name,
                "Cello99: FAST's mean response over DFTL's",
                7.9,
                mean(2) / mean(1),
                "table 3.5: 16.93 and 2.14 ms; \"much more dramatic\" than 4.5 under Financial",
            ),
        ],
        "TPC-H" => vec![
            ordered([2, 1, 0]),
            Claim::share(
                item.name,
                "TPC-H: share of requests up to which FAST is faster than DFTL",
                0.95,
                crossing(&runs[2], &runs[1]),
                "section 3.5.2: \"FAST services about 95% of the requests faster\", and the others much later",
            ),
        ],
        _ => vec![Claim::within(
            item.name,
            "Web Search: FAST's mean response over the Baseline's",
            1.0,
            mean(2) / mean(0),
            0.1,
            "table 3.5 has the same 0.86 ms; a tenth for blocks that the stand-in's few writes merge",
        )],
    }
}

/// Response times in ms, ascending.
fn times(run: &StandInRun) -> Vec<f64> {
    let mut times: Vec<f64> = run.served.iter().map(|served| served.response() as f64 / 1e6).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// The largest share of requests for which `left` is no slower than `right`, each at its own quantile.
fn crossing(left: &[f64], right: &[f64]) -> f64 {
    let first_slower = left.iter().zip(right).rposition(|(left, right)| left <= right).map_or(0, |last| last + 1);
    first_slower as f64 / left.len().max(1) as f64
}

fn curves(runs: &[Vec<f64>], means: [f64; 3]) -> Vec<Curve> {
    LAYERS
        .into_iter()
        .zip(runs)
        .zip(means)
        .flat_map(|((layer, times), mean)| {
            let last = times.len().saturating_sub(1);
            // Even steps of share, and finer ones at the slowest requests.
            let shares = (0..=DRAWN).map(|step| step as f64 / DRAWN as f64).chain([0.998, 0.999, 0.9999]);
            let mut points: Vec<(f64, f64)> =
                shares.map(|share| (times[(share * last as f64) as usize], share)).collect();
            points.sort_by(|left, right| left.1.total_cmp(&right.1));
            [Curve::published(layer, [(mean, 0.5)]), Curve::measured(layer, points)]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::drive::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure, 0.01);
        let curves: usize = outcome.figures.iter().map(|figure| figure.curves.len()).sum();
        assert_eq!((outcome.claims.len(), curves), (12 * 6 + 7, 24));
    }

    #[test]
    fn curves_cross_where_the_left_one_becomes_slower_for_good() {
        assert_eq!(crossing(&[1.0, 2.0, 3.0, 9.0], &[1.5, 1.9, 3.5, 4.0]), 0.75);
        assert_eq!(crossing(&[5.0, 6.0], &[1.0, 2.0]), 0.0);
        assert_eq!(crossing(&[1.0, 2.0], &[1.0, 2.0]), 1.0);
    }
}
