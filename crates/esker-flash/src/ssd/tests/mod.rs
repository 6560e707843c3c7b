mod array;
mod both_arrays;
mod buffer;
mod buffer_model;
mod cleaning_ahead;
mod controller;
mod ecc;
mod modes;
mod power;
mod wear;
mod witness;

use esker_core::{DeviceError, Lba, Ratio, RequestKind};
use esker_nand::Placement;

use super::*;
use crate::{LinkSettings, PRESETS};

pub(super) fn agrawal() -> SsdSettings {
    toml::from_str(PRESETS[0].toml).unwrap()
}

fn tag(slot: u32) -> Tag {
    Tag::new(slot, 0)
}

/// Submits `request` and runs until it ends. Returns its completion.
pub(super) fn serve(ssd: &mut Ssd, now: Nanos, request: Request) -> Completion {
    let mut done = Vec::new();
    ssd.submit(now, tag(0), request);
    while done.is_empty() {
        let next = ssd.next_event();
        assert_ne!(next, Nanos::NEVER, "the drive stalled");
        ssd.advance(next, &mut done);
    }
    assert_eq!(done.len(), 1);
    done[0]
}

/// Runs until nothing is left to do. Returns the slots of the requests that ended, each with the time.
fn drain(ssd: &mut Ssd) -> Vec<(u32, Nanos)> {
    let mut done = Vec::new();
    while ssd.next_event() != Nanos::NEVER {
        ssd.advance(ssd.next_event(), &mut done);
    }
    done.iter().map(|completion| (completion.tag.slot(), completion.at)).collect()
}

fn page(number: u64) -> (Lba, Bytes) {
    (Lba(number * 8), Bytes::kib(4))
}
pub(super) fn read(number: u64) -> Request {
    Request::read(page(number).0, page(number).1)
}
pub(super) fn write(number: u64) -> Request {
    Request::write(page(number).0, page(number).1)
}

#[test]
fn an_unloaded_read_is_the_sum_of_its_parts() {
    let mut ssd = Ssd::new("flash", &agrawal(), 1).unwrap();
    let written = serve(&mut ssd, Nanos::ZERO, write(5)).at;
    assert_eq!(written, Nanos(305_600));
    let start = Nanos::from_millis(10);
    // 25 us to the register, (4096 + 128) x 25 ns over the bus.
    assert_eq!(serve(&mut ssd, start, read(5)).at - start, Nanos(130_600));
}

#[test]
fn the_link_adds_its_overhead_and_its_transfer() {
    let mut settings = agrawal();
    settings.link = Some(LinkSettings { rate: "4096kB/s".parse().unwrap(), overhead: Nanos(700) });
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    let transfer = Nanos::from_millis(1);
    assert_eq!(serve(&mut ssd, Nanos::ZERO, write(5)).at, Nanos(700) + transfer + Nanos(305_600));
    let start = Nanos::from_millis(10);
    assert_eq!(serve(&mut ssd, start, read(5)).at - start, Nanos(700) + Nanos(130_600) + transfer);
    let start = Nanos::from_millis(20);
    assert_eq!(serve(&mut ssd, start, read(6)).at - start, Nanos(700) + transfer);
}

#[test]
fn a_read_without_data_takes_no_time_and_no_flash_operation() {
    let mut ssd = Ssd::new("flash", &agrawal(), 1).unwrap();
    assert_eq!(serve(&mut ssd, Nanos(5), read(7)).at, Nanos(5));
    assert_eq!(ssd.back.flash.counts().reads().total(), 0);
}

#[test]
fn a_part_of_a_page_with_data_is_read_modified_and_written() {
    let mut ssd = Ssd::new("flash", &agrawal(), 1).unwrap();
    let part = Request::write(Lba(3), Bytes(512));
    assert_eq!(serve(&mut ssd, Nanos::ZERO, part).at, Nanos(305_600));
    let start = Nanos::from_millis(1);
    assert_eq!(serve(&mut ssd, start, part).at - start, Nanos(130_600 + 305_600));
    assert_eq!(ssd.back.flash.counts().reads().host, 1);
    // The request covers parts of pages 0 and 1, which lie in two pools. The mapped page takes longer.
    let start = Nanos::from_millis(2);
    assert_eq!(serve(&mut ssd, start, Request::write(Lba(7), Bytes(1024))).at - start, Nanos(130_600 + 305_600));
    ssd.check();
}

#[test]
fn trims_forget_whole_pages_and_zeroes_rewrite_parts() {
    let mut ssd = Ssd::new("flash", &agrawal(), 1).unwrap();
    serve(&mut ssd, Nanos::ZERO, Request::write(Lba(0), Bytes::kib(16)));
    // Sectors 4..28 cover all of pages 1 and 2, and halves of pages 0 and 3.
    let range = (Lba(4), Bytes(24 * 512));
    serve(&mut ssd, Nanos::from_millis(1), Request::new(RequestKind::Trim, range.0, range.1));
    let mapped = |ssd: &Ssd| (0..4).map(|page| ssd.back.ftl.find(LogicalPage(page)).is_some()).collect::<Vec<_>>();
    assert_eq!(mapped(&ssd), [true, false, false, true]);
    let programs = ssd.back.flash.counts().programs().host;
    let zeroes = RequestKind::WriteZeroes { fua: false };
    serve(&mut ssd, Nanos::from_millis(2), Request::new(zeroes, range.0, range.1));
    assert_eq!(ssd.back.flash.counts().programs().host - programs, 2);
    serve(&mut ssd, Nanos::from_millis(3), Request::new(zeroes, Lba(0), Bytes::kib(16)));
    assert_eq!(mapped(&ssd), [false; 4]);
    assert_eq!(ssd.back.flash.valid_pages(), 0);
    ssd.check();
}

#[test]
fn a_range_beyond_the_end_is_an_error() {
    let mut ssd = Ssd::new("flash", &agrawal(), 1).unwrap();
    let pages = ssd.capacity().0 / 4096;
    for kind in [RequestKind::Read, RequestKind::Write { fua: false }, RequestKind::Trim] {
        let request = Request::new(kind, Lba((pages - 1) * 8), Bytes::kib(8));
        let error = DeviceError::OutOfRange { end: (pages + 1) * 4096, capacity: ssd.capacity() };
        assert_eq!(serve(&mut ssd, Nanos::ZERO, request).result, Err(error));
    }
    assert_eq!(serve(&mut ssd, Nanos::ZERO, read(pages - 1)).result, Ok(()));
}

#[test]
fn a_flush_waits_for_the_writes_before_it_and_for_nothing_else() {
    let mut ssd = Ssd::new("flash", &agrawal(), 1).unwrap();
    let flush = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);
    assert_eq!(serve(&mut ssd, Nanos(3), flush).at, Nanos(3));
    let now = Nanos(10);
    // Pages 0 and 16 share a package. The second write goes to its other die, and waits for the bus.
    ssd.submit(now, tag(1), write(0));
    ssd.submit(now, tag(2), write(8));
    ssd.submit(now, tag(3), flush);
    ssd.submit(now, tag(4), write(16));
    ssd.submit(now, tag(5), flush);
    let at = |tag| drain_at(tag, &[(1, 305_610), (2, 411_210), (3, 411_210), (4, 611_210), (5, 611_210)]);
    for (slot, time) in drain(&mut ssd) {
        assert_eq!(time, at(slot), "request {slot}");
    }
}

fn drain_at(slot: u32, expected: &[(u32, u64)]) -> Nanos {
    Nanos(expected.iter().find(|(expected, _)| *expected == slot).expect("it was submitted").1)
}

#[test]
fn two_dies_of_a_package_interleave_on_their_bus() {
    let mut ssd = Ssd::new("flash", &agrawal(), 1).unwrap();
    // Pages 0, 8, 16, 24 share package 0, whose two dies take turns.
    for slot in 0..4 {
        ssd.submit(Nanos::ZERO, tag(slot), write(u64::from(slot) * 8));
    }
    // Die 0 gets the first page at 0 and is done at 305.6 us; die 1 gets its page at 105.6 and is done at 411.2 us.
    // Both then get the next page at once.
    let expected = vec![(0, 305_600), (1, 411_200), (2, 611_200), (3, 716_800)];
    assert_eq!(drain(&mut ssd), expected.into_iter().map(|(slot, at)| (slot, Nanos(at))).collect::<Vec<_>>());
    // Reads of the same pages: both dies sense at the same time, then the transfers follow each other.
    let start = Nanos::from_millis(1);
    for slot in 0..4 {
        ssd.submit(start, tag(slot), read(u64::from(slot) * 8));
    }
    let expected = [130_600, 236_200, 341_800, 447_400];
    let ended: Vec<u64> = drain(&mut ssd).iter().map(|(_, at)| (*at - start).0).collect();
    assert_eq!(ended, expected);
}

#[test]
fn cleaning_is_paid_for_by_the_write_that_sets_it_off() {
    let mut settings = agrawal();
    settings.geometry.blocks_per_plane = 8;
    settings.geometry.planes_per_die = 1;
    settings.geometry.dies_per_package = 1;
    settings.geometry.channels = 1;
    settings.geometry.pages_per_block = 4;
    settings.over_provisioning = Some(Ratio::percent(50));
    settings.cleaning.threshold = Ratio::percent(25);
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    // Of 8 blocks of 4 pages, 2 are kept free. There are 16 host pages. So 24 pages are written without cleaning.
    let mut now = Nanos::ZERO;
    let mut times = Vec::new();
    for index in 0..29 {
        let end = serve(&mut ssd, now, write(index % 16)).at;
        times.push((end - now).0);
        now = end;
    }
    assert!(times[..24].iter().all(|&time| time == 305_600), "{times:?}");
    // Blocks 0 and 1 have no valid pages left: an erase, no copies.
    assert_eq!(times[24], 1_500_000 + 305_600);
    assert_eq!(times[25..28], [305_600; 3]);
    assert_eq!(times[28], 1_500_000 + 305_600);
    let report = Report::of(&ssd);
    let flash = report.devices["flash"].flash.clone().unwrap();
    assert_eq!((flash.erases, flash.merges.switch, flash.programs.cleaning), (2, 2, 0));
}

#[test]
fn a_block_summary_costs_a_program_and_a_sector_per_full_block() {
    let mut settings = agrawal();
    settings.block_summary = true;
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    assert_eq!(ssd.space().data_pages_per_block, 63);
    let mut now = Nanos::ZERO;
    let mut sum = 0;
    // Two dies of one package take turns. Its pages 126 and 127 are the first ones after full blocks.
    for index in 0..252 {
        let end = serve(&mut ssd, now, write(index * 8)).at;
        let expected = 305_600 + if index == 126 || index == 127 { 212_800 } else { 0 };
        assert_eq!((end - now).0, expected, "write {index}");
        sum += (end - now).0;
        now = end;
    }
    assert_eq!(sum / 252, 305_600 + 212_800 / 126);
    assert_eq!(ssd.back.flash.counts().programs().mapping, 2);
}
