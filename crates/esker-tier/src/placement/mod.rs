//! Placement: a map says which device holds which extent of the host's address space, and a policy where fresh ones go
//! and which ones move.

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
use crate::extent::{DeviceIndex, LogicalExtent, Place};
use copies::Copies;
use leaving::LeavingPlaces;
use map::{ExtentMap, Recorded};

pub use capacity::UnmetShare;
pub use policy::{
    BuildPlacement, Completed, DeviceView, Event, MoveOutcome, PLACEMENTS, Placement, PlacementEntry, PlacementError,
    PolicySettings, StaticSplit, StaticSplitSettings, Wishes,
};
pub use settings::{PlacementSettings, RestoreError, SettingsError};

/// Most devices of one engine.
const DEVICES_MAX: usize = 1024;

/// Most extents of one engine: at 16 bytes each, a map of 1 GiB.
const EXTENTS_MAX: u64 = 1 << 26;

/// Splits the host's requests at extents, finds a place for what is written first, moves extents as its policy wishes,
/// and keeps the map's records.
///
/// Beside the rules of every [`Engine`]: a record speaks only of data that are durable on their device, and a place
/// whose data have gone is used again only after the record that says so is durable (see `leaving.rs`).
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
    /// Writes of the host that wait for places that are about to be free.
    waiting: VecDeque<(Tag, Request)>,
    views: Vec<DeviceView>,
    wishes: Wishes,
    movements: Movements,
}

/// A request to a device under way.
#[derive(Clone, Copy, Debug)]
enum Io {
    /// Part of a host's request.
    Part(Part),
    /// A flush, on behalf of everyone who waits for it.
    Flush { device: DeviceIndex },
    /// The copy in this slot is being read or written.
    Copy { slot: u32, device: DeviceIndex, kind: RequestKind, sent: Nanos },
    /// A place is being overwritten with zeroes before it is used again.
    Zero { place: Place },
}

/// Part of a host's request: a run of extents that lie next to each other on one device.
#[derive(Clone, Copy, Debug)]
struct Part {
    host: Tag,
    /// Where it begins in the host's request.
    offset: u64,
    first: LogicalExtent,
    place: Place,
    count: u32,
    /// What was sent to the device.
    request: Request,
    sent: Nanos,
}

impl Part {
    fn extents(&self) -> impl Iterator<Item = LogicalExtent> + use<> {
        (self.first.0..self.first.0 + self.count).map(LogicalExtent)
    }

    fn goes_to(&self, place: Place) -> bool {
        let own = self.place.extent.0;
        self.place.device == place.device && (own..own + self.count).contains(&place.extent.0)
    }
}

impl PlacementEngine {
    /// A new engine: nothing mapped, everything reads as zeroes.
    pub fn new(settings: &PlacementSettings) -> Result<Self, SettingsError> {
        Self::restore(settings, Checkpoint::default(), &mut std::iter::empty()).map_err(|error| match error {
            RestoreError::Settings(error) => error,
            error => unreachable!("an empty map is sound: {error}"),
        })
    }

    /// An engine with the map of `checkpoint`, changed by the `records` after it.
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

    /// This engine under a policy of one's own, before anything has happened.
    pub fn with_policy(mut self, policy: Box<dyn Placement>) -> Self {
        self.policy = policy;
        self
    }

    /// Journal failures reach everyone who waits for records.
    fn fail_journal(&mut self, effects: &mut Vec<Effect>) {
        self.health.fail_journal();
        for tag in self.durability.give_up() {
            self.hosts.reply(tag, Err(DeviceError::Failed), effects);
        }
    }

    /// A request to a device ended.
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
                let done = Completed { device, kind, length, sent, at, for_host: false, ok: result.is_ok() };
                self.tell_policy(now, Event::Completed(done));
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
        part: &Part,
        at: Nanos,
        result: Result<(), DeviceError>,
        effects: &mut Vec<Effect>,
    ) {
        let Part { host, offset, place: Place { device, .. }, request, sent, .. } = *part;
        let result = self.health.judge(device, request.kind, result);
        let done = Completed {
            device,
            kind: request.kind,
            length: request.length,
            sent,
            at,
            for_host: true,
            ok: result.is_ok(),
        };
        self.tell_policy(now, Event::Completed(done));
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

    /// A part of a host's request was performed: what it wrote waits for a flush, or is durable already.
    fn part_done(&mut self, part: &Part, effects: &mut Vec<Effect>) {
        let device = part.place.device;
        match part.request.kind {
            RequestKind::Write { .. } | RequestKind::WriteZeroes { .. } => {}
            // A flush covers trims too, but they give no extent a place that it had not.
            RequestKind::Trim => {
                self.durability.written(device);
                return self.free_trimmed(part, effects);
            }
            RequestKind::Read | RequestKind::Flush => return,
        }
        // An extent that was freed meanwhile, by a trim of the host's beside this write, has nothing to record.
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

    /// Issues the record of `extent`, whose data are durable, unless that was done before.
    fn record(&mut self, extent: LogicalExtent, effects: &mut Vec<Effect>) {
        if self.map.recorded(extent) == Recorded::Yes {
            return;
        }
        self.map.set_recorded(extent, Recorded::Yes);
        let place = self.map.place(extent).expect("written extents have a place");
        let number = self.durability.issue();
        effects.push(Effect::Record { number, record: MapRecord::Mapped { extent, place } });
    }

    /// The host's flush: waits for a flush of every device with completed writes that none covers yet. It fails where a
    /// device has failed, but makes durable what can be.
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
            // It may have moved, or been freed, since it was written.
            if self.map.place(extent) == Some(place) {
                self.record(extent, effects);
            }
        }
        for host in hosts {
            self.child_ended(host, u64::from(device.0), result, effects);
        }
    }

    /// One of the requests to devices that `host` waits for ended; `order` says which of several errors is the first.
    fn child_ended(&mut self, host: Tag, order: u64, result: Result<(), DeviceError>, effects: &mut Vec<Effect>) {
        if self.hosts.child_ended(host, order, result) {
            self.children_ended(host, effects);
        }
    }

    /// All requests to devices of `tag` ended: reply, or see to it that the records are durable first.
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
    /// All extents of all devices, or what [`PlacementEngine::offer`] left of them.
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
                self.tell_policy(now, Event::Device { device, telemetry: &telemetry });
            }
            Input::Timer => self.tell_policy(now, Event::Timer),
        }
        self.grant_wishes(now, effects);
        self.reuse_places(effects);
        self.let_in(now, effects);
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
                let device = self.choose(extent).expect("there are as many physical as logical extents");
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

/// Whole extents per device.
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
