//! Compares striping with an array of bytes, with child requests that end in any order and devices that fail.

mod crash;

use esker_core::{DeviceState, Rng, Telemetry};
use proptest::prelude::*;

use super::*;

const UNIT: u64 = 1024;

fn engine(devices: &[u64]) -> StripeEngine {
    let devices = devices.iter().map(|&device| Bytes(device)).collect();
    StripeEngine::new(&StripeSettings { unit: Bytes(UNIT), devices }).unwrap()
}

fn on(engine: &mut StripeEngine, input: Input) -> Vec<Effect> {
    let mut effects = Vec::new();
    engine.on(Nanos::ZERO, input, &mut effects);
    effects
}

fn done(io: IoId, result: Result<(), DeviceError>) -> Input {
    Input::Done { io, at: Nanos::ZERO, result }
}

fn host(slot: u32, request: Request) -> Input {
    Input::Host { tag: Tag::new(slot, 0), request }
}

fn reply(slot: u32, result: Result<(), DeviceError>) -> Effect {
    Effect::Reply { tag: Tag::new(slot, 0), result }
}

/// Returns the requests to devices among `effects`.
fn ios(effects: &[Effect]) -> Vec<IoId> {
    effects.iter().filter_map(|effect| if let Effect::Io { io, .. } = effect { Some(*io) } else { None }).collect()
}

/// Performs `request` on `stores`, with its child requests in random order. `buffer` is the host's.
fn perform(engine: &mut StripeEngine, stores: &mut [Vec<u8>], request: Request, buffer: &mut [u8], rng: &mut Rng) {
    let tag = Tag::new(0, 0);
    let mut effects = on(engine, Input::Host { tag, request });
    while !effects.is_empty() {
        match effects.swap_remove(rng.below(effects.len() as u64) as usize) {
            Effect::Io { io, device, request, data, .. } => {
                let mut at = request.start.byte_offset() as usize;
                for segment in data.expect("it moves data").segments(request.length) {
                    let length = segment.length.0 as usize;
                    let begin = segment.place.expect("stripes write no zeroes").offset.0 as usize;
                    let part = &mut buffer[begin..begin + length];
                    let stored = &mut stores[device.0 as usize][at..at + length];
                    match request.kind {
                        RequestKind::Read => part.copy_from_slice(stored),
                        _ => stored.copy_from_slice(part),
                    }
                    at += length;
                }
                assert_eq!(at as u64, request.end_byte());
                effects.extend(on(engine, done(io, Ok(()))));
            }
            Effect::Reply { result, .. } => assert_eq!(result, Ok(())),
            other => panic!("unexpected: {other:?}"),
        }
    }
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_written(
        devices in 1usize..5,
        requests in prop::collection::vec((any::<bool>(), 0u64..64, 1u64..40), 1..40),
        seed: u64,
    ) {
        let sizes = vec![8 * UNIT + 100; devices];
        let (mut engine, mut rng) = (engine(&sizes), Rng::new(seed));
        let mut stores: Vec<Vec<u8>> = sizes.iter().map(|&size| vec![0; size as usize]).collect();
        let mut bytes = vec![0u8; engine.capacity().0 as usize];
        prop_assert_eq!(bytes.len() as u64, 8 * UNIT * devices as u64);
        for (write, start, sectors) in requests {
            let start = start * 512 % bytes.len() as u64;
            let length = (sectors * 512).min(bytes.len() as u64 - start);
            let (start_lba, range) = (Lba::containing(start), start as usize..(start + length) as usize);
            if write {
                let mut buffer: Vec<u8> = (0..length).map(|_| rng.below(256) as u8).collect();
                perform(&mut engine, &mut stores, Request::write(start_lba, Bytes(length)), &mut buffer, &mut rng);
                bytes[range].copy_from_slice(&buffer);
            } else {
                let mut buffer = vec![0; length as usize];
                perform(&mut engine, &mut stores, Request::read(start_lba, Bytes(length)), &mut buffer, &mut rng);
                prop_assert_eq!(&buffer[..], &bytes[range]);
            }
        }
    }
}

#[test]
fn a_device_that_failed_to_flush_promises_nothing_more() {
    let mut engine = engine(&[8 * UNIT, 8 * UNIT]);
    let flush = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);
    let flushes = ios(&on(&mut engine, host(0, flush)));
    assert!(on(&mut engine, done(flushes[1], Err(DeviceError::MEDIUM))).is_empty());
    assert_eq!(on(&mut engine, done(flushes[0], Ok(()))), [reply(0, Err(DeviceError::MEDIUM))]);
    assert_eq!(engine.device_state(DeviceIndex(1)), DeviceState::Failed);
    // A device that reports that it is healthy again does not bring back the data that it may have lost.
    on(&mut engine, Input::Device { device: DeviceIndex(1), telemetry: Telemetry::default() });
    let write = Request::write(Lba(0), Bytes(2 * UNIT));
    let parts = ios(&on(&mut engine, host(1, write)));
    assert_eq!(parts.len(), 1, "only the sound device is written to");
    assert_eq!(on(&mut engine, done(parts[0], Ok(()))), [reply(1, Err(DeviceError::Failed))]);
    let reads = ios(&on(&mut engine, host(2, Request::read(Lba(0), Bytes(2 * UNIT)))));
    assert_eq!(reads.len(), 2);
    let parts = ios(&on(&mut engine, host(3, flush)));
    assert_eq!(on(&mut engine, done(parts[0], Ok(()))), [reply(3, Err(DeviceError::Failed))]);
}

/// A flush that is requested during another one begins when that has ended, separately on each device. All who ask in
/// the meantime share it. If the first one fails, so do they.
#[test]
fn a_device_has_one_flush_at_a_time() {
    let flush = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);
    for fails in [false, true] {
        let mut engine = engine(&[8 * UNIT, 8 * UNIT]);
        let first = ios(&on(&mut engine, host(0, flush)));
        assert_eq!(first.len(), 2);
        assert_eq!((on(&mut engine, host(1, flush)), on(&mut engine, host(2, flush))), (vec![], vec![]));
        assert_eq!(on(&mut engine, done(first[1], Ok(()))).len(), 1, "the next flush of device 1");
        let result = if fails { Err(DeviceError::MEDIUM) } else { Ok(()) };
        let effects = on(&mut engine, done(first[0], result));
        let next = ios(&effects);
        assert_eq!(next.len(), usize::from(!fails), "{effects:?}");
        assert!(effects.contains(&reply(0, result)), "{effects:?}");
        if !fails {
            assert_eq!(on(&mut engine, done(next[0], Ok(()))), []);
        }
    }
}

/// Performs `request` on an engine in two steps, where every request to a device ends with `result`. Returns the
/// requests to devices, and the answer.
fn at_length(
    engine: &mut StripeEngine,
    request: Request,
    result: Result<(), DeviceError>,
) -> (Vec<(DeviceIndex, Request)>, Result<(), DeviceError>) {
    let (mut sent, mut effects) = (Vec::new(), on(engine, Input::Host { tag: Tag::new(0, 0), request }));
    while let Some(effect) = effects.pop() {
        match effect {
            Effect::Io { io, device, request, .. } => {
                sent.push((device, request));
                effects.splice(0..0, on(engine, done(io, result)));
            }
            Effect::Reply { result, .. } => return (sent, result),
            other => panic!("unexpected: {other:?}"),
        }
    }
    panic!("{request:?} was not answered");
}

/// Returns true if requests that may pass end on one engine as they do on another one that serves them in the long way.
/// `judges` is false for a driver that forgets to report their ends to the engine.
fn pass_as_at_length(steps: &[(u8, u64, u64, u8)], judges: bool) -> Result<(), String> {
    let (mut short, mut long) = (engine(&[8 * UNIT; 3]), engine(&[8 * UNIT; 3]));
    for &(kind, start, sectors, result) in steps {
        let kind = match kind % 5 {
            0 => RequestKind::Read,
            1 => RequestKind::Write { fua: false },
            2 => RequestKind::Write { fua: true },
            3 => RequestKind::Trim,
            _ => RequestKind::Flush,
        };
        let length = if kind == RequestKind::Flush { Bytes::ZERO } else { Bytes(sectors * 512) };
        let request = Request::new(kind, Lba(start), length);
        let result = match result % 8 {
            0 => Err(DeviceError::MEDIUM),
            1 => Err(DeviceError::Interrupted),
            _ => Ok(()),
        };
        let wanted = at_length(&mut long, request, result);
        let got = match short.pass(&request) {
            Some((device, start)) => {
                let answer = if judges { short.passed(device, kind, result) } else { result };
                (vec![(device, Request { start, ..request })], answer)
            }
            None => at_length(&mut short, request, result),
        };
        if got != wanted {
            return Err(format!("{request:?}: {got:?} instead of {wanted:?}"));
        }
        if (0..3).any(|device| short.device_state(DeviceIndex(device)) != long.device_state(DeviceIndex(device))) {
            return Err(format!("after {request:?} the devices are in other states"));
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn requests_that_pass_end_as_they_would_at_length(
        steps in prop::collection::vec((any::<u8>(), 0u64..50, 0u64..6, any::<u8>()), 1..60),
    ) {
        prop_assert_eq!(pass_as_at_length(&steps, true), Ok(()));
    }
}

#[test]
fn a_driver_that_does_not_ask_about_their_ends_is_found_out() {
    let durable_write_that_fails = (2, 0, 1, 0);
    assert!(pass_as_at_length(&[durable_write_that_fails, (1, 0, 1, 2)], false).is_err());
    assert_eq!(pass_as_at_length(&[durable_write_that_fails, (1, 0, 1, 2)], true), Ok(()));
}

#[test]
fn requests_within_one_unit_pass_and_others_do_not() {
    let mut engine = engine(&[8 * UNIT, 8 * UNIT]);
    let write = Request::write(Lba(2), Bytes(UNIT));
    assert_eq!(engine.pass(&write), Some((DeviceIndex(1), Lba(0))));
    assert_eq!(engine.pass(&Request::write(Lba(1), Bytes(UNIT))), None, "it has two parts");
    assert_eq!(engine.pass(&Request::read(Lba(32), Bytes(512))), None, "it is beyond the end");
    assert_eq!(engine.passed(DeviceIndex(1), write.kind, Err(DeviceError::Interrupted)), Err(DeviceError::Interrupted));
    assert_eq!(engine.pass(&write), None, "the device has failed");
    assert!(engine.pass(&Request::read(Lba(2), Bytes(UNIT))).is_some(), "reads go on");
}

#[test]
fn impossible_stripes_say_what_is_wrong() {
    let error = |unit, devices: &[u64]| {
        let devices = devices.iter().map(|&device| Bytes(device)).collect();
        StripeEngine::new(&StripeSettings { unit: Bytes(unit), devices }).unwrap_err().to_string()
    };
    assert_eq!(error(1000, &[4096]), "`stripe` is 1kB; it has to be whole sectors of 512B");
    assert_eq!(error(8192, &[4096]), "`stripe` is 8KiB, more than its smallest child's 4KiB");
    assert_eq!(error(512, &[]), "there are 0 devices; a stripe goes over 1 to 65,536");
    assert_eq!(error(512, &[1 << 63, 1 << 63]), "the children hold more than 16 EiB together");
}
