//! Agrawal 2008, table 8: how remaining life is distributed around its mean, with and without wear-levelling.
//!
//! The runs are those of table 7. The published numbers of blocks are not in the text. Its claim is that "cold data
//! migration offers better clustering around the mean than the other options".

use super::table_7::{TECHNIQUES, worn_by};
use crate::traces;
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "agrawal/table-8",
    title: "How the remaining life of blocks is spread around its mean",
    source: "Agrawal et al., USENIX ATC 2008, section 5, table 8",
    sections: &["5"],
    run,
};

const CLAIM: &str = "share of blocks within 20 % of the mean remaining life: migration > either other technique";
const REASON: &str = "section 5 in words; 20 % is the paper's ageVariance";

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let path = match traces::IOZONE.find(context) {
        Ok(path) => path,
        Err(missing) => return Ok(vec![Claim::unreachable(item.name, CLAIM, None, &missing)].into()),
    };
    let reports = worn_by(item, context, path)?;
    let shares = reports.map(|report| shares(&report.remaining_by_tenths));
    let near = shares.each_ref().map(near_the_mean);
    let others = near[0].max(near[1]);
    let values = [(TECHNIQUES[2], near[2]), ("the better of the others", others)];
    let mut claims = vec![Claim::descending(item.name, CLAIM, &values, REASON)];
    for (technique, near) in TECHNIQUES.iter().zip(near) {
        let claim = format!("{technique}: share of blocks within 20 % of the mean remaining life");
        claims.push(Claim::beside(item.name, &claim, near, "the table's numbers are not in the text"));
    }
    let figure = Figure {
        title: "Agrawal's table 8: blocks by their remaining life".into(),
        note: "Measured on the first 100,000 requests of IOzone, repeated. The table's numbers are not in the text."
            .into(),
        x: Axis::linear("remaining life over its mean"),
        y: Axis::linear("share of blocks"),
        curves: TECHNIQUES
            .iter()
            .zip(&shares)
            .map(|(technique, shares)| {
                let points = shares.iter().enumerate().map(|(tenth, share)| ((tenth as f64 + 0.5) / 10.0, *share));
                Curve::measured(technique, points)
            })
            .collect(),
    };
    Ok(ItemOutcome { claims, figures: vec![figure] })
}

fn shares(blocks: &[u64; 21]) -> [f64; 21] {
    let all: u64 = blocks.iter().sum();
    blocks.map(|blocks| blocks as f64 / all.max(1) as f64)
}

/// Share of blocks between 0.8 and 1.2 of the mean.
fn near_the_mean(shares: &[f64; 21]) -> f64 {
    shares[8..12].iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_the_mean_are_the_four_tenths_around_it() {
        let mut blocks = [0; 21];
        (blocks[0], blocks[7], blocks[8], blocks[11], blocks[12], blocks[20]) = (1, 1, 2, 4, 1, 1);
        assert!((near_the_mean(&shares(&blocks)) - 0.6).abs() < 1e-12);
    }
}
