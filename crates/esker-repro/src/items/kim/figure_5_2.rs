//! Kim 2009, figure 5.2: what more load does to a drive that was planned for less.

use super::made_up::MadeUp;
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-5.2",
    title: "Response time and erase rate of a Financial-like workload, by arrival rate and utilisation",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 5.2.3, figure 5.2",
    sections: &["5.2.3"],
    run,
};

/// Times the arrival rate of table 5.1.
const SPEEDS: [u32; 3] = [1, 2, 4];
const UTILISATIONS: [f64; 6] = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let runs = SPEEDS.len() * UTILISATIONS.len();
    let (mut responses, mut erases) = (Vec::new(), Vec::new());
    for (at, speed) in SPEEDS.into_iter().enumerate() {
        let (mut response, mut erase) = (Vec::new(), Vec::new());
        for (index, utilisation) in UTILISATIONS.into_iter().enumerate() {
            let workload = MadeUp {
                name: "Financial",
                reads_percent: 9,
                sequential: 0.03,
                sectors: 6.57,
                utilisation,
                gap_ms: 164.49 / f64::from(speed),
                requests: (40_000.0 * part).ceil() as u64,
            };
            let measured = workload.simulate(item, context, (at * UTILISATIONS.len() + index, runs))?.measured;
            response.push((utilisation, measured.response_us / 1e3));
            erase.push((utilisation, measured.erases_per_s));
        }
        responses.push(Curve::measured(&format!("{speed}x"), response));
        erases.push(Curve::measured(&format!("{speed}x"), erase));
    }
    let claims = claims(item, &responses, &erases);
    let figure = |title: &str, y: &str, curves| Figure {
        title: title.into(),
        note:
            "A workload made up by Financial's row of table 5.1, with 9 % reads; what the drive does not hold is not \
               simulated."
                .into(),
        x: Axis::linear("utilisation of the flash"),
        y: Axis::linear(y),
        curves,
    };
    let figures = vec![
        figure("Figure 5.2 (a): performance", "mean response, ms", responses),
        figure("Figure 5.2 (b): lifetime", "erased blocks per second", erases),
    ];
    Ok(ItemOutcome { claims, figures })
}

fn claims(item: &Item, responses: &[Curve], erases: &[Curve]) -> Vec<Claim> {
    let at_90 = |curves: &[Curve]| -> Vec<(String, f64)> {
        curves.iter().rev().map(|curve| (curve.name.clone(), curve.points[UTILISATIONS.len() - 1].1)).collect()
    };
    let order = |curves: &[Curve], claim: &str, reason: &str| {
        let values = at_90(curves);
        let values: Vec<(&str, f64)> = values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        Claim::descending(item.name, claim, &values, reason)
    };
    let falls = |curves: &[Curve]| {
        let falls = curves.iter().flat_map(|curve| curve.points.windows(2)).filter(|pair| pair[1].1 < pair[0].1);
        falls.count() as f64
    };
    vec![
        order(
            responses,
            "response at 90 %, more with more load",
            "section 5.2.3: \"degrading the system's performance\"",
        ),
        order(erases, "erase rate at 90 %, more with more load", "section 5.2.3: \"higher number of block erases\""),
        Claim::none(
            item.name,
            "steps of utilisation at which the erase rate falls",
            falls(erases),
            "figure 5.2 (b): the more of the space is in use, the more is copied",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_curve() {
        let outcome = outcome(&ITEM, |item, context| measure(item, context, 0.1));
        let curves: usize = outcome.figures.iter().map(|figure| figure.curves.len()).sum();
        assert_eq!((outcome.claims.len(), curves), (3, 6));
    }
}
