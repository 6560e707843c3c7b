//! Redirected writes, drains and growth, as single cases.

use esker_core::{Priority, Rng};

use super::*;
use crate::extent::{BlockRange, PhysicalExtent};

/// Redirects a share of the writes that may be redirected, to any device.
#[derive(Debug)]
pub(super) struct RedirectingPolicy {
    split: StaticSplit,
    /// How many writes are redirected, of how many.
    share: (u64, u64),
    /// Whether these may be writes to a part of an extent.
    merges: bool,
    rng: Rng,
}

impl RedirectingPolicy {
    /// Redirects `times` of every `of` writes on average.
    pub(super) fn new(times: u64, of: u64, seed: u64) -> Self {
        Self { split: StaticSplit::new(&[1, 1]), share: (times, of), merges: false, rng: Rng::new(seed) }
    }

    /// Redirects writes to parts of extents, too.
    pub(super) fn merging(self) -> Self {
        Self { merges: true, ..self }
    }
}

impl Placement for RedirectingPolicy {
    fn place(&mut self, new: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex {
        self.split.place(new, devices)
    }
    fn redirect(&mut self, _: &Rewrite<'_>, devices: &[DeviceView]) -> Option<DeviceIndex> {
        let (times, of) = self.share;
        self.rng.chance(times, of).then(|| DeviceIndex(self.rng.below(devices.len() as u64) as u16))
    }
    fn redirects(&self) -> bool {
        true
    }
    fn merges(&self) -> bool {
        self.merges
    }
    fn devices_joined(&mut self, devices: usize) {
        self.split.devices_joined(devices);
    }
}

/// Redirects every write to the second device.
#[derive(Debug, Default)]
pub(super) struct SecondDevicePolicy {
    pub(super) merges: bool,
}

impl Placement for SecondDevicePolicy {
    fn place(&mut self, _: &NewExtent<'_>, _: &[DeviceView]) -> DeviceIndex {
        DeviceIndex(0)
    }
    fn redirect(&mut self, _: &Rewrite<'_>, _: &[DeviceView]) -> Option<DeviceIndex> {
        Some(DeviceIndex(1))
    }
    fn redirects(&self) -> bool {
        true
    }
    fn merges(&self) -> bool {
        self.merges
    }
    fn devices_joined(&mut self, _: usize) {}
}

fn done(engine: &mut PlacementEngine, io: IoId) -> Vec<Effect> {
    on(engine, Input::Done { io, at: Nanos::ZERO, result: Ok(()) })
}

/// A flush of the first device is under way when a redirected write replaces the data that it flushes. The host has to
/// wait for a flush of the second device, too, or its data would be on neither device after a crash.
#[test]
fn a_flush_waits_for_the_redirected_writes_that_replace_what_it_flushes() {
    for fault in [None, Some(Fault::ForgetsRedirected)] {
        let mut engine = engine().with_policy(Box::new(SecondDevicePolicy::default()));
        engine.fault = fault;
        let write = |length: u64| Request::write(Lba(0), Bytes(512 * length));
        let [(io, DeviceIndex(0), _)] = ios(&on(&mut engine, host(0, write(8))))[..] else { panic!() };
        done(&mut engine, io);
        let [(flush, DeviceIndex(0), _)] = ios(&on(&mut engine, host(1, FLUSH)))[..] else { panic!() };
        let [(io, DeviceIndex(1), _)] = ios(&on(&mut engine, host(0, write(16))))[..] else { panic!() };
        let second = ios(&done(&mut engine, io));
        let reply = Effect::Reply { tag: Tag::new(1, 0), result: Ok(()) };
        if fault.is_some() {
            assert_eq!(done(&mut engine, flush), [reply], "the faulty engine promises what it does not keep");
            continue;
        }
        let [(second, DeviceIndex(1), Request { kind: RequestKind::Flush, .. }), ..] = second[..] else {
            panic!("{second:?}")
        };
        assert!(done(&mut engine, flush).is_empty());
        let effects = done(&mut engine, second);
        let place = ExtentPlace { device: DeviceIndex(1), extent: PhysicalExtent(0) };
        let record =
            PlacementRecord::Mapped { extent: LogicalExtent(0), place, blocks: BlockRange { first: 0, count: 2 } };
        assert_eq!(effects[0], Effect::Record { number: RecordNumber(1), record: record.into() });
        let effects = on(&mut engine, Input::Durable { through: RecordNumber(1) });
        assert!(effects.contains(&reply), "{effects:?}");
    }
}

/// A write to several extents goes elsewhere as one request. Of an extent that it does not replace as a whole, the part
/// goes to the old place.
#[test]
fn extents_of_a_write_go_elsewhere_together() {
    let mut engine = PlacementEngine::new(&settings_of(1, &[64, 256], "[1, 1]")).unwrap();
    engine = engine.with_policy(Box::new(SecondDevicePolicy::default()));
    let write = |start, sectors: u64| Request::write(Lba(start), Bytes(512 * sectors));
    let first = Request { kind: RequestKind::Write { fua: true }, ..write(0, 20) };
    let [(io, DeviceIndex(0), _)] = ios(&on(&mut engine, host(0, first)))[..] else { panic!() };
    done(&mut engine, io);
    on(&mut engine, Input::Durable { through: RecordNumber(20) });
    let [(io, DeviceIndex(1), request)] = ios(&on(&mut engine, host(0, write(3, 9))))[..] else { panic!() };
    assert_eq!((request.start, request.length), (Lba(0), Bytes(512 * 9)));
    engine.check();
    done(&mut engine, io);
    engine.check();
    assert_eq!((engine.map.mapped(0), engine.map.mapped(1), engine.moved.redirected_writes), (11, 9, 1));
    let read = ios(&on(&mut engine, host(0, Request::read(Lba(2), Bytes(512 * 11)))));
    let parts =
        |(_, device, request): &(IoId, DeviceIndex, Request)| (device.0, request.start.0, request.length.0 / 512);
    assert_eq!(read.iter().map(parts).collect::<Vec<_>>(), [(0, 2, 1), (1, 0, 9), (0, 12, 1)]);
    // When the records of where they are now are durable, one trim tells of all old places.
    for (flush, ..) in ios(&on(&mut engine, host(1, FLUSH))) {
        done(&mut engine, flush);
    }
    let effects = on(&mut engine, Input::Durable { through: RecordNumber(29) });
    assert_eq!(ios(&effects).iter().map(parts).collect::<Vec<_>>(), [(0, 3, 9)]);
    assert!(ios(&effects).iter().all(|(_, _, request)| request.priority == Priority::BACKGROUND));
}

/// A drain copies one extent after the other until none is left. A device that is kept after all is used again.
#[test]
fn a_drained_device_is_emptied_and_gets_nothing_new() {
    let mut world = super::world::World::new(settings(&[64, 96], "[1, 1]"), 1);
    for extent in 0..6 {
        world.submit(Request::new(RequestKind::Write { fua: true }, Lba(extent * EXTENT), Bytes(512 * EXTENT)));
    }
    world.drain();
    assert_eq!((world.engine().map.mapped(0), world.engine().map.mapped(1)), (3, 3));
    let device = DeviceIndex(1);
    let error = world.reshape(Reshape::Drain { device }).unwrap_err().to_string();
    assert_eq!(error, "the devices that stay hold 32KiB; 48KiB are needed");
    assert!(world.reshape(Reshape::Drain { device: DeviceIndex(2) }).is_err());
    let device = DeviceIndex(0);
    world.reshape(Reshape::Drain { device }).unwrap();
    world.drain();
    assert_eq!((world.engine().map.mapped(0), world.engine().map.mapped(1)), (0, 6));
    assert_eq!(world.rules.drained.iter().copied().collect::<Vec<_>>(), [0]);
    world.engine_mut().map.unmap(LogicalExtent(1));
    world.engine_mut().map.release(ExtentPlace { device: DeviceIndex(1), extent: PhysicalExtent(0) });
    for (keep, device) in [(false, 1), (true, 0)] {
        if keep {
            world.reshape(Reshape::Keep { device: DeviceIndex(0) }).unwrap();
        }
        assert_eq!(world.engine_mut().choose(LogicalExtent(8), None), Some(device));
    }
}

#[test]
fn what_cannot_be_changed_says_why() {
    let mut engine = engine();
    let mut error = |reshape| engine.reshape(Nanos::ZERO, reshape, &mut Vec::new()).unwrap_err().to_string();
    let device = DeviceIndex(0);
    assert_eq!(
        error(Reshape::Grow { device, capacity: Bytes::kib(16) }),
        "device 0 has 32KiB, and cannot shrink to 16KiB"
    );
    assert_eq!(error(Reshape::Offer { capacity: Bytes::kib(8) }), "the volume has 64KiB, and cannot shrink to 8KiB");
    let more = error(Reshape::Offer { capacity: Bytes::kib(80) });
    assert_eq!(more, "the devices that stay hold 64KiB; 80KiB are needed");
    assert_eq!(error(Reshape::Join { capacity: Bytes(5) }), "a device of 5B holds no extent");
    assert_eq!(error(Reshape::Keep { device: DeviceIndex(9) }), "there is no device 9");
    let mut grown = |reshape| engine.reshape(Nanos::ZERO, reshape, &mut Vec::new()).unwrap();
    grown(Reshape::Join { capacity: Bytes::kib(16) });
    grown(Reshape::Offer { capacity: Bytes::kib(80) });
    assert_eq!(engine.capacity(), Bytes::kib(80));
}
