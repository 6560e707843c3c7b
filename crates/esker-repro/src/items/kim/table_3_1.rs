//! Kim 2009, table 3.1: which translation layers have full merges, and how many data blocks share an update block.

use esker_flash::Choice;

use super::drive::{Setup, StandInRun, simulate};
use super::figure_3_9::random_writes;
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/table-3.1",
    title: "Full merges of the translation layers, and the data blocks that take part",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 3.3.5, table 3.1",
    sections: &["3.3.5"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

/// How many data blocks can have pages in one update block ("associativity").
#[derive(Clone, Copy, PartialEq)]
enum Associated {
    /// One: (1:K) and (1:M).
    One,
    /// Those of a superblock: (S:M).
    Few(u32),
    /// Any: (N:M).
    Any,
    /// There are no update blocks of their own.
    All,
}

/// A column of the table.
struct Layer {
    name: &'static str,
    ftl: &'static str,
    associated: Associated,
}

/// Blocks of a superblock, by default.
const SUPERBLOCK: u32 = 8;
const LAYERS: [Layer; 7] = [
    Layer { name: "Replacement Block FTL", ftl: "replacement-block", associated: Associated::One },
    Layer { name: "BAST", ftl: "bast", associated: Associated::One },
    Layer { name: "FAST", ftl: "fast", associated: Associated::Any },
    Layer { name: "SuperBlock", ftl: "superblock", associated: Associated::Few(SUPERBLOCK) },
    Layer { name: "LAST", ftl: "last", associated: Associated::Any },
    Layer { name: "DFTL", ftl: "dftl", associated: Associated::All },
    Layer { name: "Ideal Page FTL", ftl: "page", associated: Associated::All },
];

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let workload = random_writes().shortened(part);
    let mut claims = Vec::new();
    for (at, layer) in LAYERS.iter().enumerate() {
        let change = |ssd: &mut esker_flash::SsdSettings| ssd.ftl = Choice::named(layer.ftl);
        let setup = Setup { change: &change, ..Setup::new(&workload, "Baseline", (at, LAYERS.len())) };
        claims.extend(claims_of(item, layer, &simulate(item, context, &setup)?));
    }
    Ok(claims.into())
}

fn claims_of(item: &Item, layer: &Layer, run: &StandInRun) -> Vec<Claim> {
    let full = run.flash.merges.full as f64;
    let most = run.flash.full_merge_data_blocks.keys().next_back().copied().unwrap_or(0);
    let name = |what: &str| format!("{}, random writes: {what}", layer.name);
    let text = "table 3.1: full merge operations";
    if layer.associated == Associated::All {
        return vec![Claim::none(item.name, &name("full merges"), full, text)];
    }
    let mut claims = vec![Claim::at_least(item.name, &name("full merges"), 1.0, full, text)];
    let blocks = name("most data blocks in a full merge");
    let text = "table 3.1: associativity of blocks (data:update)";
    claims.push(match layer.associated {
        Associated::One => Claim::at_most(item.name, &blocks, 1.0, most.into(), text),
        Associated::Few(most_of_table) => Claim::at_most(item.name, &blocks, most_of_table.into(), most.into(), text),
        _ => Claim::at_least(item.name, &blocks, 2.0, most.into(), text),
    });
    claims
}

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::*;
    use crate::ClaimVerdict;

    #[test]
    fn layers_merge_as_the_table_says() {
        let outcome = outcome(&ITEM, |item, context| measure(item, context, 0.3));
        let met = outcome.claims.iter().filter(|claim| claim.verdict == ClaimVerdict::Met).count();
        assert_eq!((outcome.claims.len(), met), (12, 12), "{:#?}", outcome.claims);
    }
}
