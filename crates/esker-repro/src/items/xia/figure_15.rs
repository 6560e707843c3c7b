//! Xia 2017, figure 15: erases by over-provisioning, fixed and chosen by the cache.

use super::allocations::{Choice, FIXED, Plan, all};
use super::figure_13::{Row, rows};
use super::write_caches::{PUBLISHED, STAND_IN};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/figure-15",
    title: "Erases with a fixed over-provisioning, and with the cache's own choice",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, section 4.5.2, figure 15",
    sections: &["4.5.2"],
    run,
};

/// Exchange among the rows.
const EXCHANGE: usize = 2;

fn erases(row: &Row, percent: u32) -> f64 {
    let place = FIXED.iter().position(|fixed| *fixed == percent).expect("it is one of them");
    row.fixed[place].erases
}

/// Claims on a budget half-way, by factors, between the wear with the cache's own choice and the wear with the smallest
/// cache.
fn budgets(item: &Item, context: &Context<'_>, smaller: u32, rows: &[Row]) -> Result<Vec<Claim>, ReproduceError> {
    let half_way = |row: &Row| (row.own.cycles_per_year * row.fixed[FIXED.len() - 1].cycles_per_year).sqrt() as u32;
    let cycles: Vec<u32> = rows[..PUBLISHED].iter().map(half_way).collect();
    let plan =
        |(volume, cycles): (usize, &u32)| Plan { smaller, ..Plan::new(volume, Choice::Within { cycles: *cycles }) };
    let plans: Vec<Plan> = cycles.iter().enumerate().map(plan).collect();
    let found = all(item, context, &plans)?;
    let claim = |((row, cycles), run): ((&Row, &u32), &super::allocations::Allocated)| {
        let claim = format!("{}: erases within a lifetime, over what it allows", row.volume.name);
        let reason = "no claim of the paper: half-way between the wear of its own choice and that of 85 %, by factors";
        Claim::beside(item.name, &claim, run.cycles_per_year / f64::from(*cycles), reason)
    };
    Ok(rows.iter().zip(&cycles).zip(&found).map(claim).collect())
}

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1)
}

fn measure(item: &Item, context: &Context<'_>, smaller: u32) -> Result<ItemOutcome, ReproduceError> {
    let rows = rows(item, context, smaller)?;
    let mut claims = Vec::new();
    for row in &rows[..PUBLISHED] {
        let name = row.volume.name;
        let names = FIXED.map(|percent| format!("{percent} %"));
        let values: Vec<(&str, f64)> =
            names.iter().map(String::as_str).zip(row.fixed.iter().map(|run| run.erases / 1e3)).collect();
        let claim = format!("{name}: thousands of erases at full size fall with over-provisioning");
        let reason = "\"will decrease with the increasing of the over-provisioning space\"";
        claims.push(Claim::descending(item.name, &claim, &values, reason));
        for percent in [15, 25, 35] {
            let saved = 100.0 * (1.0 - row.own.erases / erases(row, percent));
            let claim = format!("{name}: erases that the own choice saves over {percent} %, percent");
            let reason = "\"compared to the typical over-provision configurations that ranges from 7 % to 35 %\"";
            claims.push(Claim::at_least(item.name, &claim, 0.0, saved, reason));
        }
    }
    claims.extend(budgets(item, context, smaller, &rows)?);
    let exchange = &rows[EXCHANGE];
    let saved = 100.0 * (1.0 - erases(exchange, 65) / erases(exchange, 35));
    let claim = "Exchange: erases that 65 % saves over 35 %, percent";
    let reason = "\"nearly 20 %\"; 35 % is called the best one there, which is 45 % in section 4.5.1";
    claims.push(Claim::percent(item.name, claim, 20.0, saved, reason));
    let figures = rows.iter().map(|row| row.figure("15", "erases at full size", |run| run.erases)).collect();
    Ok(ItemOutcome { claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(), figures })
}

#[cfg(test)]
mod tests {
    use super::super::tests::small;
    use super::*;

    #[test]
    fn every_claim_and_figure_is_there() {
        let outcome = small(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (21, 5));
    }
}
