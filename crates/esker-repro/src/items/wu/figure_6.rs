//! Wu 2011, figure 6: sensitivity to delta and to the size of chunks.

use super::volume::{MIGRATION, Part, SLOW, SPECSFS, Volume};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/figure-6",
    title: "Migration's threshold delta, and the size of chunks",
    source: "Wu, dissertation, Texas A&M University, 2011, section II.D.3 (2.4.3), figure 6",
    sections: &["2.4.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

/// Percent. The third is the paper's choice.
const DELTAS: [u32; 5] = [0, 50, 100, 200, 400];
const CHUNKS: [&str; 3] = ["64KiB", "128KiB", "256KiB"];

fn measure(item: &Item, context: &Context<'_>, scale: f64) -> Result<ItemOutcome, ReproduceError> {
    let runs = DELTAS.len() + CHUNKS.len() - 1;
    let (mut of_delta, mut of_chunk) = (Vec::new(), Vec::new());
    for delta in DELTAS {
        let policy = MIGRATION.replace("100%", &format!("{delta}%"));
        let part = Part { item, context, index: of_delta.len(), runs, scale };
        of_delta.push(part.saturation(&Volume::hybrid(SLOW, &policy))?);
    }
    of_chunk.push(of_delta[2].clone());
    for chunk in &CHUNKS[1..] {
        let part = Part { item, context, index: DELTAS.len() + of_chunk.len() - 1, runs, scale };
        of_chunk.push(part.saturation(&Volume { chunk, ..Volume::hybrid(SLOW, MIGRATION) })?);
    }
    let best = of_delta.iter().map(|found| found.per_s).fold(0.0, f64::max);
    let [small, middle, large] = [0, 1, 2].map(|chunk: usize| of_chunk[chunk].per_s);
    let claims = vec![
        Claim::within(
            item.name,
            "saturation with a delta of 1 over that with the best delta",
            1.0,
            of_delta[2].per_s / best,
            0.05,
            "the paper chose 1 for all other tests; 5 % for \"best or near\"",
        ),
        Claim::within(
            item.name,
            "saturation with chunks of 128 KiB over 64 KiB",
            1.0,
            middle / small,
            0.1,
            "\"nearly the same performance at various loads\"; 10 % for that",
        ),
        Claim::descending(
            item.name,
            "chunks of 64 KiB carry more than those of 256 KiB, requests per second",
            &[("64 KiB", small), ("256 KiB", large)],
            "\"a larger chunk size of 256 KB showed worse performance\"",
        ),
    ];
    let claims = claims.into_iter().map(|claim| claim.on_stand_in(SPECSFS)).collect();
    let figure = |title: &str, curves| Figure {
        title: title.into(),
        note: "The paper's curves are not in the text.".into(),
        x: Axis::linear("offered requests per second"),
        y: Axis::linear("mean response, ms"),
        curves,
    };
    let deltas = DELTAS.iter().zip(&of_delta);
    let deltas =
        deltas.map(|(delta, found)| Curve::measured(&format!("delta {}", f64::from(*delta) / 100.0), found.points()));
    let chunks = CHUNKS.iter().zip(&of_chunk).map(|(chunk, found)| Curve::measured(chunk, found.points()));
    let figures = vec![
        figure("Wu's figure 6(a): response against load by delta, Transcend", deltas.collect()),
        figure("Wu's figure 6(b): response against load by size of chunks, Transcend", chunks.collect()),
    ];
    Ok(ItemOutcome { claims, figures })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_delta_and_size_is_tried() {
        let outcome = super::super::volume::tests::short(&ITEM, measure);
        assert_eq!(outcome.claims.len(), 3);
        let curves: Vec<usize> = outcome.figures.iter().map(|figure| figure.curves.len()).collect();
        assert_eq!(curves, [DELTAS.len(), CHUNKS.len()]);
    }
}
