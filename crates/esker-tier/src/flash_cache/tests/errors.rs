//! Where the host's errors are.

use esker_core::{DeviceState, Telemetry};

use super::cases::{engine, host};
use super::*;

/// The host reads from the second sector of a line to the end of the next one. It is told where the error is in its own
/// request, whether its sectors or whole lines were read.
#[test]
fn an_error_says_where_it_is() {
    let request = Request::read(Lba(2 * LINE + 1), Bytes((2 * LINE - 1) * 512));
    for (role, write) in
        [(CacheRole::Write, WriteHandling::WriteThrough), (CacheRole::Read, WriteHandling::WriteAround)]
    {
        let mut engine = engine(role, write);
        let mut effects = Vec::new();
        engine.on(Nanos::ZERO, host(request), &mut effects);
        let bad = (3 * LINE + 1) * 512;
        let (mut next, mut told) = (0, None);
        while next < effects.len() {
            match effects[next] {
                Effect::Io { io, request, .. } => {
                    let is_hit = (request.start.byte_offset()..request.end_byte()).contains(&bad);
                    let at = Bytes(bad.saturating_sub(request.start.byte_offset()));
                    let result = if is_hit { Err(DeviceError::Medium { at }) } else { Ok(()) };
                    engine.on(Nanos::ZERO, Input::Done { io, at: Nanos::ZERO, result }, &mut effects);
                }
                Effect::Reply { result, .. } => told = Some(result),
                _ => {}
            }
            next += 1;
        }
        assert_eq!(told, Some(Err(DeviceError::Medium { at: Bytes(LINE * 512) })), "{role:?}");
    }
}

/// A cache of which the backing device refuses writes, with a line that could not leave.
fn refused() -> FlashCacheEngine {
    let mut settings = settings(5, 16, CacheRole::Unified, WriteHandling::WriteBack);
    (settings.dirty_low, settings.dirty_high) = (Ratio::percent(80), Ratio::ONE);
    let mut engine = FlashCacheEngine::new(&settings).unwrap();
    for line in 0..8 {
        answer(&mut engine, super::cases::write(line, 1), Err(DeviceError::NoSpace));
    }
    engine
}

/// Ends all requests at once; writes of lines to the backing device that are copied back end with `result`. Returns
/// how many of these there were.
fn answer(engine: &mut FlashCacheEngine, input: Input, result: Result<(), DeviceError>) -> usize {
    let (mut effects, mut next, mut copies) = (Vec::new(), 0, 0);
    engine.on(Nanos::ZERO, input, &mut effects);
    while next < effects.len() {
        assert!(copies < 50, "it copies without end");
        match effects[next] {
            Effect::Io { io, device: BACKING, request: Request { kind: RequestKind::Write { .. }, .. }, .. } => {
                copies += 1;
                engine.on(Nanos::ZERO, Input::Done { io, at: Nanos::ZERO, result }, &mut effects);
            }
            Effect::Io { io, .. } => engine.on(Nanos::ZERO, super::cases::done(io), &mut effects),
            Effect::Harden { through } => engine.on(Nanos::ZERO, Input::Durable { through }, &mut effects),
            _ => {}
        }
        next += 1;
    }
    copies
}

fn told(engine: &mut FlashCacheEngine, state: DeviceState) -> usize {
    let telemetry = Telemetry { state, ..Telemetry::default() };
    answer(engine, Input::Device { device: BACKING, telemetry }, Ok(()))
}

/// A device that takes no writes is not asked again before it says that it takes some.
#[test]
fn nothing_is_copied_back_without_pause_to_a_device_that_refuses_it() {
    let mut settings = settings(5, 16, CacheRole::Unified, WriteHandling::WriteBack);
    (settings.dirty_low, settings.dirty_high) = (Ratio::ZERO, Ratio::percent(10));
    let mut engine = FlashCacheEngine::new(&settings).unwrap();
    assert!(answer(&mut engine, super::cases::write(0, 1), Err(DeviceError::NoSpace)) <= 1);
    assert_eq!(answer(&mut engine, super::cases::write(0, 1), Err(DeviceError::NoSpace)), 0);
    assert_eq!(told(&mut engine, DeviceState::Online), 1);
}

/// Lines that could not leave leave once the backing device takes writes again: others enter then.
#[test]
fn a_cache_whose_evictions_were_refused_takes_lines_again() {
    let mut engine = refused();
    let held = |engine: &FlashCacheEngine| engine.report_now().held_lines;
    assert!(engine.slots.free() == 0 && held(&engine) == 5, "{} lines are held", held(&engine));
    assert!(told(&mut engine, DeviceState::Online) > 0, "they leave");
    let before = engine.report_now().without_slot;
    answer(&mut engine, super::cases::write(12, 1), Ok(()));
    answer(&mut engine, super::cases::write(13, 1), Ok(()));
    assert_eq!(engine.report_now().without_slot, before);
}

/// Each hit of such a line has another one leave, which waits as well.
#[test]
fn lines_that_wait_for_the_backing_device_wait_once() {
    let mut engine = refused();
    told(&mut engine, DeviceState::ReadOnly);
    for round in 0..100 {
        for line in 0..8 {
            let copies = answer(&mut engine, super::cases::read(line, 1), Err(DeviceError::NoSpace));
            assert_eq!(copies, 0, "round {round}");
        }
    }
    assert!(engine.stranded.len() <= 5, "{} lines wait", engine.stranded.len());
}

/// The flash fails while a line is changed that is clean, and that the journal still names as dirty with older data: a
/// flush must not succeed, since these would come back after a crash.
#[test]
fn a_flush_fails_with_the_flash_while_the_journal_names_older_data() {
    let settings = super::log::append_only(8, 64);
    let settings = FlashCacheSettings { dirty_low: Ratio::ZERO, dirty_high: Ratio::ZERO, ..settings };
    let mut engine = FlashCacheEngine::new(&settings).unwrap();
    told(&mut engine, DeviceState::ReadOnly);
    answer(&mut engine, super::cases::write(0, 1), Ok(()));
    answer(&mut engine, host(FLUSH), Ok(()));
    answer(&mut engine, super::cases::write(0, 1), Ok(()));
    assert!(engine.slots.any_recorded_dirty(), "the journal names the first version");
    let on = |engine: &mut FlashCacheEngine, input| {
        let mut effects = Vec::new();
        engine.on(Nanos::ZERO, input, &mut effects);
        effects
    };
    let effects = on(&mut engine, host(FLUSH));
    let flush = effects.iter().find_map(|effect| match effect {
        Effect::Io { io, device: FLASH, .. } => Some(*io),
        _ => None,
    });
    assert_eq!((told(&mut engine, DeviceState::Online), engine.slots.any_dirty()), (1, false), "it is copied back");
    let change = Input::Host { tag: Tag::new(1, 0), request: Request::write(Lba(1), Bytes(512)) };
    let effects = on(&mut engine, change);
    assert_eq!(super::cases::ios(&effects)[0].1, RequestKind::Read, "the rest of the line is read");
    let result = Err(DeviceError::Medium { at: Bytes::ZERO });
    let effects = on(&mut engine, Input::Done { io: flush.expect("it is flushed"), at: Nanos::ZERO, result });
    let told = effects.iter().find_map(|effect| match effect {
        Effect::Reply { tag, result } if *tag == Tag::new(0, 0) => Some(*result),
        _ => None,
    });
    assert!(told.is_some_and(|result| result.is_err()), "{told:?}");
}
