//! Microbenchmarks: a fixed number of requests under way (often one), on a newly built drive.

use esker_core::{Arrival, Bytes, Control, Lba, Nanos, Precondition, ReplaySettings, Request};
use esker_results::{FlashReport, Report, Reporting};

use crate::drive::Drive;
use crate::timed::response_times;
use crate::{Context, Item, ItemFault, ReproduceError};

/// Size of every request.
pub(super) const PAGE: Bytes = Bytes::kib(4);

#[derive(Clone, Copy)]
pub(super) enum AccessKind {
    Read,
    Write,
}

#[derive(Clone, Copy)]
pub(super) enum Order {
    Sequential,
    Random,
}

/// Returns a request of page `page`.
pub(super) fn request(kind: AccessKind, page: u64) -> Request {
    let first = Lba(page * PAGE.sectors_ceil());
    match kind {
        AccessKind::Read => Request::read(first, PAGE),
        AccessKind::Write => Request::write(first, PAGE),
    }
}

/// Measurements of one run.
pub(super) struct MicroResult {
    pub(super) mean_us: f64,
    /// Requests per second.
    pub(super) rate: f64,
    pub(super) flash: FlashReport,
}

/// Runs the microbenchmarks of an item.
pub(super) struct MicroBenchmark<'a> {
    pub(super) item: &'a Item,
    pub(super) context: &'a Context<'a>,
    pub(super) drive: &'a Drive,
}

impl MicroBenchmark<'_> {
    fn error(&self, fault: impl Into<ItemFault>) -> ReproduceError {
        ReproduceError::of(self.item, fault)
    }

    /// Builds the drive and preconditions it.
    pub(super) fn drive(&self, condition: Precondition) -> Result<Box<dyn Reporting>, ReproduceError> {
        let mut drive = self.drive.system().assemble(self.context.seed).map_err(|error| self.error(error))?.device;
        drive.control(Nanos::ZERO, Control::Precondition(condition)).map_err(|error| self.error(error))?;
        Ok(drive)
    }

    /// Serves `requests`, `depth` of them under way at any time.
    pub(super) fn measure(
        &self,
        drive: &mut dyn Reporting,
        requests: impl Iterator<Item = Request>,
        depth: u64,
    ) -> Result<MicroResult, ReproduceError> {
        drive.control(Nanos::ZERO, Control::StartMeasuring).map_err(|error| self.error(error))?;
        let arrivals = requests.map(|request| Arrival { at: Nanos::ZERO, request });
        let settings = ReplaySettings::closed(depth as usize);
        let measured = response_times(drive, arrivals, &settings, self.context.cancel);
        let (run, times) = measured.map_err(|fault| self.error(fault))?;
        let report = Report::of(drive);
        Ok(MicroResult {
            mean_us: times.mean() / 1e3,
            rate: run.completed as f64 / run.last_event.as_secs_f64(),
            flash: report.devices.into_values().find_map(|device| device.flash).unwrap_or_default(),
        })
    }
}
