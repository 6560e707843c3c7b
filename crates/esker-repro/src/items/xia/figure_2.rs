//! Xia 2017, figure 2: what a cache evicted a moment ago still lies in the flash.

use esker_cache::Found;
use esker_flash::CacheCleaning;

use super::example::{cache, read};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-2",
    title: "Evicted pages that are read again, an example",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 2.3.1, figure 2",
    sections: &["2.3.1"],
    run,
};

/// Twelve pages are cached. Then 15, 23 and 12 displace 0, 1 and 2, and 0 and 1 are read again.
const REQUESTS: [u32; 5] = [15, 23, 12, 0, 1];

fn run(item: &Item, _: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let mut claims = Vec::new();
    for (policy, misses, revived) in [("lru", 5.0, 0.0), ("flru", 3.0, 2.0), ("farc", 3.0, 2.0)] {
        let mut cache = cache(item, policy, CacheCleaning::Migrate)?;
        (0..12).for_each(|page| _ = read(&mut cache, page));
        let before = cache.report();
        let found = REQUESTS.map(|page| read(&mut cache, page));
        let count = |of| found.iter().filter(|found| **found == of).count() as f64;
        let filled = (cache.report().filled_pages - before.filled_pages) as f64;
        let reason = "a count";
        for (what, published, measured) in [
            ("of five requests, fetches of the backing device", misses, count(Found::Miss)),
            ("of five requests, pages revived", revived, count(Found::Revived)),
            ("pages written to the flash", misses, filled),
        ] {
            let claim = format!("{policy}: {what}");
            claims.push(Claim::within_absolute(item.name, &claim, published, measured, 0.0, reason));
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
        assert_eq!(outcome.claims.len(), 9);
        assert!(outcome.claims.iter().all(|claim| claim.verdict == ClaimVerdict::Met), "{:#?}", outcome.claims);
    }
}
