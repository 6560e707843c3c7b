//! A model with coefficients that are fitted to the full simulator, for fleets by counts.

use esker_core::registry::{Accepted, Parameter, ParameterSource};

use super::{FlashLoad, WearEntry, WearModel, equations, thousandths};

const fn coefficient(name: &'static str, meaning: &'static str, default: i64) -> Parameter {
    Parameter { name, meaning, value: Accepted::Integer { default, least: -5000, most: 5000 } }
}

pub(super) const ENTRY: WearEntry = WearEntry {
    name: "light",
    summary: "erases from pages written, utilisation and skew, with coefficients fitted to one kind of drive",
    source: "this project; with its defaults, the known fixed point for even writes: equations 4.3-4.5, offset 0",
    parameters: ParameterSource::Listed(&[
        coefficient("gain_thousandths", "factor of all erases, in thousandths", 1000),
        coefficient("offset_thousandths", "added to the utilisation, in thousandths", 0),
        coefficient("skew_thousandths", "added to the utilisation for each unit of skew, in thousandths", 0),
        coefficient("skew_square_thousandths", "added for each unit of skew squared, in thousandths", 0),
    ]),
    capabilities: &[],
    build: |parameters| {
        Box::new(Light {
            gain: thousandths(parameters, "gain_thousandths").max(0.0),
            offset: thousandths(parameters, "offset_thousandths"),
            skew: thousandths(parameters, "skew_thousandths"),
            skew_square: thousandths(parameters, "skew_square_thousandths"),
        })
    },
};

/// `erases / page = gain / (B_p (1 - F(u + offset + skew s + skew_square s^2)))`.
#[derive(Debug)]
struct Light {
    gain: f64,
    offset: f64,
    skew: f64,
    skew_square: f64,
}

/// More makes no sense for a drive that has spare blocks.
const UTILISATION_MOST: f64 = 0.999;

impl WearModel for Light {
    fn erases_per_page(&self, flash: &FlashLoad) -> Option<f64> {
        let skew = self.skew * flash.skew + self.skew_square * flash.skew * flash.skew;
        let utilisation = (flash.utilisation + self.offset + skew).clamp(0.0, UTILISATION_MOST);
        Some(self.gain * equations::erases_at_utilisation(1.0, flash.pages_per_block, utilisation, 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLASH: FlashLoad =
        FlashLoad { pages_per_block: 64, pages: 64_000.0, utilisation: 0.0, skew: 0.0, counted: None };

    fn light(skew: f64) -> Light {
        Light { gain: 1.0, offset: 0.0, skew, skew_square: 0.0 }
    }

    /// Even writes, greedy cleaning: `victim = exp((victim - 1) / u)`, `1 / (1 - victim)` writes for each write.
    #[test]
    fn even_writes_cost_what_is_known() {
        assert_eq!(light(0.0).erases(&FLASH), Some(1000.0), "an empty drive erases each block once a filling");
        for (utilisation, amplification) in [(0.5, 1.2550), (0.7, 1.8751), (0.8, 2.6916), (0.9, 5.1800)] {
            let erases = light(0.0).erases(&FlashLoad { utilisation, ..FLASH }).unwrap();
            assert!((erases / 1000.0 / amplification - 1.0).abs() < 2e-3, "{utilisation}: {}", erases / 1000.0);
        }
    }

    #[test]
    fn coefficients_bend_the_curve_and_never_break_it() {
        let skewed = FlashLoad { utilisation: 0.8, skew: 0.9, ..FLASH };
        assert!(light(0.1).erases(&skewed) > light(0.0).erases(&skewed));
        assert!(light(-0.1).erases(&skewed) < light(0.0).erases(&skewed));
        for skew in [-5.0, 5.0] {
            let erases = light(skew).erases(&skewed).unwrap();
            assert!(erases.is_finite() && erases >= 1000.0);
        }
    }
}
