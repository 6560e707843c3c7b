//! Microbenchmarks: requests one after the other, or so many under way, on a drive that was just assembled.

use std::sync::atomic::Ordering;

use esker_core::{
    Arrival, Bytes, Completion, Control, Device, LatencyHistogram, Lba, Nanos, Observer, Precondition, ReplayEnd,
    ReplaySettings, Request, Verdict, replay,
};
use esker_results::{FlashReport, Report, Reporting};

use crate::drive::Drive;
use crate::{Context, Item, ItemFault, ReproduceError};

/// Size of every request.
pub(super) const PAGE: Bytes = Bytes::kib(4);

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Read,
    Write,
}

#[derive(Clone, Copy)]
pub(super) enum Order {
    Sequential,
    Random,
}

/// A request of the page with this number.
pub(super) fn request(kind: Kind, page: u64) -> Request {
    let first = Lba(page * PAGE.sectors_ceil());
    match kind {
        Kind::Read => Request::read(first, PAGE),
        Kind::Write => Request::write(first, PAGE),
    }
}

/// What one run showed.
pub(super) struct Measured {
    pub(super) mean_us: f64,
    /// Requests per second.
    pub(super) rate: f64,
    pub(super) flash: FlashReport,
}

/// Where the runs of an item happen.
pub(super) struct Work<'a> {
    pub(super) item: &'a Item,
    pub(super) context: &'a Context<'a>,
    pub(super) drive: &'a Drive,
}

impl Work<'_> {
    fn error(&self, fault: impl Into<ItemFault>) -> ReproduceError {
        ReproduceError::of(self.item, fault)
    }

    /// The drive in `condition`.
    pub(super) fn drive(&self, condition: Precondition) -> Result<Box<dyn Reporting>, ReproduceError> {
        let mut drive = self.drive.system().assemble(self.context.seed).map_err(|error| self.error(error))?.device;
        drive.control(Nanos::ZERO, Control::Precondition(condition)).map_err(|error| self.error(error))?;
        Ok(drive)
    }

    /// Serves `requests`, `depth` of them under way at any time.
    pub(super) fn measure(
        &self,
        drive: &mut Box<dyn Reporting>,
        requests: impl Iterator<Item = Request>,
        depth: u64,
    ) -> Result<Measured, ReproduceError> {
        drive.control(Nanos::ZERO, Control::StartMeasuring).map_err(|error| self.error(error))?;
        let mut times = Times { response: LatencyHistogram::default(), failed: 0, context: self.context };
        let arrivals = requests.map(|request| Arrival { at: Nanos::ZERO, request });
        let settings = ReplaySettings::closed(depth as usize);
        let run = replay(drive, arrivals, &settings, &mut times).map_err(|error| self.error(error))?;
        match run.end {
            ReplayEnd::Complete if times.failed == 0 => {}
            ReplayEnd::Complete => return Err(self.error(ItemFault::RequestsFailed(times.failed))),
            ReplayEnd::Stopped => return Err(ReproduceError::Cancelled),
            end => return Err(self.error(ItemFault::EndedEarly(end))),
        }
        let report = Report::of(drive);
        Ok(Measured {
            mean_us: times.response.mean() / 1e3,
            rate: run.completed as f64 / run.last_event.as_secs_f64(),
            flash: report.devices.into_values().find_map(|device| device.flash).unwrap_or_default(),
        })
    }
}

struct Times<'a> {
    response: LatencyHistogram,
    failed: u64,
    context: &'a Context<'a>,
}

impl Observer for Times<'_> {
    fn completed(&mut self, arrival: Nanos, _: &Request, completion: &Completion) -> Verdict {
        self.response.record(completion.at - arrival);
        self.failed += u64::from(completion.result.is_err());
        if self.context.cancel.load(Ordering::Relaxed) { Verdict::Stop } else { Verdict::Continue }
    }
}
