//! A flash cache: flash (device 0) in front of a backing device (device 1) that holds the whole volume.
//!
//! - **Lines** are cached as a whole. A line's number is its id in the replacement policy.
//! - **Jobs** do the work on lines. A request of the host is split into one job for each line that it touches, and the
//!   cache has jobs of its own. Only one job at a time may change a line: each takes the line's lock, and waiting jobs
//!   get the lock in the order in which they came. Reads of cached lines share the lock.
//! - **Records** in the journal say which line is in which slot, and whether it is dirty, which means that only the
//!   flash has its latest data. A record is issued once those data are durable on the flash, and for a clean line also
//!   on the backing device. A line without a durable record is forgotten when the power is lost.
//! - **A recorded clean line** is changed in place only after another record is durable: that it is dirty (write-back),
//!   or that it has left (other modes). Otherwise, after a loss of power between the writes to the two devices, the
//!   host would first read the new data and later, once the line has left, the old data again.
//! - **A slot** is reused once the record that its line has left is durable. If the slots form a log, they are used in
//!   order of their addresses, and the lines that the log reaches have to leave. In an append-only log, a changed line
//!   goes to the next slot. Its old slot is kept while the journal names it, and while a flush under way may have to
//!   make its data durable.
//! - **Admission**: the admission policy is asked about lines that are not in the cache. Requests for lines that it
//!   refuses go to the backing device only.
//! - **Routing**: the backing device may serve a share of the reads that hit, but only reads of clean lines.
//! - **Dirty lines** leave only after their data are durable on the backing device.
//! - **Failed flash**: after a failed flush or write the cache writes nothing more to the flash. Clean lines leave at
//!   once, and requests for them go to the backing device. Dirty lines are still read from the flash if it answers.
//!   Writes to dirty lines fail, and so do flushes while any line is dirty.

mod admission;
mod appends;
mod buffers;
mod cache_size;
mod control;
mod controller;
mod error;
mod evictions;
#[cfg(test)]
mod fault;
mod flushes;
mod former_slots;
mod free_slots;
mod invariants;
mod io;
mod job;
mod locks;
mod modes;
mod owned_flash;
mod policy;
mod reads;
mod record;
mod report;
mod requests;
mod restore;
mod routing;
mod settings;
mod slot;
mod slot_budget;
mod slots;
mod streams;
#[cfg(test)]
mod tests;
mod trims;
mod wear;
mod writes;

use std::collections::{BTreeSet, VecDeque};

use esker_cache::Admission;
use esker_core::{Bytes, DeviceError, DeviceState, Machine, Nanos, Ratio, Tag, TagMap, TagSlab};
use esker_results::{DeviceReport, FlashCacheReport};

use crate::engine::{
    Durability, Effect, Engine, Health, Hosts, Input, Record, RecordNumber, Reshape, ReshapeError, Snapshot,
};
use crate::extent::DeviceIndex;
use buffers::Buffers;
pub use controller::{CacheController, CacheDecision, CacheSizes, ControllerFault, LineAccess};
pub use error::FlashCacheError;
#[cfg(test)]
use fault::Fault;
use io::{Io, OutgoingIo};
use job::Job;
use locks::Locks;
pub use modes::{CacheRole, OwnedFlash, SlotOrder, WriteHandling};
use owned_flash::OwnedSlots;
use policy::CachePolicy;
pub use record::FlashCacheRecord;
use requests::{LineGroup, Progress};
use routing::HitRouter;
pub use routing::{BuildRouting, HitRouting, ROUTINGS, RoutingEntry, no_routing, routes_nothing};
pub use settings::{BuildController, FlashCacheSettings};
use slot_budget::SlotBudget;
use slots::{DataVersion, Slots};
pub use streams::CacheStreams;

/// The flash device.
const FLASH: DeviceIndex = DeviceIndex(0);

/// The backing device.
const BACKING: DeviceIndex = DeviceIndex(1);

/// The engine of a flash cache in front of a backing device.
#[derive(Debug)]
pub struct FlashCacheEngine {
    line: u64,
    role: CacheRole,
    write: WriteHandling,
    /// Limits of dirty lines, at which the cleaner stops and starts (see [`FlashCacheSettings`]).
    dirty_low: u32,
    dirty_high: u32,
    /// The same two limits as shares of the lines that the cache may hold: low, high.
    dirty_marks: [Ratio; 2],
    policy: CachePolicy,
    admission: Box<dyn Admission>,
    /// Sends some of the hits to the backing device; `None` if the flash serves them all.
    router: Option<HitRouter>,
    /// Chooses how much of the flash the lines may take, or the shares of the parts of the cache; `None` if all that is
    /// fixed.
    controller: Option<Box<dyn CacheController>>,
    /// How many slots the lines may take while the size changes; `None` if the size is fixed.
    budget: Option<SlotBudget>,
    /// Time of the current input.
    now: Nanos,
    slots: Slots,
    /// How long the flash has to keep the data of each slot; `None` unless the cache owns its flash.
    owned: Option<Box<OwnedSlots>>,
    /// Whether a changed line goes to another slot (append-only log).
    appends: bool,
    streams: CacheStreams,
    locks: Locks,
    jobs: TagSlab<Job>,
    hosts: Hosts,
    /// Progress of the host's requests.
    progress: TagMap<Progress>,
    /// The request whose jobs are being started. Their lines share one buffer.
    group: Option<LineGroup>,
    buffers: Buffers,
    ios: TagSlab<Io>,
    /// Requests to devices that have not been sent yet. Adjacent ones are joined.
    outgoing: Vec<OutgoingIo>,
    /// Jobs that hold their lock but have not started.
    ready: VecDeque<Tag>,
    /// Writes that were not sent because their device has failed.
    refused: VecDeque<(Tag, DeviceIndex)>,
    /// Jobs that wait for a record, by rising number of the record.
    announced: VecDeque<(RecordNumber, Tag)>,
    durability: Durability<DataVersion>,
    health: Health,
    /// Whether the clean lines have left because the flash has failed.
    flash_left: bool,
    /// Lines to evict.
    to_evict: VecDeque<u32>,
    /// Lines that the policy has evicted, and that could not be copied back.
    stranded: BTreeSet<u32>,
    /// The cache's own jobs under way: evictions and cleanings.
    evicting: u32,
    cleaning: u32,
    /// Whether the cleaner is working its way from the high limit down to the low one.
    must_clean: bool,
    clean_next: u32,
    /// Number of clean and appended lines without a record since the cache last flushed for itself.
    unrecorded: u32,
    /// Whether the cache is flushing for itself.
    syncing: bool,
    effects: Vec<Effect>,
    /// What was counted since measuring started; [`FlashCacheEngine::report_now`] completes it.
    counts: FlashCacheReport,
    /// Bytes that were written to the flash before measuring began.
    written_before: u64,
    /// The checkpoint under way.
    snapshot: Option<Snapshot>,
    /// A fault for tests.
    #[cfg(test)]
    fault: Option<Fault>,
}

impl FlashCacheEngine {
    /// Creates an empty cache.
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
        let controller =
            settings.build_controller(&CacheSizes { line: settings.line, slots, most, room, seed: settings.seed });
        let first = controller.as_ref().map(|controller| controller.first_decision());
        let mut engine = Self {
            line: settings.line.0,
            role: settings.role,
            write: settings.write,
            dirty_low: settings.dirty_low.of(u64::from(most)) as u32,
            dirty_high: settings.dirty_high.of(u64::from(most)) as u32,
            dirty_marks: [settings.dirty_low, settings.dirty_high],
            policy: settings.policy(room, lines, first.as_ref())?,
            admission: settings.build_admission(room, lines)?,
            router: settings.build_router(most)?,
            controller,
            budget: None,
            now: Nanos::ZERO,
            slots: Slots::new(lines, slots, settings.slots.is_log(), settings.trimming()),
            owned: owned.map(Box::new),
            appends: settings.slots == SlotOrder::AppendOnly,
            streams: settings.streams,
            locks: Locks::default(),
            jobs: TagSlab::default(),
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
            stranded: BTreeSet::new(),
            evicting: 0,
            cleaning: 0,
            must_clean: false,
            clean_next: 0,
            unrecorded: 0,
            syncing: false,
            effects: Vec::new(),
            counts: FlashCacheReport::default(),
            written_before: 0,
            snapshot: None,
            #[cfg(test)]
            fault: None,
        };
        engine.begin_control(first);
        Ok(engine)
    }

    /// Tells the cache, before any input, that `device` is missing. Without the flash, only clean lines and those that
    /// the cache does not hold can be read; without the backing device, only those that it holds.
    pub fn without(mut self, device: DeviceIndex) -> Self {
        self.health.miss(device);
        self
    }

    /// Has the cache change nothing by itself, before any input: no line enters or leaves, and the flash is read only
    /// for dirty lines.
    pub fn only_read(mut self) -> Self {
        self.health.fail_journal();
        self
    }

    /// Returns true if the cache must not write to the flash any more.
    fn flash_failed(&self) -> bool {
        self.health.has_failed(FLASH)
    }

    /// Does all the work that the last input has made possible, then sends the requests to devices.
    fn settle(&mut self) {
        loop {
            if let Some(tag) = self.ready.pop_front() {
                self.start(tag);
            } else if let Some((tag, device)) = self.refused.pop_front() {
                self.job_io_ended(tag, device, Err(DeviceError::Failed));
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

impl Machine for FlashCacheEngine {
    type Input = Input;
    type Effect = Effect;

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
                self.evict_again();
            }
            Input::Dropped { device, start, length } => {
                assert!(device == FLASH, "the backing device drops nothing");
                self.slots_dropped(start, length);
            }
            Input::Room { device, room } => {
                assert!(device == FLASH, "the backing device keeps its room");
                self.room_left(room);
            }
            // The cache sets no timer and gives no commands.
            Input::Timer | Input::Unsupported { .. } => {}
        }
        self.settle();
        *effects = std::mem::take(&mut self.effects);
    }

    fn look_period(&self) -> Option<Nanos> {
        self.budget.as_ref().map(|_| cache_size::TELEMETRY)
    }
}

impl Engine for FlashCacheEngine {
    fn capacity(&self) -> Bytes {
        Bytes(u64::from(self.slots.lines()) * self.line)
    }

    fn device_state(&self, device: DeviceIndex) -> DeviceState {
        self.health.device(device)
    }

    fn state(&self) -> DeviceState {
        self.health.worst()
    }

    fn begin_checkpoint(&mut self) -> RecordNumber {
        self.begin_snapshot()
    }

    fn continue_checkpoint(&mut self, most: u32, visit: &mut dyn FnMut(Record)) -> bool {
        self.continue_snapshot(most, visit)
    }

    fn check_reshape(&self, reshape: Reshape) -> Result<(), ReshapeError> {
        match reshape {
            Reshape::Shrink { device: FLASH, capacity } => self.check_shrink(capacity),
            _ => Err(ReshapeError::Unsupported),
        }
    }

    fn reshape(&mut self, _: Nanos, reshape: Reshape, effects: &mut Vec<Effect>) -> Result<(), ReshapeError> {
        self.check_reshape(reshape)?;
        let Reshape::Shrink { capacity, .. } = reshape else { return Ok(()) };
        self.effects = std::mem::take(effects);
        self.shrink(capacity);
        self.settle();
        *effects = std::mem::take(&mut self.effects);
        Ok(())
    }

    fn start_measuring(&mut self) {
        self.written_before += self.counts.flash_written_bytes;
        self.counts = FlashCacheReport::default();
        if let Some(controller) = &mut self.controller {
            controller.start_measuring();
        }
        if let Some(router) = &mut self.router {
            router.start_measuring();
        }
    }

    fn report(&self, into: &mut DeviceReport) {
        into.flash_cache = Some(self.report_now());
    }

    fn check(&self) {
        self.check_all();
    }
}
