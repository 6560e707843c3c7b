//! Reads that need decoding: their times, refreshing, and data that cannot be corrected.

use esker_core::{DeviceError, Energy, Power, Precondition, Rng};
use esker_nand::{
    DecodingStepSettings, EccCode, EccSettings, EnergySettings, ErrorCount, GeometrySettings, RawErrorSettings,
    Scheduling,
};
use esker_results::FlashReport;

use super::*;

/// Bits of a codeword of a whole page with 128 bytes of parity.
const BITS: f64 = 8.0 * (4096.0 + 128.0);

/// Agrawal's flash part, whose pages have `errors` bit errors, with a code of four steps that correct 40, 80, 120 and
/// 160.
fn settings(errors: f64) -> SsdSettings {
    let step = |corrects, decode, sensings, transfers| DecodingStepSettings {
        corrects,
        decode: Nanos(decode),
        sensings,
        transfers,
    };
    SsdSettings {
        ecc: Some(EccSettings {
            code: EccCode::Ldpc,
            codeword: Bytes::kib(4),
            parity: None,
            steps: vec![
                step(40, 7_000, 1, 1),
                step(80, 11_000, 1, 1),
                step(120, 13_000, 2, 1),
                step(160, 17_000, 4, 2),
            ],
            raw_errors: RawErrorSettings {
                fresh: errors / BITS,
                wear: 0.0,
                wear_exponent: 0.0,
                retention: 0.0,
                retention_wear_exponent: 0.0,
                retention_exponent: 0.0,
                retention_unit: Nanos(1),
                disturb: 0.0,
                disturb_wear_exponent: 0.0,
                disturb_exponent: 0.0,
            },
            errors: ErrorCount::Expected,
            refresh_above: None,
            retention_at_start: Nanos::ZERO,
        }),
        ..agrawal()
    }
}

fn flash_report(ssd: &Ssd) -> FlashReport {
    let report = Report::of(ssd);
    report.devices["flash"].flash.clone().unwrap()
}

/// Time of a read of Agrawal's flash part.
const READ: u64 = 130_600;
const SENSE: u64 = 25_000;
const TRANSFER: u64 = 105_600;

#[test]
fn a_read_takes_exactly_the_parts_of_all_its_decoding_steps() {
    let after = |errors: f64, scheduling| {
        let mut settings = settings(errors);
        settings.array.scheduling = scheduling;
        let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
        assert_eq!(serve(&mut ssd, Nanos::ZERO, write(5)).at, Nanos(305_600));
        let start = Nanos::from_millis(10);
        let read = serve(&mut ssd, start, read(5));
        assert_eq!(read.service_start, start);
        (read.at - start, read.result)
    };
    let second = READ + 7_000 + SENSE + TRANSFER + 11_000;
    let third = second + 2 * SENSE + TRANSFER + 13_000;
    let fourth = third + 4 * SENSE + 2 * TRANSFER + 17_000;
    for scheduling in [Scheduling::Fifo, Scheduling::ReadsFirst, Scheduling::OutOfOrder] {
        assert_eq!(after(39.0, scheduling), (Nanos(READ + 7_000), Ok(())));
        assert_eq!(after(79.0, scheduling), (Nanos(second), Ok(())));
        assert_eq!(after(119.0, scheduling), (Nanos(third), Ok(())));
        assert_eq!(after(159.0, scheduling), (Nanos(fourth), Ok(())));
        // A page is given up only after the last step has failed.
        assert_eq!(after(161.0, scheduling), (Nanos(fourth), Err(DeviceError::MEDIUM)));
    }
}

#[test]
fn the_die_is_free_while_the_last_step_decodes() {
    let mut ssd = Ssd::new("flash", &settings(79.0), 1).unwrap();
    serve(&mut ssd, Nanos::ZERO, Request::write(Lba(0), Bytes::kib(128)));
    let start = Nanos::from_millis(10);
    // Pages 0 and 16 lie on one die, which reads one after the other.
    ssd.submit(start, tag(0), read(0));
    ssd.submit(start, tag(1), read(16));
    let held = 2 * (SENSE + TRANSFER) + 7_000;
    assert_eq!(drain(&mut ssd), [(0, start + Nanos(held + 11_000)), (1, start + Nanos(2 * held + 11_000))]);
    let busy = ssd.report_at(ssd.now).flash.unwrap().ecc.unwrap();
    assert_eq!(busy.reads_by_step, [0, 2, 0, 0]);
}

#[test]
fn a_rewrite_of_a_part_waits_for_the_decoder() {
    let mut ssd = Ssd::new("flash", &settings(79.0), 1).unwrap();
    serve(&mut ssd, Nanos::ZERO, write(0));
    let start = Nanos::from_millis(10);
    let part = Request::write(Lba(3), Bytes(512));
    let read = 2 * (SENSE + TRANSFER) + 7_000 + 11_000;
    assert_eq!(serve(&mut ssd, start, part).at - start, Nanos(read + 305_600));
}

#[test]
fn each_flash_page_of_a_logical_page_is_decoded_on_its_own() {
    let held = 2 * (SENSE + TRANSFER) + 7_000;
    let mut settings = settings(79.0);
    settings.array.logical_page = Some(Bytes::kib(8));
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    let whole = |kind: fn(Lba, Bytes) -> Request| kind(Lba(0), Bytes::kib(8));
    assert_eq!(serve(&mut ssd, Nanos::ZERO, whole(Request::write)).at, Nanos(2 * 305_600));
    let start = Nanos::from_millis(10);
    // Both pages lie on one die, which waits for the decoder only between the steps of one page.
    assert_eq!((serve(&mut ssd, start, whole(Request::read)).at - start).0, 2 * held + 11_000);
    assert_eq!(flash_report(&ssd).ecc.unwrap().reads_by_step, [0, 2, 0, 0]);
    let start = Nanos::from_millis(20);
    assert_eq!((serve(&mut ssd, start, read(1)).at - start).0, held + 11_000);
    // A rewrite of one page reads the other, and programs both.
    let start = Nanos::from_millis(30);
    assert_eq!((serve(&mut ssd, start, write(1)).at - start).0, held + 11_000 + 2 * 305_600);
    assert_eq!(flash_report(&ssd).ecc.unwrap().reads_by_step, [0, 4, 0, 0]);

    settings.array.logical_page = None;
    settings.array.span = vec![crate::ArrayLevel::Channel];
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    let pages = u64::from(settings.geometry.channels);
    serve(&mut ssd, Nanos::ZERO, Request::write(Lba(0), Bytes::kib(4 * pages)));
    let start = Nanos::from_millis(10);
    // Each page is on a bus of its own.
    let read = Request::read(Lba(0), Bytes::kib(4 * pages));
    assert_eq!((serve(&mut ssd, start, read).at - start).0, held + 11_000);
    assert_eq!(flash_report(&ssd).ecc.unwrap().reads_by_step, [0, pages, 0, 0]);

    settings.ecc.as_mut().unwrap().refresh_above = Some(Ratio::percent(50));
    let error = Ssd::new("flash", &settings, 1).unwrap_err().to_string();
    assert!(error.contains("`ecc.refresh_above`") && error.contains("`array.span`"), "{error}");
}

#[test]
fn a_page_that_needs_no_correction_takes_no_longer_than_without_a_code() {
    let mut plain = agrawal();
    plain.geometry = GeometrySettings { blocks_per_plane: 10, ..plain.geometry };
    let mut coded = SsdSettings { ecc: settings(0.0).ecc, ..plain.clone() };
    coded.ecc.as_mut().unwrap().steps.iter_mut().for_each(|step| step.decode = Nanos::ZERO);
    let run = |settings: &SsdSettings| {
        let mut ssd = Ssd::new("flash", settings, 1).unwrap();
        ssd.control(Nanos::ZERO, Control::Precondition(Precondition::Filled { utilisation: Ratio::ONE })).unwrap();
        let pages = ssd.capacity().0 / 4096;
        let (mut rng, mut done) = (Rng::new(5), Vec::new());
        for index in 0..20_000u64 {
            let at = Nanos(index * 50_000);
            while ssd.next_event() <= at {
                ssd.advance(ssd.next_event(), &mut done);
            }
            if ssd.free_slots() > 0 {
                let page = rng.below(pages);
                let slot = (index % (1 << 20)) as u32;
                ssd.submit(at, tag(slot), if rng.below(2) == 0 { read(page) } else { write(page) });
            }
        }
        while ssd.next_event() != Nanos::NEVER {
            ssd.advance(ssd.next_event(), &mut done);
        }
        let report = flash_report(&ssd);
        (done, FlashReport { ecc: None, simulator_bytes_per_page: 0.0, ..report })
    };
    let (plain, coded) = (run(&plain), run(&coded));
    assert!(plain.1.cleaning.unwrap().blocks > 100, "{:?}", plain.1.cleaning);
    assert_eq!(plain, coded);
}

#[test]
fn what_cleaning_cannot_read_is_lost() {
    let mut settings = settings(161.0);
    settings.geometry = GeometrySettings { blocks_per_plane: 32, ..settings.geometry };
    settings.array.energy = Some(EnergySettings {
        page_read: Energy(5_000_000),
        page_program: Energy(38_000_000),
        block_erase: Energy(527_000_000),
        page_transfer: Energy(1_000_000),
        idle: Power(0),
    });
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    ssd.control(Nanos::ZERO, Control::Precondition(Precondition::Filled { utilisation: Ratio::ONE })).unwrap();
    let pages = ssd.capacity().0 / 4096;
    let (mut rng, mut now) = (Rng::new(5), Nanos::ZERO);
    for _ in 0..20_000 {
        let done = serve(&mut ssd, now, write(rng.below(pages)));
        assert_eq!(done.result, Ok(()));
        now = done.at;
    }
    drain(&mut ssd);
    let report = flash_report(&ssd);
    let ecc = report.ecc.unwrap();
    assert!(ecc.lost_pages > 1_000 && ecc.lost_pages <= report.reads.cleaning, "{ecc:?}");
    assert_eq!(ecc.uncorrectable_reads.cleaning, report.reads.cleaning);
    // Each copy was sensed 8 times and crossed the bus 5 times on its way out.
    let energy = report.energy.unwrap();
    assert_eq!(energy.read.cleaning_pj, 8 * 5_000_000 * report.reads.cleaning);
    assert_eq!(energy.transfer.cleaning_pj, 6 * 1_000_000 * report.reads.cleaning);
    // Reads of these pages report errors to the host.
    let reading = |ssd: &mut Ssd, page| serve(ssd, now + Nanos::from_secs(page + 1), read(page)).result;
    assert!((0..50).all(|page| reading(&mut ssd, page) == Err(DeviceError::MEDIUM)));
}

/// Settings of a drive whose data have a hundred errors once they are one hour old.
fn stale(ftl: &str) -> SsdSettings {
    let mut settings = settings(0.0);
    settings.ftl = crate::Choice::named(ftl);
    settings.geometry = GeometrySettings { blocks_per_plane: 32, ..settings.geometry };
    let ecc = settings.ecc.as_mut().unwrap();
    ecc.retention_at_start = Nanos::from_secs(3_600);
    ecc.raw_errors.retention = 100.0 / BITS;
    ecc.raw_errors.retention_exponent = 1.0;
    ecc.raw_errors.retention_unit = Nanos::from_secs(3_600);
    // 60 % of 160 errors are 96.
    ecc.refresh_above = Some(Ratio::percent(60));
    settings
}

#[test]
fn a_page_with_too_many_errors_is_written_again_once() {
    for ftl in ["page", "dftl"] {
        let mut ssd = Ssd::new("flash", &stale(ftl), 1).unwrap();
        ssd.control(Nanos::ZERO, Control::Precondition(Precondition::Filled { utilisation: Ratio::ONE })).unwrap();
        ssd.control(Nanos::ZERO, Control::StartMeasuring).unwrap();
        let before = ssd.back.ftl.find(LogicalPage(7));
        // The read takes three steps: the page has a hundred errors, and two steps correct only 80.
        let read_ns = |ssd: &mut Ssd, at| (serve(ssd, at, read(7)).at - at).0;
        let third = READ + 7_000 + SENSE + TRANSFER + 11_000 + 2 * SENSE + TRANSFER + 13_000;
        let first = read_ns(&mut ssd, Nanos::ZERO);
        // A map in flash has as many errors as the data, and is read first.
        assert!(if ftl == "page" { first == third } else { first > third }, "{first}");
        drain(&mut ssd);
        assert_ne!(ssd.back.ftl.find(LogicalPage(7)), before, "it is where it was");
        // Now the page has no errors, and stays where it is.
        assert_eq!(read_ns(&mut ssd, Nanos::from_millis(50)), READ + 7_000);
        drain(&mut ssd);
        let report = flash_report(&ssd);
        assert_eq!((report.programs.refresh, report.programs.host, report.host_page_writes), (1, 0, 0));
        // An hour later it has to be refreshed again.
        let later = Nanos::from_secs(3_500);
        assert_eq!(read_ns(&mut ssd, later), third);
        drain(&mut ssd);
        assert_eq!(flash_report(&ssd).programs.refresh, 2);
        ssd.check();
    }
}

#[test]
fn refreshing_makes_its_own_space() {
    for ftl in ["page", "dftl"] {
        let mut settings = stale(ftl);
        settings.cleaning.separate = crate::Separation::HotCold;
        let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
        ssd.control(Nanos::ZERO, Control::Precondition(Precondition::Filled { utilisation: Ratio::ONE })).unwrap();
        ssd.control(Nanos::ZERO, Control::StartMeasuring).unwrap();
        let pages = ssd.capacity().0 / 4096;
        let mut now = Nanos::ZERO;
        for page in 0..pages {
            let done = serve(&mut ssd, now, read(page));
            assert_eq!(done.result, Ok(()));
            now = done.at;
        }
        drain(&mut ssd);
        let report = flash_report(&ssd);
        // Pages that cleaning copied before they were read have new data, too.
        let rewritten = report.programs.refresh + report.programs.cleaning;
        assert!(report.programs.refresh > pages / 2 && rewritten >= pages, "{ftl}: {report:?}");
        assert!(report.erases > 0 && report.host_page_writes == 0);
        assert!((0..pages).all(|page| ssd.back.ftl.find(LogicalPage(page as u32)).is_some()));
        ssd.check();
    }
}
