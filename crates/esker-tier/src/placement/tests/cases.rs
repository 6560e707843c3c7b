//! Flushes, failures, full devices and broken maps, as single cases.

use esker_core::Telemetry;

use super::*;
use crate::engine::RecordNumber;
use crate::extent::{BlockRange, PhysicalExtent};

/// A flush goes to the written device, then to the journal, then the host is answered. If there is nothing new to
/// record, there is only the flush of the device.
#[test]
fn a_flush_goes_to_written_devices_only_and_hardens_only_new_records() {
    let mut engine = engine();
    let reply = |slot| Effect::Reply { tag: Tag::new(slot, 0), result: Ok(()) };
    assert_eq!(on(&mut engine, host(0, FLUSH)), [reply(0)], "nothing written, nothing to do");
    for round in 0..2 {
        let [(io, DeviceIndex(1), _)] = ios(&on(&mut engine, host(0, Request::write(Lba(EXTENT), Bytes(512)))))[..]
        else {
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
        let parts = ios(&on(&mut engine, host(0, Request::write(Lba(8), Bytes(512 * 40)))));
        assert_eq!(parts.len(), 3);
        let results = [Ok(()), Err(DeviceError::MEDIUM), Err(DeviceError::Unsupported)];
        let mut effects = Vec::new();
        for part in order {
            effects = on(&mut engine, Input::Done { io: parts[part].0, at: Nanos::ZERO, result: results[part] });
        }
        let tag = Tag::new(0, 0);
        // The second part begins after the eight sectors of the first.
        let at = Bytes(8 * 512);
        assert_eq!(effects, [Effect::Reply { tag, result: Err(DeviceError::Medium { at }) }]);
    }
}

/// The data of a failed flush are lost, so no later flush may succeed, nor one that was under way.
#[test]
fn a_failed_flush_is_told_to_everyone_who_waited_and_to_all_who_come_later() {
    let mut engine = engine();
    let [(io, ..)] = ios(&on(&mut engine, host(0, Request::write(Lba(0), Bytes(512)))))[..] else { panic!() };
    on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) });
    let [(flush, ..)] = ios(&on(&mut engine, host(1, FLUSH)))[..] else { panic!() };
    assert!(on(&mut engine, host(2, FLUSH)).is_empty(), "the second joins the first");
    let effects = on(&mut engine, Input::Done { io: flush, at: Nanos::ZERO, result: Err(DeviceError::MEDIUM) });
    let reply = |slot| Effect::Reply { tag: Tag::new(slot, 0), result: Err(DeviceError::MEDIUM) };
    assert_eq!(effects, [reply(1), reply(2)]);
    let failed = |slot| [Effect::Reply { tag: Tag::new(slot, 0), result: Err(DeviceError::Failed) }];
    assert_eq!(on(&mut engine, host(1, FLUSH)), failed(1));
    assert_eq!((engine.device_state(DeviceIndex(0)), engine.state()), (DeviceState::Failed, DeviceState::Failed));
    assert_eq!(Checkpoint::of(&mut engine), Checkpoint::default(), "no record speaks of what was lost");
}

/// 32 hosts write and flush: a device has one flush under way, and all who ask during it share the next one. The
/// records of the data that become durable are hardened together.
#[test]
fn flushes_that_come_together_are_one_at_a_time_on_a_device() {
    let mut engine = engine();
    let write = |slot: u32| Request::write(Lba(u64::from(slot % 2) * 2 * EXTENT), Bytes(512));
    let mut flushes = Vec::new();
    for slot in 0..32 {
        let [(io, ..)] = ios(&on(&mut engine, host(slot, write(slot))))[..] else { panic!("one write") };
        on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) });
        flushes.extend(ios(&on(&mut engine, host(slot, FLUSH))));
    }
    let [(first, DeviceIndex(0), _)] = flushes[..] else { panic!("{flushes:?}") };
    let effects = on(&mut engine, Input::Done { io: first, at: Nanos::ZERO, result: Ok(()) });
    let [(second, DeviceIndex(0), FLUSH)] = ios(&effects)[..] else { panic!("{effects:?}") };
    let hardens = |effects: &[Effect]| -> Vec<RecordNumber> {
        let through = |effect: &Effect| match effect {
            Effect::Harden { through } => Some(*through),
            _ => None,
        };
        effects.iter().filter_map(through).collect()
    };
    let [through] = hardens(&effects)[..] else { panic!("{effects:?}") };
    let effects = on(&mut engine, Input::Done { io: second, at: Nanos::ZERO, result: Ok(()) });
    assert_eq!((ios(&effects).len(), hardens(&effects).len()), (0, 0), "one harden at a time: {effects:?}");
    let effects = on(&mut engine, Input::Durable { through });
    let [rest] = hardens(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!(effects.len(), 2, "the first host is answered: {effects:?}");
    let answered = on(&mut engine, Input::Durable { through: rest });
    assert_eq!(answered.len(), 31);
    engine.check();
}

/// A host that waits for the flush after a failed one is told of the failure: a success would promise data that the
/// earlier flush has lost.
#[test]
fn a_flush_that_waits_behind_a_failed_one_fails_with_it() {
    let mut engine = engine();
    let flush = |engine: &mut PlacementEngine, slot| {
        let [(io, ..)] = ios(&on(engine, host(slot, Request::write(Lba(0), Bytes(512)))))[..] else {
            panic!("a write")
        };
        on(engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) });
        on(engine, host(slot, FLUSH))
    };
    let [(io, ..)] = ios(&flush(&mut engine, 0))[..] else { panic!("a flush") };
    assert_eq!(flush(&mut engine, 1), []);
    let effects = on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Err(DeviceError::MEDIUM) });
    let reply = |slot| Effect::Reply { tag: Tag::new(slot, 0), result: Err(DeviceError::MEDIUM) };
    assert_eq!(effects, [reply(0), reply(1)]);
}

/// Device 0 fails a flush: what happens to all other requests.
#[test]
fn a_failed_device_serves_reads_only() {
    let mut engine = engine();
    let failed = |slot| Effect::Reply { tag: Tag::new(slot, 0), result: Err(DeviceError::Failed) };
    let reply = |slot| Effect::Reply { tag: Tag::new(slot, 0), result: Ok(()) };
    // Extents 0 and 2 lie on device 0, 1 and 3 on device 1.
    let sector = |kind, extent: u64| Request::new(kind, Lba(extent * EXTENT), Bytes(512));
    let write = |fua, extent| sector(RequestKind::Write { fua }, extent);
    let send = |engine: &mut PlacementEngine, slot, request| ios(&on(engine, host(slot, request)))[0].0;
    let io = send(&mut engine, 0, write(true, 0));
    let effects = on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) });
    assert_eq!(effects.last(), Some(&Effect::Harden { through: RecordNumber(1) }));
    assert_eq!(on(&mut engine, Input::Durable { through: RecordNumber(1) }), [reply(0)]);
    for slot in 0..2 {
        let io = send(&mut engine, slot, write(false, u64::from(slot)));
        assert_eq!(on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) }), [reply(slot)]);
    }
    let flush = ios(&on(&mut engine, host(9, FLUSH)));
    let [(flush_0, DeviceIndex(0), _), (flush_1, DeviceIndex(1), _)] = flush[..] else { panic!("{flush:?}") };
    let plain = send(&mut engine, 2, write(false, 0));
    let durable = send(&mut engine, 3, write(true, 2));
    assert!(on(&mut engine, Input::Done { io: flush_0, at: Nanos::ZERO, result: Err(DeviceError::MEDIUM) }).is_empty());
    // Requests that were under way there end after the failure, and do not count as successful.
    assert_eq!(on(&mut engine, Input::Done { io: durable, at: Nanos::ZERO, result: Ok(()) }), [failed(3)]);
    assert_eq!(on(&mut engine, Input::Done { io: plain, at: Nanos::ZERO, result: Ok(()) }), [failed(2)]);
    // The flush of the other device makes its data durable. The host's flush fails all the same.
    let effects = on(&mut engine, Input::Done { io: flush_1, at: Nanos::ZERO, result: Ok(()) });
    let Effect::Record { record, .. } = effects[0] else { panic!("{effects:?}") };
    let record = PlacementRecord::try_from(record).unwrap();
    assert!(matches!(record, PlacementRecord::Mapped { extent: LogicalExtent(1), .. }), "{record:?}");
    let tag = Tag::new(9, 0);
    assert_eq!(effects[1..], [Effect::Reply { tag, result: Err(DeviceError::MEDIUM) }]);
    for (slot, request) in [
        (4, write(false, 0)),
        (5, sector(RequestKind::Trim, 0)),
        (6, sector(RequestKind::WriteZeroes { fua: true }, 0)),
        (7, FLUSH),
    ] {
        assert_eq!(on(&mut engine, host(slot, request)), [failed(slot)]);
    }
    // A device that reports that it is healthy again stays failed until the engine is restored.
    on(&mut engine, Input::Device { device: DeviceIndex(0), telemetry: Telemetry::default() });
    assert_eq!(on(&mut engine, host(7, FLUSH)), [failed(7)]);
    let read = send(&mut engine, 4, sector(RequestKind::Read, 0));
    assert_eq!(on(&mut engine, Input::Done { io: read, at: Nanos::ZERO, result: Ok(()) }), [reply(4)]);
    // New extents go to the other device, where a durable write still succeeds.
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
        (write(true), DeviceError::MEDIUM, DeviceState::Failed),
        (write(true), DeviceError::NoSpace, DeviceState::ReadOnly),
        (write(true), DeviceError::Unsupported, DeviceState::Online),
        (write(false), DeviceError::MEDIUM, DeviceState::Online),
        (write(false), DeviceError::Interrupted, DeviceState::Failed),
        (RequestKind::Read, DeviceError::MEDIUM, DeviceState::Online),
    ] {
        let mut engine = engine();
        engine.fill(Ratio::ONE);
        let [(io, ..)] = ios(&on(&mut engine, host(0, Request::new(kind, Lba(0), Bytes(512)))))[..] else { panic!() };
        let reply = Effect::Reply { tag: Tag::new(0, 0), result: Err(error) };
        assert_eq!(on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Err(error) }), [reply]);
        assert_eq!(engine.state(), state, "{kind:?}: {error}");
    }
}

#[test]
fn a_failed_journal_fails_who_waits_and_everything_but_reads() {
    let mut engine = engine();
    let reply = |slot, result| Effect::Reply { tag: Tag::new(slot, 0), result };
    let write = Request::new(RequestKind::Write { fua: true }, Lba(0), Bytes(512));
    let [(io, ..)] = ios(&on(&mut engine, host(0, write)))[..] else { panic!() };
    on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) });
    let [(late, ..)] = ios(&on(&mut engine, host(1, Request::write(Lba(EXTENT), Bytes(512)))))[..] else { panic!() };
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

/// A full device, or one that takes no writes, passes its share on to another. If all are full, the request fails with
/// that error.
#[test]
fn fresh_extents_go_where_there_is_room() {
    let mut engine = PlacementEngine::new(&settings(&[32, 64], "[1, 1]")).unwrap();
    let telemetry = Telemetry { state: DeviceState::ReadOnly, ..Telemetry::default() };
    on(&mut engine, Input::Device { device: DeviceIndex(0), telemetry });
    let write = |extent: u64| Request::write(Lba(extent * EXTENT), Bytes(512));
    for extent in 0..4 {
        assert_eq!(ios(&on(&mut engine, host(extent as u32, write(extent))))[0].1, DeviceIndex(1));
    }
    let effects = on(&mut engine, host(9, write(4)));
    assert_eq!(effects, [Effect::Reply { tag: Tag::new(9, 0), result: Err(DeviceError::NoSpace) }]);
    on(&mut engine, Input::Device { device: DeviceIndex(0), telemetry: Telemetry::default() });
    assert_eq!(ios(&on(&mut engine, host(9, write(4))))[0].1, DeviceIndex(0));
    engine.check();
}

#[test]
fn neighbours_on_one_device_are_one_request() {
    let mut engine = PlacementEngine::new(&settings(&[128], "[1]")).unwrap();
    engine.fill(Ratio::ONE);
    let parts = ios(&on(&mut engine, host(0, Request::read(Lba(3), Bytes(512 * 20)))));
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0].2, Request::read(Lba(3), Bytes(512 * 20)));
}

#[test]
fn a_map_that_contradicts_itself_is_refused() {
    let settings = settings(&[64, 64], "[1, 1]");
    let place = |device, extent| ExtentPlace { device: DeviceIndex(device), extent: PhysicalExtent(extent) };
    let mapped = |extent, place| PlacementRecord::Mapped {
        extent: LogicalExtent(extent),
        place,
        blocks: BlockRange { first: 0, count: 2 },
    };
    let restore = |records: &[PlacementRecord]| {
        let mut journal = records.iter().map(|&record| record.into());
        restore(&settings, &Checkpoint::default(), &mut journal).err()
    };
    assert_eq!(restore(&[mapped(8, place(0, 0))]), Some(RestoreError::Extent(8)));
    assert_eq!(restore(&[mapped(0, place(2, 0))]), Some(RestoreError::Place { device: 2, extent: 0 }));
    assert_eq!(restore(&[mapped(0, place(1, 4))]), Some(RestoreError::Place { device: 1, extent: 4 }));
    let twice = Some(RestoreError::Twice { device: 1, extent: 3 });
    assert_eq!(restore(&[mapped(0, place(1, 3)), mapped(1, place(1, 3))]), twice);
    assert_eq!(restore(&[mapped(0, place(1, 2)), mapped(0, place(1, 3))]), twice);
    let written = PlacementRecord::Written { extent: LogicalExtent(0), blocks: BlockRange { first: 1, count: 2 } };
    assert_eq!(restore(&[written]), Some(RestoreError::Absent(0)));
    let past_the_end = Some(RestoreError::Blocks { extent: 0, first: 1, count: 2 });
    assert_eq!(restore(&[mapped(0, place(0, 0)), written]), past_the_end);
}

#[test]
fn impossible_settings_say_what_is_wrong() {
    let error = |settings: &PlacementSettings| PlacementEngine::new(settings).unwrap_err().to_string();
    let mut odd = settings(&[64, 64], "[1, 1]");
    odd.extent = Bytes(1000);
    assert_eq!(error(&odd), "`extent` is 1kB; it has to be a multiple of 4KiB, or 512B, 1KiB or 2KiB");
    assert_eq!(error(&settings(&[64, 15], "[1, 1]")), "device 1 holds 7680B, less than one `extent` of 8KiB");
    let mut vast = settings(&[64, 64], "[1, 1]");
    vast.devices[1] = Bytes(1 << 50);
    assert_eq!(
        error(&vast),
        "the devices hold 137438953476 pieces of one `extent` of 8KiB, more than 2^26 (a map of 1.3 GiB)"
    );
    assert_eq!(error(&settings(&[], "[]")), "there are 0 devices; an engine takes 1 to 1024");
    assert_eq!(error(&settings(&[64], "[1, 1]")), "weights: `weights` has 2 entries for 1 devices");
    assert_eq!(error(&settings(&[64], "[0]")), "weights: `weights` are all zero");
}

/// With a host that never flushes, the number of records that wait for a flush stays bounded, and so does the number
/// that one step issues.
#[test]
fn first_writes_that_nobody_flushes_are_flushed_by_the_engine() {
    const LIMIT: usize = crate::placement::records::FIRST_WRITES_MAX;
    let extents = 3 * LIMIT as u64;
    let mut engine = PlacementEngine::new(&settings(&[extents * EXTENT, EXTENT], "[1, 0]")).unwrap();
    let (mut flushes, mut records) = (0, 0);
    for extent in 0..extents {
        let request = Request::write(Lba(extent * EXTENT), Bytes(512));
        let [(io, ..)] = ios(&on(&mut engine, host(0, request)))[..] else { panic!("one write") };
        let effects = on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) });
        let Some(&(io, device, request)) = ios(&effects).first() else { continue };
        assert_eq!((device, request.kind), (DeviceIndex(0), RequestKind::Flush));
        flushes += 1;
        let effects = on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) });
        let issued = effects.iter().filter(|effect| matches!(effect, Effect::Record { .. })).count();
        let Some(Effect::Harden { through }) = effects.last() else { panic!("{:?}", effects.last()) };
        on(&mut engine, Input::Durable { through: *through });
        assert!(issued <= LIMIT, "{issued} records in one step");
        records += issued;
    }
    assert_eq!((flushes, records), (3, 3 * LIMIT));
}
