//! Agrawal 2008, figure 7: gangs with shared control, asynchronous and synchronous, against the baseline.
//!
//! Of eight packages, 2, 4 or 8 share their control lines. Asynchronous: each has its own logical pages. Synchronous: a
//! logical page spans the gang; a partial write reads the rest of the page to the registers and programs it from there,
//! inside the planes (section 4.3). For that, planes are the pools in both cases: the new version of a page has to lie
//! in the same plane.
//!
//! There are two models. In the simulator that was released with the paper, and so most likely in the figure, a
//! synchronous gang moves its packages' pages one after the other, as over one bus, and an asynchronous one works in
//! rounds. The claim is checked in this model. The other model is of gangs as in section 3.3, each package with data
//! lines of its own, and is shown for comparison.

use esker_flash::{CopyBack, FlashArraySettings, Gang, GangControl, GangData, PoolScope, Rewrite};

use super::drives::baseline;
use super::workloads::{ALL, IOZONE, PaperWorkload, TPCC, response_ms};
use crate::drive::Drive;
use crate::traces::{self, PlannedRun};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "agrawal/figure-7",
    title: "Response times of gangs with shared control, asynchronous and synchronous",
    source: "Agrawal et al., USENIX ATC 2008, section 4.3, figure 7",
    sections: &["4.3"],
    run,
};

/// Packages per gang, and the remaining channels.
const GANGS: [(u32, u32); 3] = [(2, 4), (4, 2), (8, 1)];

/// A model of gangs.
struct GangModel {
    name: &'static str,
    wiring: fn(&mut FlashArraySettings),
}

const SYNCHRONOUS: usize = 0;
const ASYNCHRONOUS: usize = 1;
const COMMANDS: usize = 2;
const RELEASED_SYNCHRONOUS: usize = 3;
const RELEASED_ASYNCHRONOUS: usize = 4;
const MODELS: [GangModel; 5] = [
    GangModel { name: "synchronous", wiring: synchronous },
    GangModel { name: "asynchronous", wiring: |array| array.gang = Gang::SharedControl },
    GangModel {
        name: "asynchronous, lines held for commands only",
        wiring: |array| (array.gang, array.gang_control) = (Gang::SharedControl, GangControl::Commands),
    },
    GangModel {
        name: "synchronous, one page after the other",
        wiring: |array| {
            synchronous(array);
            array.gang_data = GangData::Shared;
        },
    },
    GangModel {
        name: "asynchronous, in rounds",
        wiring: |array| (array.gang, array.gang_control) = (Gang::SharedControl, GangControl::Rounds),
    },
];
const RUNS: usize = 1 + GANGS.len() * MODELS.len();

const UNIFORMLY: &str = "\"synchronous ganging uniformly underperforms\"; gangs as in the authors' released simulator, \
    with which the figure was made";
const TOGETHER: &str = "above 1 where the synchronous gang is slower; packages in synchrony erase at the same time, \
    where a large request waits once for all of them";
const FITS: &str = "above 1 where the synchronous gang is slower; requests of 8 KiB are whole pages of a gang of 2";
const SMALL: &str = "above 1 where the synchronous gang is slower";
const KEEPS_UP: &str = "\"could not support the IOzone workload in simulated real-time\"; each package with data lines \
    of its own, as section 3.3 has it: 32 KiB take 305.6 us, 107 MB/s, and the trace brings 39";
const OVERWHELMED: &str = "\"could not support the IOzone workload in simulated real-time\"; pages of the gang one \
    after the other, as in the released simulator";
const HEAD: &str = "the first 100,000 requests of IOzone";

fn synchronous(array: &mut FlashArraySettings) {
    array.gang = Gang::Synchronous;
    array.rewrite = Rewrite::InPlane;
}

fn drive(kind: &GangModel, (gang, channels): (u32, u32)) -> Drive {
    baseline().changed(|ssd| {
        ssd.geometry.packages_per_channel = gang;
        ssd.geometry.channels = channels;
        // Settings of both kinds of gang.
        ssd.pool = PoolScope::Plane;
        ssd.array.copy_back = CopyBack::Unchecked;
        (kind.wiring)(&mut ssd.array);
    })
}

/// Busy share of the most used resource, dies or buses.
fn busiest(results: &esker_results::RunResults) -> f64 {
    let shares = results.devices.values().flat_map(|device| device.utilisation.values());
    shares.fold(0.0f64, |most, share| most.max(*share))
}

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    let mut outcome = ItemOutcome::default();
    let all = ALL.len() * RUNS;
    // Per model and gang, one value for each workload.
    let mut normalised = vec![Vec::new(); MODELS.len() * GANGS.len()];
    for (index, workload) in ALL.into_iter().enumerate() {
        let asked = match workload.settings(context) {
            Ok(asked) => asked,
            Err(missing) => {
                let claim = format!("{}: synchronous gangs are slower than asynchronous ones", workload.name);
                outcome.claims.push(Claim::unreachable(item.name, &claim, None, &missing));
                normalised.iter_mut().for_each(|values| values.push(f64::NAN));
                continue;
            }
        };
        let part = |done: usize| (index * RUNS + done, all);
        let plan = |drive: Drive| PlannedRun::new(drive.system(), asked.clone());
        let baseline = response_ms(&traces::run(item, context, plan(baseline()), part(0))?);
        for (size, gang) in GANGS.into_iter().enumerate() {
            let mut responses = Vec::new();
            for (number, kind) in MODELS.iter().enumerate() {
                let done = 1 + size * MODELS.len() + number;
                let results = traces::run(item, context, plan(drive(kind, gang)), part(done))?;
                responses.push(response_ms(&results));
                normalised[number * GANGS.len() + size].push(response_ms(&results) / baseline);
                if workload.name == IOZONE.name && gang.0 == 8 {
                    let busy = busiest(&results);
                    let claim = format!("IOzone, gang of 8, {}: busy share of what is busiest", kind.name);
                    let reason = match number {
                        SYNCHRONOUS => KEEPS_UP,
                        RELEASED_SYNCHRONOUS => OVERWHELMED,
                        _ => continue,
                    };
                    outcome.claims.push(Claim::beside(item.name, &claim, busy, &format!("{HEAD}; {reason}")));
                }
            }
            outcome.claims.push(order(item, workload, gang.0, &responses));
            for (lines, asynchronous) in [("data, too", ASYNCHRONOUS), ("commands only", COMMANDS)] {
                let claim = format!(
                    "{}: synchronous over asynchronous gangs of {} by section 3.3, lines held for {lines}",
                    workload.name, gang.0
                );
                let ratio = responses[SYNCHRONOUS] / responses[asynchronous];
                outcome.claims.push(Claim::beside(item.name, &claim, ratio, own_lines(workload, gang.0)));
            }
        }
    }
    outcome.figures.push(figure(
        "Agrawal's figure 7: response times of gangs with shared control",
        &normalised,
        &[SYNCHRONOUS, ASYNCHRONOUS, COMMANDS],
    ));
    outcome.figures.push(figure(
        "The same as the released simulator models gangs",
        &normalised,
        &[RELEASED_SYNCHRONOUS, RELEASED_ASYNCHRONOUS],
    ));
    Ok(outcome)
}

fn figure(title: &str, normalised: &[Vec<f64>], kinds: &[usize]) -> Figure {
    let curves = kinds.iter().flat_map(|kind| (0..GANGS.len()).map(move |size| (*kind, size)));
    Figure {
        title: title.into(),
        note: "Over those of the baseline, eight packages fully connected. The text gives no values. TPC-C and \
            Exchange are made up."
            .into(),
        x: Axis::categories("workload", ALL.iter().map(|workload| workload.name)),
        y: Axis::logarithmic("mean response over that of the baseline"),
        curves: curves
            .map(|(kind, size)| {
                let name = format!("{}, {} packages", MODELS[kind].name, GANGS[size].0);
                let values = normalised[kind * GANGS.len() + size].iter().copied();
                let points = Curve::measured_bars(&name, values).points;
                Curve::measured(&name, points.into_iter().filter(|point| point.1.is_finite()))
            })
            .collect(),
    }
}

/// The figure's claim, in the model of the figure.
fn order(item: &Item, workload: &PaperWorkload, gang: u32, responses: &[f64]) -> Claim {
    let claim = format!(
        "{}: a synchronous gang of {gang} is slower than an asynchronous one (mean response, ms)",
        workload.name
    );
    let values = [RELEASED_SYNCHRONOUS, RELEASED_ASYNCHRONOUS].map(|kind| (MODELS[kind].name, responses[kind]));
    workload.on(Claim::descending(item.name, &claim, &values, UNIFORMLY))
}

/// The expectation for gangs with data lines of their own.
fn own_lines(workload: &PaperWorkload, gang: u32) -> &'static str {
    match workload.is_real() {
        true => TOGETHER,
        false if workload.name == TPCC.name && gang == 2 => FITS,
        false => SMALL,
    }
}

#[cfg(test)]
mod tests {
    use super::super::workloads::tests::short;
    use super::*;

    #[test]
    fn every_gang_can_be_built_and_small_writes_cost_synchronous_ones_more() {
        for gang in GANGS {
            let responses: Vec<_> =
                MODELS.iter().map(|kind| response_ms(&short(&ITEM, drive(kind, gang), 0))).collect();
            for pair in [[SYNCHRONOUS, ASYNCHRONOUS], [RELEASED_SYNCHRONOUS, RELEASED_ASYNCHRONOUS]] {
                let [synchronous, asynchronous] = pair.map(|kind| responses[kind]);
                assert!(synchronous > asynchronous, "{gang:?}: {responses:?}");
            }
        }
    }
}
