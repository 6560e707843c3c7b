//! Kim 2009, tables 5.5 and 5.6: the life of the flash by its size, and with a part of its writes diverted.

use super::mixed_sim::{FINANCIAL, MIXDYN, MixedRun, MixedRuns, STAND_IN, StorePolicy};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/table-5.6",
    title: "Write regulation, and the life of flash of 0.5, 1 and 2 GB (with table 5.5)",
    source: "Kim, dissertation, Pennsylvania State University, 2009, sections 5.4.2.1 and 5.4.3.3, tables 5.5 and 5.6",
    sections: &["5.4.2.1", "5.4.3.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

/// The rows of table 5.6: erases per second, share of requests that flash serves, and mean response.
const REGULATED: [(StorePolicy, [f64; 3]); 3] = [
    (MIXDYN, [0.16, 0.69, 1.15]),
    (("Red25", r#"{ kind = "mixdyn", divert = "25%" }"#), [0.12, 0.54, 1.56]),
    (("Red50", r#"{ kind = "mixdyn", divert = "50%" }"#), [0.09, 0.40, 1.98]),
];
const COLUMNS: [&str; 3] = ["erases per second", "requests that flash serves", "mean response"];
const UNITS: [&str; 3] = ["", ", share", ", ms"];
/// The row of Financial in table 5.5: GB of flash, in quarters, and years.
const LIVES: [(u64, f64); 3] = [(2, 2.67), (4, 7.29), (8, 52.69)];
const HELD: &str = "a regulator that holds a budget, which is left to future work in section 5.3.4.1; 5 % is ours";

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = MixedRuns::of_seeds(item, context, part, REGULATED.len() + LIVES.len() + 1);
    let mut claims = Vec::new();
    let rows: Vec<[f64; 3]> = REGULATED
        .iter()
        .map(|(policy, _)| Ok(columns(&mean(&mut runs, *policy, 4)?)))
        .collect::<Result<_, ReproduceError>>()?;
    claims.extend(effects(item, &rows));
    for (quarters, years) in LIVES {
        let run = mean(&mut runs, MIXDYN, quarters)?;
        let claim = format!("life with {} GB of flash, years", quarters as f64 / 4.0);
        let claim = Claim::compared(item.name, &claim, years, run.life_years, "table 5.5");
        // The size of the data was chosen for this one.
        claims.push(if quarters == 4 { claim.fitted("the size of the data") } else { claim });
    }
    let budget = ("life of 15 years", r#"{ kind = "mixdyn", life = "15y" }"#);
    let held = mean(&mut runs, budget, 4)?;
    claims.push(Claim::within(item.name, "life with `life = \"15y\"`, years", 15.0, held.life_years, 0.05, HELD));
    claims.push(Claim::beside(item.name, "mean response with it, ms", held.response_ms, "not in the text"));
    Ok(ItemOutcome {
        claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(),
        figures: Vec::new(),
    })
}

/// The mean of runs with different seeds.
fn mean(runs: &mut MixedRuns<'_>, policy: StorePolicy, quarters: u64) -> Result<MixedRun, ReproduceError> {
    let mut sum = MixedRun::default();
    let seeds = runs.seeds();
    for seed in 0..seeds {
        let run = runs.run(FINANCIAL, policy, quarters, seed)?;
        sum.erases_per_s += run.erases_per_s / seeds as f64;
        sum.flash_share += run.flash_share / seeds as f64;
        sum.response_ms += run.response_ms / seeds as f64;
        // Of the mean rate: a run with hardly an erase would outweigh all others.
        sum.life_years += 1.0 / run.life_years / seeds as f64;
    }
    sum.life_years = 1.0 / sum.life_years;
    Ok(sum)
}

fn columns(run: &MixedRun) -> [f64; 3] {
    [run.erases_per_s, run.flash_share, run.response_ms]
}

/// Compares what diverting changes with what it changes in table 5.6: within a third.
fn effects(item: &Item, rows: &[[f64; 3]]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (((name, _), published), row) in REGULATED.iter().zip(rows) {
        for (at, column) in COLUMNS.iter().enumerate() {
            let compare = if UNITS[at] == ", share" { Claim::share } else { Claim::compared };
            claims.push(compare(
                item.name,
                &format!("{name}: {column}{}", UNITS[at]),
                published[at],
                row[at],
                "table 5.6; the load of its runs is a Financial-like one of higher intensity, which is not given",
            ));
        }
    }
    for (((name, _), published), row) in REGULATED.iter().zip(rows).skip(1) {
        for (at, column) in COLUMNS.iter().enumerate() {
            let change = |row: &[f64; 3], first: &[f64; 3]| (row[at] / first[at] - 1.0).abs();
            claims.push(Claim::within(
                item.name,
                &format!("{name}: change of {column}, as a part of that without it"),
                change(published, &REGULATED[0].1),
                change(row, &rows[0]),
                1.0 / 3.0,
                "table 5.6; five seeds",
            ));
        }
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim() {
        let outcome = outcome(&ITEM, |item, context| measure(item, context, 0.08));
        assert_eq!(outcome.claims.len(), 9 + 6 + 3 + 2);
    }
}
