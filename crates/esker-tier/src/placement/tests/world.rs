//! A host, a volume, stores that lose unflushed data, and a journal.

use std::collections::{BTreeMap, BTreeSet};

use esker_core::Rng;

use super::under_test::UnderTest;
use super::*;
use crate::engine::RecordNumber;
use crate::testing::{Buffers, History, Store};

pub(super) struct Pending {
    pub(super) request: Request,
    pub(super) issued: u64,
}

/// A host, its volume, and what the host may rely on.
pub(super) struct World {
    pub(super) settings: PlacementSettings,
    pub(super) engine: UnderTest,
    pub(super) stores: Vec<Store>,
    pub(super) journal: BTreeMap<RecordNumber, Record>,
    /// All records, whether they have reached the journal or not.
    pub(super) issued: Vec<Record>,
    /// The checkpoint under way.
    pub(super) checkpoint: Option<Checkpoint>,
    /// Devices that were reported to be drained.
    pub(super) drained: BTreeSet<u16>,
    pub(super) removed: BTreeSet<DeviceIndex>,
    /// For each sector: all values that the host has given it.
    pub(super) values: Vec<BTreeSet<u64>>,
    /// For each sector: the value that was read since it was last written.
    pub(super) seen: Vec<Option<u64>>,
    pub(super) hardened: RecordNumber,
    pub(super) effects: Vec<Effect>,
    /// For each sector: what the host knows about its content.
    pub(super) history: Vec<History>,
    pub(super) pending: BTreeMap<Tag, Pending>,
    pub(super) tags: TagSlab<()>,
    /// How many requests to each sector are under way.
    pub(super) busy: Vec<u32>,
    /// The host overlaps its requests.
    pub(super) overlaps: bool,
    pub(super) buffers: Buffers,
    /// One in this many flushes, durable writes and hardenings of the journal fails; none if 0.
    pub(super) failures: u64,
    /// One in this many writes finds the device full, which from then on refuses all writes; none if 0.
    pub(super) refusals: u64,
    pub(super) journal_failed: bool,
    /// Whether a device was to be drained.
    pub(super) was_drained: bool,
    /// Whether a write has failed for want of room.
    pub(super) was_full: bool,
    pub(super) step: u64,
    pub(super) next_value: u64,
    pub(super) rng: Rng,
}

impl World {
    pub(super) fn new(settings: PlacementSettings, seed: u64) -> Self {
        let engine = UnderTest::Plain(Box::new(PlacementEngine::new(&settings).unwrap()));
        let sectors = (engine.capacity().0 / 512) as usize;
        Self {
            stores: settings.devices.iter().map(|device| Store::new(device.0 / 512)).collect(),
            settings,
            engine,
            journal: BTreeMap::new(),
            issued: Vec::new(),
            checkpoint: None,
            drained: BTreeSet::new(),
            removed: BTreeSet::new(),
            values: vec![BTreeSet::from([0]); sectors],
            seen: vec![None; sectors],
            hardened: RecordNumber(0),
            effects: Vec::new(),
            history: vec![History::durable(0); sectors],
            pending: BTreeMap::new(),
            tags: TagSlab::default(),
            busy: vec![0; sectors],
            overlaps: false,
            buffers: Buffers::default(),
            failures: 0,
            refusals: 0,
            journal_failed: false,
            was_drained: false,
            was_full: false,
            step: 0,
            next_value: 1,
            rng: Rng::new(seed),
        }
    }

    /// Number of sectors in an extent.
    pub(super) fn extent(&self) -> u64 {
        self.settings.extent.0 / 512
    }

    /// Hands an input to the engine. Checks that every record it issues describes blocks whose data are durable, and
    /// that it writes nothing to a failed device.
    pub(super) fn tell(&mut self, input: Input) {
        let mut effects = Vec::new();
        self.engine.on(Nanos(self.step), input, &mut effects);
        self.take(effects);
    }

    pub(super) fn take(&mut self, mut effects: Vec<Effect>) {
        for effect in &effects {
            let forgives = self.engine.health.forgives;
            match *effect {
                Effect::Io { device, request, .. } => {
                    let failed = self.journal_failed || self.stores[device.0 as usize].failed;
                    assert!(!self.stores[device.0 as usize].live.is_empty(), "sent to a removed device: {effect:?}");
                    let is_write = !matches!(request.kind, RequestKind::Read | RequestKind::Trim);
                    assert!(!(is_write && failed) || forgives, "sent to a failed device: {effect:?}");
                }
                Effect::Record { number, record } => {
                    self.issued.push(record);
                    assert_eq!(number.0 as usize, self.issued.len());
                    assert!(self.is_durable(record) || forgives, "a record speaks of what may be lost: {effect:?}");
                }
                Effect::Drained(device) => {
                    assert_eq!(self.engine.map.mapped(device.0.into()), 0);
                    let mut hardened = self.issued[..self.hardened.0 as usize].iter().copied();
                    let after_crash = restore(&self.settings, &Checkpoint::default(), &mut hardened);
                    assert_eq!(after_crash.unwrap().map.mapped(device.0.into()), 0, "a crash would bring data back");
                    assert!(self.drained.insert(device.0), "told twice");
                }
                Effect::Buffer(step) => self.buffers.step(step),
                _ => {}
            }
        }
        effects.retain(|effect| !matches!(effect, Effect::Drained(_) | Effect::Buffer(_)));
        self.effects.append(&mut effects);
    }

    /// Returns true if after a crash only values that the host has written could be read at the place that `record`
    /// names.
    fn is_durable(&self, record: Record) -> bool {
        let extent = PlacementRecord::try_from(record).expect("a record of placement").extent();
        let Some(place) = self.engine.map.place(extent) else { return true };
        let blocks = self.engine.map.blocks.recorded(self.engine.map.blocks_of(extent));
        let store = &self.stores[place.device.0 as usize];
        let sectors = self.extent() as usize;
        let (from, to) = (extent.0 as usize * sectors, place.extent.0 as usize * sectors);
        blocks.into_iter().flatten().flat_map(|block| block * SECTORS..(block + 1) * SECTORS).all(|sector| {
            let known = &self.values[sector];
            store.survivors[to + sector - from].iter().all(|value| known.contains(value))
        })
    }

    pub(super) fn range(request: &Request) -> std::ops::Range<usize> {
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
            self.seen[sector] = None;
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
                self.tell(Input::Done { io, at: Nanos::ZERO, result });
            }
            Effect::Record { number, record } => {
                self.effects.swap_remove(index);
                assert!(self.journal.insert(number, record).is_none(), "a number was given twice");
            }
            Effect::Harden { .. } if self.journal_failed || self.fails() => {
                self.effects.swap_remove(index);
                if !std::mem::replace(&mut self.journal_failed, true) {
                    self.tell(Input::JournalFailed);
                }
            }
            // A hardening waits for records that have not reached the journal yet.
            Effect::Harden { through } if (1..=through.0).all(|n| self.journal.contains_key(&RecordNumber(n))) => {
                self.effects.swap_remove(index);
                self.hardened = self.hardened.max(through);
                self.tell(Input::Durable { through });
            }
            Effect::Harden { .. } => {}
            // Time jumps there.
            Effect::WakeAt(at) => {
                self.effects.swap_remove(index);
                self.step = self.step.max(at.0);
                self.tell(Input::Timer);
            }
            effect => panic!("unexpected: {effect:?}"),
        }
        self.engine.check();
        self.take_replies();
        true
    }

    pub(super) fn fails(&mut self) -> bool {
        self.failures > 0 && self.rng.chance(1, self.failures)
    }

    /// A failed durable write may or may not have reached the cache.
    pub(super) fn perform_io_or_fail(
        &mut self,
        device: usize,
        request: Request,
        data: Option<DataRef>,
    ) -> Result<(), DeviceError> {
        if matches!(request.kind, RequestKind::Write { .. } | RequestKind::WriteZeroes { .. }) {
            let fills = self.refusals > 0 && self.rng.chance(1, self.refusals);
            self.stores[device].full |= fills;
            if self.stores[device].full {
                return Err(DeviceError::NoSpace);
            }
        }
        let durable = request.kind == RequestKind::Flush || request.kind.is_fua();
        if !durable || !self.fails() {
            self.perform_io(device, request, data);
            return Ok(());
        }
        let kind = match request.kind {
            RequestKind::Write { .. } => RequestKind::Write { fua: false },
            RequestKind::WriteZeroes { .. } => RequestKind::WriteZeroes { fua: false },
            kind => kind,
        };
        if kind != RequestKind::Flush && self.rng.chance(1, 2) {
            self.perform_io(device, Request { kind, ..request }, data);
        }
        self.stores[device].fail_to_flush(&mut self.rng);
        Err(DeviceError::Medium)
    }

    pub(super) fn perform_io(&mut self, device: usize, request: Request, data: Option<DataRef>) {
        self.buffers.perform(&mut self.stores[device], &request, data);
    }

    /// Asks for an extent to be moved to a device, as a policy would.
    pub(super) fn wish(&mut self, extent: u64, device: u64) {
        let extent = LogicalExtent((extent % u64::from(self.engine.map.len())) as u32);
        let device = DeviceIndex((device % self.stores.len() as u64) as u16);
        self.engine.wishes.moves.push(WishedMove::in_background(extent, device));
        self.tell(Input::Timer);
        self.take_replies();
    }

    /// Checks replies at once: unlike other effects they need not be performed.
    pub(super) fn take_replies(&mut self) {
        let (replies, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.effects).into_iter().partition(|effect| matches!(effect, Effect::Reply { .. }));
        self.effects = rest;
        for reply in replies {
            let Effect::Reply { tag, result } = reply else { unreachable!() };
            let failed = self.journal_failed || self.stores.iter().any(|store| store.failed);
            // There may be no room while devices are drained, or once one is full.
            let no_room = result == Err(DeviceError::NoSpace) && (self.was_drained || self.refusals > 0);
            assert!(result.is_ok() || failed || no_room, "{result:?}");
            self.was_full |= no_room;
            self.tags.remove(tag);
            let Pending { request, issued } = self.pending.remove(&tag).unwrap();
            let buffer = self.buffers.end(tag);
            let range = Self::range(&request);
            self.busy[range.clone()].iter_mut().for_each(|busy| *busy -= 1);
            assert!(result.is_ok() || request.kind != RequestKind::Read, "reads go on");
            for (sector, value) in range.zip(buffer) {
                let history = &mut self.history[sector];
                match request.kind {
                    // A failed write may or may not have changed the sector.
                    RequestKind::Read => {
                        assert!(history.may_read(value, issued), "sector {sector}: {value}, not in {history:?}");
                        // The content that a failed write has left stays as it is, too.
                        if history.is_quiet_since(issued) {
                            let seen = self.seen[sector].replace(value);
                            assert!(seen.is_none_or(|seen| seen == value), "sector {sector} read as {seen:?} before");
                        }
                    }
                    kind => history.end(issued, self.step, result.is_ok(), kind.is_fua()),
                }
            }
            if request.kind == RequestKind::Flush && result.is_ok() {
                self.history.iter_mut().for_each(|history| history.flush(issued));
            }
        }
    }

    pub(super) fn drain(&mut self) {
        while self.perform_one() {}
        assert!(self.pending.is_empty(), "requests without an answer");
    }
}
