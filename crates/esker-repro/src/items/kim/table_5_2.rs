//! Kim 2009, table 5.2 and figure 5.3: the response time of the next write by (5.3), beside simpler and better
//! predictions.

use esker_model::{Coefficient, LinearResponse};

use super::response_loads::{Predictor, ResponseLoad, Writes, loads, predicted};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/table-5.2",
    title: "The response time of the next write, by (5.3) and by what the drive is doing (with figure 5.3)",
    source: "Kim, dissertation, Pennsylvania State University, 2009, sections 5.3.1 and 5.3.2, table 5.2, figure 5.3",
    sections: &["5.3.1", "5.3.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

/// The coefficients of table 5.2 (b), after the constant: of the service time, the ratio of reads and writes,
/// sequentiality, the gap, and the size.
const COEFFICIENTS: [(&str, f64); 5] =
    [("service time", 0.01223), ("reads", -0.66566), ("sequentiality", -0.78597), ("gap", -0.00007), ("size", 0.12127)];

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let loads = loads(part);
    let mut claims = Vec::new();
    let mut means = Vec::new();
    for (index, load) in loads.iter().enumerate() {
        let writes = predicted(item, context, load, (index, loads.len()))?;
        let of_load = claims_of(item, load, &writes);
        claims.extend(of_load.into_iter().map(|claim| claim.on_stand_in(load.workload.stand_in)));
        means.push(Predictor::ALL.map(|of| writes.errors(of).mean_ms));
    }
    let figure = Figure {
        title: "Figure 5.3: error of predicted response times".into(),
        note: "Mean absolute error on the second half of the writes. The paper's values are not in the text; the \
               workloads are stand-ins."
            .into(),
        x: Axis::categories("load", loads.iter().map(|load| load.name)),
        y: Axis::linear("mean error, ms"),
        curves: Predictor::ALL
            .into_iter()
            .enumerate()
            .map(|(at, of)| Curve::measured_bars(of.name(), means.iter().map(|load| load[at])))
            .collect(),
    };
    Ok(ItemOutcome { claims, figures: vec![figure] })
}

fn claims_of(item: &Item, load: &ResponseLoad, writes: &Writes) -> Vec<Claim> {
    let name = |what: &str| format!("{}: {what}", load.name);
    let fit = &writes.published.fit;
    let mut claims = vec![
        Claim::compared(item.name, &name("R2 of (5.3) on the first half"), 0.98, fit.r_squared, TABLE),
        Claim::beside(
            item.name,
            &name("R2 of the size alone on the first half"),
            writes.size_alone.fit.r_squared,
            SIZE,
        ),
    ];
    if load.has_signs {
        claims.extend(signs(item, load, &writes.published));
    }
    for of in Predictor::ALL {
        let errors = writes.errors(of);
        let name = |what: &str| name(&format!("{}, {what}", of.name()));
        claims.push(Claim::beside(item.name, &name("mean error, ms"), errors.mean_ms, HELD_OUT));
        claims.push(match (of, load.cleans) {
            (Predictor::Published, false) => Claim::at_least(item.name, &name("R2"), 0.95, errors.r_squared, EMPTY),
            _ => Claim::beside(item.name, &name("R2"), errors.r_squared, HELD_OUT),
        });
    }
    if load.cleans {
        claims.push(better(item, load, writes, Predictor::Published, Predictor::LastValue, LAST));
        claims.push(better(item, load, writes, Predictor::CleaningClock, Predictor::Published, OURS));
        claims.push(better(item, load, writes, Predictor::CleaningClock, Predictor::SizeAlone, OURS));
    }
    claims
}

/// Claims that each coefficient has the sign of table 5.2 (b).
fn signs(item: &Item, load: &ResponseLoad, published: &LinearResponse) -> Vec<Claim> {
    let pairs = COEFFICIENTS.into_iter().zip(&published.fit.coefficients[1..]);
    let sign = |((term, published), found): ((&str, f64), &Coefficient)| {
        let claim = format!("{}: coefficient of the {term}, with the sign of table 5.2", load.name);
        let reason = format!(
            "table 5.2 has {published}; 99 % interval {:.5} to {:.5}, p {:.2}",
            found.low_99, found.high_99, found.p
        );
        let claimed = if published > 0.0 { Claim::at_least } else { Claim::at_most };
        claimed(item.name, &claim, 0.0, found.estimate, &reason)
    };
    pairs.map(sign).collect()
}

/// Claims that the error of `one` is 15 % below that of `other`.
fn better(item: &Item, load: &ResponseLoad, writes: &Writes, one: Predictor, other: Predictor, reason: &str) -> Claim {
    let (ratio, [low, high]) = writes.errors(one).over(&writes.errors(other));
    let claim = format!("{}: mean error of the {} over that of the {}", load.name, one.name(), other.name());
    Claim::at_most(item.name, &claim, 0.85, ratio, &format!("{reason}; 95 % interval {low:.3} to {high:.3}"))
}

const TABLE: &str = "table 5.2 (a), on the Financial trace; writes, which are what the controller places";
const SIZE: &str = "the largest term of table 5.2 by far";
const HELD_OUT: &str = "on the second half, which was not seen in training";
const EMPTY: &str = "our reading of \"98%\" (section 5.3.2) for flash that does not clean";
const LAST: &str = "figure 5.3 has a \"much small error rate\", without values in the text; 15 % is ours";
const OURS: &str = "a target of ours";

#[cfg(test)]
mod tests {
    use super::super::drive::tests::short;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = short(&ITEM, measure, 0.1);
        assert_eq!(outcome.figures[0].curves.len(), Predictor::ALL.len());
        assert_eq!(outcome.claims.len(), 6 * (2 + 2 * Predictor::ALL.len()) + 2 * 5 + 4 * 3);
        // On a part of the requests, already, what the drive is doing says more than the terms of (5.3).
        let ours = outcome.claims.iter().filter(|claim| claim.claim.contains("mean error of the cleaning clock over"));
        assert!(ours.clone().count() == 8 && ours.clone().all(|claim| claim.stand_in_holds == Some(true)));
    }
}
