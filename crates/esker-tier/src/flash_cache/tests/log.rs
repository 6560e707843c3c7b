//! Tests of slots as a log, and of the streams of writes to the flash.

use esker_core::{Rng, StreamId};

use super::cases::{READ, WRITE, host, ios, read, serve, write};
use super::*;

fn log(slots: u64, lines: u64, role: CacheRole, write: WriteHandling) -> FlashCacheSettings {
    FlashCacheSettings { policy: Choice::named("fifo"), slots: SlotOrder::Log, ..settings(slots, lines, role, write) }
}

/// Returns the slots that `effects` write to, in order.
fn written(effects: &[Effect]) -> Vec<u64> {
    let writes = ios(effects).into_iter().filter(|(device, kind, ..)| *device == 0 && *kind == WRITE);
    writes.flat_map(|(_, _, start, sectors)| start / LINE..(start + sectors) / LINE).collect()
}

/// Whatever is read, and whatever leaves in between because it is trimmed, the flash is written from its first slot to
/// its last, round after round. A slot that becomes free early waits for its turn.
#[test]
fn a_log_is_written_in_the_order_of_addresses() {
    let mut rng = Rng::new(2);
    for (slots, lines) in [(2, 1), (5, 1), (40, 1), (100, 1), (640, 8)] {
        let volume = 3 * slots;
        let settings = log(slots, volume, CacheRole::Read, WriteHandling::WriteAround);
        let mut engine = FlashCacheEngine::new(&settings).unwrap();
        let mut all = Vec::new();
        for _ in 0..20 * slots {
            // At most half as many lines at a time as there are slots in reserve.
            let lines = 1 + rng.below(lines);
            all.extend(written(&serve(&mut engine, read(rng.below(volume - lines), lines))));
            if rng.chance(1, 5) {
                let trim = Request::new(RequestKind::Trim, Lba(rng.below(volume) * LINE), Bytes(LINE * 512));
                serve(&mut engine, host(trim));
            }
        }
        let out_of_order = all.iter().zip(0..).find(|(slot, count)| **slot != count % slots);
        assert_eq!(out_of_order, None, "{slots} slots");
        let counts = engine.report_now();
        assert!(all.len() as u64 > 8 * slots && counts.without_slot == 0 && counts.evictions > 0, "{counts:?}");
    }
}

/// However often the oldest line is read, it leaves when the log reaches it, and no other line does.
#[test]
fn the_log_lets_the_oldest_line_leave() {
    let mut engine = FlashCacheEngine::new(&log(5, 16, CacheRole::Read, WriteHandling::WriteAround)).unwrap();
    for line in 0..4 {
        serve(&mut engine, read(line, 1));
    }
    assert_eq!(ios(&serve(&mut engine, read(0, 1))), [(0, READ, 0, LINE)]);
    // Slot 4 is the last free one: line 0, in the slot after it, leaves.
    assert_eq!(written(&serve(&mut engine, read(9, 1))), [4]);
    assert_eq!(written(&serve(&mut engine, read(0, 1))), [0]);
    assert_eq!(ios(&serve(&mut engine, read(2, 1))), [(0, READ, 2 * LINE, LINE)]);
    assert_eq!(written(&serve(&mut engine, read(1, 1))), [1]);
}

/// After a restart the log continues after the slot that was written last, and the oldest line leaves first.
#[test]
fn a_restarted_log_goes_on_where_it_was() {
    let settings = log(8, 64, CacheRole::Unified, WriteHandling::WriteBack);
    let mut engine = FlashCacheEngine::new(&settings).unwrap();
    for line in 0..11 {
        serve(&mut engine, write(line, 1));
    }
    serve(&mut engine, host(FLUSH));
    let checkpoint = Checkpoint::of(&mut engine);
    let mut restarted = restore(&settings, &checkpoint, &mut std::iter::empty()).unwrap();
    restarted.check();
    assert_eq!(restarted.report_now().held_lines, 7);
    for (line, slot) in [(20, 3), (21, 4), (22, 5)] {
        assert_eq!(written(&serve(&mut restarted, write(line, 1))), [slot]);
    }
    // Lines 4 to 6 of the first round have left to make room.
    let held = |line: u64| ios(&serve(&mut restarted, read(line, 1)))[0].0 == 0;
    assert_eq!([7, 8, 10, 20, 22].map(held), [true; 5]);
}

pub(super) fn append_only(slots: u64, lines: u64) -> FlashCacheSettings {
    let log = log(slots, lines, CacheRole::Unified, WriteHandling::WriteBack);
    FlashCacheSettings { slots: SlotOrder::AppendOnly, ..log }
}

/// Nothing is changed in place, whether whole lines or parts of them are written, and however often the host flushes.
#[test]
fn an_append_only_log_is_written_in_the_order_of_addresses() {
    let mut rng = Rng::new(2);
    for (slots, flushes) in [(5, 0), (40, 0), (40, 9), (300, 50)] {
        let volume = 3 * slots;
        let mut engine = FlashCacheEngine::new(&append_only(slots, volume)).unwrap();
        let mut all = Vec::new();
        for _ in 0..20 * slots {
            let line = if rng.chance(1, 2) { rng.below(slots / 2) } else { rng.below(volume) };
            let (start, sectors) = if rng.chance(1, 3) { (line * LINE + 1, 1) } else { (line * LINE, LINE) };
            let request = Request::write(Lba(start), Bytes(sectors * 512));
            all.extend(written(&serve(&mut engine, host(request))));
            if rng.below(100) < flushes {
                serve(&mut engine, host(FLUSH));
            }
            engine.check();
        }
        let out_of_order = all.iter().zip(0..).find(|(slot, count)| **slot != count % slots);
        assert_eq!(out_of_order, None, "{slots} slots");
        let counts = engine.report_now();
        assert!(all.len() as u64 > 8 * slots && counts.hits - counts.read_hits > 4 * slots, "{counts:?}");
    }
}

/// A changed line becomes the newest of the log. The rest of its data come from the flash, and its old slot is free
/// once the journal names the new one.
#[test]
fn a_changed_line_goes_to_the_end_of_the_log() {
    // Nothing is copied back in the meantime.
    let (dirty_low, dirty_high) = (Ratio::ONE, Ratio::ONE);
    let settings = FlashCacheSettings { dirty_low, dirty_high, ..append_only(8, 64) };
    let mut engine = FlashCacheEngine::new(&settings).unwrap();
    for line in 0..4 {
        serve(&mut engine, write(line, 1));
    }
    serve(&mut engine, host(FLUSH));
    let part = serve(&mut engine, host(Request::write(Lba(LINE + 1), Bytes(512))));
    assert_eq!(ios(&part), [(0, READ, LINE, LINE), (0, WRITE, 4 * LINE, LINE)]);
    assert_eq!(ios(&serve(&mut engine, read(1, 1))), [(0, READ, 4 * LINE, LINE)]);
    // Without a flush, a restart finds the data that were flushed earlier.
    let restored =
        |engine: &mut FlashCacheEngine| restore(&settings, &Checkpoint::of(engine), &mut std::iter::empty()).unwrap();
    let slot_of_1 = |mut engine: FlashCacheEngine| ios(&serve(&mut engine, read(1, 1)))[0].2 / LINE;
    assert_eq!(slot_of_1(restored(&mut engine)), 1);
    serve(&mut engine, host(FLUSH));
    assert_eq!(slot_of_1(restored(&mut engine)), 4);
}

/// If the flash fails to take a changed line, the backing device serves the host: it has everything that the flash had
/// of a clean line, but not of a dirty one.
#[test]
fn a_clean_line_that_cannot_be_appended_goes_around() {
    let part = || host(Request::write(Lba(LINE + 1), Bytes(512)));
    for is_dirty in [false, true] {
        let mut engine = FlashCacheEngine::new(&append_only(8, 64)).unwrap();
        serve(&mut engine, if is_dirty { write(1, 1) } else { read(1, 1) });
        serve(&mut engine, host(FLUSH));
        let mut effects = Vec::new();
        engine.on(Nanos::ZERO, part(), &mut effects);
        let mut next = 0;
        while next < effects.len() {
            match effects[next] {
                Effect::Io { io, device, request, .. } => {
                    let fails = device == FLASH && request.kind == WRITE;
                    let result = if fails { Err(DeviceError::Failed) } else { Ok(()) };
                    engine.on(Nanos::ZERO, Input::Done { io, at: Nanos::ZERO, result }, &mut effects);
                }
                Effect::Harden { through } => engine.on(Nanos::ZERO, Input::Durable { through }, &mut effects),
                _ => {}
            }
            next += 1;
        }
        engine.check();
        let reply = effects.iter().find_map(|effect| match effect {
            Effect::Reply { result, .. } => Some(*result),
            _ => None,
        });
        let around = ios(&effects).contains(&(1, WRITE, LINE + 1, 1));
        let expected = if is_dirty { Err(DeviceError::Failed) } else { Ok(()) };
        assert_eq!((reply, around), (Some(expected), !is_dirty), "{effects:?}");
        assert_eq!(engine.report_now().lost, u64::from(is_dirty));
    }
}

/// Returns the streams of the writes that `effects` send to the flash, and of those to the backing device.
fn streams(effects: &[Effect]) -> [Vec<u16>; 2] {
    [FLASH, BACKING].map(|wanted| {
        let of = |effect: &Effect| match effect {
            Effect::Io { device, request, .. } if *device == wanted && request.kind.is_write() => {
                Some(request.stream.0)
            }
            _ => None,
        };
        effects.iter().filter_map(of).collect()
    })
}

#[test]
fn writes_have_the_stream_of_their_purpose() {
    let in_stream = |input: Input| match input {
        Input::Host { tag, request } => Input::Host { tag, request: Request { stream: StreamId(9), ..request } },
        other => other,
    };
    let part = || in_stream(host(Request::write(Lba(6 * LINE + 1), Bytes(512))));
    let through = (CacheRole::Unified, WriteHandling::WriteThrough);
    for (handles, expected) in [(CacheStreams::ByPurpose, [0, 1, 2, 1]), (CacheStreams::None, [9; 4])] {
        let settings = FlashCacheSettings { streams: handles, ..settings(8, 16, through.0, through.1) };
        let mut engine = FlashCacheEngine::new(&settings).unwrap();
        let mut serve = |input: Input| streams(&serve(&mut engine, input));
        let all = [serve(in_stream(read(3, 1))), serve(in_stream(write(4, 1))), serve(in_stream(write(3, 1)))];
        // A partial write to a line that is not cached: the line is read first.
        let all = [&all[..], &[serve(part())]].concat();
        assert_eq!(all.iter().map(|[flash, _]| flash[0]).collect::<Vec<_>>(), expected);
        assert_eq!(
            all.iter().map(|[_, backing]| backing.first().copied()).collect::<Vec<_>>(),
            [None, Some(9), Some(9), Some(9)]
        );
    }
}
