//! Time and energy of one page on an idle drive.

use esker_core::{Arrival, Bytes, Control, Lba, Nanos, ReplaySettings, Request};
use esker_results::Report;

use crate::drive::Drive;
use crate::timed::response_times;
use crate::{Context, Item, ItemFault, ReproduceError};

/// What one page takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct SinglePage {
    pub(super) us: f64,
    /// Energy of its flash operation, uJ.
    pub(super) microjoules: f64,
}

/// Writes the first page of a new drive, and reads it. Returns what the read and what the write take.
pub(super) fn read_and_write(
    item: &Item,
    context: &Context<'_>,
    drive: &Drive,
) -> Result<(SinglePage, SinglePage), ReproduceError> {
    let error = |fault: ItemFault| ReproduceError::of(item, fault);
    let page = Bytes(drive.settings.geometry.page_size.0);
    let mut drive = drive.system().assemble(context.seed).map_err(|fault| error(fault.into()))?.device;
    let mut now = Nanos::ZERO;
    let mut single = |request: Request| {
        drive.control(now, Control::StartMeasuring).map_err(|fault| error(fault.into()))?;
        let settings = ReplaySettings { start: now, ..ReplaySettings::OPEN };
        let arrivals = [Arrival { at: now, request }];
        let (run, times) = response_times(&mut *drive, arrivals, &settings, context.cancel).map_err(&error)?;
        now = run.last_event + Nanos::from_secs(1);
        let report = Report::of(&*drive);
        let flash = report.devices.into_values().find_map(|device| device.flash).unwrap_or_default();
        let energy = flash.energy.unwrap_or_default();
        let picojoules = energy.read.total_pj() + energy.program.total_pj();
        Ok(SinglePage { us: times.mean() / 1e3, microjoules: picojoules as f64 / 1e6 })
    };
    let write = single(Request::write(Lba(0), page))?;
    Ok((single(Request::read(Lba(0), page))?, write))
}
