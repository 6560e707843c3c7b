//! Xia 2017, table 3, which the text calls table 8: the workloads. The stand-ins take them as they are.

use super::workloads::{Population, STAND_IN, Scale, WORKLOADS};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/table-3",
    title: "Characteristics of the workloads",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 2.4, table 3",
    sections: &["2.4"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let mut claims = Vec::new();
    let part = f64::from(Scale::COUNTED.part);
    for workload in WORKLOADS {
        let reads = workload.reads(Population::ByInterval, Scale::COUNTED, context.seed);
        let gigabytes = f64::from(reads.volume_pages) * part * 4096.0 / f64::from(1 << 30);
        for (what, published, measured, tolerance, reason) in [
            ("address space, GB", workload.gigabytes, gigabytes, 0.01, "whole requests"),
            ("requests", workload.requests, reads.first.len() as f64 * part, 0.01, "whole requests"),
            ("mean size, KB", workload.mean_kb, f64::from(4 * reads.pages), 0.1, "all requests have whole pages"),
        ] {
            let claim = format!("{}: {what}, at full size", workload.name);
            let claim = Claim::within(item.name, &claim, published, measured, tolerance, reason);
            claims.push(claim.by_construction("the generator is given it").on_stand_in(STAND_IN));
        }
    }
    let reason = "the traces are not distributed with esker, and neither table nor text says how often pages return";
    claims.push(Claim::unreachable(item.name, "hit ratios on the traces themselves", None, reason));
    Ok(claims.into())
}

#[cfg(test)]
mod tests {
    use super::super::tests::outcome;
    use super::*;
    use crate::ClaimVerdict;

    #[test]
    fn the_stand_ins_have_what_the_table_has() {
        let outcome = outcome(|context| run(&ITEM, context));
        let of = |verdict| outcome.claims.iter().filter(|claim| claim.verdict == verdict).count();
        assert_eq!((of(ClaimVerdict::Derived), of(ClaimVerdict::Unreachable)), (15, 1));
    }
}
