//! One drive, simulated in full.

use esker_config::ConfigText;
use esker_core::{Bytes, Completion, Control, Device, Lba, Nanos, Precondition, Ratio, Request, Rng, Tag};
use esker_flash::{Choice, PRESETS, Ssd, SsdSettings};

use super::cases::OBJECT_PAGES;
use super::{CalibrationCase, CalibrationError, CalibrationRow};

/// Dies of a drive.
pub(super) const DIES: u32 = 2;
/// Requests under way.
const DEPTH: u64 = 4;
/// All data are written this many times on average before erases are counted, and while they are.
const FILLS: u64 = 8;
/// The least spare space that a drive can have; `utilisation` says how much is used.
const SPARE: Ratio = Ratio::percent(10);
/// Of writes, and of a policy that draws.
const SEED: u64 = 1;
/// Writes between two looks whether to go on.
const LOOK_EVERY: u64 = 1 << 14;

/// Simulates a drive until its erases are steady, and counts them.
pub(super) fn simulate(
    case: &CalibrationCase,
    goes_on: &(dyn Fn() -> bool + Sync),
) -> Result<CalibrationRow, CalibrationError> {
    let wrong = |message: String| CalibrationError::Drive { case: case.to_string(), message };
    let settings = settings(case).map_err(wrong)?;
    let mut ssd = Ssd::new("drive", &settings, SEED).map_err(|error| wrong(error.to_string()))?;
    let space = ssd.space();
    let kept_free = space.reserve.max(space.gradual);
    let usable = u64::from(space.pools * (space.blocks_per_pool - kept_free) * space.data_pages_per_block);
    let objects = (usable as f64 * case.utilisation / OBJECT_PAGES as f64) as usize;
    let page = settings.geometry.page_size;
    let (pages, room) = (objects as u64 * OBJECT_PAGES, ssd.capacity().0 / page.0);
    if pages > room {
        return Err(wrong(format!("{pages} pages of data do not fit on {room}")));
    }
    // A drive that is filled in the order of addresses: every page is written, so that the first writes find data.
    let share = Ratio::from_f64((pages as f64 + 0.5) / room as f64);
    ssd.control(Nanos::ZERO, Control::Precondition(Precondition::Filled { utilisation: share }))
        .map_err(|error| wrong(error.to_string()))?;
    let mut writer = Writer::new(case, ssd, page, objects);
    let mut write = |count: u64| {
        let mut written = 0;
        while written < count {
            if !goes_on() {
                return Err(CalibrationError::Stopped);
            }
            written += writer.write(count.min(written + LOOK_EVERY) - written).map_err(wrong)?;
        }
        Ok((writer.ssd.telemetry().erases, written))
    };
    let (before, _) = write(pages * FILLS)?;
    let (after, host_pages) = write(pages * FILLS)?;
    Ok(CalibrationRow {
        case: case.clone(),
        usable_pages: usable,
        data_pages: pages,
        host_pages,
        erases: after - before,
    })
}

fn settings(case: &CalibrationCase) -> Result<SsdSettings, String> {
    let preset = PRESETS.iter().find(|preset| preset.name == case.preset).ok_or("there is no such preset")?;
    let text = ConfigText::parse(preset.toml, preset.name).map_err(|error| error.to_string())?;
    let mut settings: SsdSettings = text.read().map_err(|error| error.to_string())?;
    let geometry = &mut settings.geometry;
    (geometry.channels, geometry.packages_per_channel) = (DIES, 1);
    (geometry.dies_per_package, geometry.planes_per_die) = (1, 1);
    (geometry.blocks_per_plane, geometry.pages_per_block) = (case.blocks, case.pages_per_block);
    geometry.units_per_page = 1;
    settings.factory_over_provisioning = Some(SPARE);
    settings.cleaning.victim = Choice::named(case.victim);
    (settings.write_buffer, settings.controller) = (None, None);
    Ok(settings)
}

/// Keeps writing to a drive.
struct Writer<'a> {
    case: &'a CalibrationCase,
    ssd: Ssd,
    page: Bytes,
    /// The share of writes that goes to each object and those before it.
    sums: Vec<f64>,
    rng: Rng,
    now: Nanos,
    under_way: u64,
    done: Vec<Completion>,
}

impl<'a> Writer<'a> {
    fn new(case: &'a CalibrationCase, ssd: Ssd, page: Bytes, objects: usize) -> Self {
        let mut sums = case.load.rates(objects);
        let all: f64 = sums.iter().sum();
        let mut sum = 0.0;
        for rate in &mut sums {
            sum += *rate / all;
            *rate = sum;
        }
        let rng = Rng::derive(SEED, "calibration");
        Self { case, ssd, page, sums, rng, now: Nanos::ZERO, under_way: 0, done: Vec::new() }
    }

    /// Writes at least `pages` pages and waits for them. Returns how many it wrote.
    fn write(&mut self, pages: u64) -> Result<u64, String> {
        let mut written = 0;
        while written < pages || self.under_way > 0 {
            while written < pages && self.under_way < DEPTH {
                let request = self.next();
                self.ssd.submit(self.now, Tag::new(0, 0), request);
                self.under_way += 1;
                written += self.case.write_pages;
            }
            self.now = self.ssd.next_event();
            self.ssd.advance(self.now, &mut self.done);
            for completion in self.done.drain(..) {
                completion.result.map_err(|error| error.to_string())?;
                self.under_way -= 1;
            }
        }
        Ok(written)
    }

    fn next(&mut self) -> Request {
        let drawn = self.rng.unit();
        let object = self.sums.partition_point(|sum| *sum <= drawn).min(self.sums.len() - 1) as u64;
        let length = self.case.write_pages;
        let first = match self.case.overlapping {
            true => self.rng.below(OBJECT_PAGES - length + 1),
            false => self.rng.below(OBJECT_PAGES / length) * length,
        };
        let at = (object * OBJECT_PAGES + first) * self.page.0;
        Request::write(Lba(at / Bytes::SECTOR.0), Bytes(length * self.page.0))
    }
}
