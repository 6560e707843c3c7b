//! Placement: a map tells which device holds each extent of the host's address space; a policy decides where new
//! extents go, and which ones move.

mod capacity;
mod copies;
mod leaving;
mod map;
mod moves;
mod policy;
mod serving;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use esker_core::{Bytes, DeviceError, DeviceState, Lba, Nanos, Ratio, Request, RequestKind, Tag, TagSlab};

use crate::engine::{
    Checkpoint, DataRef, Durability, Effect, Engine, Health, Hosts, Input, IoId, MapRecord, Movements, Waiting,
};
use crate::extent::{DeviceIndex, ExtentPlace, LogicalExtent};
use copies::Copies;
use leaving::LeavingPlaces;
use map::{ExtentMap, Recorded};

pub use capacity::UnmetShare;
pub use policy::{
    BuildPlacement, Completed, DeviceView, Event, MoveOutcome, NewExtent, PLACEMENTS, Placement, PlacementEntry,
    PlacementError, PolicySettings, StaticSplit, StaticSplitSettings, WishedMove, Wishes,
};
pub use settings::{PlacementSettings, RestoreError, SettingsError};

/// Largest number of devices of one engine.
const DEVICES_MAX: usize = 1024;

/// Largest number of extents of one engine: at 16 bytes each, a map of 1 GiB.
const EXTENTS_MAX: u64 = 1 << 26;

/// Splits the host's requests at extents, finds a place for each extent that is written for the first time, moves
/// extents as its policy asks, and issues the records of the map.
///
/// Keeps two rules beside those of every [`Engine`]: a record only speaks of data that are durable on their device, and
/// a place whose data have gone is used again only after the record of that is durable (see `leaving.rs`).
#[derive(Debug)]
pub struct PlacementEngine {
    extent: u64,
    free_on_trim: bool,
    policy: Box<dyn Placement>,
    map: ExtentMap,
    health: Health,
    hosts: Hosts,
    ios: TagSlab<Io>,
    durability: Durability,
    copies: Copies,
    leaving: LeavingPlaces,
    /// Writes of the host that wait for places to become free.
    waiting: VecDeque<(Tag, Request)>,
    views: Vec<DeviceView>,
    wishes: Wishes,
    movements: Movements,
}

/// A request to a device under way.
#[derive(Clone, Copy, Debug)]
enum Io {
    /// Part of a request of the host.
    Part(HostPart),
    /// A flush for all requests that wait for it.
    Flush { device: DeviceIndex },
    /// A read or write of the copy in this slot.
    Copy { slot: u32, device: DeviceIndex, kind: RequestKind, sent: Nanos },
    /// Overwrites a place with zeroes before it is used again.
    Zero { place: ExtentPlace },
}

/// Part of a host's request: consecutive extents that lie next to each other on one device.
#[derive(Clone, Copy, Debug)]
struct HostPart {
    host: Tag,
    /// Offset in the host's request.
    offset: u64,
    first: LogicalExtent,
    place: ExtentPlace,
    count: u32,
    /// The request sent to the device.
    request: Request,
    sent: Nanos,
}

impl HostPart {
    fn extents(&self) -> impl Iterator<Item = LogicalExtent> + use<> {
        (self.first.0..self.first.0 + self.count).map(LogicalExtent)
    }

    fn goes_to(&self, place: ExtentPlace) -> bool {
        let own = self.place.extent.0;
        self.place.device == place.device && (own..own + self.count).contains(&place.extent.0)
    }
}

impl PlacementEngine {
    /// A new engine, in which nothing is mapped: everything reads as zeroes.
    pub fn new(settings: &PlacementSettings) -> Result<Self, SettingsError> {
        Self::restore(settings, Checkpoint::default(), &mut std::iter::empty()).map_err(|error| match error {
            RestoreError::Settings(error) => error,
            error => unreachable!("an empty map is sound: {error}"),
        })
    }

    /// An engine with the map of `checkpoint`, as changed by the `records` after it.
    pub fn restore(
        settings: &PlacementSettings,
        checkpoint: Checkpoint,
        records: &mut dyn Iterator<Item = MapRecord>,
    ) -> Result<Self, RestoreError> {
        let sizes = device_sizes(settings)?;
        let count = sizes.len();
        let policy = settings.policy.build(count).map_err(SettingsError::Policy)?;
        let mut through = checkpoint.through;
        let mapped = checkpoint.extents.into_iter().map(|(extent, place)| MapRecord::Mapped { extent, place });
        let map = ExtentMap::restore(sizes, mapped.chain(records.inspect(|_| through.0 += 1)))?;
        Ok(Self {
            extent: settings.extent.0,
            free_on_trim: settings.free_on_trim,
            policy,
            map,
            health: Health::new(count),
            hosts: Hosts::default(),
            ios: TagSlab::default(),
            durability: Durability::new(count, through),
            copies: Copies::default(),
            leaving: LeavingPlaces::default(),
            waiting: VecDeque::new(),
            views: Vec::with_capacity(count),
            wishes: Wishes::default(),
            movements: Movements::default(),
        })
    }

    /// Replaces the policy, before any input.
    pub fn with_policy(mut self, policy: Box<dyn Placement>) -> Self {
        self.policy = policy;
        self
    }

    /// Marks the journal as failed, and answers all requests that wait for records with an error.
    fn fail_journal(&mut self, effects: &mut Vec<Effect>) {
        self.health.fail_journal();
        for tag in self.durability.give_up() {
            self.hosts.reply(tag, Err(DeviceError::Failed), effects);
        }
    }

    /// Handles the end of a request to a device.
    fn io_done(&mut self, now: Nanos, io: IoId, at: Nanos, result: Result<(), DeviceError>, effects: &mut Vec<Effect>) {
        match self.ios.remove(io.0) {
            Io::Part(part) => self.part_ended(now, &part, at, result, effects),
            Io::Flush { device } => {
                let result = self.health.judge(device, RequestKind::Flush, result);
                self.flush_ended(io, device, result, effects);
            }
            Io::Copy { slot, device, kind, sent } => {
                let result = self.health.judge(device, kind, result);
                let length = Bytes(self.extent);
                let first = self.copies.get(slot).extent;
                let ok = result.is_ok();
                let done = Completed { device, first, extents: 1, kind, length, sent, at, for_host: false, ok };
                self.notify_policy(now, Event::Completed(done));
                self.copy_ended(now, slot, result, effects);
            }
            Io::Zero { place } => {
                let kind = RequestKind::WriteZeroes { fua: true };
                let result = self.health.judge(place.device, kind, result);
                self.leaving.zeroed(place, result.is_ok());
            }
        }
    }

    fn part_ended(
        &mut self,
        now: Nanos,
        part: &HostPart,
        at: Nanos,
        result: Result<(), DeviceError>,
        effects: &mut Vec<Effect>,
    ) {
        let HostPart { host, offset, place: ExtentPlace { device, .. }, request, sent, .. } = *part;
        let result = self.health.judge(device, request.kind, result);
        let done = Completed {
            device,
            first: part.first,
            extents: part.count,
            kind: request.kind,
            length: request.length,
            sent,
            at,
            for_host: true,
            ok: result.is_ok(),
        };
        self.notify_policy(now, Event::Completed(done));
        if !self.leaving.is_empty() {
            for index in 0..part.count {
                self.leaving.ended(part.place.after(index));
            }
        }
        if !self.copies.is_empty() && request.kind != RequestKind::Read {
            self.write_to_copied_ended(now, part, effects);
        }
        if result.is_ok() {
            self.part_done(part, effects);
        }
        self.child_ended(host, offset, result, effects);
    }

    /// Handles the successful end of a part: what it wrote is durable already, or waits for a flush.
    fn part_done(&mut self, part: &HostPart, effects: &mut Vec<Effect>) {
        let device = part.place.device;
        match part.request.kind {
            RequestKind::Write { .. } | RequestKind::WriteZeroes { .. } => {}
            // A flush covers trims, too, but a trim gives no extent a new place.
            RequestKind::Trim => {
                self.durability.written(device);
                return self.free_trimmed(part, effects);
            }
            RequestKind::Read | RequestKind::Flush => return,
        }
        // An extent that the host's trim freed during this write has nothing to record.
        let here = |map: &ExtentMap, (extent, place)| map.place(extent) == Some(place);
        let extents = part.extents().zip((0..part.count).map(|index| part.place.after(index)));
        if part.request.kind.is_fua() {
            for (extent, place) in extents {
                if here(&self.map, (extent, place)) {
                    self.record(extent, effects);
                }
            }
            return;
        }
        self.durability.written(device);
        for (extent, place) in extents {
            if here(&self.map, (extent, place)) && self.map.recorded(extent) == Recorded::No {
                self.map.set_recorded(extent, Recorded::Waiting);
                self.durability.record_after_flush(extent, place);
            }
        }
    }

    /// Issues the record of `extent`, whose data are durable, unless it was issued before.
    fn record(&mut self, extent: LogicalExtent, effects: &mut Vec<Effect>) {
        if self.map.recorded(extent) == Recorded::Yes {
            return;
        }
        self.map.set_recorded(extent, Recorded::Yes);
        let place = self.map.place(extent).expect("written extents have a place");
        let number = self.durability.issue();
        effects.push(Effect::Record { number, record: MapRecord::Mapped { extent, place } });
    }

    /// Handles a flush of the host. It waits for a flush of every device with completed writes that no flush covers
    /// yet. If a device has failed, the flush fails but still makes durable what it can.
    fn flush(&mut self, tag: Tag, request: Request, effects: &mut Vec<Effect>) {
        for index in 0..self.health.devices().len() {
            let device = DeviceIndex(index as u16);
            if self.health.has_failed(device) {
                self.hosts.note(tag, index as u64, DeviceError::Failed);
                continue;
            }
            match self.durability.wait_for_flush(device, tag) {
                Waiting::Nothing => continue,
                Waiting::UnderWay => {}
                Waiting::NewFlush => {
                    let io = IoId(self.ios.insert(Io::Flush { device }));
                    self.durability.flush_begun(device, io, tag);
                    let request = Request { start: Lba(0), length: Bytes::ZERO, ..request };
                    effects.push(Effect::Io { io, host: None, device, request, data: DataRef::None });
                }
            }
            self.hosts.wait(tag);
        }
    }

    fn flush_ended(
        &mut self,
        io: IoId,
        device: DeviceIndex,
        result: Result<(), DeviceError>,
        effects: &mut Vec<Effect>,
    ) {
        let (hosts, extents) = self.durability.flush_ended(device, io, result.is_ok());
        for (extent, place) in extents {
            // The extent may have moved, or been freed, since it was written.
            if self.map.place(extent) == Some(place) {
                self.record(extent, effects);
            }
        }
        for host in hosts {
            self.child_ended(host, u64::from(device.0), result, effects);
        }
    }

    /// Handles the end of one of the requests that `host` waits for. `order` decides which of several errors is
    /// reported.
    fn child_ended(&mut self, host: Tag, order: u64, result: Result<(), DeviceError>, effects: &mut Vec<Effect>) {
        if self.hosts.child_ended(host, order, result) {
            self.children_ended(host, effects);
        }
    }

    /// All requests to devices of `tag` have ended: replies, or waits until the records are durable.
    fn children_ended(&mut self, tag: Tag, effects: &mut Vec<Effect>) {
        let kind = self.hosts.kind(tag);
        let result = self.hosts.result(tag);
        let promises = kind == RequestKind::Flush || kind.is_fua();
        if result.is_ok() && promises && self.durability.wait_for_records(tag, effects) {
            return;
        }
        self.hosts.reply(tag, result, effects);
    }
}

impl Engine for PlacementEngine {
    /// All extents of all devices, or those that [`PlacementEngine::offer`] left.
    fn capacity(&self) -> Bytes {
        Bytes(u64::from(self.map.len()) * self.extent)
    }

    fn on(&mut self, now: Nanos, input: Input, effects: &mut Vec<Effect>) {
        match input {
            Input::Host { tag, request } => self.host(now, tag, request, effects),
            Input::Done { io, at, result } => self.io_done(now, io, at, result, effects),
            Input::Durable { through } => {
                self.leaving.durable(through);
                for tag in self.durability.durable(through) {
                    self.hosts.reply(tag, Ok(()), effects);
                }
            }
            Input::JournalFailed => self.fail_journal(effects),
            Input::Device { device, telemetry } => {
                self.health.learn(device, telemetry.state);
                self.notify_policy(now, Event::Device { device, telemetry: &telemetry });
            }
            Input::Timer => self.notify_policy(now, Event::Timer),
        }
        self.grant_wishes(now, effects);
        self.reuse_places(effects);
        self.serve_waiting_writes(now, effects);
    }

    fn device_state(&self, device: DeviceIndex) -> DeviceState {
        self.health.device(device)
    }

    fn state(&self) -> DeviceState {
        self.health.worst()
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint { through: self.durability.issued(), extents: self.map.recorded_extents().collect() }
    }

    fn fill(&mut self, share: Ratio) {
        assert!(self.ios.is_empty() && self.hosts.is_empty(), "requests are under way");
        for extent in 0..share.of(u64::from(self.map.len())).min(u64::from(self.map.len())) as u32 {
            let extent = LogicalExtent(extent);
            if self.map.place(extent).is_none() {
                let device = self.choose(extent, None).expect("there are as many physical as logical extents");
                self.map.map(extent, device, Recorded::Yes);
            }
        }
    }

    fn movements(&self) -> Option<Movements> {
        Some(self.movements)
    }

    fn check(&self) {
        self.map.check(self.copies.targets().chain(self.leaving.places()));
        self.durability.check();
    }
}

/// Number of whole extents of each device.
fn device_sizes(settings: &PlacementSettings) -> Result<Vec<u32>, SettingsError> {
    let (extent, devices) = (settings.extent, &settings.devices);
    if extent == Bytes::ZERO || !extent.0.is_multiple_of(Bytes::SECTOR.0) {
        return Err(SettingsError::Extent(extent));
    }
    if devices.is_empty() || devices.len() > DEVICES_MAX {
        return Err(SettingsError::Devices(devices.len()));
    }
    let extents = devices.iter().fold(0u64, |sum, device| sum.saturating_add(device.0 / extent.0));
    if extents > EXTENTS_MAX {
        return Err(SettingsError::TooMany { extents, extent });
    }
    if let Some(device) = devices.iter().position(|&device| device < extent) {
        return Err(SettingsError::Small { device, capacity: devices[device], extent });
    }
    Ok(devices.iter().map(|device| (device.0 / extent.0) as u32).collect())
}
