//! A model of cleaning that knows how unevenly pages are written, with coefficients fitted to the full simulator.
//!
//! Writes of the host and copies of cleaning go to the same blocks, in their order, as in a log. A page that is written
//! at the rate `r` is superseded before its block is cleaned, at the age `T`, with probability `1 - exp(-r T)`;
//! otherwise it is copied to the end of the log. So it is written to the log `r / (1 - exp(-r T))` times in a unit of
//! time, and the log takes as many pages in `T` as the drive has flash:
//!
//! ```text
//! sum over all pages of  r T / (1 - exp(-r T)) = pages of flash
//! ```
//!
//! The age `T` that solves it tells the write amplification. This is exact if the oldest block is cleaned, and if
//! blocks are large, also if the emptiest one is: all are alike then. With even writes it is the known fixed point of
//! [`super::equations`] with offset 0.
//!
//! Small blocks differ by chance, and greedy cleaning takes the emptiest. With even writes, blocks of `b` pages and `m`
//! valid ones in victims, the utilisation is `(1 - m/b) / (H(b) - H(m))` (Desnoyers 2012; `H` are harmonic numbers).
//! With `H(b) - H(m)` close to `ln ((b + 1/2) / (m + 1/2))`, this is the fixed point of a drive with `1 + 1 / (2 b)`
//! times the flash, whose write amplification is divided by this, too. Pages that are written together die together:
//! they count as one. The coefficient 1/2 is fitted anew, which also covers uneven writes.

use esker_core::registry::{Accepted, Parameter, ParameterSource};

use super::{FlashLoad, WearEntry, WearModel, thousandths};

/// Fitted to greedy cleaning, in thousandths: see `esker_fleet::calibration`, which checks them against its table.
pub const FITTED_GRANULARITY: u64 = 461;
/// Fitted, in thousandths: how much of a run that is written at any place in an object dies together.
pub const FITTED_OVERLAP: u64 = 556;

const fn coefficient(name: &'static str, meaning: &'static str, default: i64, most: i64) -> Parameter {
    Parameter { name, meaning, value: Accepted::Integer { default, least: 0, most } }
}

pub(super) const ENTRY: WearEntry = WearEntry {
    name: "light",
    summary: "erases from pages written, utilisation, and how unevenly and in which runs pages are written",
    source: "this project, after Menon 1995 and Desnoyers 2012; coefficients fitted by `esker cluster calibrate`",
    parameters: ParameterSource::Listed(&[
        coefficient("gain_thousandths", "factor of all erases, in thousandths", 1000, 5000),
        coefficient(
            "granularity_thousandths",
            "what greedy cleaning gains from blocks of few runs, in thousandths; 0 for victims by age",
            FITTED_GRANULARITY as i64,
            5000,
        ),
        coefficient(
            "overlap_thousandths",
            "share of a run that dies together where runs overlap, in thousandths",
            FITTED_OVERLAP as i64,
            1000,
        ),
    ]),
    capabilities: &[],
    build: |parameters| {
        Box::new(Light {
            gain: thousandths(parameters, "gain_thousandths"),
            granularity: thousandths(parameters, "granularity_thousandths"),
            overlap: thousandths(parameters, "overlap_thousandths"),
        })
    },
};

#[derive(Debug)]
struct Light {
    gain: f64,
    granularity: f64,
    overlap: f64,
}

/// More makes no sense for a drive that has spare blocks.
const UTILISATION_MOST: f64 = 0.999;
/// Steps of Newton's method, which never needs as many.
const STEPS_MOST: u32 = 50;
/// It ends when a step changes the result by less than this share.
const PRECISION: f64 = 1e-12;

impl WearModel for Light {
    fn erases_per_page(&self, flash: &FlashLoad) -> Option<f64> {
        let block = f64::from(flash.pages_per_block.max(1));
        let run = if flash.runs_overlap { self.overlap * flash.run_pages } else { flash.run_pages };
        let flash_more = 1.0 + self.granularity * run / block;
        let utilisation = (flash.utilisation / flash_more).clamp(0.0, UTILISATION_MOST);
        let amplification = write_amplification(utilisation, flash) / flash_more;
        Some(self.gain * amplification.max(1.0) / block)
    }
}

/// Pages written to the log for each page that the host writes, if blocks are cleaned by age.
fn write_amplification(utilisation: f64, flash: &FlashLoad) -> f64 {
    let Some(classes) = flash.spread.classes() else { return 1.0 };
    if utilisation <= 0.0 {
        return 1.0;
    }
    // How often data are overwritten on average before a block is cleaned. The sum is at least its argument, and
    // convex: from the right, no step passes the root.
    let mut overwrites = 1.0 / utilisation;
    for _ in 0..STEPS_MOST {
        let (mut sum, mut slope) = (-1.0 / utilisation, 0.0);
        for (share, rate) in classes.clone() {
            let (value, change) = log_writes(rate * overwrites);
            sum += share * value;
            slope += share * rate * change;
        }
        let step = sum / slope;
        overwrites -= step;
        if step.abs() <= PRECISION * overwrites {
            break;
        }
    }
    1.0 / (utilisation * overwrites)
}

/// `x / (1 - exp(-x))`: writes to the log in the time in which a page is overwritten `x` times; and its derivative.
fn log_writes(x: f64) -> (f64, f64) {
    if x < 1e-4 {
        return (1.0 + x / 2.0 + x * x / 12.0, 0.5 + x / 6.0);
    }
    let survives = (-x).exp();
    let dies = -(-x).exp_m1();
    (x / dies, (dies - x * survives) / (dies * dies))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::equations;
    use super::super::spread::WriteSpread;
    use super::*;

    const FLASH: FlashLoad = FlashLoad {
        pages_per_block: 64,
        pages: 64_000.0,
        utilisation: 0.0,
        spread: WriteSpread::EVEN,
        run_pages: 1.0,
        runs_overlap: false,
        counted: None,
    };
    const BY_AGE: Light = Light { gain: 1.0, granularity: 0.0, overlap: 1.0 };
    const GREEDY: Light = Light { gain: 1.0, granularity: 0.5, overlap: 0.5 };

    fn amplification(model: &Light, flash: FlashLoad) -> f64 {
        model.erases(&flash).unwrap() / flash.pages * f64::from(flash.pages_per_block)
    }

    /// Even writes, victims by age: `victim = exp((victim - 1) / u)`, `1 / (1 - victim)` writes for each write.
    #[test]
    fn even_writes_cost_what_is_known() {
        assert_eq!(BY_AGE.erases(&FLASH), Some(1000.0), "an empty drive erases each block once a filling");
        for (utilisation, known) in [(0.5, 1.2550), (0.7, 1.8751), (0.8, 2.6916), (0.9, 5.1800)] {
            let found = amplification(&BY_AGE, FlashLoad { utilisation, ..FLASH });
            assert!((found / known - 1.0).abs() < 2e-3, "{utilisation}: {found}");
            let by_equations = 1.0 / (1.0 - equations::utilisation_of_victims(utilisation, 0.0));
            assert!((found / by_equations - 1.0).abs() < 1e-9, "{utilisation}: {found}");
        }
    }

    /// Desnoyers 2012: `u = (1 - m/b) / (H(b) - H(m))`, with `1 / (1 - m/b)` writes for each write.
    #[test]
    fn greedy_cleaning_of_small_blocks_costs_what_is_known() {
        let harmonic = |count: u32| (1..=count).map(|at| 1.0 / f64::from(at)).sum::<f64>();
        for (block, valid) in [(16, 4), (16, 10), (64, 20), (64, 40), (64, 52), (256, 180)] {
            let share = f64::from(valid) / f64::from(block);
            let utilisation = (1.0 - share) / (harmonic(block) - harmonic(valid));
            let found = amplification(&GREEDY, FlashLoad { pages_per_block: block, utilisation, ..FLASH });
            assert!((found * (1.0 - share) - 1.0).abs() < 0.01, "{valid} of {block}: {found}");
            let longer = FlashLoad { pages_per_block: 8 * block, run_pages: 8.0, utilisation, ..FLASH };
            assert!((amplification(&GREEDY, longer) / found - 1.0).abs() < 1e-9, "a run of 8 counts as one page");
        }
    }

    /// Nothing but what is overwritten in time takes part: with half of the data never written, the rest has the flash
    /// that they leave, at the price of copying them once in `T`.
    #[test]
    fn data_that_are_never_written_are_copied_once_in_each_pass() {
        let spread = WriteSpread::of([(0.5, 0.0), (0.5, 1.0)].into_iter());
        let found = amplification(&BY_AGE, FlashLoad { utilisation: 0.8, spread, ..FLASH });
        // 0.4 T of cold copies, and 0.4 x / (1 - exp(-x)) of the rest with x = 2 t, make 1.
        let x = 2.0 / (0.8 * found);
        assert!((0.4 + 0.4 * x / (1.0 - (-x).exp()) - 1.0).abs() < 1e-6, "{found}");
    }

    fn spreads() -> impl Strategy<Value = Vec<(f64, f64)>> {
        let part = (0.01..1.0f64, prop_oneof![Just(0.0), 1e-3..1e3f64]);
        prop::collection::vec(part, 1..8)
            .prop_map(|parts| parts.into_iter().map(|(pages, rate)| (pages, pages * rate)).collect::<Vec<_>>())
            .prop_filter("something is written", |parts| parts.iter().any(|(_, writes)| *writes > 0.0))
    }

    proptest! {
        #[test]
        fn fuller_drives_and_more_uneven_writes_cost_no_less(
            parts in spreads(),
            utilisation in 0.0..1.0f64,
            more in 0.0..0.3f64,
            block in 8u32..5000,
            run in 1.0..8.0f64,
        ) {
            let spread = WriteSpread::of(parts.iter().copied());
            let flash = FlashLoad { utilisation, spread, pages_per_block: block, run_pages: run, ..FLASH };
            let found = amplification(&GREEDY, flash);
            prop_assert!(found > 1.0 - 1e-9 && found.is_finite());
            let fuller = FlashLoad { utilisation: utilisation + more, ..flash };
            prop_assert!(amplification(&GREEDY, fuller) >= found * (1.0 - 1e-9));
            // Convex: what is mixed costs no less than what is even.
            let even = FlashLoad { spread: WriteSpread::EVEN, ..flash };
            prop_assert!(found >= amplification(&GREEDY, even) * (1.0 - 1e-6));
            let longer = FlashLoad { run_pages: 2.0 * run, ..flash };
            prop_assert!(amplification(&GREEDY, longer) <= found * (1.0 + 1e-9));
            let overlapping = amplification(&GREEDY, FlashLoad { runs_overlap: true, ..flash });
            prop_assert!(overlapping >= found * (1.0 - 1e-9));
        }

        /// Parts of one rate, or the whole written twice as fast, are the same drive.
        #[test]
        fn halves_of_a_drive_are_like_the_whole(parts in spreads(), utilisation in 0.1..0.95f64, times in 0.5..4.0f64) {
            let halves = parts.iter().chain(&parts).map(|(pages, writes)| (pages / 2.0, writes / 2.0));
            let faster = parts.iter().map(|(pages, writes)| (*pages, writes * times));
            let cost = |spread| amplification(&GREEDY, FlashLoad { utilisation, spread, ..FLASH });
            let whole = cost(WriteSpread::of(parts.iter().copied()));
            prop_assert!((cost(WriteSpread::of(halves)) / whole - 1.0).abs() < 1e-3);
            prop_assert!((cost(WriteSpread::of(faster)) / whole - 1.0).abs() < 1e-3);
        }

        /// Sixteen classes tell nearly what each rate by itself does.
        #[test]
        fn classes_are_fine_enough(exponent in 0.0..1.3f64, utilisation in 0.3..0.93f64) {
            let rates: Vec<f64> = (1..=300).map(|rank| f64::from(rank).powf(-exponent)).collect();
            let mean = rates.iter().sum::<f64>() / 300.0;
            let spread = WriteSpread::of(rates.iter().map(|rate| (1.0, *rate)));
            let found = amplification(&BY_AGE, FlashLoad { utilisation, spread, ..FLASH });
            let overwrites = 1.0 / (utilisation * found);
            let log: f64 = rates.iter().map(|rate| log_writes(rate / mean * overwrites).0).sum();
            prop_assert!((log / 300.0 * utilisation - 1.0).abs() < 0.004, "{found}");
        }
    }
}
