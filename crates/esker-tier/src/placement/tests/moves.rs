//! Moving and freeing extents, as single cases.

use esker_core::{Priority, Telemetry};

use super::world::World;
use super::*;
use crate::extent::{BlockRange, PhysicalExtent};

/// Runs `world` until there is nothing left to do, and returns the records of the journal.
fn records(world: &mut World) -> Vec<PlacementRecord> {
    world.drain();
    world.journal.appended.values().map(|&record| record.try_into().expect("a record of placement")).collect()
}

#[test]
fn an_extent_moves_and_its_place_is_used_again() {
    let mut world = World::new(settings(&[16, 48], "[1, 1]"), 1);
    let place = |device, extent| ExtentPlace { device: DeviceIndex(device), extent: PhysicalExtent(extent) };
    let write = |extent: u64| Request::new(RequestKind::Write { fua: true }, Lba(extent * EXTENT), Bytes(512));
    world.submit(write(0));
    let extent = LogicalExtent(0);
    assert_eq!(
        records(&mut world),
        [PlacementRecord::Mapped { extent, place: place(0, 0), blocks: BlockRange { first: 0, count: 1 } }]
    );
    // Device 0 has room for one extent: while the first one is there, the next goes to the other device.
    world.submit(write(2));
    world.drain();
    assert_eq!(world.engine().map.place(LogicalExtent(2)), Some(place(1, 0)));
    world.wish(0, 1);
    let moved = records(&mut world);
    assert_eq!(moved[2..], [PlacementRecord::Moved { extent, place: place(1, 1) }]);
    assert_eq!(world.journal.hardened, RecordNumber(3), "a place is free only once that is durable");
    world.submit(Request::read(Lba(0), Bytes(512)));
    world.submit(Request::new(RequestKind::Write { fua: true }, Lba(3 * EXTENT + 1), Bytes(512)));
    world.drain();
    world.wish(3, 0);
    world.drain();
    assert_eq!(world.engine().map.place(LogicalExtent(3)), Some(place(0, 0)), "it is used again");
    world.submit(Request::read(Lba(3 * EXTENT), Bytes(512)));
    world.drain();
}

#[test]
fn trimmed_extents_are_freed_and_read_as_zeroes() {
    let mut world = World::new(settings(&[16, 48], "[1, 1]"), 1);
    world.submit(Request::new(RequestKind::Write { fua: true }, Lba(0), Bytes(512 * EXTENT)));
    world.drain();
    world.submit(Request::new(RequestKind::Trim, Lba(0), Bytes(512 * (EXTENT - 1))));
    assert_eq!(records(&mut world).len(), 1, "a part of an extent frees nothing");
    world.submit(Request::new(RequestKind::Trim, Lba(0), Bytes(512 * EXTENT)));
    assert_eq!(records(&mut world)[1..], [PlacementRecord::Freed { extent: LogicalExtent(0) }]);
    assert_eq!((world.engine().map.place(LogicalExtent(0)), world.engine().map.free_extents(0)), (None, 1));
    world.submit(Request::read(Lba(0), Bytes(512)));
    world.drain();
}

/// An engine whose extent 0 is being copied from the first device to the second, and the read of the copy.
fn copying() -> (PlacementEngine, IoId) {
    let mut engine = engine();
    engine.fill(Ratio::ONE);
    engine.map.unmap(LogicalExtent(1));
    engine.map.release(ExtentPlace { device: DeviceIndex(1), extent: PhysicalExtent(0) });
    engine.wishes.moves.push(WishedMove::in_background(LogicalExtent(0), DeviceIndex(1)));
    let effects = on(&mut engine, Input::Timer);
    let [(read, _, Request { kind: RequestKind::Read, priority: Priority::BACKGROUND, .. })] = ios(&effects)[..] else {
        panic!("{effects:?}")
    };
    (engine, read)
}

fn done(engine: &mut PlacementEngine, io: IoId) -> Vec<(IoId, DeviceIndex, Request)> {
    ios(&on(engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) }))
}

const WRITE: Request = Request::write(Lba(0), Bytes(512));

/// Three tries of a copy meet a write of the host. During the fourth, which no longer gives way to others, the next
/// write waits, and then goes where the extent is by then.
#[test]
fn a_copy_that_the_host_writes_to_again_and_again_holds_its_writes_up() {
    let (mut engine, mut read) = copying();
    for _ in 0..3 {
        let [(write, DeviceIndex(0), _)] = ios(&on(&mut engine, host(0, WRITE)))[..] else { panic!() };
        done(&mut engine, write);
        let again = done(&mut engine, read);
        let [(next, DeviceIndex(0), Request { kind: RequestKind::Read, .. })] = again[..] else { panic!("{again:?}") };
        read = next;
    }
    assert_eq!(on(&mut engine, host(0, WRITE)), []);
    let copied = done(&mut engine, read);
    let [(copy, DeviceIndex(1), Request { priority: Priority::USER, .. })] = copied[..] else { panic!("{copied:?}") };
    let ended = done(&mut engine, copy);
    let to =
        |device: u16| ended.iter().filter(|(_, to, request)| to.0 == device && request.length == Bytes(512)).count();
    assert_eq!((to(0), to(1)), (0, 1), "{ended:?}");
    engine.check();
}

/// The host always has a write to the extent under way. Sixteen pass the copy that waits for them to end; the next one
/// waits for the copy.
#[test]
fn a_copy_gets_its_turn_beside_writes_that_never_cease() {
    let (mut engine, read) = copying();
    let [(first, ..)] = ios(&on(&mut engine, host(0, WRITE)))[..] else { panic!() };
    assert_eq!(done(&mut engine, read), [], "a write is under way");
    let mut under_way = vec![first];
    for slot in 1..=16 {
        let [(write, ..)] = ios(&on(&mut engine, host(slot, WRITE)))[..] else { panic!("{slot}") };
        under_way.push(write);
    }
    assert_eq!(on(&mut engine, host(17, WRITE)), []);
    let last = under_way.pop().unwrap();
    under_way.into_iter().for_each(|write| assert_eq!(done(&mut engine, write), []));
    let begun = done(&mut engine, last);
    // The copy reads, and the write that waited goes on beside it: this was not the last try.
    let kinds: Vec<_> = begun.iter().map(|(.., request)| request.kind).collect();
    assert_eq!(kinds, [RequestKind::Read, RequestKind::Write { fua: false }]);
    engine.check();
}

/// Writes down what it hears, and asks for one move.
#[derive(Debug, Default)]
struct Listener(std::sync::Arc<std::sync::Mutex<Vec<String>>>);
impl Placement for Listener {
    fn place(&mut self, _: &NewExtent<'_>, _: &[DeviceView]) -> DeviceIndex {
        DeviceIndex(0)
    }
    fn observes(&self) -> bool {
        true
    }
    fn follows_requests(&self) -> bool {
        true
    }
    fn devices_joined(&mut self, _: usize) {}
    fn observe(&mut self, now: Nanos, event: &Event<'_>, _: &[DeviceView], wishes: &mut Wishes) {
        let text = match event {
            Event::Request { request, .. } => format!("{} request {:?}", now.0, request.kind),
            Event::Sent { device, request } => {
                format!("{} sent to {}: {:?} of {}", now.0, device.0, request.kind, request.length.0)
            }
            Event::Completed(done) => {
                format!("{} completed {} after {}", now.0, done.for_host, (done.at - done.sent).0)
            }
            Event::Moved { outcome, .. } => format!("{} moved {outcome:?}", now.0),
            Event::Device { .. } => "device".to_string(),
            Event::Unsupported { .. } => "unsupported".to_string(),
            Event::Timer => {
                wishes.moves.push(WishedMove::in_background(LogicalExtent(0), DeviceIndex(1)));
                "timer".to_string()
            }
        };
        wishes.wake_at = text.contains("true").then_some(Nanos(100));
        self.0.lock().unwrap().push(text);
    }
}

/// A policy is told about events, and its wishes are carried out.
#[test]
fn a_policy_hears_of_completions_with_their_times_and_is_woken() {
    let heard = Listener::default();
    let log = heard.0.clone();
    let mut engine = engine().with_policy(Box::new(heard));
    let mut at = |now, input| {
        let mut effects = Vec::new();
        engine.on(Nanos(now), input, &mut effects);
        effects
    };
    let [(io, ..)] = ios(&at(10, host(0, Request::write(Lba(0), Bytes(512)))))[..] else { panic!() };
    // The request ended at 30; the engine is told at 50.
    let effects = at(50, Input::Done { io, at: Nanos(30), result: Ok(()) });
    assert_eq!(effects.last(), Some(&Effect::WakeAt(Nanos(100))));
    let [(read, ..)] = ios(&at(100, Input::Timer))[..] else { panic!() };
    let [(write, ..)] = ios(&at(120, Input::Done { io: read, at: Nanos(110), result: Ok(()) }))[..] else { panic!() };
    at(150, Input::Done { io: write, at: Nanos(145), result: Ok(()) });
    let heard = log.lock().unwrap().clone();
    let wanted = [
        "10 request Write { fua: false }",
        // With zeroes for the rest of the block, which was never written.
        "10 sent to 0: Write { fua: false } of 4096",
        "50 completed true after 20",
        "timer",
        "120 completed false after 10",
        "150 completed false after 25",
        "150 moved Done",
    ];
    assert_eq!(heard, wanted);
}

/// Room also comes from a device that takes writes again, and not only from places that become free.
#[test]
fn a_drain_goes_on_when_a_device_takes_writes_again() {
    let mut engine = engine();
    let told = |engine: &mut PlacementEngine, state| {
        let telemetry = Telemetry { state, ..Telemetry::default() };
        ios(&on(engine, Input::Device { device: DeviceIndex(1), telemetry }))
    };
    let [(io, DeviceIndex(0), _)] = ios(&on(&mut engine, host(0, Request::write(Lba(0), Bytes(512 * EXTENT)))))[..]
    else {
        panic!("it is written to the first device")
    };
    on(&mut engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) });
    assert_eq!(told(&mut engine, DeviceState::ReadOnly), []);
    let mut effects = Vec::new();
    engine.reshape(Nanos::ZERO, Reshape::Drain { device: DeviceIndex(0) }, &mut effects).unwrap();
    assert_eq!((ios(&effects), told(&mut engine, DeviceState::ReadOnly)), (vec![], vec![]));
    let copies = told(&mut engine, DeviceState::Online);
    assert!(matches!(copies[..], [(_, DeviceIndex(0), Request { kind: RequestKind::Read, .. })]), "{copies:?}");
}

/// Nothing is left to be copied, although there would be no room for it.
#[test]
fn a_drain_without_room_ends_once_the_host_has_trimmed_the_rest() {
    let mut engine = engine();
    let finish = |engine: &mut PlacementEngine, input| {
        let (mut effects, mut next) = (Vec::new(), 0);
        engine.on(Nanos::ZERO, input, &mut effects);
        while next < effects.len() {
            match effects[next] {
                Effect::Io { io, .. } => {
                    engine.on(Nanos::ZERO, Input::Done { io, at: Nanos::ZERO, result: Ok(()) }, &mut effects);
                }
                Effect::Harden { through } => engine.on(Nanos::ZERO, Input::Durable { through }, &mut effects),
                _ => {}
            }
            next += 1;
        }
        effects
    };
    finish(&mut engine, host(0, Request::write(Lba(0), Bytes(512 * EXTENT))));
    let telemetry = Telemetry { state: DeviceState::ReadOnly, ..Telemetry::default() };
    finish(&mut engine, Input::Device { device: DeviceIndex(1), telemetry });
    engine.reshape(Nanos::ZERO, Reshape::Drain { device: DeviceIndex(0) }, &mut Vec::new()).unwrap();
    let effects = finish(&mut engine, host(1, Request::new(RequestKind::Trim, Lba(0), Bytes(512 * EXTENT))));
    assert!(effects.contains(&Effect::Drained(DeviceIndex(0))), "{effects:?}");
}

/// A first write and a trim of another part of the extent are under way, and the write fails: nothing is left there.
#[test]
fn an_extent_whose_only_write_failed_is_freed_by_the_trim_that_ends_later() {
    let mut engine = engine();
    let write = ios(&on(&mut engine, host(0, Request::write(Lba(0), Bytes(512 * 8)))));
    let trim = Request::new(RequestKind::Trim, Lba(8), Bytes(512 * 8));
    let trim = ios(&on(&mut engine, host(1, trim)));
    let error = Err(DeviceError::Medium { at: Bytes::ZERO });
    on(&mut engine, Input::Done { io: write[0].0, at: Nanos::ZERO, result: error });
    trim.iter().for_each(|(io, ..)| drop(on(&mut engine, Input::Done { io: *io, at: Nanos::ZERO, result: Ok(()) })));
    assert_eq!(engine.map.place(LogicalExtent(0)), None, "{} trims", trim.len());
}
