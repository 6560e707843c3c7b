//! Write modes: times of pages that are programmed in each of them, re-encoding, counts, and settings that exclude each
//! other.

use esker_core::registry::ParameterValue;
use esker_core::{Hint, Precondition, Rng, Stretch};
use esker_nand::{
    CopyBack, DecodingStepSettings, EccCode, EccSettings, ErrorCount, ModeCodeSettings, ModeSettings, RawErrorSettings,
    WriteModeSettings,
};
use esker_results::{FlashReport, PageOperations, WriteModesReport};

use super::*;
use crate::Choice;

/// Xia's drive with a small array, and the modes of table 7 under `policy`.
fn settings(policy: Choice) -> SsdSettings {
    let preset = PRESETS.iter().find(|preset| preset.name == "xia-mlc-32g").unwrap();
    let mut settings: SsdSettings = toml::from_str(preset.toml).unwrap();
    settings.geometry.channels = 2;
    settings.geometry.blocks_per_plane = 10;
    settings.geometry.pages_per_block = 16;
    settings.over_provisioning = Some(Ratio::percent(30));
    let mode = |program, read| {
        let [page_program, read] = [program, read].map(Nanos::from_micros);
        Some(ModeSettings { page_program, page_read: Some(read), decode: Nanos::ZERO, raw_errors: 1.0, code: None })
    };
    settings.write_modes = Some(WriteModeSettings {
        policy,
        low_cost: mode(650, 145),
        medium_cost: mode(1300, 110),
        high_cost: mode(2600, 75),
    });
    settings
}

fn drive(policy: &str) -> Ssd {
    Ssd::new("flash", &settings(Choice::named(policy)), 1).unwrap()
}

fn flash_report(ssd: &Ssd) -> FlashReport {
    Report::of(ssd).devices["flash"].flash.clone().unwrap()
}

/// The start and length of page `number`, of 8 KiB.
fn at(number: u64) -> (Lba, Bytes) {
    (Lba(number * 16), Bytes::kib(8))
}
fn read(number: u64) -> Request {
    Request::read(at(number).0, at(number).1)
}
fn write(number: u64) -> Request {
    Request::write(at(number).0, at(number).1)
}

/// Serves `request` on an idle drive. Returns its response time.
fn time(ssd: &mut Ssd, request: Request) -> Nanos {
    let start = ssd.now + Nanos::from_millis(100);
    serve(ssd, start, request).at - start
}

/// Transfer of a page with its spare bytes: 8,640 bytes at 200 MB/s.
const TRANSFER: Nanos = Nanos(43_200);

fn micros(time: u64) -> Nanos {
    Nanos::from_micros(time) + TRANSFER
}

#[test]
fn each_mode_has_its_own_times() {
    let mut normal = drive("normal");
    assert_eq!([time(&mut normal, write(5)), time(&mut normal, read(5))], [micros(1300), micros(45)]);
    let mut differentiated = drive("differentiated");
    // The page has only been written so far, so it is written at low cost.
    assert_eq!([time(&mut differentiated, write(5)), time(&mut differentiated, read(5))], [micros(650), micros(145)]);
    let mut agcr = drive("agcr");
    assert_eq!([time(&mut agcr, write(5)), time(&mut agcr, read(5))], [micros(650), micros(145)]);
    // The last accesses of the page are a write and a read, so it is written at medium cost.
    assert_eq!([time(&mut agcr, write(5)), time(&mut agcr, read(5))], [micros(1300), micros(110)]);
}

#[test]
fn a_page_that_is_read_often_is_encoded_anew() {
    let mut ssd = drive("differentiated");
    time(&mut ssd, write(5));
    // The page's write is in the pair of the least weight. After reads in all others its read hotness is 4.5, above the
    // write hotness by 4.
    let reads: Vec<Nanos> = (0..5).map(|_| time(&mut ssd, read(5))).collect();
    assert_eq!(reads, [micros(145), micros(145), micros(145), micros(45), micros(45)]);
    let report = flash_report(&ssd);
    assert_eq!((report.programs.re_encoding, report.programs.host, report.host_page_writes), (1, 1, 1));
}

#[test]
fn the_request_does_not_wait_for_its_page_to_be_encoded_anew() {
    let mut settings = settings(Choice::named("differentiated"));
    for low_cost in settings.write_modes.iter_mut().filter_map(|modes| modes.low_cost.as_mut()) {
        (low_cost.page_read, low_cost.decode) = (Some(Nanos::from_micros(45)), Nanos::from_micros(100));
    }
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    time(&mut ssd, write(5));
    (0..2).for_each(|_| _ = time(&mut ssd, read(5)));
    // The third read causes the page to be programmed again. The die is free while the page is decoded, but the program
    // waits for the decoder. The next read waits for the program.
    let start = ssd.now + Nanos::from_millis(100);
    ssd.submit(start, tag(0), read(5));
    ssd.submit(start, tag(1), read(5));
    let first = start + micros(145);
    assert_eq!(drain(&mut ssd), [(0, first), (1, first + TRANSFER + Nanos::from_micros(1300) + micros(45))]);
}

/// Does random reads and writes, partly to the same pages, until cleaning has moved most pages.
fn exercised(settings: &SsdSettings, seed: u64) -> Ssd {
    let mut ssd = Ssd::new("flash", settings, seed).unwrap();
    ssd.control(Nanos::ZERO, Control::Precondition(Precondition::Filled { utilisation: Ratio::ONE })).unwrap();
    ssd.control(Nanos::ZERO, Control::StartMeasuring).unwrap();
    let pages = ssd.capacity().0 / 8192;
    let mut rng = Rng::new(seed);
    for _ in 0..6_000 {
        let request = match rng.below(3) {
            0 => read(rng.below(pages / 2)),
            1 => Request::write(Lba(16 * rng.below(pages) + 3), Bytes(1024)),
            _ => write(pages / 4 + rng.below(3 * pages / 4)),
        };
        time(&mut ssd, request);
    }
    ssd
}

fn sum(modes: &WriteModesReport, of: fn(&esker_results::WriteModeReport) -> PageOperations) -> [u64; 3] {
    modes.modes.iter().map(of).fold([0; 3], |[host, cleaning, again], operations| {
        [host + operations.host, cleaning + operations.cleaning, again + operations.re_encoding]
    })
}

#[test]
fn operations_by_mode_add_up_to_those_by_cause() {
    for policy in crate::WRITE_MODE_POLICIES {
        let mut settings = settings(Choice::named(policy.name));
        settings.array.details = true;
        let ssd = exercised(&settings, 3);
        let report = flash_report(&ssd);
        let modes = report.write_modes.as_ref().unwrap();
        let programs = [report.programs.host, report.programs.cleaning, report.programs.re_encoding];
        assert_eq!(sum(modes, |mode| mode.programs), programs, "{}", policy.name);
        let reads = [report.reads.host, report.reads.cleaning, report.reads.re_encoding];
        assert_eq!(sum(modes, |mode| mode.reads), reads, "{}", policy.name);
        assert!(programs[1] > 100, "{}: cleaning was not exercised: {report:?}", policy.name);
        let re_encodes = policy.can(esker_ftl::modes::ModeCapability::ReEncode);
        assert_eq!(re_encodes, programs[2] > 0, "{}: {report:?}", policy.name);
        assert!(modes.modes.iter().all(|mode| mode.programs.host > 0 || mode.mode != "low-cost"), "{report:?}");
        ssd.check();
        assert_eq!(format!("{report:?}"), format!("{:?}", flash_report(&exercised(&settings, 3))), "it is repeatable");
    }
}

/// The times of both schedulers are compared in esker-nand. Here, the drive gives the same responses on both.
#[test]
fn both_arrays_give_the_same_responses() {
    let settings = settings(Choice::named("differentiated"));
    let mut recorded = Ssd::new("flash", &settings, 1).unwrap();
    recorded.control(Nanos::ZERO, Control::RecordTimeline(Stretch::First(10))).unwrap();
    let mut plain = Ssd::new("flash", &settings, 1).unwrap();
    for page in [1, 2, 1, 3, 1, 2, 2, 2] {
        assert_eq!(time(&mut plain, write(page)), time(&mut recorded, write(page)));
        assert_eq!(time(&mut plain, read(page)), time(&mut recorded, read(page)));
    }
}

#[test]
fn the_modes_without_others_are_the_drive_without_modes() {
    let with = settings(Choice::named("normal"));
    let without = SsdSettings { write_modes: None, ..with.clone() };
    let [mut with, without] = [with, without].map(|settings| flash_report(&exercised(&settings, 5)));
    assert!(with.write_modes.take().is_some());
    with.simulator_bytes_per_page = without.simulator_bytes_per_page;
    assert_eq!(with, without);
}

/// Section 5.3.4: filters of 2 KB, and 1 MB of tags for 64 GB of pages of 8 KB.
#[test]
fn the_controller_needs_the_memory_of_the_paper() {
    let mut settings = settings(Choice::named("differentiated"));
    settings.geometry.channels = 8;
    settings.geometry.pages_per_block = 128;
    settings.geometry.blocks_per_plane = 2048;
    let report = flash_report(&Ssd::new("flash", &settings, 1).unwrap()).write_modes.unwrap();
    assert_eq!((report.history_bytes, report.tag_bytes), (2048, 1 << 20));
}

/// With bit errors, pages programmed at low cost have more errors, and a stronger code.
#[test]
fn modes_have_their_own_errors_and_codes() {
    let step = |corrects, decode: u64| DecodingStepSettings {
        corrects,
        decode: Nanos::from_micros(decode),
        sensings: 1,
        transfers: 1,
    };
    let mut settings = settings(Choice::named("differentiated"));
    settings.ecc = Some(EccSettings {
        code: EccCode::Bch,
        codeword: Bytes::kib(1),
        parity: None,
        steps: vec![step(24, 5)],
        // 10 errors in a codeword of 1,024 + 42 bytes.
        raw_errors: toml::from_str::<RawErrorSettings>("fresh = 0.00117").unwrap(),
        errors: ErrorCount::Expected,
        refresh_above: None,
        retention_at_start: Nanos::ZERO,
    });
    for low_cost in settings.write_modes.iter_mut().filter_map(|modes| modes.low_cost.as_mut()) {
        low_cost.raw_errors = 4.0;
        low_cost.code =
            Some(ModeCodeSettings { code: EccCode::Ldpc, parity: None, steps: vec![step(30, 20), step(50, 60)] });
    }
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    assert_eq!(time(&mut ssd, write(5)), micros(650));
    // 145 us, then the second step: 20 us of decoding that failed, another sensing of 45 us, a transfer, 60 us.
    assert_eq!(time(&mut ssd, read(5)), micros(145 + 20 + 45 + 60) + TRANSFER);
    (0..3).for_each(|_| _ = time(&mut ssd, read(5)));
    assert_eq!(time(&mut ssd, read(5)), micros(45 + 5), "it was encoded anew, in the normal mode");
    let ecc = flash_report(&ssd).ecc.unwrap();
    assert_eq!((ecc.reads_by_step, ecc.uncorrectable_reads.total()), (vec![2, 3], 0));
    // With the code of normal pages, pages programmed at low cost cannot be read.
    settings.write_modes.as_mut().unwrap().low_cost.as_mut().unwrap().code = None;
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    time(&mut ssd, write(5));
    assert_eq!(serve(&mut ssd, Nanos::from_secs(1), read(5)).result, Err(DeviceError::MEDIUM));
}

#[test]
fn settings_that_do_not_fit_are_refused_with_their_keys() {
    let error_of = |change: &dyn Fn(&mut SsdSettings)| {
        let mut settings = settings(Choice::named("differentiated"));
        change(&mut settings);
        let error = Ssd::new("flash", &settings, 1).unwrap_err();
        (error.keys()[0].clone(), error.to_string(), error.hint().unwrap())
    };
    fn modes(settings: &mut SsdSettings) -> &mut WriteModeSettings {
        settings.write_modes.as_mut().unwrap()
    }
    let (key, text, hint) = error_of(&|settings| modes(settings).low_cost = None);
    assert_eq!(key, "write_modes.policy");
    assert!(text.contains("no `write_modes.low_cost`") && hint.contains("650us"), "{text} {hint}");
    let (key, text, _) = error_of(&|settings| {
        let m = ("m".to_string(), ParameterValue::Number(-6.0));
        modes(settings).policy.parameters.insert(m.0, m.1);
    });
    assert_eq!(key, "write_modes.policy.m");
    assert!(text.contains("-6; expected a whole number from -5 to 5"), "{text}");
    let (key, ..) = error_of(&|settings| modes(settings).low_cost.as_mut().unwrap().page_program = Nanos::ZERO);
    assert_eq!(key, "write_modes.low_cost.page_program");
    let (key, ..) = error_of(&|settings| modes(settings).low_cost.as_mut().unwrap().raw_errors = f64::NAN);
    assert_eq!(key, "write_modes.low_cost.raw_errors");
    let (key, text, _) = error_of(&|settings| modes(settings).low_cost.as_mut().unwrap().raw_errors = 2.0);
    assert_eq!(key, "write_modes.low_cost.raw_errors");
    assert!(text.contains("no `ecc`"), "{text}");
    let (key, ..) = error_of(&|settings| {
        settings.write_frontiers = esker_ftl::WriteFrontiers::Plane;
        settings.array.copy_back = CopyBack::Unchecked;
    });
    assert_eq!(key, "array.copy_back");
    let (key, _, hint) = error_of(&|settings| settings.ftl = Choice::named("fast"));
    assert_eq!(key, "write_modes.policy");
    assert!(hint.contains("ftl = \"page\""), "{hint}");
    let (key, ..) = error_of(&|settings| settings.array.span = vec![esker_nand::ArrayLevel::Channel]);
    assert_eq!(key, "array.span");
}
