//! Xia 2017, figure 21: what m, the threshold of low-cost writes to pages that are read too, does.

use super::volumes::{OVERLAPPING, STAND_IN, VOLUMES, VolumeScale};
use super::write_modes::{LOAD, Measured, Scheme, State, all, matrix, mean_over_volumes};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-21",
    title: "Response times by m",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 5.4.2.1, figure 21",
    sections: &["5.4.2.1"],
    run,
};

/// The values of m; n is 2.
const VALUES: [i8; 9] = [-4, -3, -2, -1, 0, 1, 2, 3, 4];

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, VolumeScale::SWEPT)
}

pub(super) fn measure(item: &Item, context: &Context<'_>, scale: VolumeScale) -> Result<ItemOutcome, ReproduceError> {
    let mut schemes = vec![Scheme::Normal];
    schemes.extend(VALUES.map(|m| Scheme::Differentiated { m, n: 2 }));
    let found = matrix(item, context, State::full(scale), (&all(), &schemes), LOAD)?;
    let mean = |index: usize, of: fn(&Measured) -> f64| mean_over_volumes(&found, index + 1, of);
    let overall = |index: &usize| mean(*index, |run| run.all_us);
    let best = (0..VALUES.len()).min_by(|one, other| overall(one).total_cmp(&overall(other)));
    let best = f64::from(VALUES[best.unwrap_or(0)]);
    let reason = "1: \"the best overall performance can be achieved with m equals -1\", and neighbours are close";
    let claim = "m with the shortest mean response, geometric mean over the volumes";
    let mut claims = vec![Claim::within_absolute(item.name, claim, -1.0, best, 1.0, reason)];
    let of = |volume: usize, m: i8| {
        let index = VALUES.iter().position(|value| *value == m).unwrap_or(0);
        found[volume][index + 1].all_us
    };
    let reason = "\"the average overall performance could be significantly improved when m changes from positive \
                  values to negative values\"";
    let values = [("m = 2", of(1, 2)), ("m = -1", of(1, -1))];
    claims.push(Claim::descending(item.name, "hm0: mean response, us", &values, reason));
    let spread = |volume: usize| {
        let times = VALUES.map(|m| of(volume, m));
        let (least, most) = (times.into_iter().fold(f64::MAX, f64::min), times.into_iter().fold(0.0, f64::max));
        100.0 * (most / least - 1.0)
    };
    let others = (0..VOLUMES.len()).filter(|volume| !OVERLAPPING.contains(volume)).map(spread);
    let reason = "10: \"for most of the workloads, changing the values of m only has marginal effects\"";
    let mut others: Vec<f64> = others.collect();
    others.sort_by(f64::total_cmp);
    let claim = "longest over shortest mean response by m, median of the volumes of little overlap, percent more";
    claims.push(Claim::at_most(item.name, claim, 10.0, others[others.len() / 2], reason));
    let figures = [
        ("all requests", (|run| run.all_us) as fn(&Measured) -> f64),
        ("reads", |run| run.read_us),
        ("writes", |run| run.write_us),
    ];
    let figures = figures.map(|(what, of)| Figure {
        title: format!("Xia's figure 21: mean response of {what} by m"),
        note: "Over the normal drive's; n is 2. The paper's curves are not in the text.".into(),
        x: Axis::linear("m"),
        y: Axis::linear("mean response over the normal drive's"),
        curves: VOLUMES
            .iter()
            .zip(&found)
            .map(|(volume, runs)| {
                let at = |(m, run): (i8, &Measured)| (f64::from(m), of(run) / of(&runs[0]));
                Curve::measured(volume.name, VALUES.into_iter().zip(&runs[1..]).map(at))
            })
            .collect(),
    });
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    Ok(ItemOutcome { claims, figures: figures.into() })
}

#[cfg(test)]
mod tests {
    use super::super::tests::few;
    use super::*;

    #[test]
    fn every_value_of_m_is_run() {
        let outcome = few(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (3, 3));
        assert!(outcome.figures.iter().flat_map(|figure| &figure.curves).all(|curve| curve.points.len() == 9));
    }
}
