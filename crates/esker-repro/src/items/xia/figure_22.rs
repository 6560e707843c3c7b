//! Xia 2017, figure 22: what n, the threshold at which pages are programmed again, does.

use super::volumes::{STAND_IN, VOLUMES, VolumeScale};
use super::write_modes::{LOAD, Measured, Scheme, State, all, matrix, mean_over_volumes};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-22",
    title: "Response times by n",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 5.4.2.1, figure 22",
    sections: &["5.4.2.1"],
    run,
};

/// The values of n; m is -1.
const VALUES: [i8; 5] = [0, 1, 2, 3, 4];

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, VolumeScale::SWEPT)
}

pub(super) fn measure(item: &Item, context: &Context<'_>, scale: VolumeScale) -> Result<ItemOutcome, ReproduceError> {
    let mut schemes = vec![Scheme::Normal];
    schemes.extend(VALUES.map(|n| Scheme::Differentiated { m: -1, n }));
    let found = matrix(item, context, State::full(scale), (&all(), &schemes), LOAD)?;
    let mean = |n: usize, of: fn(&Measured) -> f64| mean_over_volumes(&found, n + 1, of);
    let mut claims = Vec::new();
    for (what, of, last, reason) in [
        (
            "writes",
            (|run| run.write_us) as fn(&Measured) -> f64,
            4,
            "1.02 of the smaller n at most: \"can always result in better or the same write performance\"",
        ),
        (
            "reads",
            |run| run.read_us,
            3,
            "1.02 at most: \"only when n is less than or equal to 3 ... better or similar\"",
        ),
        (
            "all requests",
            |run| run.all_us,
            3,
            "1.02 at most: \"only when n is less than or equal to 3 ... better or similar\"",
        ),
    ] {
        let worst = (1..=last).map(|n| mean(n, of) / mean(n - 1, of)).fold(0.0, f64::max);
        let claim = format!("mean response of {what} with n over that with n - 1, the largest up to n = {last}");
        claims.push(Claim::at_most(item.name, &claim, 1.02, worst, reason).on_stand_in(STAND_IN));
    }
    let figures = [
        ("all requests", (|run| run.all_us) as fn(&Measured) -> f64),
        ("reads", |run| run.read_us),
        ("writes", |run| run.write_us),
    ];
    let figures = figures.map(|(what, of)| Figure {
        title: format!("Xia's figure 22: mean response of {what} by n"),
        note: "Over the normal drive's; m is -1. The paper's curves are not in the text.".into(),
        x: Axis::linear("n"),
        y: Axis::linear("mean response over the normal drive's"),
        curves: VOLUMES
            .iter()
            .zip(&found)
            .map(|(volume, runs)| {
                let at = |(n, run): (i8, &Measured)| (f64::from(n), of(run) / of(&runs[0]));
                Curve::measured(volume.name, VALUES.into_iter().zip(&runs[1..]).map(at))
            })
            .collect(),
    });
    Ok(ItemOutcome { claims, figures: figures.into() })
}

#[cfg(test)]
mod tests {
    use super::super::tests::few;
    use super::*;

    #[test]
    fn every_value_of_n_is_run() {
        let outcome = few(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (3, 3));
        assert!(outcome.figures.iter().flat_map(|figure| &figure.curves).all(|curve| curve.points.len() == 5));
    }
}
