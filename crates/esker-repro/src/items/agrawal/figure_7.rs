//! Agrawal 2008, figure 7: gangs with shared control, asynchronous and synchronous, against the baseline.
//!
//! Of eight packages, 2, 4 or 8 share their control lines. Asynchronous: each has its own logical pages, and one command goes to all that have
//! something for it. Synchronous: one logical page over the gang, copied inside the planes where only a part of it is written.

use super::workloads::{ALL, IOZONE, TPCC, Workload, response_ms};
use crate::traces;
use crate::{Axis, Claim, Context, Curve, Figure, Item, Outcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "agrawal/figure-7",
    title: "Response times of gangs with shared control, asynchronous and synchronous",
    source: "Agrawal et al., USENIX ATC 2008, section 4.3, figure 7",
    run,
};

const EXPERIMENT: &str = include_str!("baseline.toml");
/// Packages of a gang, with the channels that are left.
const GANGS: [(&str, &str); 3] = [("2", "4"), ("4", "2"), ("8", "1")];
const KINDS: [&str; 2] = ["asynchronous", "synchronous"];
const RUNS: usize = 1 + GANGS.len() * KINDS.len();

const UNIFORMLY: &str = "\"synchronous ganging uniformly underperforms\"";
const APART: &str = "\"synchronous ganging uniformly underperforms\"; here packages of an asynchronous gang that have different things to do, reads, \
    programs and copies, wait for each other, while a synchronous gang does the same in all of them";
const FITS: &str =
    "\"synchronous ganging uniformly underperforms\"; here requests of 8 KiB are whole pages of a gang of 2";
const KEEPS_UP: &str = "\"could not support the IOzone workload in simulated real-time\"; its requests of 32 KiB and more are whole pages here";
const HEAD: &str = "the first 100,000 requests of IOzone";

fn keys<'a>(kind: &str, (gang, channels): (&'a str, &'a str)) -> Vec<(&'a str, &'a str)> {
    let shape = [("device.flash.geometry.packages_per_channel", gang), ("device.flash.geometry.channels", channels)];
    let more: &[_] = match kind {
        "asynchronous" => &[("device.flash.array.gang", "\"shared-control\"")],
        _ => &[
            ("device.flash.array.gang", "\"synchronous\""),
            ("device.flash.write_frontiers", "\"plane\""),
            ("device.flash.array.copy_back", "\"unchecked\""),
        ],
    };
    shape.into_iter().chain(more.iter().copied()).collect()
}

fn run(item: &Item, context: &Context<'_>) -> Result<Outcome, ReproduceError> {
    let mut outcome = Outcome::default();
    let all = ALL.len() * RUNS;
    // Per kind and gang, one value for each workload.
    let mut normalised = vec![Vec::new(); KINDS.len() * GANGS.len()];
    for (index, workload) in ALL.into_iter().enumerate() {
        let text = match workload.experiment(EXPERIMENT, context) {
            Ok(text) => text,
            Err(missing) => {
                let claim = format!("{}: synchronous gangs are slower than asynchronous ones", workload.name);
                outcome.claims.push(Claim::unreachable(item.name, &claim, None, &missing));
                normalised.iter_mut().for_each(|values| values.push(f64::NAN));
                continue;
            }
        };
        let part = |done: usize| (index * RUNS + done, all);
        let baseline = response_ms(&traces::run(item, context, &text, &[], part(0))?);
        for (size, gang) in GANGS.into_iter().enumerate() {
            let mut responses = Vec::new();
            for (kind, name) in KINDS.into_iter().enumerate() {
                let done = 1 + size * KINDS.len() + kind;
                let results = traces::run(item, context, &text, &keys(name, gang), part(done))?;
                responses.push(response_ms(&results));
                normalised[kind * GANGS.len() + size].push(response_ms(&results) / baseline);
                if workload.name == IOZONE.name && gang.0 == "8" && name == "synchronous" {
                    let busy = results.devices.values().filter_map(|device| device.utilisation.get("die"));
                    let busy = busy.fold(0.0f64, |most, busy| most.max(*busy));
                    let claim = "IOzone, synchronous gang of 8: busy share of the packages, 1 where it cannot keep up";
                    outcome.claims.push(Claim::at_least(item.name, claim, 1.0, busy, KEEPS_UP).on_stand_in(HEAD));
                }
            }
            outcome.claims.push(order(item, workload, gang.0, &responses));
        }
    }
    outcome.figures.push(Figure {
        title: "Agrawal's figure 7: response times of gangs with shared control".into(),
        note: "Over those of the baseline, eight packages fully connected. The text gives no values. TPC-C and Exchange are made up.".into(),
        x: Axis::categories("workload", ALL.iter().map(|workload| workload.name)),
        y: Axis::logarithmic("mean response over that of the baseline"),
        curves: normalised
            .into_iter()
            .enumerate()
            .map(|(index, values)| {
                let name = format!("{}, {} packages", KINDS[index / GANGS.len()], GANGS[index % GANGS.len()].0);
                let points = Curve::measured_bars(&name, values).points;
                Curve::measured(&name, points.into_iter().filter(|point| point.1.is_finite()))
            })
            .collect(),
    });
    Ok(outcome)
}

fn order(item: &Item, workload: &Workload, gang: &str, responses: &[f64]) -> Claim {
    let claim = format!(
        "{}: a synchronous gang of {gang} is slower than an asynchronous one (mean response, ms)",
        workload.name
    );
    let reason = match workload.is_real() {
        true => APART,
        false if workload.name == TPCC.name && gang == "2" => FITS,
        false => UNIFORMLY,
    };
    workload.on(Claim::descending(item.name, &claim, &[(KINDS[1], responses[1]), (KINDS[0], responses[0])], reason))
}

#[cfg(test)]
mod tests {
    use super::super::workloads::tests::short;
    use super::*;

    #[test]
    fn every_gang_can_be_built_and_small_writes_cost_synchronous_ones_more() {
        for gang in GANGS {
            let [asynchronous, synchronous] =
                KINDS.map(|kind| response_ms(&short(&ITEM, EXPERIMENT, &keys(kind, gang))));
            assert!(synchronous > asynchronous, "{gang:?}: {synchronous} {asynchronous}");
        }
    }
}
