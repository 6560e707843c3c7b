//! Second copies, as single cases.

use esker_core::Telemetry;

use super::*;
use crate::engine::BackgroundSettings;

/// Keeps everything on the first device, and reads from second copies wherever it can.
#[derive(Debug, Default)]
struct ReadsMirrors {
    /// Whether writes go to second copies, too.
    writes: bool,
    mirrored: Vec<(u32, Option<u16>)>,
}

impl Placement for ReadsMirrors {
    fn place(&mut self, _: &NewExtent<'_>, _: &[DeviceView]) -> DeviceIndex {
        DeviceIndex(0)
    }
    fn mirrored(&mut self, extent: LogicalExtent, _: DeviceIndex, device: Option<DeviceIndex>) {
        self.mirrored.push((extent.0, device.map(|device| device.0)));
        assert_eq!(self.mirrored.iter().filter(|(other, _)| *other == extent.0).count() % 2 == 1, device.is_some());
    }
    fn reads_from(&mut self, read: &TwoCopies<'_>, _: &[DeviceView]) -> DeviceIndex {
        assert_ne!(read.home, read.mirror);
        read.mirror
    }
    fn writes_to(&mut self, write: &TwoCopies<'_>, _: &[DeviceView]) -> DeviceIndex {
        if self.writes { write.mirror } else { write.home }
    }
    fn observes(&self) -> bool {
        true
    }
    fn devices_joined(&mut self, _: usize) {}
}

const SECOND: DeviceIndex = DeviceIndex(1);

/// An engine of two devices of four extents, whose extent 0 has a second copy on the second device.
fn mirrored() -> PlacementEngine {
    mirrored_under(ReadsMirrors::default())
}

fn mirrored_under(policy: ReadsMirrors) -> PlacementEngine {
    let mut engine = engine().with_policy(Box::new(policy));
    write(&mut engine, 0, EXTENT);
    mirror(&mut engine, 0);
    engine
}

fn mirror(engine: &mut PlacementEngine, extent: u32) {
    engine.wishes.mirrors.push(WishedMove::in_background(LogicalExtent(extent), SECOND));
    let [(read, DeviceIndex(0), _)] = ios(&on(engine, Input::Timer))[..] else { panic!("it is read where it is") };
    let [(copy, SECOND, Request { kind: RequestKind::Write { fua: true }, .. })] = done(engine, read)[..] else {
        panic!("it is written")
    };
    assert_eq!(done(engine, copy), []);
}

fn done(engine: &mut PlacementEngine, io: IoId) -> Vec<(IoId, DeviceIndex, Request)> {
    ios(&on(engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) }))
}

/// Writes some sectors, and returns the devices that they go to.
fn write(engine: &mut PlacementEngine, sector: u64, sectors: u64) -> Vec<u16> {
    let sent = ios(&on(engine, host(0, Request::write(Lba(sector), Bytes(512 * sectors)))));
    sent.iter().for_each(|(io, ..)| drop(done(engine, *io)));
    sent.iter().map(|(_, device, _)| device.0).collect()
}

fn send_read(engine: &mut PlacementEngine, slot: u32, sector: u64, sectors: u64) -> Vec<(IoId, DeviceIndex, Request)> {
    ios(&on(engine, host(slot, Request::read(Lba(sector), Bytes(512 * sectors)))))
}

/// Reads some sectors, and returns the devices that they come from.
fn read(engine: &mut PlacementEngine, sector: u64, sectors: u64) -> Vec<u16> {
    let sent = send_read(engine, 1, sector, sectors);
    sent.iter().for_each(|(io, ..)| drop(done(engine, *io)));
    sent.iter().map(|(_, device, _)| device.0).collect()
}

#[test]
fn reads_go_to_the_second_copy_until_the_host_writes_there() {
    let mut engine = mirrored();
    assert_eq!((engine.map.free_extents(1), engine.map.mapped(1)), (3, 0));
    assert_eq!((read(&mut engine, 0, 16), read(&mut engine, 8, 1)), (vec![1], vec![1]));
    // The second block is new where the extent is; the first one is still equal.
    assert_eq!(write(&mut engine, 9, 1), [0]);
    assert_eq!(
        (read(&mut engine, 0, 8), read(&mut engine, 8, 8), read(&mut engine, 0, 16)),
        (vec![1], vec![0], vec![0])
    );
    engine.check();
    let report = engine.moved_now();
    assert_eq!((report.mirrored_extents, report.mirrored_bytes, report.mirror_reads), (1, 512 * EXTENT, 3));
    assert_eq!((report.moved_extents, report.moved_bytes), (0, 0));
}

/// A write that has been sent makes its block stale: a read after its end must not find the old data.
#[test]
fn a_block_is_stale_from_when_its_write_is_sent() {
    let mut engine = mirrored();
    let [(io, DeviceIndex(0), _)] = ios(&on(&mut engine, host(0, Request::write(Lba(0), Bytes(512)))))[..] else {
        panic!()
    };
    assert_eq!(read(&mut engine, 0, 8), [0]);
    done(&mut engine, io);
    assert_eq!(read(&mut engine, 0, 8), [0]);
}

#[test]
fn a_second_copy_that_cannot_be_read_goes_and_the_host_reads_the_first() {
    let mut engine = mirrored();
    let [(io, SECOND, _)] = send_read(&mut engine, 2, 4, 8)[..] else { panic!() };
    let error = Err(DeviceError::Medium { at: Bytes::ZERO });
    let again = ios(&on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: error }));
    // The second copy's place is trimmed.
    let [(_, SECOND, Request { kind: RequestKind::Trim, .. }), (io, DeviceIndex(0), Request { start: Lba(4), .. })] = {
        let mut again = again;
        again.sort_by_key(|(_, device, _)| u16::MAX - device.0);
        again
    }[..] else {
        panic!()
    };
    let effects = on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) });
    assert!(matches!(effects[..], [Effect::Reply { result: Ok(()), .. }]), "{effects:?}");
    assert!(engine.mirrors.is_empty());
}

/// A move to the device of the second copy takes no copy if nothing of it is stale. One to the device where the extent
/// is keeps only that.
#[test]
fn an_extent_moves_to_its_second_copy_without_a_copy() {
    let move_to = |engine: &mut PlacementEngine, device| {
        engine.wishes.moves.push(WishedMove::in_background(LogicalExtent(0), DeviceIndex(device)));
        ios(&on(engine, Input::Timer)).iter().map(|(_, device, request)| (device.0, request.kind)).collect::<Vec<_>>()
    };
    let mut engine = mirrored();
    // No record speaks of the place on the first device yet, so that it is free at once.
    assert_eq!(move_to(&mut engine, 1), [(0, RequestKind::Trim)]);
    assert_eq!(engine.map.place(LogicalExtent(0)).map(|place| place.device), Some(SECOND));
    assert_eq!((read(&mut engine, 0, 16), write(&mut engine, 0, 1)), (vec![1], vec![1]));
    engine.check();
    let mut engine = mirrored();
    write(&mut engine, 0, 1);
    assert_eq!(move_to(&mut engine, 1), [(0, RequestKind::Read)]);
    let mut engine = mirrored();
    assert_eq!(move_to(&mut engine, 0), [(1, RequestKind::Trim)]);
    assert_eq!((engine.map.mapped(0), engine.mirrors.is_empty()), (1, true));
}

/// Four extents of data and four second copies fill both devices. New data get the places of second copies, one after
/// the other; each write waits until the place has been trimmed.
#[test]
fn second_copies_give_way_to_new_data() {
    let mut engine = engine().with_policy(Box::new(ReadsMirrors::default()));
    for extent in 0..4 {
        write(&mut engine, u64::from(extent) * EXTENT, EXTENT);
        mirror(&mut engine, extent);
    }
    assert_eq!([0, 1].map(|device| engine.map.free_extents(device)), [0, 0]);
    for extent in 4..8u32 {
        let request = Request::write(Lba(u64::from(extent) * EXTENT), Bytes(512));
        let [(trim, SECOND, Request { kind: RequestKind::Trim, .. })] =
            ios(&on(&mut engine, host(extent, request)))[..]
        else {
            panic!("a place becomes free")
        };
        assert_eq!(engine.mirrors.len() as u32, 7 - extent);
        let [(io, SECOND, Request { kind: RequestKind::Write { .. }, .. })] = done(&mut engine, trim)[..] else {
            panic!("the write is sent")
        };
        done(&mut engine, io);
        engine.check();
    }
}

/// A read of the second copy is under way when that is dropped: its place must not be used before the read has ended.
#[test]
fn a_place_is_used_again_only_when_nobody_reads_it() {
    let mut engine = mirrored();
    let [(io, SECOND, _)] = send_read(&mut engine, 2, 0, 8)[..] else { panic!() };
    engine.wishes.drop_mirrors.push(LogicalExtent(0));
    assert_eq!(ios(&on(&mut engine, Input::Timer)), []);
    assert_eq!((engine.map.free_extents(1), read(&mut engine, 0, 8)), (3, vec![0]));
    let [(trim, SECOND, Request { kind: RequestKind::Trim, .. })] = done(&mut engine, io)[..] else { panic!() };
    done(&mut engine, trim);
    assert_eq!(engine.map.free_extents(1), 4);
}

#[test]
fn a_drain_drops_the_second_copies_of_its_device() {
    let mut engine = mirrored();
    let mut effects = Vec::new();
    engine.reshape(Nanos::ZERO, Reshape::Drain { device: SECOND }, &mut effects).unwrap();
    let [(trim, SECOND, _)] = ios(&effects)[..] else { panic!("{effects:?}") };
    let effects = on(&mut engine, Input::Done { io: trim, at: Nanos::ZERO, result: Ok(()) });
    assert!(effects.contains(&Effect::Drained(SECOND)), "{effects:?}");
    engine.wishes.mirrors.push(WishedMove::in_background(LogicalExtent(0), SECOND));
    assert_eq!(ios(&on(&mut engine, Input::Timer)), []);
}

/// A write to the second copy makes it the extent's place. The first one has the second copy then, old in what was
/// written.
#[test]
fn a_write_may_go_to_the_second_copy() {
    let mut engine = mirrored_under(ReadsMirrors { writes: true, ..ReadsMirrors::default() });
    assert_eq!(write(&mut engine, 0, 8), [1]);
    assert_eq!(engine.map.place(LogicalExtent(0)).map(|place| place.device), Some(SECOND));
    assert_eq!((read(&mut engine, 0, 8), read(&mut engine, 8, 8)), (vec![1], vec![0]));
    // More than half of the first copy is old by now, so that its place is trimmed.
    assert_eq!((write(&mut engine, 8, 8), engine.map.free_extents(0)), (vec![1, 0], 4));
    engine.check();
}

/// Data that an extent leaves where they were not durable are read, but it must not come back to them: nobody flushes
/// them any more. Here the write for which it has left never gets anywhere.
#[test]
fn an_extent_does_not_come_back_to_what_was_not_durable() {
    for (is_flushed, fault) in [(true, None), (false, None), (false, Some(Fault::TrustsLeftPlaces))] {
        let mut engine = mirrored_under(ReadsMirrors { writes: true, ..ReadsMirrors::default() });
        engine.fault = fault;
        if is_flushed {
            let flushes = ios(&on(&mut engine, host(2, Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO))));
            flushes.iter().for_each(|(io, ..)| drop(done(&mut engine, *io)));
        }
        let extent = LogicalExtent(0);
        engine.change_places(extent, &mut Vec::new());
        assert_eq!(read(&mut engine, 0, 8), [0]);
        let comes_back = engine.movable_mirror(extent).is_some();
        assert_eq!(comes_back, is_flushed || fault.is_some(), "{is_flushed} {fault:?}");
        engine.check();
    }
}

/// Second copies are those of a policy: another one finds none, and hears of none.
#[test]
fn another_policy_begins_without_second_copies() {
    let mut engine = mirrored();
    let policy = serde_json::from_str(r#"{"kind":"static-split"}"#).ok();
    let mut effects = Vec::new();
    engine.set(Nanos::ZERO, &LiveSettings { policy, ..LiveSettings::default() }, &mut effects).unwrap();
    let [(_, SECOND, Request { kind: RequestKind::Trim, .. })] = ios(&effects)[..] else { panic!("{effects:?}") };
    assert!(engine.mirrors.is_empty());
}

/// A failed device answers no reads that the other one can. What the second copy has is not read in place of what a
/// failed device may have lost.
#[test]
fn no_copy_on_a_failed_device_is_read_and_none_instead() {
    let fail = |engine: &mut PlacementEngine, device| {
        let telemetry = Telemetry { state: DeviceState::Failed, ..Telemetry::default() };
        on(engine, Input::Device { device: DeviceIndex(device), telemetry });
    };
    let mut engine = mirrored();
    fail(&mut engine, 1);
    assert_eq!(read(&mut engine, 0, 8), [0]);
    let mut engine = mirrored();
    fail(&mut engine, 0);
    assert_eq!(read(&mut engine, 0, 8), [0; 0], "it was never flushed");
}

/// The copy was under way when the policy was exchanged.
#[test]
fn another_policy_gets_no_second_copy_that_was_under_way() {
    let mut engine = engine().with_policy(Box::new(ReadsMirrors::default()));
    write(&mut engine, 0, EXTENT);
    engine.wishes.mirrors.push(WishedMove::in_background(LogicalExtent(0), SECOND));
    let [(read, DeviceIndex(0), _)] = ios(&on(&mut engine, Input::Timer))[..] else { panic!("it is read") };
    let policy = serde_json::from_str(r#"{"kind":"static-split"}"#).ok();
    engine.set(Nanos::ZERO, &LiveSettings { policy, ..LiveSettings::default() }, &mut Vec::new()).unwrap();
    for (io, ..) in done(&mut engine, read) {
        done(&mut engine, io).iter().for_each(|(io, ..)| drop(done(&mut engine, *io)));
    }
    assert!(engine.mirrors.is_empty());
    assert_eq!(engine.map.free_extents(1), 4);
}

/// A second copy is left behind on a device that is drained: it goes, or the device would never be empty.
#[test]
fn no_second_copy_is_left_on_a_device_that_is_drained() {
    let mut engine = mirrored_under(ReadsMirrors { writes: true, ..ReadsMirrors::default() });
    let background = Some(BackgroundSettings { paused: true, ..BackgroundSettings::default() });
    engine.set(Nanos::ZERO, &LiveSettings { background, ..LiveSettings::default() }, &mut Vec::new()).unwrap();
    engine.reshape(Nanos::ZERO, Reshape::Drain { device: DeviceIndex(0) }, &mut Vec::new()).unwrap();
    // A quarter of the extent: the rest of the place that it leaves is as new.
    assert_eq!(write(&mut engine, 0, 4)[0], 1);
    assert!(engine.mirrors.is_empty());
}

/// What may not leave its device, or not now, does not leave it for its second copy either.
#[test]
fn an_extent_that_may_not_move_does_not_move_to_its_second_copy() {
    let to_second = |engine: &mut PlacementEngine| {
        engine.wishes.moves.push(WishedMove::in_background(LogicalExtent(0), SECOND));
        on(engine, Input::Timer);
        engine.map.place(LogicalExtent(0)).map(|place| place.device) == Some(SECOND)
    };
    let mut engine = mirrored();
    let limits = [MoveLimits { leave_above: Ratio::percent(90), asleep_after: None }, MoveLimits::default()].to_vec();
    let limits = LiveSettings { limits: Some(limits), ..LiveSettings::default() };
    engine.set(Nanos::ZERO, &limits, &mut Vec::new()).unwrap();
    assert!(!to_second(&mut engine));
    let mut engine = mirrored();
    let paused = |paused| {
        let background = Some(BackgroundSettings { paused, ..BackgroundSettings::default() });
        LiveSettings { background, ..LiveSettings::default() }
    };
    engine.set(Nanos::ZERO, &paused(true), &mut Vec::new()).unwrap();
    assert!(!to_second(&mut engine));
    engine.set(Nanos::ZERO, &paused(false), &mut Vec::new()).unwrap();
    assert!(to_second(&mut engine));
}
