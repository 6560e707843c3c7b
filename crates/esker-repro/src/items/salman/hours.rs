//! Figures of the three schemes over the hours of usr.

use super::loads::stand_in;
use super::schemes::SCHEMES;
use crate::{Axis, Claim, Context, Curve, Figure, ItemOutcome};

/// The claims, on stand-ins, with a figure of a value for each of `hours` and scheme. `texts` are its title, its note,
/// and its unit.
pub(super) fn outcome(
    context: &Context<'_>,
    claims: Vec<Claim>,
    texts: [&str; 3],
    hours: impl Iterator<Item = u64> + Clone,
    values: &[Vec<f64>],
) -> ItemOutcome {
    let [title, note, unit] = texts;
    let curve = |((name, _), values): (&(&str, &str), &Vec<f64>)| {
        Curve::measured(name, hours.clone().map(|hour| hour as f64).zip(values.iter().copied()))
    };
    let figure = Figure {
        title: title.into(),
        note: note.into(),
        x: Axis::linear("hours"),
        y: Axis::linear(unit),
        curves: SCHEMES.iter().zip(values).map(curve).collect(),
    };
    let stand_in = stand_in(context);
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(&stand_in)).collect();
    ItemOutcome { claims, figures: vec![figure] }
}
