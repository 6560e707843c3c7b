//! A host, a cache, devices that lose unflushed data, and a journal.

use std::collections::{BTreeMap, BTreeSet};

use esker_core::Rng;

use super::owned_flash::OwnedStore;
use super::*;
use crate::engine::DataRef;
use crate::testing::{Buffers, History, Store};

struct Pending {
    request: Request,
    issued: u64,
}

/// How often devices and the journal fail: one in this many operations fails, none if 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Failures {
    /// Flushes, durable writes, and hardenings of the journal.
    pub(super) durable: u64,
    /// Flushes of the flash alone.
    pub(super) flash_flushes: u64,
    /// Other writes.
    pub(super) writes: u64,
    /// Reads of the flash.
    pub(super) flash_reads: u64,
}

/// A host, its volume, and what the host may rely on.
pub(super) struct World {
    pub(super) settings: FlashCacheSettings,
    pub(super) engine: FlashCacheEngine,
    pub(super) stores: Vec<Store>,
    /// The flash, if the cache owns it.
    pub(super) owned: Option<OwnedStore>,
    /// The checkpoint from which the journal began.
    pub(super) base: Checkpoint,
    /// A checkpoint that is being taken in steps.
    pub(super) checkpoint: Option<Checkpoint>,
    pub(super) journal: BTreeMap<RecordNumber, Record>,
    pub(super) issued: Vec<Record>,
    pub(super) hardened: RecordNumber,
    pub(super) effects: Vec<Effect>,
    /// For each sector: all values that the host has written to it.
    pub(super) values: Vec<BTreeSet<u64>>,
    /// For each sector: the values from the oldest one that may survive to the latest.
    pub(super) history: Vec<History>,
    /// The first sector of the last read that succeeded.
    last_read: Option<u64>,
    pending: BTreeMap<Tag, Pending>,
    tags: TagSlab<()>,
    busy: Vec<u32>,
    /// The host overlaps its requests.
    pub(super) overlaps: bool,
    buffers: Buffers,
    pub(super) failures: Failures,
    /// The flash answers all requests with errors.
    pub(super) flash_gone: bool,
    /// Whether a write has failed, or may have failed.
    pub(super) write_failed: bool,
    pub(super) journal_failed: bool,
    pub(super) failed_requests: u64,
    pub(super) step: u64,
    pub(super) next_value: u64,
    pub(super) rng: Rng,
}

impl World {
    pub(super) fn new(settings: FlashCacheSettings, seed: u64) -> Self {
        let engine = FlashCacheEngine::new(&settings).unwrap();
        let mut stores = vec![Store::new(settings.flash.0 / 512), Store::new(settings.backing.0 / 512)];
        (0..stores[1].live.len()).for_each(|sector| stores[1].write(sector, 0, true));
        let sectors = (engine.capacity().0 / 512) as usize;
        Self {
            engine,
            owned: settings.owned.map(|owned| OwnedStore::new(&settings, owned)),
            stores,
            settings,
            base: Checkpoint::default(),
            checkpoint: None,
            journal: BTreeMap::new(),
            issued: Vec::new(),
            hardened: RecordNumber(0),
            effects: Vec::new(),
            values: vec![BTreeSet::from([0]); sectors],
            last_read: None,
            history: vec![History::durable(0); sectors],
            pending: BTreeMap::new(),
            tags: TagSlab::default(),
            busy: vec![0; sectors],
            overlaps: seed.is_multiple_of(2),
            buffers: Buffers::default(),
            failures: Failures::default(),
            flash_gone: false,
            write_failed: false,
            journal_failed: false,
            failed_requests: 0,
            step: 0,
            next_value: 1,
            rng: Rng::new(seed),
        }
    }

    pub(super) fn tell(&mut self, input: Input) {
        let mut effects = Vec::new();
        self.engine.on(Nanos(self.step), input, &mut effects);
        self.take(effects);
    }

    /// Takes effects. Checks that every record describes durable data, and that no failed device is written to.
    pub(super) fn take(&mut self, effects: Vec<Effect>) {
        for effect in &effects {
            match *effect {
                Effect::Io { device, request, .. } if request.kind != RequestKind::Read => {
                    let failed = self.journal_failed || self.stores[device.0 as usize].failed;
                    assert!(!failed, "sent to a failed device: {effect:?}");
                }
                Effect::Record { number, record } => {
                    self.issued.push(record);
                    assert_eq!(number.0 as usize, self.base.through.0 as usize + self.issued.len());
                    self.check_record(record);
                }
                Effect::Buffer(step) => self.buffers.step(step),
                Effect::Retain { start, retention, .. } => self.owned.as_mut().unwrap().retain(start, retention),
                _ => {}
            }
        }
        let at_once = |effect: &Effect| matches!(effect, Effect::Buffer(_) | Effect::Retain { .. });
        self.effects.extend(effects.into_iter().filter(|effect| !at_once(effect)));
    }

    /// Checks that the record is true whatever data survive a crash now.
    fn check_record(&self, record: Record) {
        let record = record.try_into().expect("a record of a flash cache");
        let FlashCacheRecord::Cached { line, slot, dirty } = record else { return };
        for sector in 0..LINE as usize {
            let (there, here) = (line.0 as usize * LINE as usize + sector, slot.0 as usize * LINE as usize + sector);
            let (flash, backing) = (&self.stores[0].survivors[here], &self.stores[1].survivors[there]);
            assert!(flash.iter().all(|value| self.values[there].contains(value)), "data that may be lost: {record:?}");
            let same = flash.iter().chain(backing).all(|value| *value == flash[0]);
            assert!(dirty || same, "not clean: {record:?}: {flash:?} and {backing:?}");
        }
    }

    fn range(request: &Request) -> std::ops::Range<usize> {
        request.start.0 as usize..(request.start.0 + request.length.0 / 512) as usize
    }

    /// Hands a request to the engine, unless its range is in use and the host does not overlap requests.
    pub(super) fn submit(&mut self, request: Request) {
        let range = Self::range(&request);
        if !self.overlaps && self.busy[range.clone()].iter().any(|&busy| busy > 0) {
            return;
        }
        self.step += 1;
        self.busy[range.clone()].iter_mut().for_each(|busy| *busy += 1);
        let mut data = Vec::new();
        for sector in range {
            let value = match request.kind {
                RequestKind::Write { .. } => {
                    self.next_value += 1;
                    self.next_value
                }
                RequestKind::WriteZeroes { .. } | RequestKind::Trim => 0,
                RequestKind::Read | RequestKind::Flush => continue,
            };
            data.push(value);
            self.values[sector].insert(value);
            self.history[sector].write(value, self.step);
        }
        let tag = self.tags.insert(());
        self.pending.insert(tag, Pending { request, issued: self.step });
        self.buffers.begin(tag, &request, data);
        self.tell(Input::Host { tag, request });
        self.take_replies();
    }

    /// Performs one effect, chosen at random. Returns false if there was none.
    pub(super) fn perform_one(&mut self) -> bool {
        self.step += 1;
        if self.effects.is_empty() {
            return false;
        }
        let index = self.rng.below(self.effects.len() as u64) as usize;
        match self.effects[index].clone() {
            Effect::Io { io, device, request, data, .. } => {
                self.effects.swap_remove(index);
                let result = self.perform_io_or_fail(device.0 as usize, request, data);
                if device == FLASH && result.is_ok() {
                    self.clean_flash(&request);
                }
                self.tell(Input::Done { io, at: Nanos::ZERO, result });
            }
            Effect::Record { number, record } => {
                self.effects.swap_remove(index);
                assert!(self.journal.insert(number, record).is_none(), "a number was given twice");
            }
            Effect::Harden { .. } if self.journal_failed || self.fails(self.failures.durable) => {
                self.effects.swap_remove(index);
                if !std::mem::replace(&mut self.journal_failed, true) {
                    self.tell(Input::JournalFailed);
                }
            }
            // A hardening waits for records that have not reached the journal yet.
            Effect::Harden { through } if self.has_all(through) => {
                self.effects.swap_remove(index);
                self.hardened = self.hardened.max(through);
                self.tell(Input::Durable { through });
            }
            Effect::Harden { .. } => {}
            effect => panic!("unexpected: {effect:?}"),
        }
        self.engine.check();
        self.take_replies();
        true
    }

    fn has_all(&self, through: RecordNumber) -> bool {
        (self.base.through.0 + 1..=through.0).all(|number| self.journal.contains_key(&RecordNumber(number)))
    }

    fn fails(&mut self, odds: u64) -> bool {
        odds > 0 && self.rng.chance(1, odds)
    }

    /// A failed write may or may not have reached the device's cache.
    fn perform_io_or_fail(
        &mut self,
        device: usize,
        request: Request,
        data: Option<DataRef>,
    ) -> Result<(), DeviceError> {
        if device == 0 && self.has_no_room(&request) {
            let written = Request { length: Bytes(512 * self.rng.below(request.length.0 / 512 + 1)), ..request };
            self.perform_io(device, written, data);
            return Err(DeviceError::NoSpace);
        }
        let (kind, failures) = (request.kind, self.failures);
        let durable = kind == RequestKind::Flush || kind.is_fua();
        let fails = match kind {
            _ if self.flash_gone && device == 0 => true,
            // Owned flash can keep its promise of room only if its trims succeed.
            RequestKind::Trim if device == 0 && self.owned.is_some() => false,
            RequestKind::Read if device == 0 && self.has_dropped(&request) => true,
            RequestKind::Read => device == 0 && self.fails(failures.flash_reads),
            _ if durable => self.fails(failures.durable) || (device == 0 && self.fails(failures.flash_flushes)),
            _ => self.fails(failures.writes),
        };
        if !fails {
            self.perform_io(device, request, data);
            return Ok(());
        }
        let kind = match kind {
            RequestKind::Read => return Err(DeviceError::Medium),
            RequestKind::Write { .. } => RequestKind::Write { fua: false },
            RequestKind::WriteZeroes { .. } => RequestKind::WriteZeroes { fua: false },
            kind => kind,
        };
        self.write_failed = true;
        if kind != RequestKind::Flush && self.rng.chance(1, 2) {
            self.perform_io(device, Request { kind, ..request }, data);
        }
        if durable {
            self.stores[device].fail_to_flush(&mut self.rng);
        }
        Err(DeviceError::Medium)
    }

    fn perform_io(&mut self, device: usize, request: Request, data: Option<DataRef>) {
        self.buffers.perform(&mut self.stores[device], &request, data);
    }

    fn is_allowed_to_fail(&self, request: &Request) -> bool {
        let flash_reads = self.flash_gone || self.failures.flash_reads > 0;
        let write_back = self.settings.write == WriteHandling::WriteBack;
        match request.kind {
            // Only data that the flash alone had may be lost.
            RequestKind::Read => flash_reads && write_back,
            _ => self.journal_failed || self.stores[1].failed || self.write_failed || (flash_reads && write_back),
        }
    }

    /// Checks replies at once: unlike other effects they need not be performed.
    pub(super) fn take_replies(&mut self) {
        let (replies, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.effects).into_iter().partition(|effect| matches!(effect, Effect::Reply { .. }));
        self.effects = rest;
        for reply in replies {
            let Effect::Reply { tag, result } = reply else { unreachable!() };
            self.tags.remove(tag);
            let Pending { request, issued } = self.pending.remove(&tag).unwrap();
            let buffer = self.buffers.end(tag);
            let range = Self::range(&request);
            self.busy[range.clone()].iter_mut().for_each(|busy| *busy -= 1);
            if result.is_err() {
                assert!(self.is_allowed_to_fail(&request), "{request:?}: {result:?}");
                self.failed_requests += 1;
            }
            match request.kind {
                RequestKind::Read if result.is_ok() => {
                    self.last_read = buffer.first().copied();
                    self.check_read(range, &buffer, issued);
                }
                RequestKind::Flush if result.is_ok() => {
                    self.history.iter_mut().for_each(|history| history.flush(issued));
                }
                RequestKind::Read | RequestKind::Flush => {}
                kind => {
                    let written = self.history[range].iter_mut();
                    written.for_each(|history| history.end(issued, self.step, result.is_ok(), kind.is_fua()));
                }
            }
        }
    }

    fn check_read(&self, range: std::ops::Range<usize>, buffer: &[u64], issued: u64) {
        for (sector, &value) in range.zip(buffer) {
            let history = &self.history[sector];
            assert!(history.may_read(value, issued), "sector {sector}: {value} in {history:?}");
        }
    }

    pub(super) fn drain(&mut self) {
        while self.perform_one() {}
        self.check_room();
        assert!(self.pending.is_empty(), "requests without an answer");
    }

    /// Uses only the first slots of the flash. Owned flash then has room for some fewer.
    pub(super) fn shrink(&mut self, slots: u64) {
        if self.owned.is_some() {
            return self.wear(slots.saturating_sub(3));
        }
        let capacity = Bytes(slots * self.settings.line.0);
        let mut effects = Vec::new();
        let shrink = Reshape::Shrink { device: FLASH, capacity };
        if self.engine.reshape(Nanos(self.step), shrink, &mut effects).is_ok() {
            self.take(effects);
            self.take_replies();
        }
    }

    /// Reads every sector, once everything has ended. `None` for a sector that cannot be read.
    pub(super) fn read_everything(&mut self) -> Vec<Option<u64>> {
        self.drain();
        let sectors = 0..self.history.len();
        let read = |sector: usize| {
            self.last_read = None;
            self.submit(Request::read(Lba(sector as u64), Bytes(512)));
            self.drain();
            self.last_read
        };
        sectors.map(read).collect()
    }
}
