//! Merged writes, as single cases.

use super::redirects::SecondDevicePolicy;
use super::*;
use crate::engine::{BackgroundSettings, BufferPlace, BufferStep, LiveSettings};

const FIRST: DeviceIndex = DeviceIndex(0);
const SECOND: DeviceIndex = DeviceIndex(1);

/// An engine with one extent of data on the first device, whose policy wants all writes on the second.
fn merging() -> PlacementEngine {
    let mut engine = engine().with_policy(Box::new(SecondDevicePolicy { merges: true }));
    let effects = on(&mut engine, host(0, Request::write(Lba(0), Bytes(512 * EXTENT))));
    let [(io, FIRST, _)] = ios(&effects)[..] else { panic!("{effects:?}") };
    done(&mut engine, io, Ok(()));
    engine
}

fn done(engine: &mut PlacementEngine, io: IoId, result: Result<(), DeviceError>) -> Vec<Effect> {
    on(engine, Input::Done { io, at: Nanos::ZERO, result })
}

fn reply(slot: u32) -> Effect {
    Effect::Reply { tag: Tag::new(slot, 0), result: Ok(()) }
}

/// The host writes the second of sixteen sectors. All are read, the second is replaced, and all are written.
#[test]
fn a_write_to_a_part_goes_with_the_rest() {
    let mut engine = merging();
    let effects = on(&mut engine, host(0, Request::write(Lba(1), Bytes(512))));
    let [(read, FIRST, Request { kind: RequestKind::Read, start: Lba(0), length, .. })] = ios(&effects)[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(length, Bytes(512 * EXTENT));
    // Reads of the extent do not wait. Writes to any part of it do.
    let effects = on(&mut engine, host(1, Request::read(Lba(0), Bytes(512))));
    assert!(matches!(ios(&effects)[..], [(_, FIRST, _)]), "{effects:?}");
    assert_eq!(on(&mut engine, host(2, Request::write(Lba(8), Bytes(512)))), []);
    let effects = done(&mut engine, read, Ok(()));
    let buffer = BufferId::Copy(24);
    let from = BufferPlace::new(BufferId::Host(Tag::new(0, 0)), Bytes::ZERO);
    let step = BufferStep::Copy { from, into: BufferPlace::new(buffer, Bytes(512)), length: Bytes(512) };
    assert_eq!(effects[0], Effect::Buffer(step));
    let Effect::Io { io, device: SECOND, request, data, .. } = effects[1] else { panic!("{effects:?}") };
    assert_eq!((request.start, request.length), (Lba(0), Bytes(512 * EXTENT)));
    assert_eq!(data, Some(DataRef::new(buffer, Bytes::ZERO)));
    let effects = done(&mut engine, io, Ok(()));
    assert!(effects.contains(&reply(0)), "{effects:?}");
    assert!(ios(&effects).iter().any(|(_, device, request)| (*device, request.start) == (SECOND, Lba(8))));
    let PlacementReport { redirected_writes, merged_writes, merged_bytes, .. } = engine.moved_now();
    assert_eq!((redirected_writes, merged_writes, merged_bytes), (1, 1, 512 * (EXTENT - 1)));
    engine.check();
}

/// What lies before the host's bytes may be more than 4 GiB.
#[test]
fn a_write_far_into_a_large_extent_goes_where_it_belongs() {
    const SECTORS: u64 = 16 << 21;
    let engine = PlacementEngine::new(&settings_of(SECTORS, &[4 * SECTORS; 2], "[1, 1]")).unwrap();
    let mut engine = engine.with_policy(Box::new(SecondDevicePolicy { merges: true }));
    let effects = on(&mut engine, host(0, Request::write(Lba(0), Bytes(512 * SECTORS))));
    let [(io, FIRST, _)] = ios(&effects)[..] else { panic!("{effects:?}") };
    done(&mut engine, io, Ok(()));
    let at = 10 << 21;
    let effects = on(&mut engine, host(0, Request::write(Lba(at), Bytes(512))));
    let [(read, FIRST, _)] = ios(&effects)[..] else { panic!("{effects:?}") };
    let effects = done(&mut engine, read, Ok(()));
    let Effect::Buffer(BufferStep::Copy { into, length, .. }) = effects[0] else { panic!("{effects:?}") };
    assert_eq!((into.offset, length), (Bytes(512 * at), Bytes(512)));
}

/// Only what the write leaves is read: here the second of two blocks, because the first is replaced.
#[test]
fn what_the_write_replaces_is_not_read() {
    let mut engine = merging();
    let effects = on(&mut engine, host(0, Request::write(Lba(0), Bytes(512 * 9))));
    let [(io, FIRST, Request { start: Lba(8), length: Bytes(4096), .. })] = ios(&effects)[..] else {
        panic!("{effects:?}")
    };
    let effects = done(&mut engine, io, Ok(()));
    let [(_, SECOND, Request { start: Lba(0), length, .. })] = ios(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!(length, Bytes(512 * EXTENT));
}

/// The rest cannot be read, or the other device takes no writes by then, or none of its extents: the host's write goes
/// where the extent is, alone, and the place on the other device is free again.
#[test]
fn a_merge_that_cannot_be_done_becomes_a_write_to_the_old_place() {
    for case in 0..2 {
        let mut engine = merging();
        let effects = on(&mut engine, host(0, Request::write(Lba(1), Bytes(512))));
        let [(read, FIRST, _)] = ios(&effects)[..] else { panic!("{effects:?}") };
        let free = engine.map.free_extents(1);
        let result = if case == 0 { Err(DeviceError::MEDIUM) } else { Ok(()) };
        if case == 1 {
            engine.health.learn(SECOND, DeviceState::ReadOnly);
        }
        let effects = done(&mut engine, read, result);
        let [(io, FIRST, Request { start: Lba(1), length: Bytes(512), .. })] = ios(&effects)[..] else {
            panic!("{effects:?}")
        };
        assert_eq!(engine.map.free_extents(1), free + 1);
        assert!(done(&mut engine, io, Ok(())).contains(&reply(0)));
        assert_eq!(engine.moved_now().merged_writes, 0);
        engine.check();
    }
}

/// The device of the extent fails while the rest is read: what it has read may be what an earlier extent left there.
#[test]
fn what_a_failed_device_has_read_goes_nowhere() {
    let mut engine = merging();
    let effects = on(&mut engine, host(0, Request::write(Lba(1), Bytes(512))));
    let [(read, FIRST, _)] = ios(&effects)[..] else { panic!("{effects:?}") };
    engine.health.learn(FIRST, DeviceState::Failed);
    let effects = done(&mut engine, read, Ok(()));
    assert_eq!(effects, [Effect::Reply { tag: Tag::new(0, 0), result: Err(DeviceError::Failed) }]);
    engine.check();
}

/// What is written beyond the host's data counts as moved: none while background work is paused, and no more than the
/// daily limit allows.
#[test]
fn limits_of_moves_hold_for_merges() {
    let limited = |paused, moved_bytes_per_day| {
        let mut engine = merging();
        let background = Some(BackgroundSettings { paused, moved_bytes_per_day });
        let settings = LiveSettings { background, ..LiveSettings::default() };
        engine.set(Nanos::ZERO, &settings, &mut Vec::new()).unwrap();
        let effects = on(&mut engine, host(0, Request::write(Lba(1), Bytes(512))));
        let [(.., request)] = ios(&effects)[..] else { panic!("{effects:?}") };
        request.kind == RequestKind::Read
    };
    assert!(limited(false, None) && !limited(true, None));
    // The first day has only begun.
    assert!(!limited(false, Some(Bytes(1 << 30))));
}
