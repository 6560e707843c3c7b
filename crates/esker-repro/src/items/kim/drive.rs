//! Runs a stand-in on a drive.

use std::sync::atomic::Ordering;

use esker_core::{Arrival, Completion, Control, Nanos, Observer, ReplayEnd, ReplaySettings, Request, Verdict, replay};
use esker_flash::{Choice, ParameterValue, SsdSettings};
use esker_results::{FlashReport, Report, Reporting};

use super::workload::StandIn;
use crate::drive::{Drive, choice};
use crate::{Context, Item, ItemFault, ReproduceError};

/// The layers compared in chapter 3, by the paper's names. FAST's log size is part of the workload.
pub(super) const LAYERS: [&str; 3] = ["Baseline", "DFTL", "FAST"];

/// One of several runs of an item.
pub(super) struct Setup<'a> {
    pub(super) workload: &'a StandIn,
    /// One of [`LAYERS`].
    pub(super) layer: &'a str,
    /// Memory of DFTL's cached entries.
    pub(super) cache: &'a str,
    /// Further changes of the drive.
    pub(super) change: &'a dyn Fn(&mut SsdSettings),
    /// Index of this run among the item's runs, and their number.
    pub(super) part: (usize, usize),
}

impl<'a> Setup<'a> {
    /// The layer as in section 3.5, with 32 KiB for cached entries (section 3.5.7).
    pub(super) fn new(workload: &'a StandIn, layer: &'a str, part: (usize, usize)) -> Self {
        Self { workload, layer, cache: "32KiB", change: &|_| {}, part }
    }

    pub(super) fn drive(&self) -> Drive {
        let text = |text: &str| ParameterValue::Text(text.to_string());
        let mut drive = Drive::preset("kim-slc-32g");
        (self.workload.drive)(&mut drive);
        drive.changed(|ssd| {
            ssd.ftl = match self.layer {
                "DFTL" => choice("dftl", [("cache", text(self.cache))]),
                "FAST" => choice("fast", [("log", text(self.workload.log))]),
                _ => Choice::named("page"),
            };
            (self.change)(ssd);
        })
    }
}

/// Measurements of a run.
#[derive(Default)]
pub(super) struct StandInRun {
    /// In the order of completion.
    pub(super) served: Vec<Served>,
    pub(super) flash: FlashReport,
}

/// Times of one request, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    pub(super) request: Request,
    pub(super) arrival: u64,
    /// Time in the driver's queue.
    pub(super) queued: u64,
    /// Time in the drive.
    pub(super) device: u64,
}

impl Served {
    /// Returns the time in the driver's queue and in the drive.
    pub(super) fn response(&self) -> u64 {
        self.queued + self.device
    }
}

impl StandInRun {
    /// Mean response time (driver's queue and drive), ms.
    pub(super) fn response_ms(&self) -> f64 {
        self.device_ms() + self.queue_ms()
    }

    pub(super) fn device_ms(&self) -> f64 {
        self.mean_ms(|served| served.device)
    }

    pub(super) fn queue_ms(&self) -> f64 {
        self.mean_ms(|served| served.queued)
    }

    pub(super) fn mean_ms(&self, of: impl Fn(&Served) -> u64) -> f64 {
        self.served.iter().map(|served| of(served) as f64).sum::<f64>() / self.served.len().max(1) as f64 / 1e6
    }

    /// Standard deviation of `of` over the requests, ms.
    pub(super) fn deviation_ms(&self, of: impl Fn(&Served) -> u64) -> f64 {
        let count = self.served.len().max(1) as f64;
        let mean = self.served.iter().map(|served| of(served) as f64).sum::<f64>() / count;
        let squares = self.served.iter().map(|served| (of(served) as f64 - mean).powi(2)).sum::<f64>();
        (squares / count).sqrt() / 1e6
    }

    /// Share of look-ups that found their entry in the cache.
    pub(super) fn hit_ratio(&self) -> f64 {
        self.flash.mapping.and_then(|mapping| mapping.hit_ratio()).unwrap_or(f64::NAN)
    }

    /// Share of full merges that joined at least `least` data blocks.
    pub(super) fn share_of_merges(&self, least: u32) -> f64 {
        self.merges(least) as f64 / self.merges(0).max(1) as f64
    }

    fn merges(&self, least: u32) -> u64 {
        self.flash.full_merge_data_blocks.range(least..).map(|(_, merges)| merges).sum()
    }

    /// Mean number of data blocks per full merge.
    pub(super) fn blocks_per_merge(&self) -> f64 {
        let blocks: u64 =
            self.flash.full_merge_data_blocks.iter().map(|(blocks, merges)| u64::from(*blocks) * merges).sum();
        blocks as f64 / self.merges(0).max(1) as f64
    }
}

/// Runs `setup`: the warm-up with one request at a time, the rest by arrival times.
pub(super) fn simulate(item: &Item, context: &Context<'_>, setup: &Setup<'_>) -> Result<StandInRun, ReproduceError> {
    let error = |fault: ItemFault| ReproduceError::of(item, fault);
    let workload = setup.workload;
    let system = setup.drive().system();
    let mut drive = system.assemble(context.seed).map_err(|fault| error(fault.into()))?.device;

    let mut arrivals = workload.arrivals(context.seed);
    let mut watch = Watch {
        context,
        part: setup.part,
        all: workload.requests + workload.warm_up,
        done: 0,
        served: Vec::new(),
        failed: 0,
        end: Nanos::ZERO,
    };
    let warm_up: Vec<Arrival> = arrivals.by_ref().take(workload.warm_up as usize).collect();
    let begin = warm_up.last().map_or(Nanos::ZERO, |last| last.at);
    let end = play(&mut *drive, warm_up, &ReplaySettings::closed(1), &mut watch).map_err(&error)?;
    drive.control(end, Control::StartMeasuring).map_err(|fault| error(fault.into()))?;
    watch.served.clear();
    let measured = arrivals.map(|arrival| Arrival { at: Nanos(end.0 + arrival.at.0 - begin.0), ..arrival });
    play(&mut *drive, measured, &ReplaySettings { start: end, ..ReplaySettings::OPEN }, &mut watch).map_err(&error)?;
    if watch.context.cancel.load(Ordering::Relaxed) {
        return Err(ReproduceError::Cancelled);
    }
    if watch.failed > 0 {
        return Err(error(ItemFault::RequestsFailed(watch.failed)));
    }
    let report = Report::of(&*drive);
    let flash = report.devices.into_values().find_map(|device| device.flash).unwrap_or_default();
    Ok(StandInRun { served: watch.served, flash })
}

/// Replays the requests. Returns when the last one ended.
fn play(
    drive: &mut dyn Reporting,
    arrivals: impl IntoIterator<Item = Arrival>,
    settings: &ReplaySettings,
    watch: &mut Watch<'_>,
) -> Result<Nanos, ItemFault> {
    let end = replay(drive, arrivals, settings, watch)?;
    match end.end {
        ReplayEnd::Complete | ReplayEnd::Stopped => Ok(end.last_event),
        other => Err(ItemFault::EndedEarly(other)),
    }
}

struct Watch<'a> {
    context: &'a Context<'a>,
    part: (usize, usize),
    all: u64,
    done: u64,
    served: Vec<Served>,
    failed: u64,
    /// When the previous request ended.
    end: Nanos,
}

impl<D: ?Sized> Observer<D> for Watch<'_> {
    fn completed(&mut self, arrival: Nanos, request: &Request, completion: &Completion) -> Verdict {
        self.failed += u64::from(completion.result.is_err());
        // The drive takes one request at a time (`queue_depth` of the preset): this one when the previous one has
        // ended. Cleaning before it begins counts as time in the drive.
        let taken = arrival.max(self.end);
        self.end = completion.at;
        self.served.push(Served {
            request: *request,
            arrival: arrival.0,
            queued: taken.0 - arrival.0,
            device: completion.at.0 - taken.0,
        });
        self.done += 1;
        if self.done.is_multiple_of(4096) {
            let share = self.done as f64 / self.all as f64;
            (self.context.progress)((self.part.0 as f64 + share) / self.part.1 as f64);
        }
        if self.context.cancel.load(Ordering::Relaxed) { Verdict::Stop } else { Verdict::Continue }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use crate::{ClaimVerdict, Context, Item, ItemOutcome, ReproduceError};

    type Measure = fn(&Item, &Context<'_>, f64) -> Result<ItemOutcome, ReproduceError>;

    /// The outcome of `measure` on a part of the requests. Asserts that every claim belongs to the item and has a
    /// value, and that every figure has points.
    pub(in crate::items::kim) fn short(item: &Item, measure: Measure, part: f64) -> ItemOutcome {
        let cancel = AtomicBool::new(false);
        let context = Context {
            seed: 1,
            traces: None,
            progress: &|share| assert!((0.0..=1.0).contains(&share)),
            cancel: &cancel,
            drives: Arc::default(),
        };
        let outcome = measure(item, &context, part).unwrap();
        for claim in &outcome.claims {
            assert_eq!(claim.item, item.name);
            crate::items::check_claim(claim);
            assert_eq!(
                claim.verdict == ClaimVerdict::StandIn,
                claim.verdict != ClaimVerdict::Unreachable,
                "{}",
                claim.claim
            );
        }
        for figure in &outcome.figures {
            assert!(figure.curves.iter().any(|curve| !curve.points.is_empty()), "{}", figure.title);
        }
        outcome
    }

    #[test]
    fn requests_are_served_one_after_the_other_without_gaps_in_their_times() {
        use super::{Setup, simulate};
        use crate::items::kim::workload::CELLO;
        let cancel = AtomicBool::new(false);
        let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
        let workload = CELLO.shortened(0.01);
        let run = simulate(&super::super::figure_3_12::ITEM, &context, &Setup::new(&workload, "DFTL", (0, 1))).unwrap();
        assert_eq!(run.served.len() as u64, workload.requests);
        let taken = |served: &super::Served| served.arrival + served.queued;
        for pair in run.served.windows(2) {
            let before = taken(&pair[0]) + pair[0].device;
            assert_eq!(taken(&pair[1]), before.max(pair[1].arrival));
        }
        assert!(run.served.iter().any(|served| served.queued > 0), "arrivals come in bursts");
    }

    #[test]
    fn a_run_that_is_interrupted_says_so() {
        use super::{Setup, simulate};
        use crate::items::kim::workload::WEB_SEARCH;
        let cancel = AtomicBool::new(true);
        let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
        let run = simulate(
            &super::super::figure_3_12::ITEM,
            &context,
            &Setup::new(&WEB_SEARCH.shortened(0.01), "DFTL", (0, 1)),
        );
        assert!(matches!(run, Err(ReproduceError::Cancelled)));
    }
}
