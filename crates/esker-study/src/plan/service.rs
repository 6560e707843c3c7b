//! How long requests keep the parts of a device busy, measured on its simulation.
//!
//! The share of the time in which a resource is busy is the sum over the requests of the time that each needs of it
//! (the utilisation law; Denning and Buzen, 1978), whatever waits for what. So measured times of single kinds of
//! requests give the utilisation under any mix of them.

use std::collections::BTreeMap;

use esker_core::{Arrival, Bytes, Control, Lba, Nanos, ReplaySettings, Request, Rng, replay};
use esker_plan::Load;
use esker_results::{DeviceReport, LINK, LatencySummary, Report, Reporting};
use esker_sim::{DeviceDescription, PreconditionKind, RunMeasurements, System};

use crate::StudyError;
use crate::models::{WholeDrive, disk_settings};
use crate::offers::{Part, PartMinimum, TouchedData, drive, settings_fault};

/// Requests that are measured of each kind and size.
const MEASURED: u64 = 4_000;
/// Requests before them, beside those that fill the write buffer twice.
const WARM_UP: u64 = 1_000;
/// The sizes that are measured. Times of others are taken from the line through these two.
const SIZES: [Bytes; 2] = [Bytes::kib(4), Bytes::kib(128)];
/// Requests under way on a drive of flash. A disk gets one at a time: with more, its arm goes less far.
const FLASH_DEPTH: usize = 16;

/// The kinds of requests that take different times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    RandomRead,
    SequentialRead,
    RandomWrite,
    SequentialWrite,
}

impl Access {
    /// In the order in which they are measured: writes change what reads find. Those in sequence are measured on a
    /// drive that was written at random, as it is where both come together, so that cleaning costs them as much.
    const ALL: [Self; 4] = [Self::RandomRead, Self::SequentialRead, Self::SequentialWrite, Self::RandomWrite];

    fn is_random(self) -> bool {
        matches!(self, Self::RandomRead | Self::RandomWrite)
    }

    fn is_read(self) -> bool {
        matches!(self, Self::RandomRead | Self::SequentialRead)
    }

    /// The direction of the drive's link that carries the data of such requests.
    fn direction(self) -> Direction {
        if self.is_read() { Direction::ToHost } else { Direction::ToDrive }
    }

    /// Requests of this kind in `load`, and their bytes.
    fn of(self, load: &Load) -> (f64, f64) {
        let (requests, bytes) = match self {
            Self::RandomRead => (load.random_reads, load.read_bytes - load.sequential_read_bytes),
            Self::SequentialRead => (load.sequential_reads, load.sequential_read_bytes),
            Self::RandomWrite => (load.random_writes, load.written_bytes - load.sequential_written_bytes),
            Self::SequentialWrite => (load.sequential_writes, load.sequential_written_bytes),
        };
        (requests as f64, bytes as f64)
    }
}

/// The directions of the link between host and drive. They carry data at the same time: reads leave the link as free
/// for writes as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    ToHost,
    ToDrive,
}

impl Direction {
    pub(super) const ALL: [Self; 2] = [Self::ToHost, Self::ToDrive];

    /// Its name as a resource.
    pub(super) fn link(self) -> &'static str {
        match self {
            Self::ToHost => "link to the host",
            Self::ToDrive => "link to the drive",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::ToHost => Self::ToDrive,
            Self::ToDrive => Self::ToHost,
        }
    }
}

/// How long a request keeps a resource busy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct BusyTime {
    /// Seconds for each request.
    request_s: f64,
    /// Seconds for each byte in addition.
    byte_s: f64,
}

/// What a device takes for requests.
#[derive(Clone, Debug, Default)]
pub(super) struct ServiceTimes {
    /// By resource, such as `arm` or `die`: times by kind of request, in the order of [`Access::ALL`].
    busy: BTreeMap<String, [BusyTime; 4]>,
    /// 99th percentile of the response time of random reads and writes of 4 KiB, one at a time, in microseconds.
    pub(super) alone_p99_us: [f64; 2],
    /// Programs a page of random overwriting; 1 without flash.
    pub(super) random_amplification: f64,
}

impl ServiceTimes {
    /// Names of the resources.
    pub(super) fn resources(&self) -> impl Iterator<Item = &str> {
        self.busy.keys().map(String::as_str)
    }

    /// Seconds in which `load` keeps a resource of one device busy.
    pub(super) fn busy_s(&self, resource: &str, load: &Load) -> f64 {
        let Some(times) = self.busy.get(resource) else { return 0.0 };
        let of = |(access, time): (&Access, &BusyTime)| {
            let (requests, bytes) = access.of(load);
            requests * time.request_s + bytes * time.byte_s
        };
        Access::ALL.iter().zip(times).map(of).sum()
    }

    /// Seconds in which `load` keeps the busiest resource of one device busy, the other direction of its link left out.
    pub(super) fn busiest_s(&self, direction: Direction, load: &Load) -> f64 {
        let counts = |resource: &&str| *resource != direction.other().link();
        self.resources().filter(counts).map(|resource| self.busy_s(resource, load)).fold(0.0, f64::max)
    }

    /// Measures one device of `part`, whose flash is full up to the share `data.utilisation`.
    pub(super) fn measure(part: &Part<'_>, data: TouchedData) -> Result<Self, StudyError> {
        let one = Part { count: 1, ..*part };
        match one.product.kind.as_str() {
            "ssd" => {
                let data = TouchedData { active: Bytes::ZERO, least: PartMinimum::ALONE, ..data };
                let (drive, _) = drive(&one, data)?;
                let drive = drive.preconditioned(PreconditionKind::Steady, data.utilisation);
                let whole = WholeDrive::of(one.product, one.capacity.bytes);
                let buffer = whole.and_then(|whole| whole.settings().write_buffer).map_or(0, |buffer| buffer.size.0);
                Self::of(drive, (data.utilisation.as_f64(), buffer, FLASH_DEPTH))
            }
            _ => {
                let settings = disk_settings(one.product, one.capacity.bytes);
                let settings = settings.ok_or_else(|| settings_fault(one.product))?;
                let buffer = settings.cache.as_ref().map_or(0, |cache| cache.write_back.0);
                Self::of(DeviceDescription::new(settings), (1.0, buffer, 1))
            }
        }
    }

    /// Measures a device with requests to its first `share`, `depth` at a time. `buffer` is how many bytes it takes
    /// before flash does.
    fn of(description: DeviceDescription, (share, buffer, depth): (f64, u64, usize)) -> Result<Self, StudyError> {
        let system = System::single("device", description).map_err(StudyError::design)?;
        let device = system.assemble(1).map_err(StudyError::design)?.device;
        let report = Report::of(&*device);
        let flash = report.devices.values().find_map(|device| device.flash.as_ref());
        let random_amplification = flash
            .and_then(|flash| flash.precondition.as_ref())
            .map_or(1.0, |precondition| precondition.write_amplification.max(1.0));
        let span = (device.capacity().0 as f64 * share) as u64;
        let mut bench = Bench { device, now: Nanos::ZERO, span, buffer, rng: Rng::new(5) };
        let mut found = Self { random_amplification, ..Self::default() };
        for (place, access) in Access::ALL.into_iter().enumerate() {
            let measured = SIZES.map(|size| bench.play(access, size, depth));
            let [small, large] = measured;
            let (small, large) = (small?, large?);
            for (resource, &short) in &small.busy_s {
                let long = large.busy_s.get(resource).copied().unwrap_or(short);
                let byte_s = ((long - short) / (SIZES[1].0 - SIZES[0].0) as f64).max(0.0);
                let request_s = (short - byte_s * SIZES[0].0 as f64).max(0.0);
                found.busy.entry(resource.clone()).or_default()[place] = BusyTime { request_s, byte_s };
            }
            if access.is_random() {
                let alone = bench.play(access, SIZES[0], 1)?;
                found.alone_p99_us[usize::from(!access.is_read())] = alone.p99_us;
            }
        }
        Ok(found)
    }
}

/// What was measured of one kind and size of requests.
struct Played {
    /// Seconds in which a request keeps each resource busy.
    busy_s: BTreeMap<String, f64>,
    p99_us: f64,
}

/// A device that is measured.
struct Bench {
    device: Box<dyn Reporting>,
    now: Nanos,
    /// Requests go to this many bytes.
    span: u64,
    /// Bytes that the write buffer holds.
    buffer: u64,
    rng: Rng,
}

impl Bench {
    /// Plays requests of one kind, `depth` at a time.
    fn play(&mut self, access: Access, size: Bytes, depth: usize) -> Result<Played, StudyError> {
        let filling = if access.is_read() { 0 } else { 2 * self.buffer / size.0 };
        self.replay(access, size, (WARM_UP + filling, depth))?;
        self.device.control(self.now, Control::StartMeasuring).map_err(StudyError::design)?;
        let (begin, measurements) = (self.now, self.replay(access, size, (MEASURED, depth))?);
        let elapsed = (self.now - begin).as_secs_f64();
        let report = Report::until(self.now, &*self.device);
        let each = |device: &DeviceReport| {
            let seconds = |share: f64| share * elapsed / MEASURED as f64;
            let all = device.busy_shares().map(|(resource, share)| match resource {
                LINK => (access.direction().link().to_string(), seconds(share)),
                _ => (resource.to_string(), seconds(share)),
            });
            all.collect::<Vec<_>>()
        };
        let busy_s = report.devices.values().flat_map(each).collect();
        let p99_us = LatencySummary::of(&measurements.statistics().response()).p99_us;
        Ok(Played { busy_s, p99_us })
    }

    fn replay(
        &mut self,
        access: Access,
        size: Bytes,
        (count, depth): (u64, usize),
    ) -> Result<RunMeasurements, StudyError> {
        let places = (self.span / size.0).max(1);
        let first = self.rng.below(places);
        let requests: Vec<Arrival> = (0..count)
            .map(|number| {
                let place = if access.is_random() { self.rng.below(places) } else { (first + number) % places };
                let start = Lba(place * (size.0 / Bytes::SECTOR.0));
                let request = if access.is_read() { Request::read(start, size) } else { Request::write(start, size) };
                Arrival { at: self.now, request }
            })
            .collect();
        let settings = ReplaySettings { start: self.now, ..ReplaySettings::closed(depth) };
        let mut measurements = RunMeasurements::new();
        let played = replay(&mut *self.device, requests, &settings, &mut measurements).map_err(StudyError::design)?;
        self.now = played.last_event;
        Ok(measurements)
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Ratio;

    use super::*;

    fn measured(name: &str, gigabytes: u64) -> ServiceTimes {
        let catalogue = crate::builtin_catalogue("current").unwrap();
        let product = catalogue.product(name).unwrap();
        let capacity = product.capacities.iter().find(|one| one.bytes.0 == gigabytes * 1_000_000_000).copied().unwrap();
        let data = TouchedData { active: Bytes::ZERO, utilisation: Ratio::percent(85), least: PartMinimum::ALONE };
        ServiceTimes::measure(&Part::bought(product, capacity, 1), data).unwrap()
    }

    /// The arm's time for a random read of 4 KiB is the mean of seek, half a turn and transfer: between the 4.16 ms of
    /// half a turn at 7,200 rpm alone and that with the longest seek.
    #[test]
    fn a_disk_is_busy_with_a_random_read_for_a_seek_and_half_a_turn() {
        let disk = measured("toshiba-mg10", 20_000);
        let load = Load { random_reads: 100, read_bytes: 409_600, ..Load::default() };
        let each_ms = disk.busy_s("arm", &load) * 10.0;
        assert!((8.0..16.0).contains(&each_ms), "{each_ms} ms");
        let twice = Load { random_reads: 200, read_bytes: 819_200, ..Load::default() };
        assert!((disk.busy_s("arm", &twice) / disk.busy_s("arm", &load) - 2.0).abs() < 1e-9);
        // In sequence, the arm reads on: at least twenty times as fast.
        let in_sequence = Load { sequential_reads: 100, sequential_read_bytes: 409_600, random_reads: 0, ..load };
        assert!(disk.busy_s("arm", &in_sequence) * 20.0 < disk.busy_s("arm", &load));
        assert_eq!((disk.busy_s("die", &load), disk.random_amplification), (0.0, 1.0));
    }

    /// Twice the dies are half as busy.
    #[test]
    fn a_drive_of_twice_the_dies_is_half_as_busy() {
        let [small, large] = [960, 1_920].map(|gigabytes| measured("micron-7450-pro", gigabytes));
        let read = Load { random_reads: 1_000, read_bytes: 4_096_000, ..Load::default() };
        let ratio = small.busy_s("die", &read) / large.busy_s("die", &read);
        assert!((1.8..2.2).contains(&ratio), "{ratio}");
        // A page that is written costs a program, and the pages that cleaning copies for it.
        let pages = |bytes: u64| Load { random_writes: bytes >> 17, written_bytes: bytes, ..Load::default() };
        let ratio = small.busy_s("die", &pages(128 << 20)) / large.busy_s("die", &pages(128 << 20));
        assert!((1.6..2.4).contains(&ratio), "{ratio}");
        assert!(small.random_amplification > 1.5 && small.alone_p99_us[0] < 5_000.0);
    }
    /// The data of a read are on the link for as long as they take at its rate, in one direction; writes use the other.
    #[test]
    fn reads_and_writes_keep_one_direction_of_the_link_busy_each() {
        let drive = measured("micron-5400-pro", 3_840);
        let bytes = 1_000 * (128 << 10);
        let read = Load { random_reads: 1_000, read_bytes: bytes, ..Load::default() };
        let write = Load { random_writes: 1_000, written_bytes: bytes, ..Load::default() };
        let [to_host, to_drive] = Direction::ALL;
        let at_rate_s = bytes as f64 / 540e6;
        for (load, used, idle) in [(&read, to_host, to_drive), (&write, to_drive, to_host)] {
            let ratio = drive.busy_s(used.link(), load) / at_rate_s;
            assert!((0.9..1.15).contains(&ratio), "{used:?}: {ratio}");
            assert_eq!(drive.busy_s(idle.link(), load), 0.0);
        }
        // Reads of this size leave the dies idle most of the time: nothing is as busy as the link.
        assert_eq!(drive.busiest_s(to_host, &read), drive.busy_s(to_host.link(), &read));
        assert!(drive.busiest_s(to_drive, &read) < drive.busiest_s(to_host, &read));
    }
}
