//! Kim 2009, figures 5.5 to 5.7: a static split of writes by their size beside MixDyn, with less and more flash.

use super::mixed_sim::{CELLO, FINANCIAL, MixedLoad, MixedRun, MixedRuns, STAND_IN, StorePolicy, TPC_H};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-5.5",
    title: "A static split at 4 KiB beside MixDyn, with 0.5, 1 and 2 GB of flash (with figures 5.6 and 5.7)",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 5.4.2.2, figures 5.5 to 5.7",
    sections: &["5.4.2.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const LOADS: [MixedLoad; 3] = [FINANCIAL, TPC_H, CELLO];
const STATIC: StorePolicy = ("static", r#"{ kind = "size-threshold", every_write = true }"#);
/// The static split has all data on the flash at first, as far as they fit.
const ON_FLASH: StorePolicy = ("MixDyn", r#"{ kind = "mixdyn", weights = [1, 0] }"#);
const MARGINAL: StorePolicy = (
    "MixDyn by marginal cost",
    r#"{ kind = "mixdyn", weights = [1, 0], flash_model = "marginal", disk_model = "marginal" }"#,
);
const POLICIES: [StorePolicy; 3] = [STATIC, ON_FLASH, MARGINAL];
/// GB of flash, in quarters, and what the paper calls them.
const SIZES: [(u64, &str); 3] = [(2, "0.5 GB"), (4, "1 GB"), (8, "2 GB")];

/// The runs of a load: for each policy, those with each size.
type Runs = [[MixedRun; 3]; 3];

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = MixedRuns::new(item, context, part, LOADS.len() * POLICIES.len() * SIZES.len());
    let (mut claims, mut figures) = (Vec::new(), Vec::new());
    for load in LOADS {
        let mut measured = Runs::default();
        for (policy, row) in POLICIES.iter().zip(&mut measured) {
            for ((quarters, _), run) in SIZES.iter().zip(row) {
                *run = runs.run(load, *policy, *quarters, 0)?;
            }
        }
        claims.extend(claims_of(item, load.name, &measured));
        figures.push(figure(load.name, &measured));
    }
    Ok(ItemOutcome { claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(), figures })
}

fn figure(load: &str, runs: &Runs) -> Figure {
    let curve = |name: &str, runs: &[MixedRun; 3]| Curve::measured_bars(name, runs.iter().map(|run| run.response_ms));
    Figure {
        title: format!("Figures 5.5 to 5.7: {load}"),
        note: "Mean response times; the paper's bars are not in the text. The workload is a stand-in.".into(),
        x: Axis::categories("flash", SIZES.map(|(_, name)| name)),
        y: Axis::linear("mean response, ms"),
        curves: POLICIES.iter().zip(runs).map(|((name, _), runs)| curve(name, runs)).collect(),
    }
}

fn claims_of(item: &Item, load: &str, runs: &Runs) -> Vec<Claim> {
    let [by_size, mixdyn, _] = runs;
    let response = |run: &MixedRun| run.response_ms;
    let slower = |what: &str, order: [(&str, &MixedRun); 2], reason: &str| {
        let name = format!("{load}: mean response of {what}, ms");
        Claim::descending(item.name, &name, &order.map(|(name, run)| (name, response(run))), reason)
    };
    let mut claims = match load {
        "Financial" => vec![
            slower("the static split, 0.5 GB > 1 GB", [("0.5 GB", &by_size[0]), ("1 GB", &by_size[1])], ENOUGH),
            slower("the static split, 0.5 GB > 2 GB", [("0.5 GB", &by_size[0]), ("2 GB", &by_size[2])], ENOUGH),
            slower("MixDyn, 1 GB > 2 GB", [("1 GB", &mixdyn[1]), ("2 GB", &mixdyn[2])], MORE),
            slower("the static split > MixDyn with 1 GB", [("static", &by_size[1]), ("MixDyn", &mixdyn[1])], BETTER),
            Claim::at_least(item.name, &life(load, "1 GB"), LIFE_YEARS, by_size[1].life_years, ENOUGH),
            Claim::at_least(item.name, &life(load, "2 GB"), LIFE_YEARS, by_size[2].life_years, ENOUGH),
        ],
        "Cello99" => (0..SIZES.len())
            .map(|at| {
                let order = [("static", &by_size[at]), ("MixDyn", &mixdyn[at])];
                slower(&format!("the static split > MixDyn with {}", SIZES[at].1), order, BURSTS)
            })
            .collect(),
        _ => vec![Claim::within(
            item.name,
            &format!("{load}: mean response of MixDyn with 2 GB over that with 1 GB"),
            1.0,
            response(&mixdyn[2]) / response(&mixdyn[1]),
            SIMILAR,
            "section 5.4.2.2: \"similar performance\", because hardly anything is written; 10 % is ours",
        )],
    };
    for ((policy, _), row) in POLICIES.iter().zip(runs) {
        for ((_, size), run) in SIZES.iter().zip(row) {
            let name = format!("{load}: {policy}, {size}: mean response, ms");
            claims.push(Claim::beside(item.name, &name, response(run), "not in the text"));
        }
    }
    claims
}

fn life(load: &str, size: &str) -> String {
    format!("{load}: life of {size} of flash under the static split, years")
}

/// How long the flash has to last: as long as a disk (section 5.4.2.1).
const LIFE_YEARS: f64 = 5.0;
const SIMILAR: f64 = 0.1;
const ENOUGH: &str = "section 5.4.2.2: with a static split, 1 GB and 2 GB keep the life and are faster than 0.5 GB";
const MORE: &str = "section 5.4.2.2: 2 GB with MixDyn are slightly faster than 1 GB";
const BETTER: &str = "figure 5.6: planned flash is faster together with the dynamic controller";
const BURSTS: &str = "section 5.4.2.2: a static split cannot handle bursts, MixDyn can";

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = outcome(&ITEM, |item, context| measure(item, context, 0.08));
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (6 + 3 + 1 + 27, 3));
    }
}
