//! Salman 2017, table 7.1: the loads.

use esker_trace::Operation;

use super::cluster::{Case, Scale};
use super::loads::{TABLE, stand_in};
use super::schemes::BASELINE;
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

const REASON: &str = "of the table; sizes are drawn, and requests of IOR are whole pages";

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/table-7.1",
    title: "The loads and their stand-ins",
    source: "Salman, thesis, 2017, section 7.1, table 7.1",
    sections: &["7.1"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed })
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let mut claims = Vec::new();
    let stand_in = stand_in(context);
    for (place, load) in TABLE.into_iter().enumerate() {
        let accesses = Case::of(place, BASELINE, scale).accesses(item, context)?;
        let (part, count) = (load.requests / load.count(1) as f64 * f64::from(scale.fewer), accesses.len() as f64);
        let bytes: u64 = accesses.iter().map(|access| access.length).sum();
        let writes = accesses.iter().filter(|access| access.operation == Operation::Write).count() as f64;
        let rows = [
            Claim::within(item.name, "requests, scaled up", load.requests, count * part, 0.01, "of the table"),
            Claim::within(
                item.name,
                "read and written, GB, scaled up",
                load.gigabytes,
                bytes as f64 * part / 1e9,
                0.05,
                REASON,
            ),
            Claim::within_absolute(item.name, "writes, percent", load.writes, writes / count * 100.0, 1.0, REASON),
        ];
        claims.extend(rows.map(|claim| {
            let named = format!("{}: {}", load.name, claim.claim);
            Claim { claim: named, ..claim }.by_construction("the stand-in is made so").on_stand_in(&stand_in)
        }));
    }
    Ok(claims.into())
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (24, 0));
    }
}
