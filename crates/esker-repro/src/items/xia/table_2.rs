//! Xia 2017, table 2: the configuration, as the caches that are built of it have it.

use super::caches::{Cache, Runs, SHARES, SIZES};
use super::workloads::Scale;
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/table-2",
    title: "Configuration, and equations 2.1 and 2.2",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, sections 2.3.1, 2.3.3 and 2.4, table 2",
    sections: &["2.3.1", "2.3.3", "2.4"],
    run,
};

/// The whole caches: nothing runs on them.
const WHOLE: Scale = Scale { part: 1, fewer: 1 };

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let mut claims = Vec::new();
    for gigabytes in SIZES {
        let report = Cache::new(gigabytes, 15, "flru").build(WHOLE, 4_370_000, context.seed);
        let report = report.map_err(|error| ReproduceError::of(item, error))?.report();
        let measured = report.flash_pages as f64 * 4096.0 / f64::from(1 << 30);
        let claim = format!("size of the cache of {gigabytes} GB, in GB of 2^30 bytes");
        let claim = Claim::within(item.name, &claim, f64::from(gigabytes), measured, 0.0, "table 2");
        claims.push(claim.by_construction("the blocks of the preset are chosen for it"));
    }
    for share in SHARES {
        let report = Cache::new(3, share, "flru").build(WHOLE, 4_370_000, context.seed);
        let report = report.map_err(|error| ReproduceError::of(item, error))?.report();
        let of_total = |pages: u64| pages as f64 / report.flash_pages as f64;
        let percent = share as f64 / 100.0;
        let reason = "whole pages, and a threshold of whole blocks";
        let claim = format!("OP {share} %: C_user / C_total (equation 2.1)");
        claims.push(Claim::within(item.name, &claim, 1.0 - percent, of_total(report.user_pages), 0.001, reason));
        let claim = format!("OP {share} %: N_SQ / C_total (equation 2.2)");
        claims.push(Claim::within(item.name, &claim, percent - 0.05, of_total(report.suspects_max), 0.001, reason));
    }
    let (hit, miss) = Runs::new(item, context, Scale::TIMED, 1).unloaded()?;
    claims.push(Claim::compared(
        item.name,
        "read of a page in an idle cache, us",
        25.0,
        hit,
        "the published value is the flash chip's alone; the page also crosses a bus, of which the text says nothing",
    ));
    let reason = "the disk's access alone: 200 us to write the page to the flash and its way there come on top";
    claims.push(Claim::compared(item.name, "read of a page that misses in an idle cache, us", 5_000.0, miss, reason));
    Ok(claims.into())
}

#[cfg(test)]
mod tests {
    use super::super::tests::outcome;
    use super::*;
    use crate::ClaimVerdict;

    #[test]
    fn the_caches_are_those_of_the_table() {
        let outcome = outcome(|context| run(&ITEM, context));
        let of = |verdict| outcome.claims.iter().filter(|claim| claim.verdict == verdict).count();
        assert_eq!((of(ClaimVerdict::Met), of(ClaimVerdict::Derived), of(ClaimVerdict::Beside)), (6, 4, 2));
        let measured = |index: usize| outcome.claims[index].measured.unwrap();
        // 25 us of the array, and 4,224 bytes over a bus of 40 MB/s; then 5 ms, the bus again, and 200 us.
        assert!((measured(10) - 130.6).abs() < 0.1 && (measured(11) - 5_305.6).abs() < 0.1, "{:#?}", outcome.claims);
    }
}
