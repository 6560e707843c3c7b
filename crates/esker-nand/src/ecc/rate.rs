//! The bit-error rate of a page.

use esker_core::Nanos;

use crate::{RawErrorSettings, ValueError};

/// The model of raw bit errors. See [`RawErrorSettings`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawErrors {
    model: RawErrorSettings,
}

/// At most every second bit can be wrong.
const MOST: f64 = 0.5;

impl RawErrors {
    pub(crate) fn new(model: &RawErrorSettings) -> Result<Self, ValueError> {
        if model.retention_unit == Nanos::ZERO {
            return Err(ValueError::Zero { key: "ecc.raw_errors.retention_unit" });
        }
        for (key, value, most) in [
            ("fresh", model.fresh, MOST),
            ("wear", model.wear, MOST),
            ("wear_exponent", model.wear_exponent, 16.0),
            ("retention", model.retention, MOST),
            ("retention_wear_exponent", model.retention_wear_exponent, 16.0),
            ("retention_exponent", model.retention_exponent, 16.0),
            ("disturb", model.disturb, MOST),
            ("disturb_wear_exponent", model.disturb_wear_exponent, 16.0),
            ("disturb_exponent", model.disturb_exponent, 16.0),
        ] {
            if !(0.0..=most).contains(&value) {
                return Err(ValueError::Parameter {
                    key: format!("ecc.raw_errors.{key}"),
                    expected: format!("a number from 0 to {most}"),
                    found: value.to_string(),
                });
            }
        }
        Ok(Self { model: *model })
    }

    /// Returns the bit-error rate of a page that was programmed `age` ago, in a block with `erases` erases whose pages
    /// were each read `reads` times on average since the last erase.
    pub(crate) fn rate(&self, erases: u32, age: Nanos, reads: f64) -> f64 {
        let model = &self.model;
        let erases = f64::from(erases);
        let mut rate = model.fresh;
        // A factor of zero must remove its term even if its exponents are zero, too.
        if model.wear > 0.0 {
            rate += model.wear * erases.powf(model.wear_exponent);
        }
        if model.retention > 0.0 {
            let time = age.0 as f64 / model.retention_unit.0 as f64;
            rate += model.retention * erases.powf(model.retention_wear_exponent) * time.powf(model.retention_exponent);
        }
        if model.disturb > 0.0 {
            rate += model.disturb * erases.powf(model.disturb_wear_exponent) * reads.powf(model.disturb_exponent);
        }
        rate.min(MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 72-layer TLC flash of Kim, Choi and Min 2019.
    fn tlc() -> RawErrorSettings {
        RawErrorSettings {
            fresh: 1.48e-3,
            wear: 3.9e-10,
            wear_exponent: 2.05,
            retention: 6.28e-5,
            retention_wear_exponent: 0.14,
            retention_exponent: 0.54,
            retention_unit: Nanos::from_secs(86_400),
            disturb: 3.73e-9,
            disturb_wear_exponent: 0.33,
            disturb_exponent: 1.71,
        }
    }

    #[test]
    fn the_terms_are_those_of_the_model() {
        let errors = RawErrors::new(&tlc()).unwrap();
        let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
        near(errors.rate(0, Nanos::from_secs(1 << 20), 1e3), 1.48e-3);
        // 3.9e-10 x 1000^2.05 = 3.9e-10 x 10^6.15.
        near(errors.rate(1000, Nanos::ZERO, 0.0), 1.48e-3 + 5.509e-4);
        // 100^0.54 = 12.0226, 1000^0.14 = 2.63027.
        let retained = errors.rate(1000, Nanos::from_secs(100 * 86_400), 0.0);
        near(retained - errors.rate(1000, Nanos::ZERO, 0.0), 6.28e-5 * 2.63027 * 12.0226);
        // 1000^0.33 = 9.77237, 100^1.71 = 2630.27.
        let disturbed = errors.rate(1000, Nanos::ZERO, 100.0);
        near(disturbed - errors.rate(1000, Nanos::ZERO, 0.0), 3.73e-9 * 9.77237 * 2630.27);
        assert!(errors.rate(u32::MAX, Nanos::NEVER, 1e12) == 0.5);
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for model in [
            RawErrorSettings { fresh: -1e-9, ..tlc() },
            RawErrorSettings { fresh: f64::NAN, ..tlc() },
            RawErrorSettings { wear: 0.6, ..tlc() },
            RawErrorSettings { retention_exponent: f64::INFINITY, ..tlc() },
        ] {
            assert!(matches!(RawErrors::new(&model), Err(ValueError::Parameter { .. })), "{model:?}");
        }
    }
}
