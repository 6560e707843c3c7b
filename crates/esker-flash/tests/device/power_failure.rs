//! A drive loses power during a run, finds its data again, and goes on.

use esker_core::{Arrival, Bytes, Hint, Lba, Nanos, Ratio, ReplaySettings, Request, Rng};
use esker_flash::{PowerFailureSettings, Ssd, SsdError, SsdSettings};
use esker_ftl::{Choice, FTLS, LayerCapability, ParameterValue};
use esker_nand::ValueError;
use esker_results::RecoveryReport;

use crate::common::{filled, one_package, report, run};

const REQUESTS: u64 = 3000;

fn settings(ftl: &str, summary: bool) -> SsdSettings {
    let mut settings = one_package(1);
    settings.over_provisioning = Some(Ratio::percent(30));
    settings.block_summary = summary;
    settings.ftl = Choice::named(ftl);
    if ftl == "dftl" {
        settings.ftl.parameters.insert("entries_per_page".to_string(), ParameterValue::Integer(64));
        settings.ftl.parameters.insert("cache".to_string(), ParameterValue::Integer(8 * 64));
        settings.ftl.parameters.insert("batch_evictions".to_string(), ParameterValue::Flag(true));
    }
    settings.power_failure = Some(PowerFailureSettings::after_requests(REQUESTS / 2));
    settings
}

/// Random reads and writes; power fails halfway.
fn recovery(settings: &SsdSettings) -> RecoveryReport {
    let mut ssd = filled(settings);
    let pages = 64 * 64 * 70 / 100;
    let mut rng = Rng::new(5);
    let arrivals = (0..REQUESTS).map(|index| {
        let start = Lba(rng.below(pages) * 8);
        let request =
            if index % 3 == 0 { Request::read(start, Bytes(4096)) } else { Request::write(start, Bytes(4096)) };
        Arrival { at: Nanos::ZERO, request }
    });
    // Every request is served in the end, and the counts add up.
    let end = run(&mut ssd, arrivals, &ReplaySettings::closed(8));
    ssd.check();
    let flash = report(&ssd);
    let recovery = flash.recovery.expect("power failed");
    assert!(recovery.at_s > 0.0 && recovery.at_s + recovery.duration_s < end.last_event.0 as f64 / 1e9);
    assert_eq!(flash.reads.recovery, recovery.reads);
    assert_eq!(recovery.programs, 0);
    // Requests that arrived during recovery waited for it to end.
    assert!(end.statistics.results().all.response_time.max_us / 1e6 >= recovery.duration_s);
    recovery
}

#[test]
fn a_full_scan_reads_each_spare_area_one_after_the_other() {
    let found = recovery(&settings("page", false));
    // 25 us for the cells and 512 x 25 ns for the bus, on one die. Some of the 64 blocks of 64 pages are free.
    assert!((found.duration_s - found.reads as f64 * 37.8e-6).abs() < 1e-9, "{found:?}");
    assert!((58 * 64..=64 * 64 + 64).contains(&found.reads), "{found:?}");
}

#[test]
fn summaries_and_the_directory_shorten_recovery() {
    let (full, summaries, directory) =
        (recovery(&settings("page", false)), recovery(&settings("page", true)), recovery(&settings("dftl", false)));
    // One summary per block, and each page of blocks without a summary.
    assert!(summaries.reads < 64 + 2 * 64 + 64, "{summaries:?}");
    assert!(20.0 * summaries.duration_s < full.duration_s, "{summaries:?} {full:?}");
    // One spare area per block, those of the map's blocks, the translation pages, and the spare areas of the last data
    // blocks.
    assert!(2 * directory.reads < full.reads, "{directory:?} {full:?}");
}

#[test]
fn every_layer_finds_its_data_again_or_refuses_power_failures() {
    for entry in FTLS {
        for summary in [false, true] {
            let mut settings = settings(entry.name, summary);
            settings.over_provisioning = Some(Ratio::percent(40));
            if !entry.can(LayerCapability::Recover) {
                let error = Ssd::new("flash", &settings, 1).unwrap_err();
                let hint = error.hint().unwrap_or_default();
                assert!(
                    hint.starts_with("leave `power_failure` out, or use ftl = "),
                    "{}: {error}: {hint}",
                    entry.name
                );
                continue;
            }
            let found = recovery(&settings);
            // No merge was under way, so nothing was moved. Blocks without valid pages are erased at once.
            assert!(found.reads >= 64 && found.erases < 8, "{}: {found:?}", entry.name);
        }
    }
}

#[test]
fn what_is_not_modelled_along_with_it_is_refused() {
    let refused = |change: fn(&mut SsdSettings)| {
        let mut settings = settings("page", false);
        change(&mut settings);
        let error = Ssd::new("flash", &settings, 1).unwrap_err();
        assert!(matches!(error, SsdError::Value(ValueError::Contradiction { .. })), "{error}");
    };
    refused(|settings| settings.power_failure = Some(PowerFailureSettings::default()));
    refused(|settings| {
        let power_failure = settings.power_failure.as_mut().unwrap();
        power_failure.at = Some(Nanos(1));
    });
}
