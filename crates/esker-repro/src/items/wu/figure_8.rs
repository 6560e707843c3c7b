//! Wu 2011, figure 8: hybrids with migration against two striped disks.

use super::volume::{FAST, MIGRATION, Part, SLOW, SPECSFS, Volume};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/figure-8",
    title: "Hybrids against two striped disks under SPECsfs",
    source: "Wu, dissertation, Texas A&M University, 2011, section II.D.5 (2.4.5), figure 8",
    sections: &["2.4.5"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

fn measure(item: &Item, context: &Context<'_>, scale: f64) -> Result<ItemOutcome, ReproduceError> {
    let systems = [
        ("Transcend hybrid", Volume::hybrid(SLOW, MIGRATION)),
        ("MemoRight hybrid", Volume::hybrid(FAST, MIGRATION)),
        ("two disks", Volume::two_disks()),
    ];
    let mut found = Vec::new();
    for (index, (_, volume)) in systems.iter().enumerate() {
        found.push(Part { item, context, index, runs: systems.len(), scale }.saturation(volume)?);
    }
    let [slow, fast, disks] = [0, 1, 2].map(|system: usize| found[system].per_s);
    let claims = vec![
        Claim::compared(
            item.name,
            "saturation: MemoRight hybrid over two disks",
            1.5,
            fast / disks,
            "\"nearly 50% higher throughput saturation point\"; nothing of the inside of this drive is published",
        ),
        Claim::descending(
            item.name,
            "saturation: two disks carry more than the Transcend hybrid, requests per second",
            &[("two disks", disks), ("hybrid", slow)],
            "\"works better than the hybrid drive on both the saturation point and the response time\"",
        ),
    ];
    let curves = systems.iter().zip(&found).map(|((name, _), found)| Curve::measured(name, found.points()));
    let figure = Figure {
        title: "Wu's figure 8: response against load, hybrids and two disks".into(),
        note: "The paper's curves are not in the text.".into(),
        x: Axis::logarithmic("offered requests per second"),
        y: Axis::linear("mean response, ms"),
        curves: curves.collect(),
    };
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(SPECSFS)).collect();
    Ok(ItemOutcome { claims, figures: vec![figure] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_systems_are_measured() {
        let outcome = super::super::volume::tests::short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures[0].curves.len()), (2, 3));
    }
}
