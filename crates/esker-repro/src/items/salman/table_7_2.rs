//! Salman 2017, table 7.2: parameters of the drives.

use crate::drive::Drive;
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/table-7.2",
    title: "Parameters of the drives",
    source: "Salman, thesis, 2017, section 7.1, table 7.2",
    sections: &["7.1"],
    run,
};

fn run(item: &Item, _: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let ssd = Drive::preset("samsung-k9xxg08-slc-32g").settings;
    let page = ssd.geometry.page_size.0 as f64;
    let rows = [
        ("page, bytes", 4096.0, page),
        ("block, bytes", 262_144.0, page * f64::from(ssd.geometry.pages_per_block)),
        ("page read, us", 25.0, ssd.timing.page_read.0 as f64 / 1e3),
        ("page write, us", 200.0, ssd.timing.page_program.0 as f64 / 1e3),
        ("block erase, ms", 1.5, ssd.timing.block_erase.0 as f64 / 1e6),
        ("spare space, percent", 15.0, ssd.factory_over_provisioning.map_or(0.0, |share| share.as_f64()) * 100.0),
    ];
    let claim = |(claim, published, measured)| {
        let claim = Claim::within(item.name, claim, published, measured, 1e-6, "table 7.2");
        claim.by_construction("the preset `samsung-k9xxg08-slc-32g` has it")
    };
    let mut claims: Vec<Claim> = rows.into_iter().map(claim).collect();
    let reason = "not in the table; buses of 40 MB/s, drives of 16 MiB and servers that use half of them are assumed";
    claims.push(Claim::unreachable(item.name, "capacity, buses and use of the drives", None, reason));
    Ok(claims.into())
}

#[cfg(test)]
mod tests {
    use super::super::tests::outcome;
    use super::*;
    use crate::ClaimVerdict;

    #[test]
    fn the_preset_has_the_parameters_of_the_table() {
        let claims = outcome(&ITEM, |item, context, _| run(item, context)).claims;
        let derived = claims.iter().filter(|claim| claim.verdict == ClaimVerdict::Derived).count();
        assert_eq!((claims.len(), derived), (7, 6), "{claims:#?}");
    }
}
