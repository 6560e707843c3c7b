//! Shingled disks: zones that are written in order, a media cache for all other writes, and its cleaning.

mod cleaning;
mod media_cache;
mod zones;

use std::collections::VecDeque;
use std::ops::Range;

use esker_core::{
    Bytes, Children, Completion, Control, Device, Lba, Nanos, Precondition, Request, RequestKind, Tag, Telemetry,
    Unsupported,
};
use esker_results::{DeviceReport, Report, Reporting, ShingledReport};

use self::cleaning::Cleaning;
use self::media_cache::MediaCache;
use self::zones::Zones;
use crate::disk::{Disk, report_of};
use crate::split::{SplitRequests, sectors_of};
use crate::{DiskError, DiskSettings, ShingledSettings};

/// Most sectors of the media cache in one entry. A longer write takes several entries.
const ENTRY_MOST: u64 = 1 << 11;

/// A host-aware shingled disk. It takes writes anywhere, but writes that continue where their zone was last written are
/// much cheaper in the long run.
///
/// - **A write at a zone's write pointer** goes to the zone.
/// - **Any other write** goes to the media cache, where the arm need not move between such writes, and completes there.
///   If the media cache is full, the write waits until cleaning has made room.
/// - **Reads** get each sector from where its newest copy lies.
/// - **Cleaning** takes the zone of the oldest write in the media cache, reads all of it and rewrites it. It runs while
///   a write waits for room, and when the disk has been idle.
/// - **A trim** of a whole zone sets its write pointer to the start. Shorter trims change nothing.
pub struct ShingledDisk {
    name: String,
    capacity: Bytes,
    queue_depth: u32,
    settings: ShingledSettings,
    /// The recording mechanism, with the media cache on its first sectors.
    disk: Children<Disk, Part>,
    zones: Zones,
    cache: MediaCache,
    requests: SplitRequests,
    /// Writes that wait for room in the media cache, in order of arrival.
    full: VecDeque<WaitingWrite>,
    cleaning: Option<Cleaning>,
    /// When the host's last request arrived or ended.
    quiet_since: Nanos,
    counted: ShingledReport,
    ended: Vec<(Part, Completion)>,
}

/// The purpose of a request to the recording mechanism.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// A request of the host.
    Host(Tag),
    Cleaning,
}

#[derive(Clone, Copy, Debug)]
struct WaitingWrite {
    key: Tag,
    address: u64,
    sectors: u64,
    /// Whether the write has already waited for room.
    waited: bool,
    request: Request,
}

impl ShingledDisk {
    /// Creates a disk called `name` in reports, empty, with all write pointers at the start of their zones.
    ///
    /// # Errors
    /// The first setting that the model cannot represent, with the accepted values. `settings.shingled` must be given.
    pub fn new(name: &str, settings: &DiskSettings) -> Result<Self, DiskError> {
        let refuse = |key, expected, found: String| Err(DiskError::OutOfRange { key, expected, found });
        let Some(shingled) = settings.shingled else { return refuse("shingled", "a table", "nothing".to_string()) };
        shingled.check()?;
        if settings.actuators != 1 {
            return refuse("actuators", "1 for a shingled disk", settings.actuators.to_string());
        }
        let disk = Disk::new(name, &DiskSettings { capacity: None, shingled: None, ..settings.clone() })?;
        let sectors = |bytes: Bytes| bytes.0 / Bytes::SECTOR.0;
        let (zone, before) = (sectors(shingled.zone), sectors(shingled.media_cache));
        // There is one more place than zones, for the zone that is being cleaned.
        let places = disk.mechanics().geometry().sectors().saturating_sub(before) / zone;
        let count = u32::try_from(places.saturating_sub(1)).unwrap_or(u32::MAX);
        if count == 0 {
            return refuse("shingled.zone", "small enough for two beside the media cache", shingled.zone.to_string());
        }
        let zones = Zones::new(count, zone, before);
        let holds = Bytes(zones.sectors() * Bytes::SECTOR.0);
        let capacity = Bytes(settings.capacity.unwrap_or(holds).0 / Bytes::SECTOR.0 * Bytes::SECTOR.0);
        if capacity > holds || capacity == Bytes::ZERO {
            return Err(DiskError::Capacity { capacity, holds });
        }
        Ok(Self {
            name: name.to_string(),
            capacity,
            queue_depth: settings.queue_depth,
            settings: shingled,
            disk: Children::new(vec![Box::new(disk)]),
            zones,
            cache: MediaCache::new(before),
            requests: SplitRequests::default(),
            full: VecDeque::new(),
            cleaning: None,
            quiet_since: Nanos::ZERO,
            counted: ShingledReport::default(),
            ended: Vec::new(),
        })
    }

    /// Returns the newest copies of `range`, all of it in `zone`: first sector on the platters, and number of sectors.
    fn places(&self, zone: usize, range: Range<u64>) -> Vec<(u64, u64)> {
        debug_assert!(range.is_empty() || self.zones.of(range.end - 1) == zone, "{range:?} is not all in zone {zone}");
        let (mut places, mut next) = (Vec::new(), range.start);
        for (address, piece) in self.cache.pieces(range.clone()) {
            if next < address {
                places.push((self.zones.home(next), address - next));
            }
            places.push((self.cache.sector(&piece), piece.sectors));
            next = address + piece.sectors;
        }
        if next < range.end {
            places.push((self.zones.home(next), range.end - next));
        }
        places
    }

    fn read(&mut self, now: Nanos, tag: Tag, request: &Request, range: Range<u64>) {
        let parts = self.zones.split(range);
        let places: Vec<(u64, u64)> = parts.flat_map(|(zone, part)| self.places(zone, part)).collect();
        let key = self.requests.begin(tag, places.len());
        for (sector, sectors) in places {
            let part = Request { start: Lba(sector), length: Bytes(sectors * Bytes::SECTOR.0), ..*request };
            self.disk.submit(now, 0, Part::Host(key), part);
        }
    }

    fn write(&mut self, now: Nanos, tag: Tag, request: &Request, range: Range<u64>) {
        let parts: Vec<(usize, Range<u64>)> = self.zones.split(range).collect();
        let at_pointer = |disk: &Self, zone: usize, part: &Range<u64>| {
            part.start == disk.zones.pointer(zone) && disk.cleaning.as_ref().is_none_or(|busy| busy.zone != zone)
        };
        let entry_most = ENTRY_MOST.min(self.settings.media_cache.0 / Bytes::SECTOR.0 / 2);
        let entries = |part: &Range<u64>| (part.end - part.start).div_ceil(entry_most) as usize;
        let count = parts.iter().map(|(zone, part)| if at_pointer(self, *zone, part) { 1 } else { entries(part) });
        let key = self.requests.begin(tag, count.sum());
        for (zone, part) in parts {
            let length = |sectors: u64| Bytes(sectors * Bytes::SECTOR.0);
            if at_pointer(self, zone, &part) {
                let bytes = length(part.end - part.start);
                let home = Lba(self.zones.home(part.start));
                self.zones.wrote_to(zone, part.end);
                self.cache.forget(part, u64::MAX);
                self.counted.direct_write_bytes += bytes.0;
                let request = Request { start: home, length: bytes, ..*request };
                self.disk.submit(now, 0, Part::Host(key), request);
                continue;
            }
            let mut address = part.start;
            while address < part.end {
                let sectors = entry_most.min(part.end - address);
                let request = Request { length: length(sectors), ..*request };
                self.full.push_back(WaitingWrite { key, address, sectors, waited: false, request });
                address += sectors;
            }
        }
        self.admit(now);
    }

    /// Writes waiting writes to the media cache while there is room.
    fn admit(&mut self, now: Nanos) {
        while let Some(next) = self.full.front_mut() {
            let Some(sector) = self.cache.append(next.address, next.sectors) else {
                self.counted.waited_writes += u64::from(!next.waited);
                next.waited = true;
                return;
            };
            self.counted.cached_write_bytes += next.sectors * Bytes::SECTOR.0;
            let request = Request { start: Lba(sector), ..next.request };
            let used = self.cache.used() * Bytes::SECTOR.0;
            self.counted.media_cache_used_max_bytes = self.counted.media_cache_used_max_bytes.max(used);
            self.disk.submit(now, 0, Part::Host(next.key), request);
            self.full.pop_front();
        }
    }

    fn trim(&mut self, range: Range<u64>) {
        for (zone, part) in self.zones.split(range) {
            let cleaned = self.cleaning.as_ref().is_some_and(|busy| busy.zone == zone);
            if part == self.zones.range(zone) && !cleaned {
                self.zones.wrote_to(zone, part.start);
                self.cache.forget(part, u64::MAX);
            }
        }
    }
}

impl Device for ShingledDisk {
    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn free_slots(&self) -> usize {
        self.queue_depth as usize - self.requests.len()
    }

    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        assert!(self.free_slots() > 0, "a request more than {} holds", self.name);
        assert!(now <= self.next_event(), "an event of {} was skipped at {now}", self.name);
        self.quiet_since = now;
        let range = match sectors_of(&request, self.capacity) {
            _ if request.kind == RequestKind::Flush => 0..0,
            Ok(sectors) => request.start.0..request.start.0 + sectors,
            Err(error) => return self.requests.refuse(now, tag, error),
        };
        match request.kind {
            RequestKind::Read if !range.is_empty() => self.read(now, tag, &request, range),
            RequestKind::Write { .. } | RequestKind::WriteZeroes { .. } if !range.is_empty() => {
                self.write(now, tag, &request, range);
            }
            kind => {
                if kind == RequestKind::Trim {
                    self.trim(range);
                }
                let key = self.requests.begin(tag, 1);
                self.disk.submit(now, 0, Part::Host(key), Request { start: Lba(0), ..request });
            }
        }
        self.clean(now);
    }

    fn next_event(&self) -> Nanos {
        self.disk.next_event().min(self.requests.next_event()).min(self.next_cleaning())
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        let before = done.len();
        self.requests.end_refused(now, done);
        while self.disk.next_event() == now {
            self.disk.advance(now, &mut self.ended);
        }
        let mut ended = std::mem::take(&mut self.ended);
        for (part, completion) in ended.drain(..) {
            match part {
                Part::Host(key) => self.requests.part_ended(key, &completion, done),
                Part::Cleaning => self.cleaning_step_ended(now),
            }
        }
        self.ended = ended;
        if done.len() > before {
            self.quiet_since = now;
        }
        self.clean(now);
    }

    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        match command {
            Control::Precondition(condition) => {
                let sectors = match condition {
                    Precondition::Empty => 0,
                    Precondition::Filled { utilisation } | Precondition::Steady { utilisation, .. } => {
                        utilisation.of(self.capacity.0 / Bytes::SECTOR.0)
                    }
                };
                self.zones.fill(sectors);
                self.cache = MediaCache::new(self.settings.media_cache.0 / Bytes::SECTOR.0);
            }
            Control::StartMeasuring => {
                let media_cache_used_max_bytes = self.cache.used() * Bytes::SECTOR.0;
                self.counted = ShingledReport { media_cache_used_max_bytes, ..ShingledReport::default() };
                self.requests.ended = 0;
            }
            _ => {}
        }
        self.disk.control(now, command)
    }

    fn telemetry(&self) -> Telemetry {
        let room = self.settings.media_cache.0 - self.cache.used() * Bytes::SECTOR.0;
        Telemetry { queued: self.requests.len(), free_space: Some(Bytes(room)), ..self.disk.telemetry() }
    }
}

impl Reporting for ShingledDisk {
    fn report(&self, into: &mut Report) {
        let used = self.cache.used() * Bytes::SECTOR.0;
        let report = report_of(self.capacity, self.requests.ended, &[self.disk.device(0)], into);
        let shingled = ShingledReport { media_cache_used_bytes: used, ..self.counted };
        let disk = report.disk.map(|disk| esker_results::DiskReport { shingled: Some(shingled), ..disk });
        into.add(&self.name, DeviceReport { disk, ..report });
    }
}
