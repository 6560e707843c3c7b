//! Which drives and loads are simulated.

use std::fmt;

use CalibrationLoad::{Halving, Hot, PartlyIdle, Zipf};

/// Pages of an object.
pub(super) const OBJECT_PAGES: u64 = 64;

/// What a case is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalibrationPart {
    /// Coefficients are fitted to it.
    Training,
    /// It tells how far the model is off.
    Unseen,
}

/// How often each object is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CalibrationLoad {
    /// By Zipf's law with this exponent; 0 is evenly.
    Zipf(f64),
    /// A tenth of the objects take nine tenths of the writes.
    Hot,
    /// From the first to the last object, rates fall by half this many times.
    Halving(f64),
    /// A third is never written, a third evenly, and a third by Zipf's law with exponent 0.8, about three quarters as
    /// often as the second.
    PartlyIdle,
}

/// One drive and its load.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibrationCase {
    /// What it is for.
    pub part: CalibrationPart,
    /// A preset of `esker-flash`.
    pub preset: &'static str,
    /// Pages of a block, in place of the preset's.
    pub pages_per_block: u32,
    /// Blocks of each of the two dies.
    pub blocks: u32,
    /// The victim policy.
    pub victim: &'static str,
    /// Data, as a share of the flash without the blocks that are kept free.
    pub utilisation: f64,
    /// How often each object is written.
    pub load: CalibrationLoad,
    /// Pages of a write.
    pub write_pages: u64,
    /// Whether writes begin at any page of an object, not only at multiples of their size.
    pub overlapping: bool,
}

impl fmt::Display for CalibrationLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Zipf(exponent) => write!(f, "zipf {exponent}"),
            Hot => f.write_str("nine tenths to a tenth"),
            Halving(times) => write!(f, "halving {times} times"),
            PartlyIdle => f.write_str("a third idle"),
        }
    }
}

impl fmt::Display for CalibrationCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { preset, victim, utilisation, load, write_pages, .. } = self;
        write!(f, "{preset} with {victim}, {:.0} % in use, {load}, {write_pages} pages", utilisation * 100.0)
    }
}

impl CalibrationLoad {
    /// How often each of `objects` objects is written, relative to each other.
    pub fn rates(self, objects: usize) -> Vec<f64> {
        let all = objects as f64;
        let rate = |at: usize| match self {
            Zipf(exponent) => (at as f64 + 1.0).powf(-exponent),
            Hot => {
                let hot = (all / 10.0).round().max(1.0);
                if (at as f64) < hot { 0.9 / hot } else { 0.1 / (all - hot) }
            }
            Halving(times) => (-times * at as f64 / all).exp2(),
            PartlyIdle => match at % 3 {
                0 => 0.0,
                1 => 3.0 / all,
                _ => (at as f64 + 1.0).powf(-0.8) / (all.powf(0.2) / 0.2 / 3.0),
            },
        };
        (0..objects).map(rate).collect()
    }
}

/// All cases: see the [module](super) for how they are divided.
pub fn cases() -> Vec<CalibrationCase> {
    use CalibrationPart::{Training, Unseen};
    let mut all = Vec::new();
    let runs = [(1, false), (8, false), (8, true), (32, true)];
    let loads = [Zipf(0.0), Zipf(0.6), Zipf(0.9), Zipf(1.2), Hot];
    for (preset, pages, blocks) in [("samsung-k9xxg08-slc-32g", 64, 128), ("mlc-3d-512g", 256, 80)] {
        let drive = (Training, preset, pages, blocks, "greedy");
        add(&mut all, drive, &[0.55, 0.7, 0.8, 0.88], &loads, &runs);
    }
    let runs = [(1, false), (4, true), (16, true), (16, false)];
    let loads = [Zipf(0.0), Zipf(0.75), Halving(8.0), PartlyIdle];
    for (preset, pages, blocks) in [("intel-x25m-80g", 128, 160), ("z-nand-240g", 384, 112)] {
        let drive = (Unseen, preset, pages, blocks, "greedy");
        add(&mut all, drive, &[0.62, 0.76, 0.85], &loads, &runs);
    }
    let by_age = (Unseen, "intel-x25m-80g", 128, 160, "fifo");
    add(&mut all, by_age, &[0.62, 0.85], &[Zipf(0.0), Zipf(0.75), PartlyIdle], &[(1, false), (16, true)]);
    all
}

type Drive = (CalibrationPart, &'static str, u32, u32, &'static str);

fn add(
    all: &mut Vec<CalibrationCase>,
    (part, preset, pages_per_block, blocks, victim): Drive,
    utilisations: &[f64],
    loads: &[CalibrationLoad],
    runs: &[(u64, bool)],
) {
    for &utilisation in utilisations {
        for &load in loads {
            for &(write_pages, overlapping) in runs {
                // Half of a write lies on each die. A block holds at least eight of those that die together.
                let whole = if overlapping { write_pages / 4 } else { write_pages / 2 };
                if whole * 8 <= u64::from(pages_per_block) {
                    let drive = CalibrationCase { part, preset, pages_per_block, blocks, victim, ..EMPTY };
                    all.push(CalibrationCase { utilisation, load, write_pages, overlapping, ..drive });
                }
            }
        }
    }
}

const EMPTY: CalibrationCase = CalibrationCase {
    part: CalibrationPart::Training,
    preset: "",
    pages_per_block: 0,
    blocks: 0,
    victim: "",
    utilisation: 0.0,
    load: Zipf(0.0),
    write_pages: 0,
    overlapping: false,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_unseen_case_has_a_drive_a_utilisation_or_a_run_of_training() {
        let all = cases();
        let (training, unseen): (Vec<_>, Vec<_>) = all.iter().partition(|case| case.part == CalibrationPart::Training);
        assert!(training.len() > 100 && unseen.len() > 90, "{} and {}", training.len(), unseen.len());
        for case in unseen {
            let shares = |other: &&CalibrationCase| {
                other.preset == case.preset || other.utilisation.to_bits() == case.utilisation.to_bits()
            };
            assert!(!training.iter().any(shares), "{case}");
        }
    }

    #[test]
    fn loads_are_what_they_are_called() {
        let hot = Hot.rates(200);
        assert!((hot[..20].iter().sum::<f64>() - 0.9).abs() < 1e-9 && (hot.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let halving = Halving(8.0).rates(800);
        assert!((halving[0] / halving[100] - 2.0).abs() < 1e-9);
        let idle = PartlyIdle.rates(3000);
        assert_eq!(idle.iter().filter(|rate| **rate == 0.0).count(), 1000);
        let of = |place: usize| idle.iter().skip(place).step_by(3).sum::<f64>();
        assert!((of(2) / of(1) - 0.75).abs() < 0.05, "{} {}", of(1), of(2));
    }
}
