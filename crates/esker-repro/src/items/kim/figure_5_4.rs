//! Kim 2009, figure 5.4: random writes slow the sequential ones down that follow, and fragmentation busting.

use esker_core::{Arrival, Bytes, Completion, Lba, Nanos, Observer, Request, Rng, Verdict};
use esker_sim::{Experiment, Simulation};

use super::figure_5_9::deviation;
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemFault, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "kim/figure-5.4",
    title: "Sequential writes before and after random ones, with and without fragmentation busting",
    source: "Kim, dissertation, Pennsylvania State University, 2009, section 5.3.3, figure 5.4",
    sections: &["5.3.3"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, DATA)
}

/// Bytes of a request.
const PAGE: u64 = 4096;
/// Requests that write all data once: 48 MiB, on 64 MiB of flash.
const DATA: u64 = 12_288;
/// Time between two requests.
const BETWEEN: Nanos = Nanos::from_millis(5);
/// Times without requests after each quarter of the random writes. In the first all that is due moves before the host
/// is back, as the paper assumes; the second ends before.
const PAUSES: [(&str, Nanos); 3] =
    [("long pause", Nanos::from_secs(60)), ("short pause", Nanos::from_secs(1)), ("no pause", Nanos::ZERO)];
const PHASES: [&str; 3] = ["A", "B", "C"];
const WITHOUT: &str = "";
const BUSTING: &str = ", busting = {}";
/// Requests of a point of the figure.
const POINT: usize = 512;

const STAND_IN: &str = "all data written in order, as often at random, and in order again, 4 KiB at a time";

/// A store that writes to the flash whatever comes: by the means of a short training phase it is the faster device.
fn experiment(item: &Item, busting: &str, data: u64) -> Result<Experiment, ReproduceError> {
    let text = format!(
        "[workload]\n\
         synthetic = {{ requests = 1 }}\n\
         [device.flash]\n\
         preset = \"kim-slc-32g\"\n\
         geometry = {{ blocks_per_plane = {} }}\n\
         [device.disk]\n\
         preset = \"ibm-ultrastar-36z15\"\n\
         [device.store]\n\
         kind = \"hybrid\"\n\
         children = [\"flash\", \"disk\"]\n\
         extent = \"4KiB\"\n\
         capacity = \"{}B\"\n\
         allocate = \"on-write\"\n\
         policy = {{ kind = \"mixdyn\", flash_model = \"mean\", training = 16{busting} }}\n\
         [run]\n\
         target = \"store\"\n",
        // Three quarters of the flash hold data.
        data * PAGE * 4 / 3 / (128 << 10),
        data * PAGE,
    );
    Experiment::from_str(&text, item.name).map_err(|fault| ReproduceError::of(item, ItemFault::from(fault)))
}

/// The requests of all phases, with the phase of each.
fn requests(seed: u64, data: u64, pause: Nanos) -> Vec<(usize, Arrival)> {
    let mut rng = Rng::derive(seed, "figure 5.4");
    let mut at = Nanos::ZERO;
    let mut all = Vec::new();
    for phase in 0..PHASES.len() {
        for index in 0..data {
            let page = if phase == 1 { rng.below(data) } else { index };
            let request = Request::write(Lba(page * PAGE / 512), Bytes(PAGE));
            all.push((phase, Arrival { at, request }));
            let quarter_ends = phase == 1 && (index + 1).is_multiple_of(data / 4);
            at += if quarter_ends { BETWEEN + pause } else { BETWEEN };
        }
    }
    all
}

/// Response times in ms, in the order in which requests arrived.
struct Responses {
    arrivals: Vec<(usize, Nanos)>,
    response_ms: Vec<f64>,
    failed: u64,
}

impl<D: ?Sized> Observer<D> for Responses {
    fn completed(&mut self, arrival: Nanos, _: &Request, completion: &Completion) -> Verdict {
        let index = self.arrivals.binary_search_by_key(&arrival, |(_, at)| *at);
        if let Ok(index) = index {
            self.response_ms[index] = (completion.at - arrival).0 as f64 / 1e6;
        }
        self.failed += u64::from(index.is_err() || completion.result.is_err());
        Verdict::Continue
    }
}

/// A run: mean response of each phase, deviation of the points, the points, and extents moved per random write.
struct Phases {
    means: [f64; 3],
    deviation: f64,
    points: Vec<f64>,
    moved: f64,
}

fn phases(
    item: &Item,
    context: &Context<'_>,
    busting: &str,
    data: u64,
    pause: Nanos,
) -> Result<Phases, ReproduceError> {
    let error = |fault: ItemFault| ReproduceError::of(item, fault);
    let mut simulation = Simulation::with(experiment(item, busting, data)?, Some(&context.drives))
        .map_err(|fault| error(ItemFault::from(fault)))?;
    let all = requests(context.seed, data, pause);
    let arrivals: Vec<(usize, Nanos)> = all.iter().map(|(phase, arrival)| (*phase, arrival.at)).collect();
    let mut responses = Responses { response_ms: vec![0.0; all.len()], arrivals, failed: 0 };
    let go_on = |_| !context.cancel.load(std::sync::atomic::Ordering::Relaxed);
    let played = simulation.play(all.into_iter().map(|(_, arrival)| arrival), &mut responses, &mut { go_on });
    played.map_err(|fault| error(fault.into()))?;
    if responses.failed > 0 {
        return Err(error(ItemFault::RequestsFailed(responses.failed)));
    }
    let of_phase = |phase: usize| {
        let of = &responses.response_ms[phase * data as usize..(phase + 1) * data as usize];
        of.iter().sum::<f64>() / of.len() as f64
    };
    let points: Vec<f64> =
        responses.response_ms.chunks(POINT).map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64).collect();
    let report = esker_results::Report::of(simulation.device());
    let placement = report.devices.get("store").and_then(|store| store.placement.as_ref());
    Ok(Phases {
        means: [0, 1, 2].map(of_phase),
        deviation: deviation(points.iter().copied()),
        points,
        moved: placement.map_or(0, |of| of.moved_extents) as f64 / data as f64,
    })
}

fn measure(item: &Item, context: &Context<'_>, data: u64) -> Result<ItemOutcome, ReproduceError> {
    let mut runs = Vec::new();
    for (index, (_, pause)) in PAUSES.into_iter().enumerate() {
        let without = phases(item, context, WITHOUT, data, pause)?;
        (context.progress)((2 * index + 1) as f64 / (2 * PAUSES.len()) as f64);
        runs.push((without, phases(item, context, BUSTING, data, pause)?));
        (context.progress)((index + 1) as f64 / PAUSES.len() as f64);
    }
    let curve = |name: &str, points: &[f64]| {
        Curve::measured(name, points.iter().enumerate().map(|(index, ms)| ((index * POINT) as f64, *ms)))
    };
    let figures = vec![Figure {
        title: "Figure 5.4: phases of sequential, random and sequential writes".into(),
        note:
            "Means of 512 requests, with a long pause after each quarter of the random writes; the paper's curves are \
               not in the text. The workload is a stand-in."
                .into(),
        x: Axis::linear("requests"),
        y: Axis::linear("mean response, ms"),
        curves: vec![curve("without busting", &runs[0].0.points), curve("with busting", &runs[0].1.points)],
    }];
    let claims = claims_of(item, &runs).into_iter().map(|claim| claim.on_stand_in(STAND_IN));
    Ok(ItemOutcome { claims: claims.collect(), figures })
}

fn claims_of(item: &Item, runs: &[(Phases, Phases)]) -> Vec<Claim> {
    let order = |what: &str, values: &[(&str, f64)], reason: &str| Claim::descending(item.name, what, values, reason);
    let (without, with) = &runs[0];
    let mut claims = vec![
        order("without busting: response of C > A, ms", &[("C", without.means[2]), ("A", without.means[0])], SLOWER),
        order("C: response without > with busting, ms", &both(without.means[2], with.means[2]), BETTER),
        order("B: response without > with busting, ms", &both(without.means[1], with.means[1]), BETTER),
        order("response over time deviates more without busting, ms", &both(without.deviation, with.deviation), EVENER),
    ];
    for ((pause, _), (without, with)) in PAUSES.iter().zip(runs) {
        for (busting, run) in [("without", without), ("with", with)] {
            for (phase, mean) in PHASES.iter().zip(run.means) {
                let claim = format!("{pause}, {busting} busting: mean response of {phase}, ms");
                claims.push(Claim::beside(item.name, &claim, mean, NONE));
            }
        }
        claims.push(Claim::beside(item.name, &format!("{pause}: extents moved per random write"), with.moved, NONE));
    }
    claims
}

fn both(without: f64, with: f64) -> [(&'static str, f64); 2] {
    [("without", without), ("with", with)]
}

const SLOWER: &str =
    "section 5.3.3: random writes increase \"the average response time for requests\" in C over that in A";
const BETTER: &str = "section 5.3.3: \"improve the performance\"; moves do not affect requests in the paper";
const EVENER: &str = "section 5.3.3: \"reduce the variation in response times\"";
const NONE: &str = "not in the text";

#[cfg(test)]
mod tests {
    use super::super::made_up::tests::outcome;
    use super::*;

    #[test]
    fn a_short_run_gives_every_claim_and_figure() {
        let outcome = outcome(&ITEM, |item, context| measure(item, context, 1_536));
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (4 + 3 * 7, 1));
    }

    #[test]
    fn phases_write_all_data_in_order_and_pause_between_quarters() {
        let all = requests(1, 8, Nanos::from_secs(1));
        assert_eq!(all.len(), 24);
        let pages = |phase: usize| {
            let of = all.iter().filter(move |(other, _)| *other == phase);
            of.map(|(_, arrival)| arrival.request.start.0 / 8).collect::<Vec<_>>()
        };
        assert_eq!((pages(0), pages(2)), ((0..8).collect(), (0..8).collect()));
        assert_eq!(all[23].1.at, Nanos::from_millis(23 * 5 + 4_000));
    }
}
