//! Kim 2009, table 4.4: the planner's devices, and what they cost over five years.

use esker_catalogue::{Product, Rating};

use super::mixplan::{capacity, catalogue, cost, io_drive};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/table-4.4",
    title: "Devices of the planner, and their electricity over five years",
    source: "Kim, dissertation, Pennsylvania State University, 2009, sections 4.5.1 and 4.5.4.2, table 4.4",
    sections: &["4.5.1", "4.5.4.2"],
    run,
};

/// A row of the table: its product in the catalogue, and what the table has of it.
struct Row {
    product: &'static str,
    name: &'static str,
    /// GB, dollars per GB, MB/s of reads and writes, W of the device and of the supplement.
    values: [f64; 6],
}

const COLUMNS: [&str; 6] = ["capacity, GB", "price, $/GB", "reads, MB/s", "writes, MB/s", "device, W", "supplement, W"];
const ROWS: [Row; 3] = [
    Row { product: "ssd", name: "SSD", values: [80.0, 4.25, 220.0, 160.0, 1.0, 1.8] },
    Row { product: "high-end-hdd", name: "high-end disk", values: [300.0, 1.5, 128.0, 128.0, 9.19, 17.0] },
    Row { product: "low-end-hdd", name: "low-end disk", values: [1000.0, 0.12, 42.66, 42.66, 5.8, 10.7] },
];

/// Section 4.5.4.2, "/hm" on one device: the place in [`ROWS`], installation and electricity in dollars, and half of
/// the last digits of both powers, W.
const HM: [(usize, f64, f64, f64); 2] = [(0, 340.0, 12.4, 0.05 + 0.05), (1, 450.0, 114.7, 0.005 + 0.05)];
/// Dollars of a watt over five years.
const DOLLARS_PER_WATT: f64 = 43_800.0 * 0.10 / 1e3;

fn run(item: &Item, _: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let catalogue = catalogue();
    let product = |at: usize| {
        let found = catalogue.product(ROWS[at].product);
        found.unwrap_or_else(|error| panic!("a row of table 4.4: {error}"))
    };
    let mut claims = Vec::new();
    for (at, row) in ROWS.iter().enumerate() {
        for ((column, published), measured) in COLUMNS.iter().zip(row.values).zip(values(product(at))) {
            let claim = format!("{}: {column}", row.name);
            let claim = Claim::within(item.name, &claim, published, measured, 1e-6, "table 4.4");
            claims.push(claim.by_construction("the catalogue `kim-2009` has it"));
        }
    }
    let rating = product(0).endurance.as_ref().and_then(|endurance| endurance.value.ratings.first());
    if let Some((_, Rating::Cycles(cycles))) = rating {
        let reason = "the catalogue takes the least of the table; plans here have 100,000, as SLC was rated for";
        let claim = "SSD: erases, least of 10,000 to 1,000,000";
        let claim = Claim::within(item.name, claim, 10_000.0, *cycles as f64, 1e-6, reason);
        claims.push(claim.by_construction("the catalogue `kim-2009` has it"));
    }
    for (at, installation, electricity, watts) in HM {
        let cost = cost(product(at), &catalogue);
        let name = |what: &str| format!("/hm on one {}: {what}, dollars", ROWS[at].name);
        let text = "section 4.5.4.2, exact";
        let installed = cost.purchase.as_f64();
        claims.push(Claim::within_absolute(item.name, &name("installation"), installation, installed, 0.5, text));
        let reason = "section 4.5.4.2; device and supplement once; within what table 4.4 rounds off its powers";
        let (tolerance, measured) = (watts * DOLLARS_PER_WATT, cost.power.as_f64());
        claims.push(Claim::within_absolute(item.name, &name("electricity"), electricity, measured, tolerance, reason));
        let reason = "(4.3) doubles the power for cooling; with the supplement as well cooling counts twice";
        let twice = name("electricity if (4.3) and the supplement count");
        claims.push(Claim::compared(item.name, &twice, electricity, 2.0 * measured, reason));
    }
    let reason = "figure 4.9 has it and table 4.4 does not; a row of ours, assumed";
    let drive = io_drive(1.0, 10.0);
    for (what, value) in [("capacity, GB", drive.gigabytes), ("reads, MB/s", drive.read_rate)] {
        claims.push(Claim::beside(item.name, &format!("ioDrive: {what}"), value, reason));
    }
    Ok(claims.into())
}

/// The columns of the table, as the catalogue has them.
fn values(product: &Product) -> [f64; 6] {
    let gigabytes = capacity(product).0 as f64 / 1e9;
    let sheet = product.performance.as_ref().map(|sheet| sheet.value).unwrap_or_default();
    let rate = |rate: Option<esker_core::ByteRate>| rate.map_or(f64::NAN, |rate| rate.0 as f64 / 1e6);
    let power = product.power.as_ref().map(|power| power.value);
    let watts = |power: Option<esker_core::Power>| power.map_or(f64::NAN, |power| power.0 as f64 / 1e6);
    [
        gigabytes,
        product.purchase(capacity(product)).as_f64() / gigabytes,
        rate(sheet.sequential_read),
        rate(sheet.sequential_write),
        watts(power.map(|power| power.active)),
        watts(power.map(|power| power.supplement)),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::*;
    use crate::ClaimVerdict;

    #[test]
    fn the_catalogue_has_the_table_and_the_costs_of_the_text() {
        let outcome = outcome(&ITEM, run);
        let count = |verdict| outcome.claims.iter().filter(|claim| claim.verdict == verdict).count();
        let counts = [ClaimVerdict::Derived, ClaimVerdict::Met, ClaimVerdict::Beside].map(count);
        assert_eq!((outcome.claims.len(), counts), (27, [19, 4, 4]), "{:#?}", outcome.claims);
    }
}
