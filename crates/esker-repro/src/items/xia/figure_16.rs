//! Xia 2017, figure 16: what the length of the window does.

use super::allocations::{Allocated, Choice, Plan, all};
use super::write_caches::{PUBLISHED, STAND_IN, WRITE_VOLUMES};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-16",
    title: "Response times by the length of the window",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 4.5.3, figure 16",
    sections: &["4.5.3"],
    run,
};

/// Lengths, GB, of the small caches; those of the large ones are four times as long.
const LENGTHS: [u32; 7] = [4, 6, 8, 10, 12, 14, 16];
/// What the text calls stable, as a part of the response time (ours).
const STABLE: f64 = 0.05;

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1)
}

fn measure(item: &Item, context: &Context<'_>, smaller: u32) -> Result<ItemOutcome, ReproduceError> {
    let lengths = |volume: usize| LENGTHS.map(|length| length * WRITE_VOLUMES[volume].flash_gb as u32 / 4);
    let plans: Vec<Plan> = (0..PUBLISHED)
        .flat_map(|volume| lengths(volume).map(|window_gb| (volume, Choice::Own { window_gb, on_flash: false })))
        .map(|(volume, choice)| Plan { smaller, ..Plan::new(volume, choice) })
        .collect();
    let found = all(item, context, &plans)?;
    let mut claims = Vec::new();
    let mut curves = Vec::new();
    for (number, runs) in found.chunks(LENGTHS.len()).enumerate() {
        let name = WRITE_VOLUMES[number].name;
        let lengths = lengths(number);
        let mean = |place: usize| runs[place].mean_us;
        // 8 GB of 4 to 16, or 32 of 16 to 64.
        let (first, middle) = (mean(0), mean(2));
        let after: Vec<f64> = runs[2..].iter().map(|run| run.mean_us).collect();
        let (least, most) =
            (after.iter().fold(f64::MAX, |a, b| a.min(*b)), after.iter().fold(0.0_f64, |a, b| a.max(*b)));
        let [short, long] = [lengths[0], lengths[2]].map(|length| format!("{length} GB"));
        let stable = 100.0 * STABLE;
        if name == "Financial1" {
            let claim = format!("{name}: mean response with windows of {long} over {short}");
            let reason = "5 %, ours: \"there is no big differences of the system performance\"";
            claims.push(Claim::within_absolute(item.name, &claim, 1.0, middle / first, STABLE, reason));
            let claim = format!("{name}: mean response with the longest windows over {long}");
            let reason = "1: \"increasing the time window can lead to some sacrifice of the system performance\"";
            claims.push(Claim::at_least(item.name, &claim, 1.0, mean(6) / middle, reason));
        } else {
            let claim = format!("{name}: mean response with windows of {short} and {long}, us");
            let reason = "\"the system performance are noticeably improved\"; \"similar conclusions\" for the others";
            let values = [(short.as_str(), first), (long.as_str(), middle)];
            claims.push(Claim::descending(item.name, &claim, &values, reason));
            let claim = format!("{name}: longest over shortest mean response from {long} on, percent more");
            let reason = "5, ours: \"relatively stable or only with limited reduction\"";
            claims.push(Claim::at_most(item.name, &claim, stable, 100.0 * (most / least - 1.0), reason));
        }
        let at = |(length, run): (u32, &Allocated)| (f64::from(length), run.mean_us);
        curves.push(Curve::measured(name, lengths.into_iter().zip(runs).map(at)));
    }
    let large = curves.split_off(2);
    let figure = |caches: &str, curves: Vec<Curve>| Figure {
        title: format!("Xia's figure 16: mean response by window, {caches}"),
        note: "The paper's curves are not in the text.".into(),
        x: Axis::linear("window, GB"),
        y: Axis::linear("mean response, us"),
        curves,
    };
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect();
    Ok(ItemOutcome { claims, figures: vec![figure("4 GB", curves), figure("16 GB", large)] })
}

#[cfg(test)]
mod tests {
    use super::super::tests::small;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = small(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (8, 2));
    }
}
