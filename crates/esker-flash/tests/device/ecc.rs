//! Compares a worn-out drive with old data with the same drive when new.

use esker_core::{Arrival, Bytes, Device, Lba, Nanos, ReplaySettings, Request, Rng};
use esker_flash::SsdSettings;
use esker_results::EccReport;

use crate::common::{filled, preset, report, run};

/// The worn preset with fewer blocks.
fn worn() -> SsdSettings {
    let mut settings = preset("tlc-data-centre-worn");
    settings.geometry.blocks_per_plane = 64;
    settings.write_buffer = None;
    settings.cleaning.gradual = None;
    settings.cleaning.background = None;
    settings.over_provisioning = Some(esker_core::Ratio::percent(20));
    settings
}

/// Reads single pages, one at a time. Returns the decoding that they needed, and their mean response time in
/// microseconds.
fn reads(settings: &SsdSettings, count: usize) -> (EccReport, f64) {
    let mut ssd = filled(settings);
    let pages = ssd.capacity().0 / 4096;
    let mut rng = Rng::new(4);
    let arrivals = (0..count as u64).map(|index| Arrival {
        at: Nanos(index * 1_000_000),
        request: Request::read(Lba(8 * rng.below(pages)), Bytes::kib(4)),
    });
    let run = run(&mut ssd, arrivals, &ReplaySettings::OPEN);
    (report(&ssd).ecc.unwrap(), run.statistics.read_response().mean() / 1e3)
}

/// Probability that one of four codewords of 9,088 bits has more than `corrects` wrong bits at this `rate`, term by
/// term.
fn page_failure(corrects: u32, rate: f64) -> f64 {
    let bits = 9088;
    let (mut term, mut within) = (f64::from(bits).mul_add((-rate).ln_1p(), 0.0).exp(), 0.0);
    for k in 0..=corrects {
        within += term;
        term *= f64::from(bits - k) / f64::from(k + 1) * rate / (1.0 - rate);
    }
    1.0 - within.powi(4)
}

#[test]
fn worn_cells_with_old_data_are_read_again_as_often_as_theory_has_it() {
    let settings = worn();
    let count = 20_000;
    let (ecc, response_us) = reads(&settings, count);
    // 4,750 erases and 90 days. The 20 s of the run make no difference, and the few reads of a block hardly any.
    let rate = 1.48e-3 + 1.37e-10 * 4750f64.powf(2.05) + 6.28e-5 * 4750f64.powf(0.14) * 90f64.powf(0.54);
    assert!((ecc.mean_raw_bit_error_rate / rate - 1.0).abs() < 2e-3, "{ecc:?} {rate}");
    let mut undecoded = count as u64;
    for (step, corrects) in [72, 90, 110].into_iter().enumerate() {
        undecoded -= ecc.reads_by_step[step];
        let (expected, count) = (page_failure(corrects, rate), count as f64);
        let deviation = (count * expected * (1.0 - expected)).sqrt();
        let off = (undecoded as f64 - count * expected).abs();
        assert!(off < 4.0 * deviation.max(1.0) + 0.02 * count * expected, "{step}: {undecoded} {expected} {ecc:?}");
    }
    assert_eq!(ecc.uncorrectable_reads.total(), 0);
    assert!(ecc.expected_uncorrectable_bit_error_rate < 1e-12, "{ecc:?}");
    // Every step beyond the first takes 35 us or more.
    let mut new = settings;
    new.wear.as_mut().unwrap().initial_erases = 0;
    new.ecc.as_mut().unwrap().retention_at_start = Nanos::ZERO;
    let (fresh, fresh_response_us) = reads(&new, count);
    assert_eq!(fresh.reads_by_step, [count as u64, 0, 0, 0]);
    let again = (count as u64 - ecc.reads_by_step[0]) as f64 / count as f64;
    assert!(again > 0.5, "{ecc:?}");
    assert!(response_us > fresh_response_us + 34.9 * again, "{response_us} {fresh_response_us} {again}");
}

#[test]
fn draws_depend_on_the_seed_alone() {
    let settings = worn();
    assert_eq!(reads(&settings, 2_000), reads(&settings, 2_000));
}
