//! Devices that refuse writes, cannot be read, fail, are missing or are removed, as single cases.

use super::*;

/// Performs all of `effects` and all that follow from them; `end` answers each request to a device. Returns the replies
/// to the host, and the reports on drains.
fn run(
    engine: &mut PlacementEngine,
    mut now: Nanos,
    mut effects: Vec<Effect>,
    mut end: impl FnMut(DeviceIndex, &Request) -> Result<(), DeviceError>,
) -> Vec<Effect> {
    let mut told = Vec::new();
    let mut steps = 0;
    while !effects.is_empty() {
        // Timers come when nothing else is left to do.
        let next = effects.iter().position(|effect| !matches!(effect, Effect::WakeAt(_))).unwrap_or(0);
        let input = match effects.remove(next) {
            Effect::Io { io, device, request, .. } => {
                steps += 1;
                assert!(steps < 1000, "it never ends");
                Input::Done { io, at: now, result: end(device, &request) }
            }
            Effect::Harden { through } => Input::Durable { through },
            Effect::WakeAt(at) => {
                now = now.max(at);
                Input::Timer
            }
            Effect::Record { .. } => continue,
            other => {
                told.push(other);
                continue;
            }
        };
        engine.on(now, input, &mut effects);
    }
    told
}

fn reply(slot: u32, result: Result<(), DeviceError>) -> Effect {
    Effect::Reply { tag: Tag::new(slot, 0), result }
}

fn write(extent: u64) -> Request {
    Request::write(Lba(extent * EXTENT), Bytes(EXTENT * 512))
}

fn reshape(engine: &mut PlacementEngine, reshape: Reshape) -> Result<Vec<Effect>, ReshapeError> {
    let mut effects = Vec::new();
    engine.reshape(Nanos::ZERO, reshape, &mut effects).map(|()| effects)
}

const FIRST: DeviceIndex = DeviceIndex(0);
const SECOND: DeviceIndex = DeviceIndex(1);

/// An engine with an extent of data on each of two devices: extent 0 on the first, extent 1 on the second.
fn with_data(devices: &[u64]) -> PlacementEngine {
    let mut engine = PlacementEngine::new(&settings(devices, "[1, 1]")).unwrap();
    for extent in 0..2 {
        let effects = on(&mut engine, host(0, write(extent)));
        assert_eq!(run(&mut engine, Nanos::ZERO, effects, |_, _| Ok(())), [reply(0, Ok(()))]);
    }
    let effects = on(&mut engine, host(0, FLUSH));
    assert_eq!(run(&mut engine, Nanos::ZERO, effects, |_, _| Ok(())), [reply(0, Ok(()))]);
    engine
}

/// All new data go to the other device, and so do data that were refused, whether they were under way or not.
#[test]
fn a_device_that_refuses_writes_costs_the_host_no_write_while_another_has_room() {
    for error in [DeviceError::NoSpace, DeviceError::ReadOnly] {
        let mut engine = PlacementEngine::new(&settings(&[40 * EXTENT, 40 * EXTENT], "[1, 1]")).unwrap();
        let mut sent = [0, 0];
        let mut effects = Vec::new();
        for slot in 0..40 {
            // Half of the writes are under way together; some write two halves of an extent.
            let half = Request::write(Lba(u64::from(slot) * EXTENT / 2), Bytes(EXTENT * 256));
            effects.extend(on(&mut engine, host(slot, half)));
            if slot < 20 {
                continue;
            }
            let told = run(&mut engine, Nanos::ZERO, std::mem::take(&mut effects), |device, _| {
                sent[usize::from(device.0)] += 1;
                if device == FIRST { Err(error) } else { Ok(()) }
            });
            assert!(told.iter().all(|told| matches!(told, Effect::Reply { result: Ok(()), .. })), "{told:?}");
        }
        assert!(sent[0] <= 20 && sent[1] == 40, "{sent:?}");
        assert_eq!(engine.device_state(FIRST), DeviceState::ReadOnly);
        assert_eq!((engine.map.mapped(0), engine.map.mapped(1)), (0, 20));
        engine.check();
    }
}

/// The host is told where the first error is: in its own request, not in the part that failed.
#[test]
fn an_error_says_where_it_is() {
    let mut engine = with_data(&[64, 64]);
    let read = Request::read(Lba(EXTENT / 2), Bytes(EXTENT * 512));
    let medium = |at| Err(DeviceError::Medium { at: Bytes(at) });
    for (errors, place) in [([None, Some(512)], EXTENT / 2 * 512 + 512), ([Some(1024), Some(0)], 1024)] {
        let effects = on(&mut engine, host(0, read));
        let told =
            run(&mut engine, Nanos::ZERO, effects, |device, _| errors[usize::from(device.0)].map_or(Ok(()), medium));
        assert_eq!(told, [reply(0, medium(place))]);
    }
    // A first write is filled up to whole blocks: the second sector of what is sent is the host's first.
    let effects = on(&mut engine, host(0, Request::write(Lba(2 * EXTENT + 1), Bytes(1024))));
    let told = run(&mut engine, Nanos::ZERO, effects, |_, request| {
        assert_eq!(request.length, Bytes::kib(4));
        medium(1024)
    });
    assert_eq!(told, [reply(0, medium(512))]);
}

#[test]
fn what_is_refused_everywhere_is_told_to_the_host() {
    let mut engine = engine();
    let effects = on(&mut engine, host(0, write(0)));
    let told = run(&mut engine, Nanos::ZERO, effects, |_, _| Err(DeviceError::NoSpace));
    assert_eq!(told, [reply(0, Err(DeviceError::NoSpace))]);
    // A device that has grown is tried again.
    let grow = Reshape::Grow { device: FIRST, capacity: Bytes(80 * EXTENT * 512) };
    let effects = reshape(&mut engine, grow).unwrap();
    assert!(effects.is_empty());
    let effects = on(&mut engine, host(0, write(0)));
    assert_eq!(run(&mut engine, Nanos::ZERO, effects, |_, _| Ok(())), [reply(0, Ok(()))]);
}

/// A write to a part of an extent on a full device goes elsewhere with the rest, under a policy that redirects nothing.
/// If no device takes it, the host is told; no device is asked twice.
#[test]
fn a_part_of_an_extent_leaves_a_full_device_with_the_rest() {
    for (full, sent, result) in [(vec![FIRST], 3, Ok(())), (vec![FIRST, SECOND], 3, Err(DeviceError::NoSpace))] {
        let mut engine = with_data(&[64, 64]);
        let effects = on(&mut engine, host(0, Request::write(Lba(0), Bytes(512))));
        let mut requests = Vec::new();
        let told = run(&mut engine, Nanos::ZERO, effects, |device, request| {
            requests.push((device, request.kind.is_write(), request.length.0));
            let is_refused = request.kind.is_write() && full.contains(&device);
            if is_refused { Err(DeviceError::NoSpace) } else { Ok(()) }
        });
        assert_eq!(told.last(), Some(&reply(0, result)));
        let expected = [(FIRST, true, 512), (FIRST, false, EXTENT * 512), (SECOND, true, EXTENT * 512)];
        assert_eq!(requests[..sent], expected, "{requests:?}");
        assert!(requests[sent..].iter().all(|(_, is_write, _)| !is_write), "{requests:?}");
        engine.check();
    }
}

/// The rest of the extent cannot be read on the device that refuses writes.
#[test]
fn a_part_of_an_extent_stays_where_the_rest_cannot_be_read() {
    let mut engine = with_data(&[64, 64]);
    let effects = on(&mut engine, host(0, Request::write(Lba(0), Bytes(512))));
    let mut sent = 0;
    let told = run(&mut engine, Nanos::ZERO, effects, |_, request| {
        sent += 1;
        Err(if request.kind.is_write() { DeviceError::ReadOnly } else { DeviceError::MEDIUM })
    });
    assert_eq!((told, sent), (vec![reply(0, Err(DeviceError::ReadOnly))], 2));
    engine.check();
}

#[test]
fn a_drain_that_cannot_read_pauses_says_so_and_ends_when_the_host_replaces_the_data() {
    let mut engine = with_data(&[64, 64]);
    let mut reads = 0;
    let effects = reshape(&mut engine, Reshape::Drain { device: FIRST }).unwrap();
    let told = run(&mut engine, Nanos::ZERO, effects, |device, request| {
        let unreadable = device == FIRST && request.kind == RequestKind::Read;
        reads += u32::from(unreadable);
        if unreadable { Err(DeviceError::MEDIUM) } else { Ok(()) }
    });
    assert_eq!(told, [Effect::DrainStuck { device: FIRST, extents: 1, first: LogicalExtent(0) }]);
    assert_eq!(reads, 4, "one for each attempt");
    assert_eq!(
        reshape(&mut engine, Reshape::Remove { device: FIRST }),
        Err(ReshapeError::NotDrained { device: 0, extents: 1 })
    );
    // The engine goes on with other requests, and does not try again by itself.
    let effects = on(&mut engine, host(0, Request::read(Lba(EXTENT), Bytes(512))));
    assert_eq!(run(&mut engine, Nanos::ZERO, effects, |_, _| Ok(())), [reply(0, Ok(()))]);
    // Written as a whole, the extent goes elsewhere.
    let effects = on(&mut engine, host(0, write(0)));
    let mut told = run(&mut engine, Nanos::ZERO, effects, |device, request| {
        assert!(device == SECOND || request.kind == RequestKind::Trim);
        Ok(())
    });
    let effects = on(&mut engine, host(0, FLUSH));
    told.extend(run(&mut engine, Nanos::ZERO, effects, |_, _| Ok(())));
    assert!(told.contains(&Effect::Drained(FIRST)), "{told:?}");
}

/// Drivers keep one timer: a timer that comes for the policy must not end a drain's pause.
#[test]
fn a_drain_asks_again_for_its_timer() {
    let mut engine = with_data(&[64, 64]);
    let mut effects = reshape(&mut engine, Reshape::Drain { device: FIRST }).unwrap();
    let [(io, ..)] = ios(&effects)[..] else { panic!("one read: {effects:?}") };
    effects.clear();
    engine.on(Nanos::ZERO, Input::Done { io, at: Nanos::ZERO, result: Err(DeviceError::MEDIUM) }, &mut effects);
    let waits = Effect::WakeAt(Nanos::from_millis(500));
    assert!(effects.contains(&waits), "{effects:?}");
    effects.clear();
    engine.on(Nanos::from_millis(100), Input::Timer, &mut effects);
    assert_eq!(effects, [waits]);
    effects.clear();
    engine.on(Nanos::from_millis(500), Input::Timer, &mut effects);
    assert_eq!(ios(&effects).len(), 1, "it reads again");
}

#[test]
fn a_drain_tries_again_what_the_host_has_written_in_part() {
    let mut engine = with_data(&[64, 64]);
    let effects = reshape(&mut engine, Reshape::Drain { device: FIRST }).unwrap();
    run(&mut engine, Nanos::ZERO, effects, |_, request| match request.kind {
        RequestKind::Read => Err(DeviceError::MEDIUM),
        _ => Ok(()),
    });
    let effects = on(&mut engine, host(0, Request::write(Lba(0), Bytes(512))));
    let told = run(&mut engine, Nanos::ZERO, effects, |_, _| Ok(()));
    assert_eq!(told, [reply(0, Ok(())), Effect::Drained(FIRST)]);
}

/// A device whose flush has failed is drained and removed: from then on flushes succeed again, and nothing is sent to
/// it.
#[test]
fn a_failed_device_that_still_reads_is_emptied_and_removed() {
    let mut engine = with_data(&[64, 64]);
    let effects = on(&mut engine, host(0, Request::write(Lba(0), Bytes(512))));
    run(&mut engine, Nanos::ZERO, effects, |_, _| Ok(()));
    let effects = on(&mut engine, host(0, FLUSH));
    let told = run(
        &mut engine,
        Nanos::ZERO,
        effects,
        |device, _| {
            if device == FIRST { Err(DeviceError::MEDIUM) } else { Ok(()) }
        },
    );
    assert_eq!(told, [reply(0, Err(DeviceError::MEDIUM))]);
    let effects = reshape(&mut engine, Reshape::Drain { device: FIRST }).unwrap();
    let told = run(&mut engine, Nanos::ZERO, effects, |device, request| {
        assert!(device == SECOND || request.kind == RequestKind::Read, "{request:?}");
        Ok(())
    });
    assert_eq!(told, [Effect::Drained(FIRST)]);
    let effects = on(&mut engine, host(0, FLUSH));
    assert_eq!(run(&mut engine, Nanos::ZERO, effects, |_, _| Ok(())), [reply(0, Err(DeviceError::Failed))]);
    assert_eq!(reshape(&mut engine, Reshape::Remove { device: FIRST }), Ok(Vec::new()));
    assert_eq!(engine.state(), DeviceState::Online);
    for extent in 0..4 {
        let effects = on(&mut engine, host(0, write(extent)));
        let told = run(&mut engine, Nanos::ZERO, effects, |device, _| {
            assert_eq!(device, SECOND);
            Ok(())
        });
        assert_eq!(told, [reply(0, Ok(()))]);
    }
    let effects = on(&mut engine, host(0, FLUSH));
    assert_eq!(run(&mut engine, Nanos::ZERO, effects, |_, _| Ok(())), [reply(0, Ok(()))]);
    assert_eq!(reshape(&mut engine, Reshape::Keep { device: FIRST }), Err(ReshapeError::Removed(0)));
    // Old records mention its places; an engine that is restored is told that it was removed.
    let settings = settings(&[64, 64], "[1, 1]");
    let checkpoint = Checkpoint::of(&mut engine);
    let restored = restore(&settings, &checkpoint, &mut std::iter::empty()).unwrap();
    let restored = restored.with_removed(FIRST).unwrap();
    assert_eq!((restored.state(), restored.map.mapped(1)), (DeviceState::Online, 4));
    assert!(restored.with_removed(SECOND).is_err(), "data lie there");
}

#[test]
fn a_volume_without_one_of_its_devices_serves_the_rest() {
    let mut engine = with_data(&[64, 64]);
    let settings = settings(&[64, 64], "[1, 1]");
    let checkpoint = Checkpoint::of(&mut engine);
    let restored = restore(&settings, &checkpoint, &mut std::iter::empty()).unwrap();
    let mut engine = restored.without(FIRST);
    assert_eq!(engine.state(), DeviceState::Failed);
    let mut ask = |request| {
        let effects = on(&mut engine, host(0, request));
        run(&mut engine, Nanos::ZERO, effects, |device, _| {
            assert_eq!(device, SECOND, "nothing is sent to what is not there");
            Ok(())
        })
    };
    let (sector, failed) = (Bytes(512), [reply(0, Err(DeviceError::Failed))]);
    assert_eq!(ask(Request::read(Lba(0), sector)), failed);
    assert_eq!(ask(Request::read(Lba(EXTENT), sector)), [reply(0, Ok(()))]);
    assert_eq!(ask(Request::write(Lba(0), sector)), failed, "the rest of the extent is missing");
    assert_eq!(ask(write(2)), [reply(0, Ok(()))]);
    assert_eq!(ask(FLUSH), [reply(0, Ok(()))], "nothing was written to it");
    let effects = reshape(&mut engine, Reshape::Drain { device: FIRST }).unwrap();
    assert_eq!(effects, [Effect::DrainStuck { device: FIRST, extents: 1, first: LogicalExtent(0) }]);
    // Lost extents can be replaced as a whole.
    let effects = on(&mut engine, host(0, write(0)));
    let mut told = run(&mut engine, Nanos::ZERO, effects, |_, _| Ok(()));
    let effects = on(&mut engine, host(0, FLUSH));
    told.extend(run(&mut engine, Nanos::ZERO, effects, |_, _| Ok(())));
    assert!(told.contains(&Effect::Drained(FIRST)), "{told:?}");
}
