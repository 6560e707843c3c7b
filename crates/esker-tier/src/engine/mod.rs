//! The placement engine: host requests in, child I/O out. One implementation for the simulator (over device models) and
//! for the volume (over files and a journal).

mod capacity;
mod durability;
mod effect;
mod map;
mod settings;
#[cfg(test)]
mod tests;

use esker_core::{Bytes, DeviceError, DeviceState, Lba, Nanos, Ratio, Request, RequestKind, Tag, TagSlab, Telemetry};

use crate::extent::{DeviceIndex, LogicalExtent, PhysicalExtent, Place};
use crate::placement::{DeviceView, Placement};
use durability::{Durability, Waiting};
use map::{ExtentMap, Recorded};

pub use capacity::UnmetShare;
pub use effect::{DataRef, Effect, Input, IoId, MapRecord, RecordNumber};
pub use settings::{Checkpoint, EngineSettings, RestoreError, SettingsError};

/// Most devices of one engine.
const DEVICES_MAX: usize = 1024;

/// Most extents of one engine: at 16 bytes each, a map of 1 GiB.
const EXTENTS_MAX: u64 = 1 << 26;

/// Turns host requests into child I/O: splits them at extents, finds a place for what is written first, keeps the map's
/// records, and replies when what was promised is so. It reads no clock, does no I/O and sees no data.
///
/// Rules: a record speaks only of data that are durable on their device; a flush means that the devices with completed
/// unflushed writes are flushed, then that the records are durable, then the reply; FUA means the same for one write.
/// A failed child I/O is not repeated: its request fails, with the first error by address.
///
/// A device whose flush or durable write (FUA) failed, or that lost its power, is [`DeviceState::Failed`] for the rest
/// of the engine's life: what it had taken may be lost, and a second try that says Ok would not bring it back (Linux
/// marks the pages of a failed fsync as clean). From then on writes and trims of its extents fail, and so does every
/// flush of the host; reads go on, and so does everything else on other devices. A failed journal means the same for
/// all devices. Only an engine that is restored from what is durable promises anything again.
#[derive(Debug)]
pub struct Engine {
    extent: u64,
    placement: Box<dyn Placement>,
    map: ExtentMap,
    devices: Vec<DeviceState>,
    journal_failed: bool,
    /// By slot of the host's tag.
    hosts: Vec<Option<Host>>,
    ios: TagSlab<Io>,
    durability: Durability,
    views: Vec<DeviceView>,
    /// Whether failures are forgotten, as a wrong twin for the tests.
    #[cfg(test)]
    forgives: bool,
}

/// A host request under way.
#[derive(Debug)]
struct Host {
    tag: Tag,
    kind: RequestKind,
    /// Child I/Os that it waits for.
    open: u32,
    /// The first error, by offset (of a flush: by device).
    error: Option<(u64, DeviceError)>,
}

impl Host {
    /// `order` says which of several errors is the first.
    fn note(&mut self, order: u64, error: DeviceError) {
        if self.error.is_none_or(|(earlier, _)| order < earlier) {
            self.error = Some((order, error));
        }
    }
}

/// A child I/O under way.
#[derive(Clone, Copy, Debug)]
enum Io {
    /// Part of a host's request.
    Part { host: Tag, device: DeviceIndex, offset: u64, first: LogicalExtent, count: u32 },
    /// A flush, on behalf of everyone who waits for it.
    Flush { device: DeviceIndex },
}

impl Engine {
    /// A new engine: nothing mapped, everything reads as zeroes.
    pub fn new(settings: &EngineSettings) -> Result<Self, SettingsError> {
        Self::restore(settings, Checkpoint::default(), &mut std::iter::empty()).map_err(|error| match error {
            RestoreError::Settings(error) => error,
            error => unreachable!("an empty map is sound: {error}"),
        })
    }

    /// An engine with the map of `checkpoint`, changed by the `records` after it.
    pub fn restore(
        settings: &EngineSettings,
        checkpoint: Checkpoint,
        records: &mut dyn Iterator<Item = MapRecord>,
    ) -> Result<Self, RestoreError> {
        let sizes = device_sizes(settings)?;
        let placement = settings.policy.build(sizes.len()).map_err(SettingsError::Policy)?;
        let mut through = checkpoint.through;
        let records = records.map(|MapRecord::Mapped { extent, place }| {
            through.0 += 1;
            (extent, place)
        });
        let map = ExtentMap::restore(sizes, checkpoint.extents.into_iter().chain(records))?;
        let count = settings.devices.len();
        Ok(Self {
            extent: settings.extent.0,
            placement,
            map,
            devices: vec![DeviceState::Online; count],
            journal_failed: false,
            hosts: Vec::new(),
            ios: TagSlab::default(),
            durability: Durability::new(count, through),
            views: Vec::with_capacity(count),
            #[cfg(test)]
            forgives: false,
        })
    }

    /// The map as far as its records have been issued. Where a journal holds all of them, it can begin anew from here.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint { through: self.durability.issued(), extents: self.map.recorded_extents().collect() }
    }

    /// Bytes that the host can address: all extents of all devices, or what [`Engine::offer`] left of them.
    pub fn capacity(&self) -> Bytes {
        Bytes(u64::from(self.map.len()) * self.extent)
    }

    /// Whether `device` serves, as far as the engine knows.
    pub fn device_state(&self, device: DeviceIndex) -> DeviceState {
        self.devices[device.0 as usize]
    }

    /// The worst state of a device; failed, too, once the journal has.
    pub fn state(&self) -> DeviceState {
        let journal = if self.journal_failed { DeviceState::Failed } else { DeviceState::Online };
        self.devices.iter().copied().fold(journal, DeviceState::max)
    }

    /// Gives the first `share` of the host's address space a place, as if it had been written and flushed before; for
    /// simulations of traces whose data were there already. Only while nothing is under way (asserted).
    pub fn fill(&mut self, share: Ratio) {
        assert!(self.ios.is_empty() && self.hosts.iter().all(Option::is_none), "requests are under way");
        for extent in 0..share.of(u64::from(self.map.len())).min(u64::from(self.map.len())) as u32 {
            let extent = LogicalExtent(extent);
            if self.map.place(extent).is_none() {
                let device = self.choose(extent).expect("there are as many physical as logical extents");
                self.map.map(extent, device, Recorded::Yes);
            }
        }
    }

    /// The host's request that `io` is part of; `None` for a flush, which several may wait for.
    pub fn host_of(&mut self, io: IoId) -> Option<Tag> {
        match *self.ios.get_mut(io.0) {
            Io::Part { host, .. } => Some(host),
            Io::Flush { .. } => None,
        }
    }

    /// The device that `io` was sent to.
    pub fn device_of(&mut self, io: IoId) -> DeviceIndex {
        match *self.ios.get_mut(io.0) {
            Io::Part { device, .. } | Io::Flush { device } => device,
        }
    }

    /// Takes one input and appends what is to be done because of it. `now` never goes back.
    pub fn on(&mut self, now: Nanos, input: Input, effects: &mut Vec<Effect>) {
        let _ = now; // Static placement has no use for the time; policies that measure will.
        match input {
            Input::Host { tag, request } => self.host(tag, request, effects),
            Input::Done { io, result } => match self.ios.remove(io.0) {
                Io::Part { host, device, offset, first, count } => {
                    let kind = self.host_mut(host).kind;
                    let result = self.judge(device, kind, result);
                    if result.is_ok() {
                        self.part_done(host, device, first, count, effects);
                    }
                    self.child_ended(host, offset, result, effects);
                }
                Io::Flush { device } => {
                    let result = self.judge(device, RequestKind::Flush, result);
                    self.flush_done(io, device, result, effects);
                }
            },
            Input::Durable { through } => {
                for tag in self.durability.durable(through) {
                    self.reply(tag, Ok(()), effects);
                }
            }
            Input::JournalFailed => self.journal_failed(effects),
            Input::Device { device, telemetry: Telemetry { state, .. } } => {
                let known = &mut self.devices[device.0 as usize];
                // What has failed stays so, whatever it says of itself later.
                if *known != DeviceState::Failed {
                    *known = state;
                }
            }
            Input::Timer => {}
        }
    }

    /// What the end of a child I/O on `device` is worth: one that says that data may be lost fails the device, and what
    /// it writes or flushes after that counts for nothing, whatever it says.
    fn judge(
        &mut self,
        device: DeviceIndex,
        kind: RequestKind,
        result: Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let failed = match result {
            Ok(()) if kind != RequestKind::Read && self.has_failed(device) => return Err(DeviceError::Failed),
            // It was not even begun.
            Ok(()) | Err(DeviceError::OutOfRange { .. } | DeviceError::Unsupported) => false,
            // Without power, what had not been flushed is gone.
            Err(DeviceError::Interrupted) => true,
            Err(_) => kind == RequestKind::Flush || kind.is_fua(),
        };
        if failed {
            self.devices[device.0 as usize] = DeviceState::Failed;
        }
        result
    }

    /// Whether nothing can be promised for `device` any more.
    fn has_failed(&self, device: DeviceIndex) -> bool {
        #[cfg(test)]
        if self.forgives {
            return false;
        }
        self.journal_failed || self.devices[device.0 as usize] == DeviceState::Failed
    }

    /// Records are not kept any more: who waits for them waits in vain.
    fn journal_failed(&mut self, effects: &mut Vec<Effect>) {
        self.journal_failed = true;
        for tag in self.durability.give_up() {
            self.reply(tag, Err(DeviceError::Failed), effects);
        }
    }

    fn host(&mut self, tag: Tag, request: Request, effects: &mut Vec<Effect>) {
        let slot = tag.slot as usize;
        if self.hosts.len() <= slot {
            self.hosts.resize_with(slot + 1, || None);
        }
        assert!(self.hosts[slot].is_none(), "the tag is in use");
        self.hosts[slot] = Some(Host { tag, kind: request.kind, open: 0, error: None });
        let capacity = self.capacity();
        if self.journal_failed && request.kind != RequestKind::Read {
            self.host_mut(tag).note(0, DeviceError::Failed);
        } else if request.kind == RequestKind::Flush {
            self.flush(tag, request, effects);
        } else if request.end_byte() > capacity.0 {
            self.host_mut(tag).note(0, DeviceError::OutOfRange { end: request.end_byte(), capacity });
        } else if request.length > Bytes::ZERO {
            self.split(tag, request, effects);
        }
        if self.host_mut(tag).open == 0 {
            self.children_ended(tag, effects);
        }
    }

    /// One child I/O per run of extents that lie next to each other on one device.
    fn split(&mut self, tag: Tag, request: Request, effects: &mut Vec<Effect>) {
        let (start, end) = (request.start.byte_offset(), request.end_byte());
        let (first, last) = (start / self.extent, (end - 1) / self.extent);
        let mut run: Option<(Place, u32, LogicalExtent)> = None;
        for number in first..=last {
            let extent = LogicalExtent(number as u32);
            let place = match (self.map.place(extent), request.kind) {
                (Some(place), _) => Some(place),
                // What has no place reads as zeroes, and has nothing to trim or to overwrite with zeroes.
                (None, RequestKind::Read | RequestKind::Trim | RequestKind::WriteZeroes { .. }) => None,
                (None, _) => match self.choose(extent) {
                    Some(device) => Some(self.map.map(extent, device, Recorded::No)),
                    None => {
                        let offset = (number * self.extent).max(start) - start;
                        self.host_mut(tag).note(offset, DeviceError::NoSpace);
                        break;
                    }
                },
            };
            run = match (run, place) {
                (Some((head, count, from)), Some(place))
                    if head.device == place.device && head.extent.0 + count == place.extent.0 =>
                {
                    Some((head, count + 1, from))
                }
                (run, place) => {
                    run.into_iter().for_each(|run| self.part(tag, request, run, effects));
                    place.map(|place| (place, 1, extent))
                }
            };
        }
        run.into_iter().for_each(|run| self.part(tag, request, run, effects));
    }

    fn part(
        &mut self,
        tag: Tag,
        request: Request,
        (place, count, first): (Place, u32, LogicalExtent),
        effects: &mut Vec<Effect>,
    ) {
        let begin = u64::from(first.0) * self.extent;
        let (start, end) = (request.start.byte_offset(), request.end_byte());
        let from = start.max(begin);
        let length = end.min(begin + u64::from(count) * self.extent) - from;
        let child = Request {
            start: Lba::containing(u64::from(place.extent.0) * self.extent + (from - begin)),
            length: Bytes(length),
            ..request
        };
        let offset = from - start;
        if request.kind != RequestKind::Read && self.has_failed(place.device) {
            return self.host_mut(tag).note(offset, DeviceError::Failed);
        }
        let io = Io::Part { host: tag, device: place.device, offset, first, count };
        let data = match request.kind.has_data() {
            true => DataRef::Host { tag, offset: Bytes(offset) },
            false => DataRef::None,
        };
        let io = IoId(self.ios.insert(io));
        self.host_mut(tag).open += 1;
        effects.push(Effect::Io { io, device: place.device, request: child, data });
    }

    /// The policy's device for a fresh extent, or the next one that has room and takes writes.
    fn choose(&mut self, extent: LogicalExtent) -> Option<usize> {
        self.views.clear();
        let view = |(device, &state)| DeviceView { free_extents: self.map.free_extents(device), state };
        self.views.extend(self.devices.iter().enumerate().map(view));
        let wanted = self.placement.place(extent, &self.views).0 as usize;
        let count = self.views.len();
        assert!(wanted < count, "the policy named a device that is not there");
        (wanted..wanted + count).map(|device| device % count).find(|&device| {
            let view = self.views[device];
            view.free_extents > 0 && view.state == DeviceState::Online
        })
    }

    /// A part of a host's request was performed: what it wrote waits for a flush, or is durable already.
    fn part_done(
        &mut self,
        host: Tag,
        device: DeviceIndex,
        first: LogicalExtent,
        count: u32,
        effects: &mut Vec<Effect>,
    ) {
        let kind = self.host_mut(host).kind;
        match kind {
            RequestKind::Write { .. } | RequestKind::WriteZeroes { .. } => {}
            // A flush covers trims too, but they give no extent a place that it had not.
            RequestKind::Trim => return self.durability.written(device),
            RequestKind::Read | RequestKind::Flush => return,
        }
        let extents = (first.0..first.0 + count).map(LogicalExtent);
        if kind.is_fua() {
            for extent in extents {
                self.record(extent, effects);
            }
            return;
        }
        self.durability.written(device);
        for extent in extents {
            if self.map.recorded(extent) == Recorded::No {
                self.map.set_recorded(extent, Recorded::Waiting);
                self.durability.record_after_flush(device, extent);
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
        for index in 0..self.devices.len() {
            let device = DeviceIndex(index as u16);
            if self.has_failed(device) {
                self.host_mut(tag).note(index as u64, DeviceError::Failed);
                continue;
            }
            match self.durability.wait_for_flush(device, tag) {
                Waiting::Nothing => continue,
                Waiting::UnderWay => {}
                Waiting::NewFlush => {
                    let io = IoId(self.ios.insert(Io::Flush { device }));
                    self.durability.flush_begun(device, io, tag);
                    let request = Request { start: Lba(0), length: Bytes::ZERO, ..request };
                    effects.push(Effect::Io { io, device, request, data: DataRef::None });
                }
            }
            self.host_mut(tag).open += 1;
        }
    }

    fn flush_done(
        &mut self,
        io: IoId,
        device: DeviceIndex,
        result: Result<(), DeviceError>,
        effects: &mut Vec<Effect>,
    ) {
        let (hosts, extents) = self.durability.flush_ended(device, io, result.is_ok());
        for extent in extents {
            self.record(extent, effects);
        }
        for host in hosts {
            self.child_ended(host, u64::from(device.0), result, effects);
        }
    }

    /// One of the child I/Os that `host` waits for ended; `order` says which of several errors is the first.
    fn child_ended(&mut self, host: Tag, order: u64, result: Result<(), DeviceError>, effects: &mut Vec<Effect>) {
        let state = self.host_mut(host);
        state.open -= 1;
        if let Err(error) = result {
            state.note(order, error);
        }
        if state.open == 0 {
            self.children_ended(host, effects);
        }
    }

    /// All child I/Os of `tag` ended: reply, or see to it that the records are durable first.
    fn children_ended(&mut self, tag: Tag, effects: &mut Vec<Effect>) {
        let host = self.host_mut(tag);
        let (kind, error) = (host.kind, host.error);
        if let Some((_, error)) = error {
            return self.reply(tag, Err(error), effects);
        }
        if (kind == RequestKind::Flush || kind.is_fua()) && self.durability.wait_for_records(tag, effects) {
            return;
        }
        self.reply(tag, Ok(()), effects);
    }

    fn reply(&mut self, tag: Tag, result: Result<(), DeviceError>, effects: &mut Vec<Effect>) {
        let host = self.hosts[tag.slot as usize].take().expect("a request is answered once");
        assert!(host.tag == tag && host.open == 0, "answered while child I/O is under way");
        effects.push(Effect::Reply { tag, result });
    }

    fn host_mut(&mut self, tag: Tag) -> &mut Host {
        let host = self.hosts[tag.slot as usize].as_mut().expect("the request is under way");
        assert_eq!(host.tag, tag, "the tag was used again before its reply");
        host
    }

    /// Asserts what must always hold. For tests: costs the whole map.
    pub fn check(&self) {
        self.map.check();
        self.durability.check();
    }
}

/// Whole extents per device.
fn device_sizes(settings: &EngineSettings) -> Result<Vec<u32>, SettingsError> {
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
