//! Kim 2009, figure 5.10: wear-levelling that pauses while the flash is erased faster than projected.

use esker_core::{Bytes, Nanos};
use esker_results::RunResults;
use esker_sim::{Experiment, Workload};
use esker_trace::{Record, Synthesiser};

use super::mixed_sim::{CYCLES, FINANCIAL, MixedRuns, STAND_IN, StoreSetUp, erases_per_s};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemFault, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-5.10",
    title: "Adaptive wear-levelling beside levelling that never pauses",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 5.4.3.4, figure 5.10",
    sections: &["5.4.3.4"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

/// Flash and data are a 32nd of those of the other items, so that each block is erased often.
const BLOCKS: u64 = 256;
const DATA_KIB: u64 = 600 * 1024 / 32;
const REQUESTS: u64 = 400_000;
/// With so little data the arm of the disk hardly moves. By the published models, also by coefficients that follow the
/// requests, the disk is faster than flash that cleans: the flash gets no more writes, and is not erased.
const MODELS: &str = "flash_model = \"marginal\", disk_model = \"marginal\"";
/// Requests of a region.
const REGION: u64 = 20_000;
/// The paper does not say how far erase counts may differ: our default, a fifth of it, and the least.
const SPREADS: [u32; 3] = [20, 4, 1];
/// The life that is projected, as a part of what levelling that never pauses leaves at 1x. With all of it, half of the
/// time would count as unanticipated at 1x.
const PROJECTED: f64 = 0.8;
const PUBLISHED: f64 = 0.33;
const TOLERANCE: f64 = 1.0 / 3.0;

/// Which regions come twice as fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intensity {
    Normal,
    Double,
    Alternating,
}

const LOADS: [(&str, Intensity); 3] =
    [("1x", Intensity::Normal), ("2x", Intensity::Double), ("1x-2x", Intensity::Alternating)];

impl Intensity {
    fn is_double(self, region: u64) -> bool {
        match self {
            Self::Normal => false,
            Self::Double => true,
            Self::Alternating => region % 2 == 1,
        }
    }

    /// The requests of `experiment`, with half of the time between those of some regions.
    fn workload(self, experiment: &Experiment) -> Result<Workload, ItemFault> {
        let synthetic = experiment.workload.synthetic.as_ref().ok_or(ItemFault::NotReported("made-up requests"))?;
        let records = Synthesiser::new(synthetic, Bytes::kib(DATA_KIB), experiment.run.seed)?;
        let (mut at, mut before) = (Nanos::ZERO, Nanos::ZERO);
        let mut index = 0;
        let arrive = |record: Record| {
            let gap = record.at - before;
            before = record.at;
            at += if self.is_double(index / REGION) { Nanos(gap.0 / 2) } else { gap };
            index += 1;
            Record { at, ..record }
        };
        Ok(Workload::from_records(records.map(arrive), vec!["0".to_string()])?)
    }
}

/// The mean of the runs of all seeds.
#[derive(Clone, Copy, Debug, Default)]
struct Wear {
    erases_per_s: f64,
    /// Share of the flash's programs that level wear.
    levelling: f64,
    /// Erases of a block in the measured half: the least of all runs.
    erases_of_block: f64,
}

fn wear(
    runs: &mut MixedRuns<'_>,
    item: &Item,
    set_up: &StoreSetUp<'_>,
    load: Intensity,
) -> Result<Wear, ReproduceError> {
    let mut mean = Wear { erases_of_block: f64::MAX, ..Wear::default() };
    let seeds = runs.seeds();
    for seed in 0..seeds {
        let experiment = runs.experiment(set_up, seed)?;
        let workload = load.workload(&experiment).map_err(|fault| ReproduceError::of(item, fault))?;
        let results = runs.results(&experiment, Some(&workload))?;
        mean.erases_per_s += erases_per_s(&results) / seeds as f64;
        let (levelling, erases) = levelled(&results);
        if erases == 0.0 {
            return Err(ReproduceError::of(item, ItemFault::NotReported("erases")));
        }
        mean.levelling += levelling / seeds as f64;
        mean.erases_of_block = mean.erases_of_block.min(erases / BLOCKS as f64);
    }
    Ok(mean)
}

/// The share of the programs that level wear, and all erases.
fn levelled(results: &RunResults) -> (f64, f64) {
    let Some(flash) = results.devices.get("flash").and_then(|flash| flash.flash.as_ref()) else { return (0.0, 0.0) };
    let programs = flash.programs;
    let all = programs.host + programs.cleaning + programs.mapping + programs.wear_levelling;
    (programs.wear_levelling as f64 / all.max(1) as f64, flash.erases as f64)
}

fn measure(item: &Item, context: &Context<'_>, part: f64) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = MixedRuns::of_seeds(item, context, part, SPREADS.len() * 2 * LOADS.len());
    let (mut claims, mut curves) = (Vec::new(), Vec::new());
    for spread in SPREADS {
        let flash = format!("wear = {{ levelling = \"static\", spread = {spread} }}");
        let policy = format!("{{ kind = \"mixdyn\", {MODELS} }}");
        let made = StoreSetUp::new(FINANCIAL, &policy);
        let set_up = StoreSetUp { blocks: BLOCKS, data_kib: DATA_KIB, requests: REQUESTS, flash: &flash, ..made };
        let always = LOADS.map(|(_, load)| wear(&mut runs, item, &set_up, load));
        let always = always.into_iter().collect::<Result<Vec<_>, _>>()?;
        let life_s = PROJECTED * BLOCKS as f64 * CYCLES / always[0].erases_per_s;
        let adapts = format!("life = \"{life_s:.0}s\", regulate = \"levelling\"");
        let policy = format!("{{ kind = \"mixdyn\", {MODELS}, {adapts} }}");
        let set_up = StoreSetUp { policy: &policy, ..set_up };
        let adaptive = LOADS.map(|(_, load)| wear(&mut runs, item, &set_up, load));
        let adaptive = adaptive.into_iter().collect::<Result<Vec<_>, _>>()?;
        claims.extend(claims_of(item, spread, &always, &adaptive));
        let gains = always.iter().zip(&adaptive).map(|(always, adaptive)| gain(always, adaptive));
        curves.push(Curve::measured_bars(&format!("spread {spread}"), gains.collect::<Vec<_>>()));
    }
    let figures = vec![Figure {
        title: "Figure 5.10: life with adaptive wear-levelling".into(),
        note: "Beside levelling that never pauses; the paper's bars are not in the text. The workload is a stand-in."
            .into(),
        x: Axis::categories("load", LOADS.map(|(name, _)| name)),
        y: Axis::linear("longer life, as a part of that without pauses"),
        curves,
    }];
    Ok(ItemOutcome { claims: claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect(), figures })
}

/// By how much the life is longer: it is rated erases over erases per second.
fn gain(always: &Wear, adaptive: &Wear) -> f64 {
    always.erases_per_s / adaptive.erases_per_s - 1.0
}

fn claims_of(item: &Item, spread: u32, always: &[Wear], adaptive: &[Wear]) -> Vec<Claim> {
    let name = |what: &str| format!("spread {spread}: {what}");
    let gains: Vec<f64> = always.iter().zip(adaptive).map(|(always, adaptive)| gain(always, adaptive)).collect();
    let mut claims = Vec::new();
    for (index, (load, _)) in LOADS.iter().enumerate().skip(1) {
        let claim = name(&format!("{load}: longer life, as a part of that without pauses"));
        claims.push(Claim::within(item.name, &claim, PUBLISHED, gains[index], TOLERANCE, LONGER));
    }
    let normal = name("longer life at 2x > at 1x");
    claims.push(Claim::descending(item.name, &normal, &[("2x", gains[1]), ("1x", gains[0])], NORMAL));
    let all = name("2x: longer life, as all programs over those that do not level");
    let saved = always[1].levelling / (1.0 - always[1].levelling);
    claims.push(Claim::within(item.name, &all, saved, gains[1], TOLERANCE, SAVED));
    let least = always.iter().chain(adaptive).map(|wear| wear.erases_of_block).fold(f64::MAX, f64::min);
    let claim = name("erases of a block, the least of all runs");
    claims.push(Claim::at_least(item.name, &claim, 10.0, least, "a target of ours: every run is about erases"));
    for (index, (load, _)) in LOADS.iter().enumerate() {
        for (kind, wear) in [("always", &always[index]), ("adaptive", &adaptive[index])] {
            let of = |what: &str| name(&format!("{load}, {kind}: {what}"));
            let levelling = of("programs that level wear, share");
            claims.push(Claim::beside(item.name, &levelling, wear.levelling, "not in the text"));
            claims.push(Claim::beside(item.name, &of("erases per second"), wear.erases_per_s, "not in the text"));
        }
    }
    claims
}

const LONGER: &str = "section 5.4.3.4: \"by about 33%\"; five seeds, mean rates of erases; spread is not given";
const NORMAL: &str = "section 5.3.4.2: in normal activity it reverts to levelling";
const SAVED: &str = "a target of ours: what a pause saves is what levelling programs and erases";

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = outcome(&ITEM, |item, context| measure(item, context, 0.06));
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (SPREADS.len() * (5 + 12), 1));
    }

    #[test]
    fn regions_come_twice_as_fast() {
        let regions = |load: Intensity| [0, 1, 2, 3].map(|region| load.is_double(region));
        assert_eq!(regions(Intensity::Alternating), [false, true, false, true]);
        assert_eq!(LOADS.map(|(_, load)| load.is_double(0)), [false, true, false]);
    }
}
