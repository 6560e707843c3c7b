//! Agrawal 2008, table 3: microbenchmarks of 4 KiB requests on the baseline drive.
//!
//! Latency is that of one request at a time; the rate is that of all eight packages kept busy with one request each, as
//! the published pairs are related (8 / 130.6 us = 61,255 per second).
//!
//! The text does not say over which range and how long the rows with cleaning ran. The protocol here is derived, not
//! fitted: the drive is filled in address order, then 5,000,000 pages are written, one at a time, over the first eighth
//! of the host's space.

use esker_core::{
    Arrival, Bytes, Completion, Control, Device, LatencyHistogram, Lba, Nanos, Observer, Precondition, Ratio,
    ReplaySettings, Request, Rng, Verdict, replay,
};
use esker_sim::{Experiment, System};

use crate::{Claim, Context, Item, Outcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "agrawal/table-3",
    title: "Latency and rate of 4 KiB reads and writes, with and without cleaning",
    source: "Agrawal et al., USENIX ATC 2008, section 4.2, table 3",
    run,
};

const EXPERIMENT: &str = include_str!("table_3.toml");
const PAGE: Bytes = Bytes::kib(4);
/// Requests of the rows without cleaning.
const PLAIN_REQUESTS: u64 = 200_000;
/// Requests of the rows with cleaning.
const CLEANING_REQUESTS: u64 = 5_000_000;
/// The rows with cleaning write this part of the host's space.
const RANGE_DIVISOR: u64 = 8;
const PACKAGES: u64 = 8;

const EXACT: &str = "sums of the times in table 1; the paper's figures are rounded";
const DERIVED: &str = "range and length are not in the text: filled in address order, then 5,000,000 writes over the first eighth, one at a time";

fn run(item: &Item, context: &Context<'_>) -> Result<Outcome, ReproduceError> {
    let work = Work { item, context };
    let step = |done: f64| (context.progress)(done / 7.0);
    step(0.0);
    let read = work.plain(Kind::Read, 1)?;
    let read_rate = work.plain(Kind::Read, PACKAGES)?;
    step(1.0);
    let write = work.plain(Kind::Write, 1)?;
    let write_rate = work.plain(Kind::Write, PACKAGES)?;
    step(2.0);
    let sequential = work.cleaning(Order::Sequential, 1, RANGE_DIVISOR)?;
    step(3.0);
    let random = work.cleaning(Order::Random, 1, RANGE_DIVISOR)?;
    step(4.0);
    let whole = work.steady()?;
    step(7.0);
    let rate = |latency: &Measured| PACKAGES as f64 / latency.mean_us * 1e6;
    let within = |claim, published, measured, tolerance, reason| {
        Claim::within(item.name, claim, published, measured, tolerance, reason)
    };
    Ok(vec![
        within("reads: latency, us", 130.0, read.mean_us, 0.01, EXACT),
        within("reads: rate, per second", 61_255.0, read_rate.rate, 0.01, EXACT),
        within("writes: latency, us", 309.0, write.mean_us, 0.01, EXACT),
        within("writes: rate, per second", 25_898.0, write_rate.rate, 0.01, EXACT),
        within("sequential writes with cleaning: latency, us", 327.0, sequential.mean_us, 0.05, DERIVED),
        within("sequential writes with cleaning: rate, per second", 24_457.0, rate(&sequential), 0.05, DERIVED),
        within("random writes with cleaning: latency, us", 433.0, random.mean_us, 0.05, DERIVED),
        within("random writes with cleaning: rate, per second", 18_480.0, rate(&random), 0.05, DERIVED),
        Claim::beside(
            item.name,
            "pages moved per victim, random writes over an eighth",
            random.moved_per_victim,
            "13.6 by the derivation of the protocol",
        ),
        Claim::beside(
            item.name,
            "random writes over the whole space in the steady state: latency, us",
            whole.mean_us,
            "shown beside: what a drive that is full and has been written at random for long does",
        ),
    ]
    .into())
}

#[derive(Clone, Copy)]
enum Kind {
    Read,
    Write,
}

#[derive(Clone, Copy)]
enum Order {
    Sequential,
    Random,
}

/// What one run showed.
struct Measured {
    mean_us: f64,
    /// Requests per second.
    rate: f64,
    moved_per_victim: f64,
}

struct Work<'a> {
    item: &'a Item,
    context: &'a Context<'a>,
}

impl Work<'_> {
    fn error(&self, message: impl std::fmt::Display) -> ReproduceError {
        ReproduceError::Experiment { item: self.item.name, message: message.to_string() }
    }

    fn drive(&self) -> Result<Box<dyn Device>, ReproduceError> {
        let text = format!("[workload]\nsynthetic = {{ requests = 1 }}\n{EXPERIMENT}seed = {}\n", self.context.seed);
        let experiment = Experiment::from_str(&text, "agrawal/table_3.toml").map_err(|error| self.error(error))?;
        Ok(System::assemble(&experiment).map_err(|error| self.error(error))?.device)
    }

    /// Sequential requests on a drive that holds what is read, without cleaning.
    fn plain(&self, kind: Kind, depth: u64) -> Result<Measured, ReproduceError> {
        let mut drive = self.drive()?;
        if matches!(kind, Kind::Read) {
            let filled = Precondition::Filled { utilisation: Ratio::percent(10) };
            drive.control(Nanos::ZERO, Control::Precondition(filled)).map_err(|error| self.error(error))?;
        }
        let requests = (0..PLAIN_REQUESTS).map(|page| match kind {
            Kind::Read => Request::read(at(page), PAGE),
            Kind::Write => Request::write(at(page), PAGE),
        });
        self.measure(&mut drive, requests, depth)
    }

    /// Writes over a part of the space, on a drive filled in address order.
    fn cleaning(&self, order: Order, depth: u64, divisor: u64) -> Result<Measured, ReproduceError> {
        let mut drive = self.drive()?;
        let filled = Precondition::Filled { utilisation: Ratio::ONE };
        drive.control(Nanos::ZERO, Control::Precondition(filled)).map_err(|error| self.error(error))?;
        let pages = drive.capacity().0 / PAGE.0 / divisor;
        let mut rng = Rng::derive(self.context.seed, self.item.name);
        let requests = (0..CLEANING_REQUESTS).map(move |index| match order {
            Order::Sequential => Request::write(at(index % pages), PAGE),
            Order::Random => Request::write(at(rng.below(pages)), PAGE),
        });
        self.measure(&mut drive, requests, depth)
    }

    /// Random writes over the whole space after preconditioning to the steady state.
    fn steady(&self) -> Result<Measured, ReproduceError> {
        let mut drive = self.drive()?;
        let steady = Precondition::Steady { utilisation: Ratio::ONE, seed: self.context.seed };
        drive.control(Nanos::ZERO, Control::Precondition(steady)).map_err(|error| self.error(error))?;
        let pages = drive.capacity().0 / PAGE.0;
        let mut rng = Rng::derive(self.context.seed, "steady");
        let requests = (0..1_000_000).map(move |_| Request::write(at(rng.below(pages)), PAGE));
        self.measure(&mut drive, requests, 1)
    }

    fn measure(
        &self,
        drive: &mut Box<dyn Device>,
        requests: impl Iterator<Item = Request>,
        depth: u64,
    ) -> Result<Measured, ReproduceError> {
        drive.control(Nanos::ZERO, Control::StartMeasuring).map_err(|error| self.error(error))?;
        let mut times = Times { response: LatencyHistogram::default(), context: self.context };
        let arrivals = requests.map(|request| Arrival { at: Nanos::ZERO, request });
        let settings = ReplaySettings::closed(depth as usize);
        let run = replay(drive, arrivals, &settings, &mut times).map_err(|error| self.error(error))?;
        match run.end {
            esker_core::ReplayEnd::Complete => {}
            esker_core::ReplayEnd::Stopped => return Err(ReproduceError::Cancelled),
            end => return Err(self.error(format!("the run ended early: {end:?}"))),
        }
        let mut report = esker_core::Report::default();
        drive.report(&mut report);
        let flash = report.devices.into_values().find_map(|device| device.flash).unwrap_or_default();
        Ok(Measured {
            mean_us: times.response.mean() / 1e3,
            rate: run.completed as f64 / run.last_event.as_secs_f64(),
            moved_per_victim: flash.programs.cleaning as f64 / flash.erases.max(1) as f64,
        })
    }
}

fn at(page: u64) -> Lba {
    Lba(page * PAGE.sectors_ceil())
}

struct Times<'a> {
    response: LatencyHistogram,
    context: &'a Context<'a>,
}

impl Observer for Times<'_> {
    fn completed(&mut self, arrival: Nanos, _: &Request, completion: &Completion) -> Verdict {
        self.response.record(completion.at - arrival);
        if self.context.cancel.load(std::sync::atomic::Ordering::Relaxed) { Verdict::Stop } else { Verdict::Continue }
    }
}
