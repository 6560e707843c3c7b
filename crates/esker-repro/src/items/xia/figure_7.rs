//! Xia 2017, figure 7: a victim is erased with its valid pages.

use esker_core::LogicalPage;
use esker_flash::CacheCleaning;

use super::example::{cache, read};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-7",
    title: "Cleaning without migration, an example",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 3.3, figure 7",
    sections: &["3.3"],
    run,
};

/// The blocks as they are filled. The figure names two pages, 15 and 0, of the victim; the others are ours.
const BLOCKS: [[u32; 4]; 4] = [[1, 2, 3, 4], [5, 6, 7, 8], [15, 0, 9, 10], [20, 21, 22, 23]];
/// Pages that are invalid when cleaning begins: most of them in the third block.
const INVALID: [u32; 5] = [1, 5, 9, 10, 20];

fn run(item: &Item, _: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let mut claims = Vec::new();
    for (name, cleaning, copied, lost) in
        [("migration", CacheCleaning::Migrate, 2.0, 0.0), ("zero migration", CacheCleaning::ZeroMigration, 0.0, 2.0)]
    {
        let mut cache = cache(item, "lru", cleaning)?;
        for page in BLOCKS.as_flattened() {
            read(&mut cache, *page);
            // Each leaves as soon as the blocks up to its own are full, so that the cache is never full.
            if *page == 10 || *page == 23 {
                INVALID.iter().for_each(|invalid| cache.invalidate(LogicalPage(*invalid)));
            }
        }
        // The next page opens the last free block, and cleaning begins.
        read(&mut cache, 24);
        let report = cache.report();
        let gone = |pages: &mut dyn Iterator<Item = u32>| {
            pages.filter(|page| !INVALID.contains(page) && !cache.has_data(LogicalPage(*page))).count() as f64
        };
        let of_victim = gone(&mut BLOCKS[2].into_iter());
        let others = gone(&mut BLOCKS.into_iter().flatten().filter(|page| !BLOCKS[2].contains(page)));
        for (what, published, measured) in [
            ("blocks erased", 1.0, report.erases as f64),
            ("valid pages copied", copied, report.copied_pages as f64),
            ("valid pages that left cache and map, of the block with most invalid pages", lost, of_victim),
            ("valid pages that left cache and map, of other blocks", 0.0, others),
        ] {
            let claim = format!("{name}: {what}");
            claims.push(Claim::within_absolute(item.name, &claim, published, measured, 0.0, "a count"));
        }
    }
    Ok(claims.into())
}

#[cfg(test)]
mod tests {
    use super::super::tests::outcome;
    use super::*;
    use crate::ClaimVerdict;

    #[test]
    fn the_example_comes_out_as_drawn() {
        let outcome = outcome(|context| run(&ITEM, context));
        assert_eq!(outcome.claims.len(), 8);
        assert!(outcome.claims.iter().all(|claim| claim.verdict == ClaimVerdict::Met), "{:#?}", outcome.claims);
    }
}
