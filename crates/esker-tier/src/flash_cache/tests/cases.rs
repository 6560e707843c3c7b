//! Single cases.

use esker_cache::{Access, AccessKind, NEVER, ObjectId};
use esker_core::Hint;

use super::*;
use crate::engine::{BufferId, DataRef, IoId};

/// Hands `input` to `engine`, ends every request to a device at once, and makes every record durable at once. Returns
/// all effects.
pub(super) fn serve(engine: &mut FlashCacheEngine, input: Input) -> Vec<Effect> {
    let mut effects = Vec::new();
    engine.on(Nanos::ZERO, input, &mut effects);
    let mut next = 0;
    while next < effects.len() {
        match effects[next] {
            Effect::Io { io, .. } => engine.on(Nanos::ZERO, done(io), &mut effects),
            Effect::Harden { through } => engine.on(Nanos::ZERO, Input::Durable { through }, &mut effects),
            _ => {}
        }
        next += 1;
    }
    engine.check();
    effects
}

pub(super) fn done(io: IoId) -> Input {
    Input::Done { io, at: Nanos::ZERO, result: Ok(()) }
}

pub(super) fn host(request: Request) -> Input {
    Input::Host { tag: Tag::new(0, 0), request }
}

/// Returns the requests to devices: device, kind, first sector, number of sectors.
pub(super) fn ios(effects: &[Effect]) -> Vec<(u16, RequestKind, u64, u64)> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Io { device, request, .. } => {
                Some((device.0, request.kind, request.start.0, request.length.0 / 512))
            }
            _ => None,
        })
        .collect()
}

fn records(effects: &[Effect]) -> Vec<FlashCacheRecord> {
    let read = |record: Record| record.try_into().expect("a record of a flash cache");
    let record = |effect: &Effect| if let Effect::Record { record, .. } = effect { Some(read(*record)) } else { None };
    effects.iter().filter_map(record).collect()
}

pub(super) const READ: RequestKind = RequestKind::Read;
pub(super) const WRITE: RequestKind = RequestKind::Write { fua: false };
const DURABLY: RequestKind = RequestKind::Write { fua: true };

pub(super) fn engine(role: CacheRole, write: WriteHandling) -> FlashCacheEngine {
    FlashCacheEngine::new(&settings(5, 16, role, write)).unwrap()
}

pub(super) fn read(line: u64, lines: u64) -> Input {
    host(Request::read(Lba(line * LINE), Bytes(lines * LINE * 512)))
}

pub(super) fn write(line: u64, lines: u64) -> Input {
    host(Request::write(Lba(line * LINE), Bytes(lines * LINE * 512)))
}

/// A read of one sector fetches its line. The host is answered before the line is on the flash, which serves the next
/// read.
#[test]
fn a_read_fetches_its_line_and_the_next_one_needs_the_flash_alone() {
    let mut engine = engine(CacheRole::Read, WriteHandling::WriteThrough);
    let one = |sector| host(Request::read(Lba(sector), Bytes(512)));
    let first = serve(&mut engine, one(LINE + 1));
    assert_eq!(ios(&first), [(1, READ, LINE, LINE), (0, WRITE, 0, LINE)]);
    let place = |wanted: fn(&Effect) -> bool| first.iter().position(wanted).unwrap();
    let reply = place(|effect| matches!(effect, Effect::Reply { .. }));
    assert!(reply < place(|effect| matches!(effect, Effect::Io { device: FLASH, .. })));
    assert_eq!(ios(&serve(&mut engine, one(LINE + 2))), [(0, READ, 2, 1)]);
    let counts = engine.report_now();
    assert_eq!((counts.read_hits, counts.read_misses, counts.held_lines), (1, 1, 1));
}

/// Adjacent lines are one request: on the backing device, and on the flash if their slots are adjacent.
#[test]
fn neighbouring_lines_are_joined() {
    let mut engine = engine(CacheRole::Unified, WriteHandling::WriteThrough);
    assert_eq!(ios(&serve(&mut engine, read(2, 3))), [(1, READ, 2 * LINE, 3 * LINE), (0, WRITE, 0, 3 * LINE)]);
    assert_eq!(ios(&serve(&mut engine, read(2, 3))), [(0, READ, 0, 3 * LINE)]);
    let both = [(0, WRITE, 0, 3 * LINE), (1, WRITE, 2 * LINE, 3 * LINE)];
    assert_eq!(ios(&serve(&mut engine, write(2, 3))), both);
}

#[test]
fn a_write_back_is_recorded_before_the_flush_is_answered() {
    let mut engine = engine(CacheRole::Unified, WriteHandling::WriteBack);
    assert_eq!(ios(&serve(&mut engine, write(3, 1))), [(0, WRITE, 0, LINE)]);
    let flush = serve(&mut engine, host(FLUSH));
    assert_eq!(ios(&flush), [(0, RequestKind::Flush, 0, 0)]);
    let (line, slot) = (crate::LogicalExtent(3), crate::PhysicalExtent(0));
    assert_eq!(records(&flush), [FlashCacheRecord::Cached { line, slot, dirty: true }]);
    let last_two = &flush[flush.len() - 2..];
    assert!(matches!(last_two, [Effect::Harden { .. }, Effect::Reply { result: Ok(()), .. }]), "{flush:?}");
    // The journal says that it is dirty: another write needs no record.
    assert!(records(&serve(&mut engine, write(3, 1))).is_empty());
    assert!(records(&serve(&mut engine, host(FLUSH))).is_empty());
}

/// The slot is free once the copy is durable and so is the record that the line has left.
#[test]
fn a_dirty_line_is_copied_back_before_it_leaves() {
    let mut engine = engine(CacheRole::Write, WriteHandling::WriteBack);
    engine.dirty_low = 5;
    engine.dirty_high = 5;
    for line in 0..4 {
        serve(&mut engine, write(line, 1));
    }
    serve(&mut engine, host(FLUSH));
    let effects = serve(&mut engine, write(9, 1));
    assert_eq!(ios(&effects), [(0, WRITE, 4 * LINE, LINE), (0, READ, 0, LINE), (1, DURABLY, 0, LINE)]);
    assert_eq!(records(&effects), [FlashCacheRecord::Uncached { line: crate::LogicalExtent(0) }]);
    assert_eq!(engine.report_now().dirty_evictions, 1);
    assert_eq!(ios(&serve(&mut engine, write(10, 1)))[0], (0, WRITE, 0, LINE), "slot 0 is used again");
}

/// A failed write may have reached the backing device's write cache all the same. Data that are read from there
/// afterwards are clean only after a flush.
#[test]
fn a_failed_write_is_not_taken_for_durable() {
    let mut engine = engine(CacheRole::Read, WriteHandling::WriteAround);
    let mut effects = Vec::new();
    engine.on(Nanos::ZERO, write(3, 1), &mut effects);
    let [Effect::Io { io, device: BACKING, .. }] = effects[..] else { panic!("{effects:?}") };
    engine.on(Nanos::ZERO, Input::Done { io, at: Nanos::ZERO, result: Err(DeviceError::MEDIUM) }, &mut effects);
    serve(&mut engine, read(3, 1));
    let flush = serve(&mut engine, host(FLUSH));
    let both = [(0, RequestKind::Flush, 0, 0), (1, RequestKind::Flush, 0, 0)];
    assert_eq!((ios(&flush), records(&flush).len()), (both.to_vec(), 1), "{flush:?}");
}

#[test]
fn the_cleaner_works_while_the_host_rests() {
    let mut engine = engine(CacheRole::Write, WriteHandling::WriteBack);
    (engine.dirty_low, engine.dirty_high) = (1, 4);
    serve(&mut engine, write(7, 1));
    let effects = serve(&mut engine, write(3, 1));
    // In the order of addresses.
    assert_eq!(ios(&effects)[1..], [(0, READ, LINE, LINE), (1, DURABLY, 3 * LINE, LINE)]);
    let counts = engine.report_now();
    assert_eq!((counts.cleaned, counts.dirty_lines, counts.held_lines), (1, 1, 2));
}

/// A partial write fetches the rest of its line, but zeroes and trims go around.
#[test]
fn a_write_to_part_of_a_line_fills_it_up() {
    let mut engine = engine(CacheRole::Unified, WriteHandling::WriteBack);
    let part = |kind| host(Request::new(kind, Lba(2 * LINE + 1), Bytes(512)));
    let effects = serve(&mut engine, part(WRITE));
    assert_eq!(ios(&effects), [(1, READ, 2 * LINE, LINE), (0, WRITE, 0, LINE)]);
    let is_buffer = |data: &DataRef| matches!(data.place.buffer, BufferId::Cache(_));
    let from_buffer =
        |effect: &Effect| matches!(effect, Effect::Io { device: FLASH, data: Some(data), .. } if is_buffer(data));
    assert!(effects.iter().any(from_buffer));
    assert_eq!(ios(&serve(&mut engine, part(RequestKind::Trim))), [(0, RequestKind::WriteZeroes { fua: false }, 1, 1)]);
    let other = host(Request::new(RequestKind::Trim, Lba(9 * LINE), Bytes(512)));
    assert_eq!(ios(&serve(&mut engine, other)), [(1, RequestKind::Trim, 9 * LINE, 1)]);
}

/// A restarted cache serves the lines that it held, without any read of a device during the restart.
#[test]
fn a_restart_is_warm() {
    for (role, handling) in MODES {
        let settings = settings(9, 16, role, handling);
        let mut engine = FlashCacheEngine::new(&settings).unwrap();
        let mut all = Vec::new();
        let mut inputs = vec![write(1, 1), write(5, 2), read(9, 3), write(10, 1), read(2, 1), write(6, 1), read(9, 1)];
        inputs.push(host(FLUSH));
        inputs.into_iter().for_each(|input| all.extend(records(&serve(&mut engine, input))));
        let mut journal = all.into_iter().map(Record::from);
        let mut restored = restore(&settings, &Checkpoint::default(), &mut journal).unwrap();
        restored.check();
        let records = Checkpoint::of(&mut engine).records;
        assert_eq!(Checkpoint::of(&mut restored).records, records);
        let line_and_slot = |record: Record| match record.try_into() {
            Ok(FlashCacheRecord::Cached { line, slot, .. }) => (line.0, slot.0),
            other => panic!("a checkpoint says which lines are held: {other:?}"),
        };
        let held: Vec<(u32, u32)> = records.into_iter().map(line_and_slot).collect();
        assert_eq!(engine.report_now().held_lines, held.len() as u64);
        assert!(held.len() >= 3, "{role:?} {handling:?}: {held:?}");
        for (line, slot) in held {
            let reads = [&mut engine, &mut restored].map(|engine| ios(&serve(engine, read(line.into(), 1))));
            assert_eq!(reads[0], reads[1], "{role:?} {handling:?}: {line:?}");
            assert_eq!(reads[0], [(0, READ, u64::from(slot) * LINE, LINE)]);
        }
    }
}

/// A restart finds also the lines that no flush of the host covered: the cache flushes for itself now and then.
#[test]
fn clean_lines_are_recorded_without_a_flush_of_the_host() {
    let settings = FlashCacheSettings { ..settings(200, 200, CacheRole::Read, WriteHandling::WriteThrough) };
    let mut engine = FlashCacheEngine::new(&settings).unwrap();
    let recorded: usize = (0..150).map(|line| records(&serve(&mut engine, read(line, 1))).len()).sum();
    assert_eq!(recorded, 128, "64 lines at a time");
}

/// With one request at a time, the cache hits exactly when its policy alone would hit: with random reads, half of them
/// of a few lines.
#[test]
fn hits_are_those_of_the_policy() {
    let mut rng = esker_core::Rng::new(1);
    let lines: Vec<u64> = (0..5000).map(|_| if rng.chance(1, 2) { rng.below(200) } else { rng.below(20) }).collect();
    for policy in 0..4 * esker_cache::REPLACEMENTS.len() {
        // Also in a log, if the policy can run in one.
        let FlashCacheSettings { policy, slots, .. } = drawn(40, 0, policy);
        let role = (CacheRole::Unified, WriteHandling::WriteBack);
        let settings = FlashCacheSettings { policy, slots, ..settings(40, 200, role.0, role.1) };
        let mut engine = FlashCacheEngine::new(&settings).unwrap();
        lines.iter().for_each(|&line| drop(serve(&mut engine, read(line, 1))));
        let accesses: Vec<Access> = lines
            .iter()
            .map(|&line| Access { object: ObjectId(line as u32), bytes: 2048, kind: AccessKind::Read, next_use: NEVER })
            .collect();
        // One of 40 slots is in reserve.
        let mut alone = settings.build_policy(39, 200).unwrap();
        let counts = esker_cache::simulate(&mut *alone, &accesses);
        let found = engine.report_now();
        assert_eq!(found.read_misses, counts.misses, "{}", settings.policy.kind);
        assert!(found.without_slot == 0 && found.read_hits > 1000, "{found:?}");
    }
}

/// Requests for refused lines go around: a read does not fill the line, a partial write fetches nothing. A cached line
/// takes every write.
#[test]
fn what_is_refused_goes_around_the_cache() {
    let base = settings(5, 16, CacheRole::Unified, WriteHandling::WriteBack);
    let settings = FlashCacheSettings { admission: Choice::named("second-hit"), ..base };
    let mut engine = FlashCacheEngine::new(&settings).unwrap();
    let part = |kind| host(Request::new(kind, Lba(2 * LINE + 1), Bytes(512)));
    assert_eq!(ios(&serve(&mut engine, part(READ))), [(1, READ, 2 * LINE + 1, 1)]);
    assert_eq!(ios(&serve(&mut engine, write(3, 1))), [(1, WRITE, 3 * LINE, LINE)]);
    assert_eq!(ios(&serve(&mut engine, part(WRITE))), [(1, READ, 2 * LINE, LINE), (0, WRITE, 0, LINE)]);
    assert_eq!(ios(&serve(&mut engine, part(WRITE))), [(0, WRITE, 1, 1)]);
    assert_eq!(ios(&serve(&mut engine, part(READ))), [(0, READ, 1, 1)]);
    let counts = engine.report_now();
    assert_eq!(
        (counts.refused, counts.read_misses, counts.misses - counts.read_misses, counts.held_lines),
        (2, 1, 2, 1)
    );
    assert_eq!((counts.without_slot, counts.flash_written_bytes), (0, (LINE + 1) * 512));
}

/// With one request at a time, the cache admits exactly the lines that its policies alone would admit.
#[test]
fn admissions_are_those_of_the_policies() {
    let mut rng = esker_core::Rng::new(2);
    let lines: Vec<u64> = (0..5000).map(|_| if rng.chance(1, 2) { rng.below(200) } else { rng.below(20) }).collect();
    let access = |&line: &u64| Access {
        object: ObjectId(line as u32),
        bytes: LINE as u32 * 512,
        kind: AccessKind::Read,
        next_use: NEVER,
    };
    let accesses: Vec<Access> = lines.iter().map(access).collect();
    for entry in esker_cache::ADMISSIONS {
        let (role, handling) = (CacheRole::Unified, WriteHandling::WriteThrough);
        let admission = Choice::named(entry.name);
        let settings = FlashCacheSettings { admission, ..settings(40, 200, role, handling) };
        let mut engine = FlashCacheEngine::new(&settings).unwrap();
        lines.iter().for_each(|&line| drop(serve(&mut engine, read(line, 1))));
        let (mut policy, mut admission) =
            (settings.build_policy(39, 200).unwrap(), settings.build_admission(39, 200).unwrap());
        let times = vec![Nanos::ZERO; accesses.len()];
        let counts = esker_cache::simulate_admitting(&mut *policy, &mut *admission, &times, &accesses);
        let found = engine.report_now();
        assert_eq!((found.read_misses, found.refused), (counts.misses, counts.refused), "{}", entry.name);
        assert_eq!((found.without_slot, found.flash_written_bytes), (0, counts.written_bytes), "{}", entry.name);
    }
}

/// Slots that become free are trimmed, adjacent ones in one request, once the record that their lines have left is
/// durable. So are slots that a smaller cache no longer uses.
#[test]
fn freed_slots_are_trimmed() {
    const TRIM: RequestKind = RequestKind::Trim;
    let settings = settings(5, 16, CacheRole::Read, WriteHandling::WriteAround);
    let trims = |trim_freed| {
        let mut engine = FlashCacheEngine::new(&FlashCacheSettings { trim_freed, ..settings.clone() }).unwrap();
        serve(&mut engine, read(2, 3));
        let mut effects = serve(&mut engine, write(3, 1));
        let shrink = Reshape::Shrink { device: FLASH, capacity: Bytes(2 * LINE * 512) };
        engine.reshape(Nanos::ZERO, shrink, &mut effects).unwrap();
        ios(&effects).into_iter().filter(|io| io.1 == TRIM).collect::<Vec<_>>()
    };
    assert_eq!(trims(false), []);
    assert_eq!(trims(true), [(0, TRIM, LINE, LINE), (0, TRIM, 2 * LINE, 3 * LINE)]);
}

#[test]
fn a_shrunk_cache_uses_the_first_slots_alone() {
    let mut engine = engine(CacheRole::Unified, WriteHandling::WriteBack);
    for line in 0..4 {
        serve(&mut engine, write(line, 1));
    }
    let mut effects = Vec::new();
    let shrink = |slots: u64| Reshape::Shrink { device: FLASH, capacity: Bytes(slots * LINE * 512) };
    assert!(engine.reshape(Nanos::ZERO, shrink(1), &mut effects).is_err() && effects.is_empty());
    assert!(engine.reshape(Nanos::ZERO, shrink(6), &mut effects).is_err() && effects.is_empty());
    engine.reshape(Nanos::ZERO, shrink(2), &mut effects).unwrap();
    let mut next = 0;
    while next < effects.len() {
        if let Effect::Io { io, .. } = effects[next] {
            engine.on(Nanos::ZERO, done(io), &mut effects);
        }
        next += 1;
    }
    engine.check();
    assert_eq!(engine.report_now().held_lines, 1, "one slot is in reserve");
    for line in 0..16 {
        let beyond = ios(&serve(&mut engine, read(line, 1))).into_iter().find(|io| io.0 == 0 && io.2 >= 2 * LINE);
        assert_eq!(beyond, None);
    }
}

#[test]
fn impossible_caches_say_what_is_wrong() {
    let base = settings(5, 16, CacheRole::Unified, WriteHandling::WriteBack);
    let error = |settings: FlashCacheSettings| FlashCacheEngine::new(&settings).unwrap_err().to_string();
    let line = |line| FlashCacheSettings { line: Bytes(line), ..base.clone() };
    assert_eq!(error(line(1000)), "`line` is 1kB; it has to be whole sectors of 512B, 1MiB at most");
    assert_eq!(error(line(8192)), "`flash` has 10KiB, less than two lines of 8KiB");
    assert_eq!(error(line(65536)), "`line` is 64KiB, more than the 32KiB of the backing device");
    let around = FlashCacheSettings { write: WriteHandling::WriteAround, ..base.clone() };
    assert_eq!(error(around), "`role = \"unified\"` and `write = \"write-around\"` contradict each other");
    let unknown = FlashCacheSettings { policy: Choice::named("lrv"), ..base.clone() };
    assert!(error(unknown).contains("lrv"));
    let log = FlashCacheEngine::new(&FlashCacheSettings { slots: SlotOrder::Log, ..base.clone() }).unwrap_err();
    assert_eq!(
        log.to_string(),
        "`slots = \"log\"` lets lines leave in the order in which they came in, and `policy = \"lru\"` does not"
    );
    assert_eq!(log.hint().unwrap(), "leave `slots` out, or use policy = \"fifo\"");
    let through =
        FlashCacheSettings { write: WriteHandling::WriteThrough, slots: SlotOrder::AppendOnly, ..base.clone() };
    assert_eq!(
        error(through),
        "`slots = \"append-only\"` changes nothing where it is, and `write = \"write-through\"` does"
    );
    let admission = FlashCacheSettings { admission: Choice::named("lark"), ..base.clone() };
    assert_eq!(error(admission.clone()), "`lark` is no admission policy; did you mean `larc`?");
    assert_eq!(FlashCacheEngine::new(&admission).unwrap_err().keys(), ["admission"]);
    let marks = FlashCacheSettings { dirty_low: Ratio::percent(70), ..base };
    assert!(error(marks).starts_with("`dirty_low` is 70%, more than the mark"));
}

/// A map that contradicts itself or the settings is refused.
#[test]
fn impossible_maps_are_refused() {
    let settings = settings(5, 16, CacheRole::Unified, WriteHandling::WriteBack);
    let cached = |line, slot| FlashCacheRecord::Cached {
        line: crate::LogicalExtent(line),
        slot: crate::PhysicalExtent(slot),
        dirty: false,
    };
    let error = |records: &[FlashCacheRecord]| {
        let mut journal = records.iter().map(|&record| record.into());
        restore(&settings, &Checkpoint::default(), &mut journal).unwrap_err()
    };
    assert_eq!(error(&[cached(16, 0)]), FlashCacheError::NoLine(16));
    assert_eq!(error(&[cached(0, 5)]), FlashCacheError::NoSlot(5));
    assert_eq!(error(&[cached(0, 0), cached(1, 0)]), FlashCacheError::Twice { line: 1, slot: 0 });
    let freed = crate::PlacementRecord::Freed { extent: crate::LogicalExtent(0) };
    let mut journal = std::iter::once(freed.into());
    let error = restore(&settings, &Checkpoint::default(), &mut journal).unwrap_err();
    assert_eq!(error.to_string(), "a record is one of placement, not of a flash cache");
}
