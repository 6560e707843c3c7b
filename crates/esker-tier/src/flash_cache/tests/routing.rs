//! Hits that the backing device serves.

use esker_core::{FaultPlan, Nanos, Rng};

use super::cases::{READ, WRITE, done, host, ios, read, serve, write};
use super::world::World;
use super::*;
use crate::engine::IoId;

/// Routes every `every`-th request, all if 1, and lets lines that reads miss enter or not.
#[derive(Debug)]
struct Scripted {
    every: u32,
    asked: u32,
    admits: bool,
}

impl HitRouting for Scripted {
    fn looked_up(&mut self, _: bool) {}

    fn ended(&mut self, _: Nanos, _: Bytes, _: Nanos) {}

    fn admits(&self) -> bool {
        self.admits
    }

    fn routes(&mut self) -> bool {
        self.asked += 1;
        self.asked.is_multiple_of(self.every)
    }

    fn share(&self) -> Ratio {
        Ratio::ONE
    }
}

fn scripted(every: u32, admits: bool) -> Option<HitRouter> {
    Some(HitRouter::of(Box::new(Scripted { every, asked: 0, admits })))
}

/// A cache that holds the clean lines 1 to 3, and then routes every `every`-th request.
fn filled(role: CacheRole, write: WriteHandling, every: u32) -> FlashCacheEngine {
    let mut engine = FlashCacheEngine::new(&settings(8, 16, role, write)).unwrap();
    serve(&mut engine, read(1, 3));
    engine.router = scripted(every, true);
    engine
}

fn routing(engine: &FlashCacheEngine) -> esker_results::CacheRouting {
    engine.report_now().routing.expect("the cache routes")
}

/// The lines of one request go the same way, as one request to a device.
#[test]
fn a_request_goes_one_way() {
    let mut engine = filled(CacheRole::Read, WriteHandling::WriteThrough, 2);
    assert_eq!(ios(&serve(&mut engine, read(1, 3))), [(0, READ, 0, 3 * LINE)]);
    assert_eq!(ios(&serve(&mut engine, read(1, 3))), [(1, READ, LINE, 3 * LINE)]);
    let counts = engine.report_now();
    assert_eq!((counts.read_hits, counts.read_misses, routing(&engine).routed), (6, 3, 3));
    assert!((routing(&engine).routed_ratio - 0.5).abs() < 1e-9);
}

/// Of a request that hits clean and dirty lines and misses one, the flash serves the dirty line, and the others are
/// one request to the backing device, but for the line that comes in.
#[test]
fn dirty_lines_are_read_from_the_flash() {
    let mut engine = filled(CacheRole::Unified, WriteHandling::WriteBack, 1);
    serve(&mut engine, write(2, 1));
    assert_eq!(engine.report_now().dirty_lines, 1);
    let found = ios(&serve(&mut engine, read(1, 4)));
    let expected = [
        (0, READ, LINE, LINE),
        (1, READ, LINE, LINE),
        (1, READ, 3 * LINE, LINE),
        (1, READ, 4 * LINE, LINE),
        (0, WRITE, 3 * LINE, LINE),
    ];
    assert_eq!(found, expected);
}

/// While a dirty line is being copied back, a read of it waits, and is served by the backing device only afterwards.
#[test]
fn a_line_that_is_being_copied_back_is_still_dirty() {
    let mut engine = filled(CacheRole::Unified, WriteHandling::WriteBack, 1);
    (engine.dirty_low, engine.dirty_high) = (0, 8);
    let mut effects = Vec::new();
    engine.on(Nanos::ZERO, write(2, 1), &mut effects);
    let io_of = |effects: &[Effect]| match effects.last() {
        Some(Effect::Io { io, device, request, .. }) => (*io, device.0, request.kind),
        other => panic!("{other:?}"),
    };
    // The journal may first have to hear that the line is dirty.
    if let Some(Effect::Harden { through }) = effects.last() {
        let through = *through;
        engine.on(Nanos::ZERO, Input::Durable { through }, &mut effects);
    }
    engine.on(Nanos::ZERO, done(io_of(&effects).0), &mut effects);
    let (copied, device, kind) = io_of(&effects);
    assert_eq!((device, kind), (0, READ), "the cleaner reads the line");
    let before = effects.len();
    engine.on(Nanos::ZERO, read(2, 1), &mut effects);
    assert_eq!(effects.len(), before, "{effects:?}");
    engine.on(Nanos::ZERO, done(copied), &mut effects);
    let (written, device, kind) = io_of(&effects);
    assert_eq!((device, kind), (1, RequestKind::Write { fua: true }));
    engine.on(Nanos::ZERO, done(written), &mut effects);
    assert!(ios(&effects[before..]).contains(&(1, READ, 2 * LINE, LINE)), "{effects:?}");
}

/// Returns the requests to devices after a routed read has failed on the backing device, with the host's answer.
fn after_error(engine: &mut FlashCacheEngine, then: Result<(), DeviceError>) -> (Vec<u16>, Result<(), DeviceError>) {
    let (mut effects, mut devices) = (Vec::new(), Vec::new());
    engine.on(Nanos::ZERO, read(1, 1), &mut effects);
    let mut next = 0;
    while next < effects.len() {
        match effects[next] {
            Effect::Io { io, device, .. } => {
                devices.push(device.0);
                let result = if devices.len() == 1 { Err(DeviceError::MEDIUM) } else { then };
                engine.on(Nanos::ZERO, Input::Done { io, at: Nanos::ZERO, result }, &mut effects);
            }
            Effect::Reply { result, .. } => return (devices, result),
            _ => {}
        }
        next += 1;
    }
    panic!("no answer: {effects:?}");
}

#[test]
fn the_flash_serves_what_the_backing_device_cannot_read() {
    let mut engine = filled(CacheRole::Read, WriteHandling::WriteThrough, 1);
    assert_eq!(after_error(&mut engine, Ok(())), (vec![1, 0], Ok(())));
    assert_eq!((routing(&engine).routed, routing(&engine).fell_back), (1, 1));
    // If neither can, the host is told.
    let mut engine = filled(CacheRole::Read, WriteHandling::WriteThrough, 1);
    let (devices, result) = after_error(&mut engine, Err(DeviceError::MEDIUM));
    assert_eq!((devices, result.is_err()), (vec![1, 0, 1], true));
}

/// After a failed flush the backing device may have lost what a clean line holds: of reads under way, too.
#[test]
fn nothing_is_routed_to_a_backing_device_that_has_failed() {
    let mut engine = filled(CacheRole::Unified, WriteHandling::WriteThrough, 1);
    serve(&mut engine, write(2, 1));
    let mut effects = Vec::new();
    engine.on(Nanos::ZERO, read(2, 1), &mut effects);
    let [Effect::Io { io, device: BACKING, .. }] = effects[..] else { panic!("{effects:?}") };
    engine.on(Nanos::ZERO, Input::Host { tag: Tag::new(1, 0), request: FLUSH }, &mut effects);
    let flushed = |effects: &[Effect]| -> Option<IoId> {
        effects.iter().find_map(|effect| match effect {
            Effect::Io { io, device: BACKING, request, .. } if request.kind == RequestKind::Flush => Some(*io),
            _ => None,
        })
    };
    let flush = flushed(&effects).expect("what was written through is not durable");
    let failed = Input::Done { io: flush, at: Nanos::ZERO, result: Err(DeviceError::MEDIUM) };
    engine.on(Nanos::ZERO, failed, &mut effects);
    let before = effects.len();
    engine.on(Nanos::ZERO, done(io), &mut effects);
    let read_again = ios(&effects[before..]);
    assert!(matches!(read_again[..], [(0, READ, _, LINE)]), "{effects:?}");
}

/// Lines that reads miss stay out while admission is stopped. Those that writes bring in enter as ever.
#[test]
fn only_reads_are_kept_out() {
    let mut engine = filled(CacheRole::Unified, WriteHandling::WriteBack, 1);
    engine.router = scripted(1, false);
    let sector = host(Request::read(Lba(9 * LINE + 1), Bytes(512)));
    assert_eq!(ios(&serve(&mut engine, sector)), [(1, READ, 9 * LINE + 1, 1)]);
    assert_eq!(ios(&serve(&mut engine, write(10, 1)))[0], (0, WRITE, 3 * LINE, LINE));
    assert_eq!((routing(&engine).kept_out, engine.report_now().held_lines), (1, 4));
}

/// Writes, most of the requests, are never overtaken: the host checks each sector that it reads. Devices fail now and
/// then, which sends routed reads back to the flash.
#[test]
fn a_phase_of_writes_reads_nothing_stale() {
    let (mut routed, mut fell_back) = (0, 0);
    for seed in 0..600 {
        let (role, write) = MODES[seed as usize % MODES.len()];
        let mut rng = Rng::new(seed);
        let mut world = World::new(settings(8, 16, role, write), seed);
        world.engine_mut().router = scripted(1 + seed as u32 % 2, true);
        let backing = [FaultPlan::default(), FaultPlan { reads: 4, ..FaultPlan::default() }, FaultPlan::flushes(6)];
        world.set_plans(&[FaultPlan::default(), backing[rng.below(3) as usize]], 0);
        for _ in 0..120 {
            let kind = match rng.below(10) {
                0..6 => RequestKind::Write { fua: rng.chance(1, 8) },
                6..9 => RequestKind::Read,
                _ => RequestKind::Flush,
            };
            let start = rng.below(10 * LINE);
            let length = Bytes(512 * (1 + rng.below(2 * LINE)));
            world.submit(if kind == RequestKind::Flush { FLUSH } else { Request::new(kind, Lba(start), length) });
            for _ in 0..rng.below(8) {
                world.perform_one();
            }
        }
        world.drain();
        let counts = routing(world.engine_mut());
        (routed, fell_back) = (routed + counts.routed, fell_back + counts.fell_back);
    }
    assert!(routed > 5_000 && fell_back > 200, "{routed} {fell_back}");
}
