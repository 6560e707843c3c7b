//! Kim 2009, figure 5.8: MixDyn beside the disk alone and flash alone.

use super::mixed_sim::{
    BETTER_DISK, CELLO, DISK, FINANCIAL, FLASH, HALF, MARGINAL, MIXDYN, MixedRun, MixedRuns, STAND_IN,
};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-5.8",
    title: "MixDyn beside a disk alone and flash alone",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 5.4.3.1, figure 5.8",
    sections: &["5.4.3.1"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const STORES: [super::mixed_sim::StorePolicy; 5] = [DISK, FLASH, MIXDYN, BETTER_DISK, MARGINAL];
const LOADS: [super::mixed_sim::MixedLoad; 3] = [FINANCIAL, HALF, CELLO];

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = MixedRuns::new(item, context, part, LOADS.len() * STORES.len());
    let (mut claims, mut figures) = (Vec::new(), Vec::new());
    for load in LOADS {
        let stores: Vec<MixedRun> =
            STORES.iter().map(|&store| runs.run(load, store, 4, 0)).collect::<Result<_, _>>()?;
        claims.extend(claims_of(item, load.name, &stores));
        figures.push(Figure {
            title: format!("Figure 5.8: {}", load.name),
            note: "Mean response times; the paper's curves are not in the text. The workload is a stand-in.".into(),
            x: Axis::categories("store", STORES.map(|(name, _)| name)),
            y: Axis::linear("mean response, ms"),
            curves: vec![Curve::measured_bars("measured", stores.iter().map(|store| store.response_ms))],
        });
    }
    Ok(ItemOutcome { claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(), figures })
}

fn claims_of(item: &Item, load: &str, stores: &[MixedRun]) -> Vec<Claim> {
    let [disk, flash, mixdyn, _, marginal] = stores else { unreachable!("one run for each store") };
    let below = |store: &MixedRun| 1.0 - store.response_ms / disk.response_ms;
    let name = |what: &str| format!("{load}: {what}");
    let mut claims = vec![
        Claim::share(item.name, &name("MixDyn's mean response below the disk's, share"), 0.71, below(mixdyn), BELOW),
        Claim::at_least(item.name, &name("MixDyn by marginal cost below the disk, share"), 0.6, below(marginal), OURS),
    ];
    let flash_first = [("MixDyn", mixdyn.response_ms), ("flash", flash.response_ms)];
    claims.push(match load {
        "Cello99" => Claim::compared(
            item.name,
            &name("flash's mean response over MixDyn's"),
            0.8,
            flash.response_ms / mixdyn.response_ms,
            "section 5.4.3.1: flash alone is about 20 % better, because MixDyn's model of the disk is a mean",
        ),
        _ => Claim::descending(
            item.name,
            &name("mean response of flash > MixDyn, ms"),
            &[flash_first[1], flash_first[0]],
            "section 5.4.3.1: requests that would wait for cleaning go to the disk",
        ),
    });
    for ((store, _), run) in STORES.iter().zip(stores) {
        let beside = |what: &str, value: f64| Claim::beside(item.name, &name(&format!("{store}: {what}")), value, NONE);
        claims.push(beside("mean response, ms", run.response_ms));
        claims.push(beside("erases per second", run.erases_per_s));
        claims.push(beside("writes that left their device, share", run.redirected));
    }
    claims
}

const BELOW: &str = "section 5.4.3.1: \"by about 71%\", and similar for Cello";
const OURS: &str = "a target of ours";
const NONE: &str = "not in the text";

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = outcome(&ITEM, |item, context| measure(item, context, 0.08));
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (3 * (3 + 3 * STORES.len()), 3));
    }
}
