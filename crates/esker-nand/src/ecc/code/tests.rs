use super::*;
use crate::{DecodingStepSettings, GeometrySettings, RawErrorSettings};

fn settings(code: EccCode, codeword: Bytes, corrects: &[u32]) -> EccSettings {
    let step =
        |corrects: &u32| DecodingStepSettings { corrects: *corrects, decode: Nanos(0), sensings: 1, transfers: 1 };
    EccSettings {
        code,
        codeword,
        parity: None,
        steps: corrects.iter().map(step).collect(),
        raw_errors: RawErrorSettings {
            fresh: 1e-4,
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
        errors: ErrorCount::Drawn,
        refresh_above: None,
        retention_at_start: Nanos::ZERO,
    }
}

/// Pages of 4 KiB with `spare` spare bytes.
fn geometry(spare: u64) -> Geometry {
    let settings = GeometrySettings {
        channels: 8,
        packages_per_channel: 1,
        dies_per_package: 2,
        planes_per_die: 4,
        blocks_per_plane: 2048,
        pages_per_block: 64,
        page_size: Bytes::kib(4),
        spare_size: Bytes(spare),
        units_per_page: 1,
    };
    Geometry::new(&settings, false).unwrap()
}

fn code(settings: &EccSettings, spare: u64) -> Code {
    Code::new(settings, &geometry(spare)).unwrap()
}

/// Probability that more than `corrects` of `bits` are wrong: every term of the binomial distribution, each computed
/// from the one before.
fn direct_tail(bits: u32, corrects: u32, rate: f64) -> f64 {
    let mut term = (1.0 - rate).powi(bits as i32);
    let mut upper = 0.0;
    for k in 0..=bits {
        if k > corrects {
            upper += term;
        }
        term *= f64::from(bits - k) / f64::from(k + 1) * rate / (1.0 - rate);
    }
    upper
}

#[test]
fn the_probability_of_failure_is_the_sum_of_the_binomial_distribution() {
    // 512 bytes and 8 errors: 13 bits of parity each, 104 bits. Four-byte shares are rounded up.
    let mut code = code(&settings(EccCode::Bch, Bytes(512), &[8]), 448);
    assert_eq!((code.bits, code.data_bits, code.codewords), (4096 + 104, 4096, 8));
    for rate in [1e-5, 1e-4, 5e-4, 1.3e-3, 2.1e-3, 4e-3, 2e-2] {
        let codeword = direct_tail(4200, 8, rate);
        let page = 1.0 - (1.0 - codeword).powi(8);
        let exact = ln_tail(4200, 8, rate).exp();
        assert!((exact / codeword - 1.0).abs() < 1e-9, "{rate}: {exact} {codeword}");
        // If hardly any codeword fails, rounding leaves the directly computed figure few digits.
        if codeword > 1e-9 {
            let found = code.page_failure(0, rate);
            assert!((found / page - 1.0).abs() < 1e-3, "{rate}: {found} {page}");
        }
        let expected = codeword / 4096.0;
        let uncorrectable = code.uncorrectable_bit_error_rate(rate);
        assert!((uncorrectable / expected - 1.0).abs() < 1e-3, "{rate}: {uncorrectable} {expected}");
    }
    assert_eq!(code.page_failure(0, 0.0), 0.0);
    assert_eq!(code.page_failure(0, 0.5), 1.0);
}

#[test]
fn draws_come_as_often_as_theory_has_it() {
    let mut code = code(&settings(EccCode::Ldpc, Bytes(1024), &[40, 50, 60]), 448);
    let (rate, draws) = (4.6e-3, 200_000);
    let expected = [0, 1, 2].map(|step| code.page_failure(step, rate));
    assert!(expected[0] > 0.5 && expected[1] > 0.05 && expected[2] > 1e-4, "{expected:?}");
    let mut rng = esker_core::Rng::new(3);
    let mut failed = [0u32; 3];
    for _ in 0..draws {
        let steps = match code.decode(rate, rng.unit()) {
            DecodeOutcome::Decoded(step) => step as usize,
            DecodeOutcome::Failed => 3,
        };
        failed[..steps].iter_mut().for_each(|count| *count += 1);
    }
    for (found, expected) in failed.into_iter().zip(expected) {
        let deviation = (f64::from(draws) * expected * (1.0 - expected)).sqrt();
        assert!((f64::from(found) - f64::from(draws) * expected).abs() < 4.0 * deviation, "{failed:?} {expected}");
    }
}

#[test]
fn bits_drawn_one_by_one_fail_as_often() {
    // 8 codewords of 4,096 bits and parity, bit by bit.
    let mut code = code(&settings(EccCode::Bch, Bytes(512), &[6]), 448);
    let (rate, pages) = (8e-4, 2_000);
    let mut rng = esker_core::Rng::new(8);
    let mut failures = 0;
    for _ in 0..pages {
        let worst = (0..8).map(|_| (0..code.bits).filter(|_| rng.unit() < rate).count()).max().unwrap();
        failures += u32::from(worst > 6);
    }
    let expected = code.page_failure(0, rate);
    let deviation = (f64::from(pages) * expected * (1.0 - expected)).sqrt();
    assert!((f64::from(failures) - f64::from(pages) * expected).abs() < 4.0 * deviation, "{failures} {expected}");
}

#[test]
fn the_expected_number_of_errors_decides_where_nothing_is_drawn() {
    let mut settings = settings(EccCode::Ldpc, Bytes(4096), &[100, 200]);
    settings.errors = ErrorCount::Expected;
    let mut code = code(&settings, 448);
    let bits = code.bits as f64;
    assert_eq!(bits, 8.0 * 4544.0);
    assert_eq!(code.decode(99.9 / bits, 0.0), DecodeOutcome::Decoded(0));
    assert_eq!(code.decode(100.1 / bits, 0.0), DecodeOutcome::Decoded(1));
    assert_eq!(code.decode(200.1 / bits, 0.0), DecodeOutcome::Failed);
    assert!(!code.draws());
}

#[test]
fn parity_has_to_fit_and_to_do() {
    // 1 KiB: 8,192 bits of data and parity need m = 14.
    assert_eq!(bch_parity(Bytes(1024), 40), Bytes(70));
    assert_eq!(bch_parity(Bytes(512), 1), Bytes(2));
    let refused = |settings: &EccSettings, spare| Code::new(settings, &geometry(spare)).unwrap_err().to_string();
    let bch = settings(EccCode::Bch, Bytes(1024), &[64]);
    assert!(Code::new(&bch, &geometry(448)).is_ok());
    assert_eq!(
        refused(&bch, 400),
        "`geometry.spare_size` = 400B and 4 codewords with 112B of parity each (`ecc`) exclude each other: the parity of a page \
         lies in its spare bytes"
    );
    let mut stated = bch.clone();
    stated.parity = Some(Bytes(100));
    assert!(refused(&stated, 448).contains("a BCH code takes 112B of parity"));
    // A tenth of parity: the channel has this capacity at 1.24 % of wrong bits.
    let most = (hard_limit(1024.0 / 1136.0) * 9088.0) as u32;
    assert!((110..116).contains(&most), "{most}");
    assert!(Code::new(&settings(EccCode::Ldpc, Bytes(1024), &[most, 200]), &geometry(448)).is_ok());
    assert!(refused(&settings(EccCode::Ldpc, Bytes(1024), &[most + 1]), 448).contains("Shannon"));
    assert!(refused(&settings(EccCode::Ldpc, Bytes(1024), &[20, 20]), 448).contains("more than the step before"));
    assert!(refused(&settings(EccCode::Ldpc, Bytes(1000), &[20]), 448).contains("whole part of a page"));
    assert!(refused(&settings(EccCode::Ldpc, Bytes(1024), &[]), 448).contains("1 to 8 steps"));
}
