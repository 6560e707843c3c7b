//! The write buffer, with times computed by hand. A page takes 305.6 us to write and 130.6 us to read (see the parent).

use esker_core::{Bytes, Nanos, Ratio};

use super::*;
use crate::{BufferMode, WriteBufferSettings};

const LATENCY: Nanos = Nanos(700);

/// One die, and a buffer of some pages that begins to write out when more than `high` per cent are dirty.
fn buffered(pages: u64, high: u64, change: impl FnOnce(&mut WriteBufferSettings)) -> Ssd {
    let mut settings = agrawal();
    settings.geometry.channels = 1;
    settings.geometry.dies_per_package = 1;
    let mut buffer = WriteBufferSettings {
        size: Bytes::kib(4 * pages),
        mode: BufferMode::WriteBack,
        latency: LATENCY,
        high_water: Ratio::percent(high),
        low_water: Ratio::ZERO,
        keep_reads: false,
        power_protected: false,
    };
    change(&mut buffer);
    settings.write_buffer = Some(buffer);
    Ssd::new("flash", &settings, 1).unwrap()
}

fn flush() -> Request {
    Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO)
}

fn host_programs(ssd: &Ssd) -> u64 {
    ssd.back.flash.counts().programs().host
}

#[test]
fn a_write_ends_in_memory_and_a_read_of_it_too() {
    let mut ssd = buffered(4, 75, |_| {});
    assert_eq!(serve(&mut ssd, Nanos::ZERO, write(3)).at, LATENCY);
    assert_eq!(serve(&mut ssd, Nanos(1000), read(3)).at, Nanos(1000) + LATENCY);
    assert_eq!(host_programs(&ssd), 0);
    assert_eq!(ssd.next_event(), Nanos::NEVER);
}

#[test]
fn writes_of_one_page_meet() {
    let mut ssd = buffered(4, 75, |_| {});
    for time in 0..10 {
        serve(&mut ssd, Nanos::from_millis(time), write(3));
    }
    let buffer = ssd.front.buffer.as_ref().unwrap().counts;
    assert_eq!((buffer.pages_written, buffer.pages_overwritten_in_buffer, buffer.pages_to_flash), (10, 9, 0));
}

#[test]
fn above_high_water_the_pages_used_longest_ago_go_to_flash_until_low_water() {
    let mut ssd = buffered(4, 50, |buffer| buffer.low_water = Ratio::percent(25));
    for number in [1, 2, 1] {
        serve(&mut ssd, Nanos(number * 1000), write(number));
    }
    assert_eq!(host_programs(&ssd), 0);
    serve(&mut ssd, Nanos(10_000), write(3));
    drain(&mut ssd);
    // Two of the three pages leave. Page 1 was used after page 2.
    let held = |page: u64| ssd.back.ftl.find(LogicalPage(page as u32)).is_none();
    assert_eq!([1, 2, 3].map(held), [false, false, true]);
    assert_eq!(ssd.now, Nanos(10_000) + Nanos(2 * 305_600));
}

#[test]
fn a_write_waits_for_room_and_overtakes_none() {
    let mut ssd = buffered(2, 100, |buffer| buffer.low_water = Ratio::percent(50));
    for slot in 0..5 {
        ssd.submit(Nanos::ZERO, tag(slot), write(u64::from(slot)));
    }
    // One die writes one page after another. The third write has room after the first program, and so on.
    let program = Nanos(305_600);
    let mut at = Nanos::ZERO;
    let expected: Vec<(u32, Nanos)> = (0..5)
        .map(|slot| {
            at += if slot < 2 { Nanos::ZERO } else { program };
            (slot, at + LATENCY)
        })
        .collect();
    let mut ended = drain(&mut ssd);
    ended.sort();
    assert_eq!(ended, expected);
    assert_eq!(ssd.front.buffer.as_ref().unwrap().counts.writes_that_waited, 3);
}

#[test]
fn a_request_larger_than_the_buffer_goes_through_it() {
    let mut ssd = buffered(2, 100, |_| {});
    let end = serve(&mut ssd, Nanos::ZERO, Request::write(Lba(0), Bytes::kib(4 * 10))).at;
    assert_eq!(end, Nanos(8 * 305_600) + LATENCY);
    drain(&mut ssd);
    ssd.check();
}

#[test]
fn a_flush_waits_for_what_the_buffer_held_and_not_for_more() {
    let mut ssd = buffered(8, 100, |_| {});
    ssd.submit(Nanos::ZERO, tag(0), write(1));
    ssd.submit(Nanos::ZERO, tag(1), write(2));
    let mut done = Vec::new();
    ssd.advance(LATENCY, &mut done);
    assert_eq!(done.len(), 2);
    ssd.submit(LATENCY, tag(2), flush());
    ssd.submit(LATENCY, tag(3), write(3));
    let ended = drain(&mut ssd);
    assert_eq!(ended, [(3, LATENCY + LATENCY), (2, LATENCY + Nanos(2 * 305_600))]);
    assert_eq!(host_programs(&ssd), 2);
    // Only page 3 is left to wait for.
    let start = Nanos::from_millis(5);
    assert_eq!(serve(&mut ssd, start, flush()).at, start + Nanos(305_600));
    assert_eq!(serve(&mut ssd, start * 2, flush()).at, start * 2);
}

/// For each page that leaves, another one is written, and the last one for which the flush waits is read.
#[test]
fn a_flush_ends_although_a_page_is_used_all_the_time() {
    let mut ssd = buffered(8, 100, |_| {});
    (0..8).for_each(|slot| ssd.submit(Nanos::ZERO, tag(slot), write(u64::from(slot))));
    let mut done = Vec::new();
    ssd.advance(LATENCY, &mut done);
    ssd.submit(LATENCY, tag(8), flush());
    let mut has_ended = |program: u32| {
        let now = LATENCY + Nanos(305_600 * u64::from(program));
        while ssd.next_event() <= now {
            ssd.advance(ssd.next_event(), &mut done);
        }
        ssd.submit(now, tag(100 + 2 * program), read(7));
        ssd.submit(now, tag(101 + 2 * program), write(100 + u64::from(program)));
        done.iter().any(|completion| completion.tag == tag(8))
    };
    let programs = (1..64).find(|&program| has_ended(program));
    assert!(programs.is_some_and(|programs| programs <= 16), "{programs:?}");
}

#[test]
fn a_flush_waits_for_what_was_written_to_a_page_on_its_way_to_flash() {
    let mut ssd = buffered(8, 0, |_| {});
    // The page leaves at once, and is in flash at 305.6 us. Data written to it in the meantime go to flash after that.
    serve(&mut ssd, Nanos::ZERO, write(1));
    serve(&mut ssd, Nanos(1000), write(1));
    assert_eq!(serve(&mut ssd, Nanos(2000), flush()).at, Nanos(2 * 305_600));
    assert_eq!(host_programs(&ssd), 2);
}

/// The drive of Agrawal 2008: 8 pools of 2 dies each, with a buffer of `pages` pages that writes pages out only when it
/// has to.
fn many_dies(pages: u64) -> Ssd {
    let mut settings = agrawal();
    settings.write_buffer = buffered(pages, 100, |_| {}).settings.write_buffer;
    Ssd::new("flash", &settings, 1).unwrap()
}

fn leaving(ssd: &Ssd) -> u32 {
    ssd.front.buffer.as_ref().unwrap().memory.leaving()
}

#[test]
fn a_flush_sends_each_pool_a_page_per_die_at_a_time() {
    let mut ssd = many_dies(100);
    // Pages that all belong to the first pool, then three pages of another one.
    for number in 0..40 {
        serve(&mut ssd, Nanos(1000 * number), write(8 * number));
    }
    for number in 0..3 {
        serve(&mut ssd, Nanos(50_000 + 1000 * number), write(8 * number + 1));
    }
    ssd.submit(Nanos(60_000), tag(0), flush());
    assert_eq!(leaving(&ssd), 4, "two of each pool, though the 40 of one pool are older");
    let mut done = Vec::new();
    while done.is_empty() {
        ssd.advance(ssd.next_event(), &mut done);
        assert!(leaving(&ssd) <= 4);
    }
    assert_eq!(host_programs(&ssd), 43);
}

#[test]
fn so_many_pages_more_leave_as_writes_wait_for_room() {
    let mut ssd = many_dies(20);
    for number in 0..20 {
        serve(&mut ssd, Nanos(1000 * number), write(8 * number));
    }
    assert_eq!(leaving(&ssd), 0);
    let now = Nanos(50_000);
    let mut leaving_after = |number: u64| {
        ssd.submit(now, tag(number as u32), write(8 * number));
        leaving(&ssd)
    };
    assert_eq!(leaving_after(20), 3, "two for the dies of the pool, and one for the page that waits");
    assert_eq!(leaving_after(21), 4);
    drain(&mut ssd);
    ssd.check();
}

#[test]
fn a_protected_buffer_needs_no_flush() {
    let mut ssd = buffered(8, 100, |buffer| buffer.power_protected = true);
    serve(&mut ssd, Nanos::ZERO, write(1));
    assert_eq!(serve(&mut ssd, Nanos(1000), flush()).at, Nanos(1000));
    let forced = Request::new(RequestKind::Write { fua: true }, Lba(0), Bytes::kib(4));
    assert_eq!(serve(&mut ssd, Nanos(2000), forced).at, Nanos(2000) + LATENCY);
    assert_eq!(host_programs(&ssd), 0);
}

#[test]
fn forced_unit_access_and_write_through_end_in_flash_and_leave_a_copy() {
    let mut ssd = buffered(8, 100, |_| {});
    let forced = Request::new(RequestKind::Write { fua: true }, Lba(8), Bytes::kib(4));
    assert_eq!(serve(&mut ssd, Nanos::ZERO, forced).at, Nanos(305_600));
    let mut through = buffered(8, 100, |buffer| buffer.mode = BufferMode::WriteThrough);
    assert_eq!(serve(&mut through, Nanos::ZERO, write(1)).at, Nanos(305_600));
    for ssd in [&mut ssd, &mut through] {
        let start = Nanos::from_millis(1);
        assert_eq!(serve(ssd, start, read(1)).at, start + LATENCY);
    }
}

#[test]
fn parts_of_pages_are_put_together_before_they_go_to_flash() {
    let mut ssd = buffered(8, 100, |_| {});
    let part = |sector| Request::write(Lba(sector), Bytes(512));
    serve(&mut ssd, Nanos::ZERO, Request::write(Lba(0), Bytes::kib(8)));
    serve(&mut ssd, Nanos::from_millis(1), flush());
    for sector in 0..8 {
        serve(&mut ssd, Nanos::from_millis(2 + sector), part(sector));
    }
    // Page 0 is completely in memory; page 1 lacks a sector.
    for sector in 8..15 {
        serve(&mut ssd, Nanos::from_millis(2 + sector), part(sector));
    }
    let start = Nanos::from_millis(50);
    assert_eq!(serve(&mut ssd, start, flush()).at, start + Nanos(305_600 * 2));
    assert_eq!(ssd.back.flash.counts().reads().host, 0, "the buffer still held both pages whole");
    // When other pages push page 1 out, its remaining sector has to be read from flash.
    for number in 10..18 {
        serve(&mut ssd, Nanos::from_millis(50 + number), write(number));
    }
    serve(&mut ssd, Nanos::from_millis(70), flush());
    serve(&mut ssd, Nanos::from_millis(80), part(8));
    serve(&mut ssd, Nanos::from_millis(90), flush());
    assert_eq!(ssd.back.flash.counts().reads().host, 1);
}

#[test]
fn a_read_of_what_is_there_in_part_needs_the_flash() {
    let mut ssd = buffered(8, 100, |_| {});
    serve(&mut ssd, Nanos::ZERO, write(0));
    serve(&mut ssd, Nanos::from_millis(1), flush());
    for number in 10..18 {
        serve(&mut ssd, Nanos::from_millis(number), write(number));
    }
    serve(&mut ssd, Nanos::from_millis(30), flush());
    serve(&mut ssd, Nanos::from_millis(40), Request::write(Lba(2), Bytes(1024)));
    let at = |millis| Nanos::from_millis(millis);
    assert_eq!(serve(&mut ssd, at(50), Request::read(Lba(2), Bytes(1024))).at, at(50) + LATENCY);
    assert_eq!(serve(&mut ssd, at(51), read(0)).at, at(51) + Nanos(130_600));
}

#[test]
fn reads_are_kept_where_that_is_asked_for() {
    for (keep, expected) in [(false, Nanos(130_600)), (true, LATENCY)] {
        let mut ssd = buffered(2, 100, |buffer| buffer.keep_reads = keep);
        for number in 0..4 {
            serve(&mut ssd, Nanos::from_millis(number), write(number));
            drain(&mut ssd);
        }
        serve(&mut ssd, Nanos::from_millis(10), flush());
        let at = |millis| Nanos::from_millis(millis);
        assert_eq!(serve(&mut ssd, at(20), read(0)).at, at(20) + Nanos(130_600));
        assert_eq!(serve(&mut ssd, at(30), read(0)).at, at(30) + expected);
    }
}

#[test]
fn a_page_is_kept_as_a_whole_once_its_data_have_come() {
    let mut ssd = buffered(2, 100, |buffer| buffer.keep_reads = true);
    for number in 0..4 {
        serve(&mut ssd, Nanos::from_millis(number), write(number));
        drain(&mut ssd);
    }
    serve(&mut ssd, Nanos::from_millis(10), flush());
    // The second read comes while the first one is under way.
    let (first, second) = (Nanos::from_millis(20), Nanos::from_millis(20) + Nanos(1_000));
    ssd.submit(first, tag(0), read(0));
    ssd.submit(second, tag(1), read(0));
    let ends = drain(&mut ssd);
    assert!(ends.iter().all(|(_, at)| *at >= first + Nanos(130_600)), "{ends:?}");
    // What is written as a whole is not read before.
    let reads = ssd.back.flash.counts().reads().host;
    serve(&mut ssd, Nanos::from_millis(30), write(0));
    serve(&mut ssd, Nanos::from_millis(40), flush());
    assert_eq!(ssd.back.flash.counts().reads().host, reads);
}

#[test]
fn a_trim_forgets_what_is_in_memory() {
    let mut ssd = buffered(8, 100, |_| {});
    serve(&mut ssd, Nanos::ZERO, write(1));
    serve(&mut ssd, Nanos(1000), Request::new(RequestKind::Trim, page(1).0, page(1).1));
    assert_eq!(serve(&mut ssd, Nanos(3000), flush()).at, Nanos(3000));
    assert_eq!(host_programs(&ssd), 0);
}

/// After a flush, exactly the pages that were written and not trimmed since have data.
#[test]
fn no_page_is_lost_in_the_buffer() {
    let mut rng = esker_core::Rng::new(7);
    for round in 0..200 {
        let mut ssd = buffered(1 + rng.below(12), rng.below(101), |buffer| {
            if round % 5 == 0 {
                buffer.mode = BufferMode::WriteThrough;
            }
            buffer.keep_reads = round % 2 == 0;
        });
        let pages = 24;
        let mut has_data = vec![false; pages as usize];
        let mut now = Nanos::ZERO;
        for _ in 0..200 {
            let (first, count) = (rng.below(pages), 1 + rng.below(3));
            let range = (Lba(first * 8), Bytes::kib(4 * count.min(pages - first)));
            let kind = match rng.below(10) {
                0 => RequestKind::Flush,
                1 => RequestKind::Trim,
                2 => RequestKind::WriteZeroes { fua: false },
                3..5 => RequestKind::Read,
                5 => RequestKind::Write { fua: true },
                _ => RequestKind::Write { fua: false },
            };
            let range = if kind == RequestKind::Flush { (Lba(0), Bytes::ZERO) } else { range };
            for page in first..(first + count).min(pages) {
                match kind {
                    RequestKind::Write { .. } => has_data[page as usize] = true,
                    RequestKind::Trim | RequestKind::WriteZeroes { .. } => has_data[page as usize] = false,
                    RequestKind::Read | RequestKind::Flush => {}
                }
            }
            now += Nanos(rng.below(900_000));
            while ssd.next_event() < now {
                ssd.advance(ssd.next_event(), &mut Vec::new());
            }
            now = serve(&mut ssd, now, Request::new(kind, range.0, range.1)).at;
        }
        now = serve(&mut ssd, now, flush()).at;
        let found: Vec<bool> = (0..pages).map(|page| ssd.back.ftl.find(LogicalPage(page as u32)).is_some()).collect();
        assert_eq!(found, has_data, "round {round} at {now}");
        ssd.check();
    }
}

/// The controller lets a page leave every 4.096 ms. Of the two pages that a flush waits for, the second is discarded
/// before its turn comes: then the flush waits for nothing more.
#[test]
fn a_flush_ends_when_the_last_page_that_it_waits_for_is_discarded() {
    let zeroes = RequestKind::WriteZeroes { fua: true };
    for kind in [RequestKind::Trim, RequestKind::WriteZeroes { fua: false }, zeroes] {
        let mut ssd = {
            let mut settings = agrawal();
            settings.write_buffer = Some(WriteBufferSettings {
                size: Bytes::kib(64),
                mode: BufferMode::WriteBack,
                latency: LATENCY,
                high_water: Ratio::ONE,
                low_water: Ratio::ZERO,
                keep_reads: false,
                power_protected: false,
            });
            let rate = Some(esker_core::ByteRate(1_000_000));
            settings.controller = Some(crate::ControllerSettings { write_rate: rate, ..Default::default() });
            Ssd::new("flash", &settings, 1).unwrap()
        };
        serve(&mut ssd, Nanos::ZERO, write(1));
        serve(&mut ssd, Nanos(1_000), write(2));
        ssd.submit(Nanos(2_000), tag(7), flush());
        let mut ended = Vec::new();
        while ssd.next_event() <= Nanos::from_millis(1) {
            ssd.advance(ssd.next_event(), &mut ended);
        }
        assert_eq!((ended.len(), host_programs(&ssd)), (0, 1), "{kind:?}");
        let page = ssd.back.geometry.page_size();
        ssd.submit(Nanos::from_millis(1), tag(8), Request::new(kind, Lba(2 * page.0 / 512), page));
        while ssd.next_event() < Nanos::NEVER {
            ssd.advance(ssd.next_event(), &mut ended);
        }
        let tags: Vec<u64> = ended.iter().map(|completion| completion.tag.to_bits()).collect();
        assert!(tags.contains(&tag(7).to_bits()) && tags.contains(&tag(8).to_bits()), "{kind:?}: {ended:?}");
    }
}
