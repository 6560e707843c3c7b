//! The engine against an array of sectors, its effects performed in random order, with crashes.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use esker_core::{Priority, Rng, Telemetry};
use proptest::prelude::*;

use super::*;
use crate::engine::RecordNumber;
use crate::extent::PhysicalExtent;

const EXTENT: u64 = 4;

fn settings(devices: &[u64], weights: &str) -> PlacementSettings {
    let options = format!(r#"{{"kind":"static-split","weights":{weights}}}"#);
    let policy: PolicySettings = serde_json::from_str(&options).unwrap();
    PlacementSettings {
        extent: Bytes(EXTENT * 512),
        devices: devices.iter().map(|&d| Bytes(d * 512)).collect(),
        policy,
        free_on_trim: true,
    }
}

/// A device with a volatile cache: what it holds, and what each sector may hold after losing power. A failed flush
/// drops from the list of what has to be written some of the sectors that it could not write; they read as before.
#[derive(Clone)]
struct Store {
    live: Vec<u64>,
    survivors: Vec<Vec<u64>>,
    touched: Vec<bool>,
    dirty: Vec<bool>,
    /// A flush or durable write has failed.
    failed: bool,
}

impl Store {
    fn new(sectors: u64) -> Self {
        let sectors = sectors as usize;
        Self {
            live: vec![0; sectors],
            survivors: vec![vec![0]; sectors],
            touched: vec![false; sectors],
            dirty: vec![false; sectors],
            failed: false,
        }
    }
    fn write(&mut self, sector: usize, value: u64, durable: bool) {
        self.live[sector] = value;
        self.touched[sector] = true;
        self.dirty[sector] = !durable;
        if durable {
            self.survivors[sector].clear();
        }
        self.survivors[sector].push(value);
    }
    fn flush(&mut self) {
        for sector in 0..self.live.len() {
            if std::mem::take(&mut self.dirty[sector]) {
                self.survivors[sector] = vec![self.live[sector]];
            }
        }
    }
    fn fail_to_flush(&mut self, rng: &mut Rng) {
        self.failed = true;
        for (dirty, survivors) in self.dirty.iter_mut().zip(&mut self.survivors) {
            if std::mem::take(dirty) {
                *survivors = vec![survivors[rng.below(survivors.len() as u64) as usize]];
            }
        }
    }
    fn is_durable(&self, sector: usize) -> bool {
        self.touched[sector] && self.survivors[sector] == [self.live[sector]]
    }
    fn lose_power(&mut self, rng: &mut Rng) {
        for (survivors, live) in self.survivors.iter_mut().zip(&mut self.live) {
            *live = survivors[rng.below(survivors.len() as u64) as usize];
            *survivors = vec![*live];
        }
    }
}

/// A value that was written to a sector, and the step at which the write was acknowledged.
#[derive(Clone, Copy, Debug)]
struct Written {
    value: u64,
    acknowledged: Option<u64>,
}

struct Pending {
    request: Request,
    issued: u64,
    buffer: Vec<u64>,
}

/// A host, its volume, and what the host may rely on.
struct World {
    settings: PlacementSettings,
    engine: PlacementEngine,
    stores: Vec<Store>,
    journal: BTreeMap<RecordNumber, MapRecord>,
    hardened: RecordNumber,
    effects: Vec<Effect>,
    /// Per sector: from the value that must survive at least, to the latest.
    history: Vec<Vec<Written>>,
    pending: BTreeMap<Tag, Pending>,
    tags: TagSlab<()>,
    busy: Vec<bool>,
    /// Buffers of copies.
    scratch: BTreeMap<u32, Vec<u64>>,
    /// One in so many flushes, durable writes and hardenings of the journal fails; none where 0.
    failures: u64,
    journal_failed: bool,
    step: u64,
    next_value: u64,
    rng: Rng,
}

impl World {
    fn new(settings: PlacementSettings, seed: u64) -> Self {
        let engine = PlacementEngine::new(&settings).unwrap();
        let sectors = (engine.capacity().0 / 512) as usize;
        Self {
            stores: settings.devices.iter().map(|device| Store::new(device.0 / 512)).collect(),
            settings,
            engine,
            journal: BTreeMap::new(),
            hardened: RecordNumber(0),
            effects: Vec::new(),
            history: vec![vec![Written { value: 0, acknowledged: Some(0) }]; sectors],
            pending: BTreeMap::new(),
            tags: TagSlab::default(),
            busy: vec![false; sectors],
            scratch: BTreeMap::new(),
            failures: 0,
            journal_failed: false,
            step: 0,
            next_value: 1,
            rng: Rng::new(seed),
        }
    }

    /// Hands an input to the engine. A record that it issues speaks of an extent of which something is durable, and
    /// nothing is written to what has failed.
    fn tell(&mut self, input: Input) {
        let mut effects = Vec::new();
        self.engine.on(Nanos(self.step), input, &mut effects);
        for effect in effects.iter().filter(|_| !self.engine.health.forgives) {
            if let Effect::Io { device, request, .. } = effect {
                let failed = self.journal_failed || self.stores[device.0 as usize].failed;
                assert!(request.kind == RequestKind::Read || !failed, "sent to a failed device: {effect:?}");
            }
            let (MapRecord::Mapped { place, .. } | MapRecord::Moved { place, .. }) = (match effect {
                Effect::Record { record, .. } => *record,
                _ => continue,
            }) else {
                continue;
            };
            let store = &self.stores[place.device.0 as usize];
            let first = place.extent.0 as usize * EXTENT as usize;
            let durable = |sector: usize| store.is_durable(sector);
            assert!((first..first + EXTENT as usize).any(durable), "a record speaks of what may be lost: {effect:?}");
        }
        self.effects.append(&mut effects);
    }

    fn range(request: &Request) -> std::ops::Range<usize> {
        request.start.0 as usize..(request.start.0 + request.length.0 / 512) as usize
    }

    /// Hands a request to the engine unless its range is in use.
    fn submit(&mut self, request: Request) {
        let range = Self::range(&request);
        if self.busy[range.clone()].iter().any(|&busy| busy) {
            return;
        }
        self.busy[range.clone()].fill(true);
        let mut buffer = vec![0; range.len()];
        for (sector, slot) in range.zip(&mut buffer) {
            let value = match request.kind {
                RequestKind::Write { .. } => {
                    self.next_value += 1;
                    self.next_value
                }
                RequestKind::WriteZeroes { .. } | RequestKind::Trim => 0,
                RequestKind::Read | RequestKind::Flush => continue,
            };
            *slot = value;
            self.history[sector].push(Written { value, acknowledged: None });
        }
        let tag = self.tags.insert(());
        self.pending.insert(tag, Pending { request, issued: self.step, buffer });
        self.tell(Input::Host { tag, request });
        self.take_replies();
    }

    /// Performs one effect, any one. Returns whether there was one.
    fn perform_one(&mut self) -> bool {
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
            // The journal waits for the records that are still on their way.
            Effect::Harden { through } if (1..=through.0).all(|n| self.journal.contains_key(&RecordNumber(n))) => {
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

    fn fails(&mut self) -> bool {
        self.failures > 0 && self.rng.chance(1, self.failures)
    }

    /// A failed durable write may have got into the cache, or not.
    fn perform_io_or_fail(&mut self, device: usize, request: Request, data: DataRef) -> Result<(), DeviceError> {
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

    fn perform_io(&mut self, device: usize, request: Request, data: DataRef) {
        let store = &mut self.stores[device];
        let range = Self::range(&request);
        match (request.kind, data) {
            (RequestKind::Flush, DataRef::None) => store.flush(),
            (RequestKind::Trim, DataRef::None) => range.for_each(|sector| store.write(sector, 0, false)),
            (RequestKind::WriteZeroes { fua }, DataRef::None) => range.for_each(|sector| store.write(sector, 0, fua)),
            (kind, DataRef::Host { tag, offset }) => {
                let buffer = &mut self.pending.get_mut(&tag).unwrap().buffer[offset.0 as usize / 512..];
                for (sector, slot) in range.zip(buffer) {
                    match kind {
                        RequestKind::Read => *slot = store.live[sector],
                        RequestKind::Write { fua } => store.write(sector, *slot, fua),
                        kind => panic!("{kind:?} has no data"),
                    }
                }
            }
            (RequestKind::Read, DataRef::Scratch { slot }) => {
                self.scratch.insert(slot, store.live[range].to_vec());
            }
            (RequestKind::Write { fua }, DataRef::Scratch { slot }) => {
                for (sector, value) in range.zip(self.scratch.remove(&slot).expect("it was read before")) {
                    store.write(sector, value, fua);
                }
            }
            other => panic!("unexpected: {other:?}"),
        }
    }

    /// Wishes that an extent were on a device, as a policy would.
    fn wish(&mut self, extent: u64, device: u64) {
        let extent = LogicalExtent((extent % u64::from(self.engine.map.len())) as u32);
        let device = DeviceIndex((device % self.stores.len() as u64) as u16);
        self.engine.wishes.moves.push((extent, device));
        self.tell(Input::Timer);
        self.take_replies();
    }

    /// Replies need no performing, so they are looked at right away.
    fn take_replies(&mut self) {
        let (replies, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.effects).into_iter().partition(|effect| matches!(effect, Effect::Reply { .. }));
        self.effects = rest;
        for reply in replies {
            let Effect::Reply { tag, result } = reply else { unreachable!() };
            assert!(
                result.is_ok() || self.journal_failed || self.stores.iter().any(|store| store.failed),
                "{result:?}"
            );
            self.tags.remove(tag);
            let Pending { request, issued, buffer } = self.pending.remove(&tag).unwrap();
            let range = Self::range(&request);
            self.busy[range.clone()].fill(false);
            if result.is_err() {
                assert!(request.kind != RequestKind::Read, "reads go on");
                continue;
            }
            let fua = request.kind.is_fua();
            for (sector, value) in range.zip(buffer) {
                let history = &mut self.history[sector];
                match request.kind {
                    // After a write that failed, it may be as before or after.
                    RequestKind::Read => {
                        let known = history.iter().rposition(|written| written.acknowledged.is_some()).unwrap();
                        assert!(history[known..].iter().any(|written| written.value == value), "sector {sector}");
                        assert!(self.failures > 0 || history.last().unwrap().value == value, "sector {sector}");
                    }
                    _ => history.last_mut().unwrap().acknowledged = Some(self.step),
                }
                if fua {
                    history.drain(..history.len() - 1);
                }
            }
            if request.kind == RequestKind::Flush {
                for history in &mut self.history {
                    let covered = |written: &Written| written.acknowledged.is_some_and(|step| step <= issued);
                    // None where a FUA write that came after the flush has ended before it.
                    history.drain(..history.iter().rposition(covered).unwrap_or(0));
                }
            }
        }
    }

    fn drain(&mut self) {
        while self.perform_one() {}
        assert!(self.pending.is_empty(), "requests without an answer");
    }

    /// Loses power, restores the engine from what survived, and reads everything: an error names what is not there.
    fn crash_and_check(mut self) -> Result<(), String> {
        let mut through = self.hardened.0;
        while self.journal.contains_key(&RecordNumber(through + 1)) && self.rng.chance(1, 2) {
            through += 1;
        }
        let records: Vec<MapRecord> = (1..=through).map(|n| self.journal[&RecordNumber(n)]).collect();
        // Half of them by way of a checkpoint.
        let half = PlacementEngine::restore(
            &self.settings,
            Checkpoint::default(),
            &mut records[..records.len() / 2].iter().copied(),
        );
        let checkpoint = half.unwrap().checkpoint();
        let rest = &mut records[records.len() / 2..].iter().copied();
        let mut engine = PlacementEngine::restore(&self.settings, checkpoint, rest).unwrap();
        engine.check();
        let mut rng = self.rng.clone();
        self.stores.iter_mut().for_each(|store| store.lose_power(&mut rng));
        for sector in 0..self.history.len() {
            let mut effects = Vec::new();
            let tag = Tag { slot: 0, generation: sector as u32 };
            let request = Request::read(Lba(sector as u64), Bytes(512));
            engine.on(Nanos::ZERO, Input::Host { tag, request }, &mut effects);
            let mut value = 0;
            for effect in std::mem::take(&mut effects) {
                if let Effect::Io { io, device, request, .. } = effect {
                    value = self.stores[device.0 as usize].live[request.start.0 as usize];
                    engine.on(Nanos::ZERO, Input::Done { io, at: Nanos::ZERO, result: Ok(()) }, &mut effects);
                }
            }
            let allowed = &self.history[sector];
            if allowed.iter().all(|written| written.value != value) {
                return Err(format!("sector {sector}: {value}, not in {allowed:?}"));
            }
        }
        Ok(())
    }
}

/// (kind, start, sectors, fua, effects to perform afterwards)
type Operation = (u8, u64, u64, bool, u8);

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    prop::collection::vec((0u8..14, 0u64..64, 1u64..12, any::<bool>(), 0u8..6), 1..60)
}

/// A request of the host, or a wish to move.
fn submit(world: &mut World, operation: Operation) {
    let (kind, start, sectors, _, effects) = operation;
    match kind {
        0..10 => world.submit(request(operation, world.history.len() as u64)),
        _ => world.wish(start, sectors),
    }
    for _ in 0..effects {
        world.perform_one();
    }
}

fn request((kind, start, sectors, fua, _): Operation, capacity: u64) -> Request {
    let start = start % capacity;
    let length = Bytes(sectors.min(capacity - start) * 512);
    let kind = match kind {
        0..4 => RequestKind::Write { fua },
        4..6 => RequestKind::Read,
        6 => RequestKind::Trim,
        7 => RequestKind::WriteZeroes { fua },
        _ => return Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO),
    };
    Request::new(kind, Lba(start), length)
}

proptest! {
    #[test]
    fn reads_return_the_last_write_in_whatever_order_effects_are_performed(operations in operations(), seed: u64) {
        let mut world = World::new(settings(&[20, 33, 8], "[2, 1, 1]"), seed);
        let capacity = world.history.len() as u64;
        for operation in operations {
            submit(&mut world, operation);
        }
        world.drain();
        for sector in 0..capacity {
            world.submit(Request::read(Lba(sector), Bytes(512)));
        }
        world.drain();
    }

    /// Power is lost at any moment: what was flushed or written with FUA is there, and every sector holds
    /// a value that was written since.
    #[test]
    fn what_was_promised_survives_a_crash(operations in operations(), seed: u64) {
        until_a_crash(World::new(settings(&[16, 16], "[1, 1]"), seed), operations).unwrap();
    }

    /// Promises hold after a crash also where flushes, durable writes and the journal fail now and then, and drop what
    /// they held back.
    #[test]
    fn what_was_promised_survives_failures_and_a_crash(operations in operations(), seed: u64, failures in 2u64..12) {
        let world = World::new(settings(&[16, 16], "[1, 1]"), seed);
        until_a_crash(World { failures, ..world }, operations).unwrap();
    }

    #[test]
    fn every_request_is_answered_in_spite_of_failures(operations in operations(), seed: u64, failures in 2u64..12) {
        let mut world = World { failures, ..World::new(settings(&[16, 16], "[1, 1]"), seed) };
        for operation in operations {
            submit(&mut world, operation);
        }
        world.drain();
    }
}

fn until_a_crash(mut world: World, operations: Vec<Operation>) -> Result<(), String> {
    for operation in operations {
        submit(&mut world, operation);
    }
    world.crash_and_check()
}

/// In how many of 300 runs an engine breaks a promise after `spoil` has made it a wrong one.
fn losses(failures: u64, spoil: fn(&mut PlacementEngine)) -> usize {
    let loses = |seed: &u64| {
        let mut world = World { failures, ..World::new(settings(&[16, 24], "[1, 1]"), *seed) };
        spoil(&mut world.engine);
        let mut rng = Rng::new(*seed);
        let mut next = |below| rng.below(below);
        let operation = |_| (next(14) as u8, next(64), 1 + next(11), next(2) == 0, next(6) as u8);
        let operations = (0..80).map(operation).collect();
        // A read of what was never written there fails an assertion on the way.
        let run = AssertUnwindSafe(|| until_a_crash(world, operations));
        !catch_unwind(run).is_ok_and(|outcome| outcome.is_ok())
    };
    (0..300).filter(loses).count()
}

/// An engine that tries a failed flush again, and believes it the second time, loses what it promised; so does one that
/// overlooks what the host writes while an extent is copied, and one that uses a place again before its record is
/// durable. The property above would see each of them.
#[test]
fn wrong_engines_are_found_out() {
    assert_eq!((losses(0, |_| ()), losses(3, |_| ())), (0, 0));
    let found = [
        losses(3, |engine| engine.health.forgives = true),
        losses(0, |engine| engine.copies.overlooks_writes = true),
        losses(0, |engine| engine.leaving.hurries = true),
    ];
    assert!(found.iter().all(|&found| found >= 5), "{found:?} of 300");
}

fn engine() -> PlacementEngine {
    PlacementEngine::new(&settings(&[16, 16], "[1, 1]")).unwrap()
}

fn on(engine: &mut PlacementEngine, input: Input) -> Vec<Effect> {
    let mut effects = Vec::new();
    engine.on(Nanos::ZERO, input, &mut effects);
    effects
}

fn host(slot: u32, request: Request) -> Input {
    Input::Host { tag: Tag { slot, generation: 0 }, request }
}

fn ios(effects: &[Effect]) -> Vec<(IoId, DeviceIndex, Request)> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Io { io, device, request, .. } => Some((*io, *device, *request)),
            _ => None,
        })
        .collect()
}

const FLUSH: Request = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);

/// Flush: the written device, then the journal, then the reply; with nothing new to record, one flush and no journal.
#[test]
fn a_flush_goes_to_written_devices_only_and_hardens_only_new_records() {
    let mut engine = engine();
    let reply = |slot| Effect::Reply { tag: Tag { slot, generation: 0 }, result: Ok(()) };
    assert_eq!(on(&mut engine, host(0, FLUSH)), [reply(0)], "nothing written, nothing to do");
    for round in 0..2 {
        let [(io, DeviceIndex(1), _)] = ios(&on(&mut engine, host(0, Request::write(Lba(4), Bytes(512)))))[..] else {
            panic!("extent 1 lies on device 1");
        };
        on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) });
        let effects = on(&mut engine, host(0, FLUSH));
        let [(io, DeviceIndex(1), Request { kind: RequestKind::Flush, .. })] = ios(&effects)[..] else {
            panic!("one flush, of device 1: {effects:?}");
        };
        let effects = on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) });
        if round == 0 {
            let through = RecordNumber(1);
            assert!(matches!(effects[..], [Effect::Record { number: RecordNumber(1), .. }, Effect::Harden { .. }]));
            assert_eq!(on(&mut engine, Input::Durable { through }), [reply(0)]);
        } else {
            assert_eq!(effects, [reply(0)]);
        }
    }
}

#[test]
fn the_first_error_by_address_counts_whichever_comes_first() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut engine = engine();
        let parts = ios(&on(&mut engine, host(0, Request::write(Lba(2), Bytes(512 * 10)))));
        assert_eq!(parts.len(), 3);
        let results = [Ok(()), Err(DeviceError::Medium), Err(DeviceError::ReadOnly)];
        let mut effects = Vec::new();
        for part in order {
            effects = on(&mut engine, Input::Done { io: parts[part].0, at: Nanos::ZERO, result: results[part] });
        }
        let tag = Tag { slot: 0, generation: 0 };
        assert_eq!(effects, [Effect::Reply { tag, result: Err(DeviceError::Medium) }]);
    }
}

/// What a failed flush held back is lost, so that no later one may say Ok, nor may one that was under way.
#[test]
fn a_failed_flush_is_told_to_everyone_who_waited_and_to_all_who_come_later() {
    let mut engine = engine();
    let [(io, ..)] = ios(&on(&mut engine, host(0, Request::write(Lba(0), Bytes(512)))))[..] else { panic!() };
    on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) });
    let [(flush, ..)] = ios(&on(&mut engine, host(1, FLUSH)))[..] else { panic!() };
    assert!(on(&mut engine, host(2, FLUSH)).is_empty(), "the second joins the first");
    let effects = on(&mut engine, Input::Done { io: flush, at: Nanos::ZERO, result: Err(DeviceError::Medium) });
    let reply = |slot| Effect::Reply { tag: Tag { slot, generation: 0 }, result: Err(DeviceError::Medium) };
    assert_eq!(effects, [reply(1), reply(2)]);
    let failed = |slot| [Effect::Reply { tag: Tag { slot, generation: 0 }, result: Err(DeviceError::Failed) }];
    assert_eq!(on(&mut engine, host(1, FLUSH)), failed(1));
    assert_eq!((engine.device_state(DeviceIndex(0)), engine.state()), (DeviceState::Failed, DeviceState::Failed));
    assert_eq!(engine.checkpoint(), Checkpoint::default(), "no record speaks of what was lost");
}

/// Device 0 fails a flush: what becomes of everything else.
#[test]
fn a_failed_device_serves_reads_only() {
    let mut engine = engine();
    let failed = |slot| Effect::Reply { tag: Tag { slot, generation: 0 }, result: Err(DeviceError::Failed) };
    let reply = |slot| Effect::Reply { tag: Tag { slot, generation: 0 }, result: Ok(()) };
    // Extents 0 and 2 lie on device 0, 1 and 3 on device 1.
    let sector = |kind, extent: u64| Request::new(kind, Lba(extent * EXTENT), Bytes(512));
    let write = |fua, extent| sector(RequestKind::Write { fua }, extent);
    let send = |engine: &mut PlacementEngine, slot, request| ios(&on(engine, host(slot, request)))[0].0;
    for slot in 0..2 {
        let io = send(&mut engine, slot, write(false, u64::from(slot)));
        assert_eq!(on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) }), [reply(slot)]);
    }
    let flush = ios(&on(&mut engine, host(9, FLUSH)));
    let [(flush_0, DeviceIndex(0), _), (flush_1, DeviceIndex(1), _)] = flush[..] else { panic!("{flush:?}") };
    let plain = send(&mut engine, 2, write(false, 0));
    let durable = send(&mut engine, 3, write(true, 2));
    assert!(on(&mut engine, Input::Done { io: flush_0, at: Nanos::ZERO, result: Err(DeviceError::Medium) }).is_empty());
    // What was under way there ends after the failure, and counts for nothing.
    assert_eq!(on(&mut engine, Input::Done { io: durable, at: Nanos::ZERO, result: Ok(()) }), [failed(3)]);
    assert_eq!(on(&mut engine, Input::Done { io: plain, at: Nanos::ZERO, result: Ok(()) }), [failed(2)]);
    // The other device's part of the flush makes durable what it can; the flush fails all the same.
    let effects = on(&mut engine, Input::Done { io: flush_1, at: Nanos::ZERO, result: Ok(()) });
    assert!(matches!(effects[0], Effect::Record { record: MapRecord::Mapped { extent: LogicalExtent(1), .. }, .. }));
    let tag = Tag { slot: 9, generation: 0 };
    assert_eq!(effects[1..], [Effect::Reply { tag, result: Err(DeviceError::Medium) }]);
    for (slot, request) in [
        (4, write(false, 0)),
        (5, sector(RequestKind::Trim, 0)),
        (6, sector(RequestKind::WriteZeroes { fua: true }, 2)),
        (7, FLUSH),
    ] {
        assert_eq!(on(&mut engine, host(slot, request)), [failed(slot)]);
    }
    // A device that says it is well again has not been opened anew.
    on(&mut engine, Input::Device { device: DeviceIndex(0), telemetry: Telemetry::default() });
    assert_eq!(on(&mut engine, host(7, FLUSH)), [failed(7)]);
    let read = send(&mut engine, 4, sector(RequestKind::Read, 0));
    assert_eq!(on(&mut engine, Input::Done { io: read, at: Nanos::ZERO, result: Ok(()) }), [reply(4)]);
    // Fresh extents go to the other device, where a durable write still promises.
    let effects = on(&mut engine, host(5, write(true, 4)));
    let [(io, DeviceIndex(1), _)] = ios(&effects)[..] else { panic!("{effects:?}") };
    let effects = on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) });
    let [Effect::Record { number: through, .. }, Effect::Harden { .. }] = effects[..] else { panic!("{effects:?}") };
    assert_eq!(on(&mut engine, Input::Durable { through }), [reply(5)]);
    engine.check();
}

#[test]
fn what_fails_a_device_and_what_does_not() {
    let write = |fua| RequestKind::Write { fua };
    for (kind, error, state) in [
        (write(true), DeviceError::Medium, DeviceState::Failed),
        (write(true), DeviceError::NoSpace, DeviceState::Failed),
        (write(true), DeviceError::Unsupported, DeviceState::Online),
        (write(false), DeviceError::Medium, DeviceState::Online),
        (write(false), DeviceError::Interrupted, DeviceState::Failed),
        (RequestKind::Read, DeviceError::Medium, DeviceState::Online),
    ] {
        let mut engine = engine();
        engine.fill(Ratio::ONE);
        let [(io, ..)] = ios(&on(&mut engine, host(0, Request::new(kind, Lba(0), Bytes(512)))))[..] else { panic!() };
        let reply = Effect::Reply { tag: Tag { slot: 0, generation: 0 }, result: Err(error) };
        assert_eq!(on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Err(error) }), [reply]);
        assert_eq!(engine.state(), state, "{kind:?}: {error}");
    }
}

#[test]
fn a_failed_journal_fails_who_waits_and_everything_but_reads() {
    let mut engine = engine();
    let reply = |slot, result| Effect::Reply { tag: Tag { slot, generation: 0 }, result };
    let write = Request::new(RequestKind::Write { fua: true }, Lba(0), Bytes(512));
    let [(io, ..)] = ios(&on(&mut engine, host(0, write)))[..] else { panic!() };
    on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) });
    let [(late, ..)] = ios(&on(&mut engine, host(1, Request::write(Lba(4), Bytes(512)))))[..] else { panic!() };
    assert_eq!(on(&mut engine, Input::JournalFailed), [reply(0, Err(DeviceError::Failed))]);
    assert_eq!(
        on(&mut engine, Input::Done { io: late, at: Nanos::ZERO, result: Ok(()) }),
        [reply(1, Err(DeviceError::Failed))]
    );
    let zeroes = Request::new(RequestKind::WriteZeroes { fua: true }, Lba(12), Bytes(512));
    for request in [write, zeroes, FLUSH] {
        assert_eq!(on(&mut engine, host(0, request)), [reply(0, Err(DeviceError::Failed))]);
    }
    let [(io, ..)] = ios(&on(&mut engine, host(0, Request::read(Lba(0), Bytes(512)))))[..] else { panic!() };
    assert_eq!(on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) }), [reply(0, Ok(()))]);
    assert_eq!(engine.state(), DeviceState::Failed);
}

/// A device that fills up or takes no writes passes its share on; when all are full, the request says so.
#[test]
fn fresh_extents_go_where_there_is_room() {
    let mut engine = PlacementEngine::new(&settings(&[8, 16], "[1, 1]")).unwrap();
    let telemetry = Telemetry { state: DeviceState::ReadOnly, ..Telemetry::default() };
    on(&mut engine, Input::Device { device: DeviceIndex(0), telemetry });
    let write = |extent: u64| Request::write(Lba(extent * EXTENT), Bytes(512));
    for extent in 0..4 {
        assert_eq!(ios(&on(&mut engine, host(extent as u32, write(extent))))[0].1, DeviceIndex(1));
    }
    let effects = on(&mut engine, host(9, write(4)));
    assert_eq!(effects, [Effect::Reply { tag: Tag { slot: 9, generation: 0 }, result: Err(DeviceError::NoSpace) }]);
    on(&mut engine, Input::Device { device: DeviceIndex(0), telemetry: Telemetry::default() });
    assert_eq!(ios(&on(&mut engine, host(9, write(4))))[0].1, DeviceIndex(0));
    engine.check();
}

#[test]
fn neighbours_on_one_device_are_one_request() {
    let mut engine = PlacementEngine::new(&settings(&[32], "[1]")).unwrap();
    engine.fill(Ratio::ONE);
    let parts = ios(&on(&mut engine, host(0, Request::read(Lba(3), Bytes(512 * 20)))));
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0].2, Request::read(Lba(3), Bytes(512 * 20)));
}

#[test]
fn a_map_that_contradicts_itself_is_refused() {
    let settings = settings(&[16, 16], "[1, 1]");
    let place = |device, extent| Place { device: DeviceIndex(device), extent: PhysicalExtent(extent) };
    let mapped = |extent, place| MapRecord::Mapped { extent: LogicalExtent(extent), place };
    let restore = |records: &[MapRecord]| {
        PlacementEngine::restore(&settings, Checkpoint::default(), &mut records.iter().copied()).err()
    };
    assert_eq!(restore(&[mapped(8, place(0, 0))]), Some(RestoreError::Extent(8)));
    assert_eq!(restore(&[mapped(0, place(2, 0))]), Some(RestoreError::Place { device: 2, extent: 0 }));
    assert_eq!(restore(&[mapped(0, place(1, 4))]), Some(RestoreError::Place { device: 1, extent: 4 }));
    let twice = Some(RestoreError::Twice { device: 1, extent: 3 });
    assert_eq!(restore(&[mapped(0, place(1, 3)), mapped(1, place(1, 3))]), twice);
    assert_eq!(restore(&[mapped(0, place(1, 2)), mapped(0, place(1, 3))]), twice);
}

#[test]
fn impossible_settings_say_what_is_wrong() {
    let error = |settings: &PlacementSettings| PlacementEngine::new(settings).unwrap_err().to_string();
    let mut odd = settings(&[16, 16], "[1, 1]");
    odd.extent = Bytes(1000);
    assert_eq!(error(&odd), "`extent` is 1kB; it has to be whole sectors of 512B");
    assert_eq!(error(&settings(&[16, 2], "[1, 1]")), "device 1 holds 1KiB, less than one `extent` of 2KiB");
    let mut vast = settings(&[16, 16], "[1, 1]");
    vast.devices[1] = Bytes(1 << 50);
    assert_eq!(
        error(&vast),
        "the devices hold 549755813892 pieces of one `extent` of 2KiB, more than 2^26 (a map of 1 GiB)"
    );
    assert_eq!(error(&settings(&[], "[]")), "there are 0 devices; an engine takes 1 to 1024");
    assert_eq!(error(&settings(&[16], "[1, 1]")), "policy `static-split`: `weights` has 2 entries for 1 devices");
    assert_eq!(error(&settings(&[16], "[0]")), "policy `static-split`: `weights` are all zero");
}

/// Runs `world` until nothing is left to do, and returns the records of the journal.
fn records(world: &mut World) -> Vec<MapRecord> {
    world.drain();
    world.journal.values().copied().collect()
}

#[test]
fn an_extent_moves_and_its_place_is_used_again() {
    let mut world = World::new(settings(&[4, 12], "[1, 1]"), 1);
    let place = |device, extent| Place { device: DeviceIndex(device), extent: PhysicalExtent(extent) };
    let write = |extent: u64| Request::new(RequestKind::Write { fua: true }, Lba(extent * EXTENT), Bytes(512));
    world.submit(write(0));
    let extent = LogicalExtent(0);
    assert_eq!(records(&mut world), [MapRecord::Mapped { extent, place: place(0, 0) }]);
    // Device 0 has one extent: the next one goes elsewhere while the first is there.
    world.submit(write(2));
    world.drain();
    assert_eq!(world.engine.map.place(LogicalExtent(2)), Some(place(1, 0)));
    world.wish(0, 1);
    let moved = records(&mut world);
    assert_eq!(moved[2..], [MapRecord::Moved { extent, place: place(1, 1) }]);
    assert_eq!(world.hardened, RecordNumber(3), "a place is free only once that is durable");
    world.submit(Request::read(Lba(0), Bytes(512)));
    world.submit(Request::new(RequestKind::Write { fua: true }, Lba(3 * EXTENT + 1), Bytes(512)));
    world.drain();
    world.wish(3, 0);
    world.drain();
    assert_eq!(world.engine.map.place(LogicalExtent(3)), Some(place(0, 0)), "it is used again");
    world.submit(Request::read(Lba(3 * EXTENT), Bytes(512)));
    world.drain();
}

#[test]
fn trimmed_extents_are_freed_and_read_as_zeroes() {
    let mut world = World::new(settings(&[4, 12], "[1, 1]"), 1);
    world.submit(Request::new(RequestKind::Write { fua: true }, Lba(0), Bytes(512 * EXTENT)));
    world.drain();
    world.submit(Request::new(RequestKind::Trim, Lba(0), Bytes(512 * (EXTENT - 1))));
    assert_eq!(records(&mut world).len(), 1, "a part of an extent frees nothing");
    world.submit(Request::new(RequestKind::Trim, Lba(0), Bytes(512 * EXTENT)));
    assert_eq!(records(&mut world)[1..], [MapRecord::Freed { extent: LogicalExtent(0) }]);
    assert_eq!((world.engine.map.place(LogicalExtent(0)), world.engine.map.free_extents(0)), (None, 1));
    world.submit(Request::read(Lba(0), Bytes(512)));
    world.drain();
}

/// Each try of a copy meets a write of the host: after some it is given up, and its place is free again.
#[test]
fn a_copy_that_the_host_writes_to_again_and_again_is_given_up() {
    let mut engine = engine();
    engine.fill(Ratio::ONE);
    let free = engine.map.free_extents(1);
    engine.map.unmap(LogicalExtent(1));
    engine.map.release(Place { device: DeviceIndex(1), extent: PhysicalExtent(0) });
    engine.wishes.moves.push((LogicalExtent(0), DeviceIndex(1)));
    let mut reads = ios(&on(&mut engine, Input::Timer));
    let mut tries = 0;
    while let [(read, _, Request { kind: RequestKind::Read, priority: Priority::BACKGROUND, .. })] = reads[..] {
        tries += 1;
        let [(write, ..)] = ios(&on(&mut engine, host(0, Request::write(Lba(0), Bytes(512)))))[..] else { panic!() };
        on(&mut engine, Input::Done { io: write, at: Nanos::ZERO, result: Ok(()) });
        reads = ios(&on(&mut engine, Input::Done { io: read, at: Nanos::ZERO, result: Ok(()) }));
    }
    let [(zero, DeviceIndex(1), Request { kind: RequestKind::WriteZeroes { fua: true }, .. })] = reads[..] else {
        panic!("{reads:?}")
    };
    on(&mut engine, Input::Done { io: zero, at: Nanos::ZERO, result: Ok(()) });
    assert_eq!((tries, engine.map.free_extents(1)), (4, free + 1));
    engine.check();
}

/// What a policy is told, and that it gets what it wishes for.
#[test]
fn a_policy_hears_of_completions_with_their_times_and_is_woken() {
    #[derive(Debug, Default)]
    struct Listener(std::sync::Arc<std::sync::Mutex<Vec<String>>>);
    impl Placement for Listener {
        fn place(&mut self, _: LogicalExtent, _: &[DeviceView]) -> DeviceIndex {
            DeviceIndex(0)
        }
        fn observes(&self) -> bool {
            true
        }
        fn observe(&mut self, now: Nanos, event: &Event<'_>, _: &[DeviceView], wishes: &mut Wishes) {
            let text = match event {
                Event::Request(request) => format!("{} request {:?}", now.0, request.kind),
                Event::Completed(done) => {
                    format!("{} completed {} after {}", now.0, done.for_host, (done.at - done.sent).0)
                }
                Event::Moved { outcome, .. } => format!("{} moved {outcome:?}", now.0),
                Event::Device { .. } => "device".to_string(),
                Event::Timer => {
                    wishes.moves.push((LogicalExtent(0), DeviceIndex(1)));
                    "timer".to_string()
                }
            };
            wishes.wake_at = text.contains("true").then_some(Nanos(100));
            self.0.lock().unwrap().push(text);
        }
    }
    let heard = Listener::default();
    let log = heard.0.clone();
    let mut engine = engine().with_policy(Box::new(heard));
    let mut at = |now, input| {
        let mut effects = Vec::new();
        engine.on(Nanos(now), input, &mut effects);
        effects
    };
    let [(io, ..)] = ios(&at(10, host(0, Request::write(Lba(0), Bytes(512)))))[..] else { panic!() };
    // It ended at 30; the engine is told at 50.
    let effects = at(50, Input::Done { io, at: Nanos(30), result: Ok(()) });
    assert_eq!(effects.last(), Some(&Effect::WakeAt(Nanos(100))));
    let [(read, ..)] = ios(&at(100, Input::Timer))[..] else { panic!() };
    let [(write, ..)] = ios(&at(120, Input::Done { io: read, at: Nanos(110), result: Ok(()) }))[..] else { panic!() };
    at(150, Input::Done { io: write, at: Nanos(145), result: Ok(()) });
    let heard = log.lock().unwrap().clone();
    let wanted = [
        "10 request Write { fua: false }",
        "50 completed true after 20",
        "timer",
        "120 completed false after 10",
        "150 completed false after 25",
        "150 moved Done",
    ];
    assert_eq!(heard, wanted);
}
