//! A flash cache: flash (device 0) in front of any backing device (device 1), which has the volume's size.
//!
//! - **Lines** are cached as a whole. A line's number is its id for the replacement policy.
//! - **One part at a time** changes a line: requests are split at lines, each part takes its line's lock, and those
//!   that wait are served in their order. Reads of what is held share a lock.
//! - **Records** say which line is in which slot, and whether it is dirty: whether the flash alone has its data. They
//!   are issued once those data are durable, for clean lines on both devices. Lines without a durable record are
//!   forgotten when the power is lost.
//! - **A recorded clean line** is changed in place only after a durable record that says so: that it is dirty
//!   (write-back), or has left (the others). Else a loss of power between the two devices' writes would show the new
//!   data first, and then, once the line has left, the old ones again.
//! - **A slot** is used again once the record that its line has left is durable. If slots are a log, they are used in
//!   their order, and the lines that it comes to leave. In an append-only log, changed lines go to the next slot; the
//!   one that the journal names stays until it names the new one, and any while a flush may be for what it holds.
//! - **Admission** is asked for lines that are not held. What it refuses goes to the backing device alone.
//! - **Dirty lines** leave after their data are durable on the backing device.
//! - **Lost flash**: after a failed flush or write the flash takes nothing more. Clean lines leave at once; requests go
//!   to the backing device. Dirty lines are read from the flash if it can; writes to them fail, and so do flushes.

mod admitting;
mod allocating;
mod allocation;
mod appending;
mod buffers;
mod checking;
mod dividing;
mod error;
#[cfg(test)]
mod fault;
mod flushing;
mod former;
mod free;
mod io;
mod leaving;
mod locks;
mod modes;
mod owned;
mod part;
mod partition;
mod reading;
mod requests;
mod restore;
mod settings;
mod slot;
mod slots;
mod streams;
#[cfg(test)]
mod tests;
mod trimming;
mod worn;
mod writing;

use std::collections::VecDeque;

use esker_cache::{Admission, ObjectId};
use esker_core::{Bytes, DeviceError, DeviceState, Nanos, Ratio, Tag, TagMap, TagSlab};

use crate::engine::{
    CacheParts, CacheRoom, CacheWindows, Checkpoint, Durability, Effect, Engine, FlashCacheCounts, Health, Hosts,
    Input, RecordNumber, Reshape, ReshapeError,
};
use crate::extent::DeviceIndex;
use allocation::Allocator;
pub use allocation::{AllocationCurve, AllocationFault, AllocationSettings, AllocationTraining, CopyingBack, Lifetime};
use buffers::Buffers;
pub use error::FlashCacheError;
#[cfg(test)]
use fault::Fault;
use io::{Io, Outgoing};
use locks::Locks;
pub use modes::{CacheRole, OwnedFlash, SlotOrder, WriteHandling};
use owned::Owned;
use part::{Part, Step, Task};
use partition::{Partition, Policy};
pub use partition::{PartitionBy, PartitionError, PartitionSettings};
use requests::{Group, Progress};
pub use settings::FlashCacheSettings;
use slots::{Slots, State};
pub use streams::CacheStreams;

/// The flash.
const FLASH: DeviceIndex = DeviceIndex(0);

/// The backing device.
const BACKING: DeviceIndex = DeviceIndex(1);

/// Flash in front of a backing device.
#[derive(Debug)]
pub struct FlashCacheEngine {
    line: u64,
    role: CacheRole,
    write: WriteHandling,
    /// Numbers of dirty lines between which the cleaner works.
    dirty_low: u32,
    dirty_high: u32,
    /// What they are of the lines that the cache holds at most.
    dirty_marks: [Ratio; 2],
    policy: Policy,
    /// What divides the lines among parts, if the cache has some.
    partition: Option<Box<Partition>>,
    admission: Box<dyn Admission>,
    /// What chooses how much of the flash lines take, if that is not fixed.
    allocator: Option<Box<Allocator>>,
    /// The time of the input that is handled.
    now: Nanos,
    slots: Slots,
    /// What the flash is told of its data, if the cache owns it.
    owned: Option<Box<Owned>>,
    /// Whether a line that the host changes goes to another slot.
    appends: bool,
    streams: CacheStreams,
    locks: Locks,
    parts: TagSlab<Part>,
    hosts: Hosts,
    /// How far the host's requests have come.
    progress: TagMap<Progress>,
    /// The request whose parts are begun now, whose lines share a buffer.
    group: Option<Group>,
    buffers: Buffers,
    ios: TagSlab<Io>,
    /// Requests to devices, before neighbours are joined.
    outgoing: Vec<Outgoing>,
    /// Parts that hold their lock and have not begun.
    ready: VecDeque<Tag>,
    /// Writes that were not sent because their device has failed.
    refused: VecDeque<(Tag, DeviceIndex)>,
    /// Parts that wait for a record, in rising order.
    announced: VecDeque<(RecordNumber, Tag)>,
    durability: Durability<State>,
    health: Health,
    /// Whether the clean lines have left a flash that has failed.
    flash_left: bool,
    /// Lines that are to leave.
    to_evict: VecDeque<u32>,
    /// Parts of the cache's own that are under way.
    evicting: u32,
    cleaning: u32,
    /// Whether the cleaner is on its way from the high mark to the low one.
    must_clean: bool,
    clean_next: u32,
    /// Clean and appended lines that have not been recorded since the last flush of the cache's own.
    unrecorded: u32,
    /// Whether a flush of the cache's own is under way.
    syncing: bool,
    effects: Vec<Effect>,
    counts: FlashCacheCounts,
    /// A fault for tests.
    #[cfg(test)]
    fault: Option<Fault>,
}

impl FlashCacheEngine {
    /// An empty cache.
    ///
    /// # Errors
    /// If the settings contradict each other.
    pub fn new(settings: &FlashCacheSettings) -> Result<Self, FlashCacheError> {
        Self::empty(settings, RecordNumber(0))
    }

    fn empty(settings: &FlashCacheSettings, through: RecordNumber) -> Result<Self, FlashCacheError> {
        let (lines, slots) = settings.sizes()?;
        let owned = settings.owned_slots(slots)?;
        let most = owned.as_ref().map_or(slots, |owned| owned.user);
        let room = most - modes::reserve(most);
        let partition = settings.partition(room, most);
        let mut engine = Self {
            line: settings.line.0,
            role: settings.role,
            write: settings.write,
            dirty_low: settings.dirty_low.of(u64::from(most)) as u32,
            dirty_high: settings.dirty_high.of(u64::from(most)) as u32,
            dirty_marks: [settings.dirty_low, settings.dirty_high],
            policy: settings.policy(room, lines, partition.as_deref())?,
            partition,
            admission: settings.build_admission(room, lines)?,
            allocator: settings.allocator(slots).map(Box::new),
            now: Nanos::ZERO,
            slots: Slots::new(lines, slots, settings.slots.is_log(), settings.trimming()),
            owned: owned.map(Box::new),
            appends: settings.slots == SlotOrder::AppendOnly,
            streams: settings.streams,
            locks: Locks::default(),
            parts: TagSlab::default(),
            hosts: Hosts::default(),
            progress: TagMap::default(),
            group: None,
            buffers: Buffers::default(),
            ios: TagSlab::default(),
            outgoing: Vec::new(),
            ready: VecDeque::new(),
            refused: VecDeque::new(),
            announced: VecDeque::new(),
            durability: Durability::new(2, through),
            health: Health::new(2),
            flash_left: false,
            to_evict: VecDeque::new(),
            evicting: 0,
            cleaning: 0,
            must_clean: false,
            clean_next: 0,
            unrecorded: 0,
            syncing: false,
            effects: Vec::new(),
            counts: FlashCacheCounts::default(),
            #[cfg(test)]
            fault: None,
        };
        if let Some(allocation) = &settings.allocation {
            engine.leave_to_cleaning(allocation.first.as_f64());
        }
        Ok(engine)
    }

    /// Whether the flash takes nothing more.
    fn flash_failed(&self) -> bool {
        self.health.has_failed(FLASH)
    }

    fn part(&mut self, tag: Tag) -> &mut Part {
        self.parts.get_mut(tag)
    }

    /// Begins a part that holds its lock. Before the backing device is changed, it has to be durable that the line has
    /// left a slot: else a restart could find older data there and take them for clean.
    fn start(&mut self, tag: Tag) {
        let part = *self.part(tag);
        if part.host.is_some() {
            self.claim(part.line);
        }
        let record = self.slots.leaves_with(part.line);
        #[cfg(test)]
        let record = record.filter(|_| self.fault != Some(Fault::ForgetsLeaving));
        if let Some(record) = record.filter(|_| part.task != Task::Read) {
            if self.health.journal_failed() {
                return self.end_part(tag, Err(DeviceError::Failed));
            }
            self.announced.push_back((self.durability.issued().max(record), tag));
            return self.durability.harden(&mut self.effects);
        }
        self.start_task(tag);
    }

    fn start_task(&mut self, tag: Tag) {
        let part = *self.part(tag);
        self.allocate(&part);
        self.divide(&part);
        match part.task {
            Task::Read => self.start_read(tag),
            Task::Write(_) => self.start_write(tag),
            Task::Evict => self.start_eviction(tag),
            Task::Clean => self.start_cleaning(tag),
        }
    }

    /// A step of a part has ended, with the errors that the part has noted.
    fn step_ended(&mut self, tag: Tag) {
        let part = self.part(tag);
        let errors = std::mem::take(&mut part.errors);
        match part.step {
            Step::ReadFlash => self.read_from_flash(tag, errors[0]),
            Step::ReadBacking => self.end_part(tag, errors[1].map_or(Ok(()), Err)),
            Step::Fetch => self.fetched(tag, errors[1]),
            Step::Fill => self.filled(tag, errors),
            Step::Change => self.changed(tag, errors),
            Step::Merge => self.merged(tag, errors[0]),
            Step::Append => self.appended(tag, errors[0]),
            Step::Around => self.went_around(tag, errors[1]),
            Step::CopyOut => self.copied_out(tag, errors[0]),
            Step::CopyBack => self.copied_back(tag, errors[1]),
            Step::Lock | Step::Announce | Step::Leave => unreachable!("these wait for no device"),
        }
    }

    /// Ends a part: gives back its lock, its buffer and its slot.
    fn end_part(&mut self, tag: Tag, result: Result<(), DeviceError>) {
        self.answer(tag, result);
        let part = self.parts.remove(tag);
        self.touched(part.line);
        assert!(part.open == 0, "it still waits for a device");
        if let Some((buffer, _)) = part.buffer {
            self.buffers.release(buffer);
        }
        if let Some(slot) = part.slot {
            self.slots.put_back(slot);
            self.policy.remove(ObjectId(part.line));
        }
        match part.task {
            Task::Evict => self.evicting -= 1,
            Task::Clean => self.cleaning -= 1,
            Task::Read | Task::Write(_) => {}
        }
        if self.flash_failed() && !part.shared && self.slots.of(part.line).is_some() && !self.slots.is_dirty(part.line)
        {
            self.drop_line(part.line);
        }
        self.locks.leave(part.line, part.shared, &mut self.ready);
    }

    /// Does what inputs have made possible, until there is nothing more; then sends the requests to devices.
    fn settle(&mut self) {
        loop {
            if let Some(tag) = self.ready.pop_front() {
                self.start(tag);
            } else if let Some((tag, device)) = self.refused.pop_front() {
                self.part_io_ended(tag, device, Err(DeviceError::Failed));
            } else if !self.begin_background() {
                break;
            }
        }
        self.end_group();
        self.send_outgoing();
        self.send_trims();
        self.settle_retention();
    }
}

impl Engine for FlashCacheEngine {
    fn capacity(&self) -> Bytes {
        Bytes(u64::from(self.slots.lines()) * self.line)
    }

    fn on(&mut self, now: Nanos, input: Input, effects: &mut Vec<Effect>) {
        self.now = now;
        self.effects = std::mem::take(effects);
        match input {
            Input::Host { tag, request } => self.begin_host(tag, request),
            Input::Done { io, at: _, result } => self.io_ended(io, result),
            Input::Durable { through } => self.records_durable(through),
            Input::JournalFailed => self.journal_failed(),
            Input::Device { device, telemetry } => {
                self.health.learn(device, telemetry.state);
                if device == FLASH {
                    self.learn_wear(&telemetry);
                }
                self.leave_failed_flash();
            }
            Input::Dropped { device, start, length } => {
                assert!(device == FLASH, "the backing device drops nothing");
                self.slots_dropped(start, length);
            }
            Input::Room { device, room } => {
                assert!(device == FLASH, "the backing device keeps its room");
                self.room_left(room);
            }
            // The cache sets no timer.
            Input::Timer => {}
        }
        self.settle();
        *effects = std::mem::take(&mut self.effects);
    }

    fn telemetry_period(&self) -> Option<Nanos> {
        self.allocator.as_ref().map(|_| allocating::TELEMETRY)
    }

    fn cache_windows(&self) -> Option<CacheWindows<'_>> {
        self.allocator.as_ref().map(|allocator| allocator.windows())
    }

    fn cache_room(&self) -> Option<CacheRoom<'_>> {
        self.room_so_far()
    }

    fn cache_parts(&self) -> Option<CacheParts<'_>> {
        Some(self.partition.as_ref()?.report(self.policy.parts()?))
    }

    fn device_state(&self, device: DeviceIndex) -> DeviceState {
        self.health.device(device)
    }

    fn state(&self) -> DeviceState {
        self.health.worst()
    }

    fn checkpoint(&self) -> Checkpoint {
        self.recorded_lines()
    }

    fn reshape(&mut self, _: Nanos, reshape: Reshape, effects: &mut Vec<Effect>) -> Result<(), ReshapeError> {
        let Reshape::Shrink { device: FLASH, capacity } = reshape else { return Err(ReshapeError::Unsupported) };
        self.effects = std::mem::take(effects);
        let result = self.shrink(capacity);
        self.settle();
        *effects = std::mem::take(&mut self.effects);
        result
    }

    fn flash_cache_counts(&self) -> Option<FlashCacheCounts> {
        Some(self.counts_now())
    }

    fn check(&self) {
        self.check_all();
    }
}
