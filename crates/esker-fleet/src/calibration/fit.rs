//! Coefficients by least squares, and how far the model is off.

use esker_cluster::{FlashLoad, WriteSpread, build_wear_model};
use esker_core::registry::{Choice, ParameterValue};

use super::cases::OBJECT_PAGES;
use super::drive::DIES;
use super::{CalibrationPart, CalibrationRow};

/// Coefficients of the model `light`, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FittedCoefficients {
    /// `granularity_thousandths`.
    pub granularity: u64,
    /// `overlap_thousandths`.
    pub overlap: u64,
}

/// How far the model's erases are from those that were counted, as shares of these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationErrors {
    /// Cases.
    pub cases: usize,
    /// Half are within this.
    pub median: f64,
    /// Nine in ten are within this.
    pub nine_in_ten: f64,
    /// All are within this.
    pub most: f64,
    /// The mean, with its sign: above zero, the model says too much.
    pub mean: f64,
}

/// The first step of the search, thousandths.
const STEP: i64 = 256;

/// Finds the coefficients with the least sum of squared logarithms of the model's erases over those counted, on the
/// rows for training. Descends in steps that get smaller, to a thousandth: the same rows give the same coefficients.
pub fn fit(rows: &[CalibrationRow]) -> FittedCoefficients {
    let known: Vec<(FlashLoad, f64)> = training(rows).map(|row| (flash(row), row.erases as f64)).collect();
    let sum = |at: FittedCoefficients| {
        let logarithms = by_model(&known, at);
        logarithms.map(|logarithm| logarithm * logarithm).sum::<f64>()
    };
    let mut best = FittedCoefficients { granularity: 500, overlap: 500 };
    let (mut least, mut step) = (sum(best), STEP);
    while step > 0 {
        let near = [(step, 0), (-step, 0), (0, step), (0, -step)].map(|(granularity, overlap)| FittedCoefficients {
            granularity: best.granularity.saturating_add_signed(granularity).min(5000),
            overlap: best.overlap.saturating_add_signed(overlap).min(1000),
        });
        let better = near.map(|at| (sum(at), at)).into_iter().min_by(|one, two| one.0.total_cmp(&two.0));
        match better.filter(|(found, _)| *found < least) {
            Some((found, at)) => (least, best) = (found, at),
            None => step /= 2,
        }
    }
    best
}

fn training(rows: &[CalibrationRow]) -> impl Iterator<Item = &CalibrationRow> {
    rows.iter().filter(|row| row.case.part == CalibrationPart::Training)
}

/// The errors of the model with these coefficients on `rows`; `None` without any. Victims by age take no granularity.
pub fn errors<'a>(
    rows: impl Iterator<Item = &'a CalibrationRow>,
    coefficients: FittedCoefficients,
) -> Option<CalibrationErrors> {
    let mut all: Vec<f64> = rows.map(|row| error(row, coefficients)).collect();
    let cases = all.len();
    let mean = all.iter().sum::<f64>() / cases as f64;
    all.iter_mut().for_each(|error| *error = error.abs());
    all.sort_by(f64::total_cmp);
    let at = |share: f64| all[((share * cases as f64).ceil() as usize).clamp(1, cases) - 1];
    (cases > 0).then(|| CalibrationErrors { cases, median: at(0.5), nine_in_ten: at(0.9), most: at(1.0), mean })
}

/// The model's erases over those that were counted, less one.
pub(super) fn error(row: &CalibrationRow, coefficients: FittedCoefficients) -> f64 {
    let granularity = if row.case.victim == "fifo" { 0 } else { coefficients.granularity };
    let known = [(flash(row), row.erases as f64)];
    let logarithm = by_model(&known, FittedCoefficients { granularity, ..coefficients }).next();
    logarithm.map_or(0.0, |logarithm| logarithm.exp_m1())
}

/// The logarithm of the model's erases over those that were counted, of each case.
fn by_model(known: &[(FlashLoad, f64)], coefficients: FittedCoefficients) -> impl Iterator<Item = f64> {
    let mut choice = Choice::named("light");
    let values = [("granularity_thousandths", coefficients.granularity), ("overlap_thousandths", coefficients.overlap)];
    for (name, value) in values {
        choice.parameters.insert(name.into(), ParameterValue::Integer(value));
    }
    let model = build_wear_model(&choice).expect("coefficients are within their bounds");
    known.iter().map(move |(flash, erases)| (model.erases(flash).unwrap_or(0.0) / erases).ln())
}

/// What the model is told of a case.
fn flash(row: &CalibrationRow) -> FlashLoad {
    let objects = (row.data_pages / OBJECT_PAGES) as usize;
    let rates = row.case.load.rates(objects);
    let places = pages_by_rate(row.case.write_pages, row.case.overlapping);
    let parts = rates.iter().flat_map(|rate| places.iter().map(move |(pages, times)| (*pages, rate * pages * times)));
    FlashLoad {
        pages_per_block: row.case.pages_per_block,
        pages: row.host_pages as f64,
        utilisation: row.data_pages as f64 / row.usable_pages as f64,
        spread: WriteSpread::of(parts),
        run_pages: (row.case.write_pages as f64 / f64::from(DIES)).max(1.0),
        runs_overlap: row.case.overlapping,
        counted: None,
    }
}

/// Pages of an object, and how often each of them is written. Writes that begin anywhere reach the middle of an object
/// from more places than its ends.
fn pages_by_rate(length: u64, overlapping: bool) -> Vec<(f64, f64)> {
    if !overlapping {
        return vec![(OBJECT_PAGES as f64, 1.0)];
    }
    let reach = |page: u64| page.min(OBJECT_PAGES - length) + 1 - (page + 1).saturating_sub(length);
    let mut times: Vec<u64> = (0..OBJECT_PAGES).map(reach).collect();
    times.sort_unstable();
    times.chunk_by(|one, two| one == two).map(|pages| (pages.len() as f64, pages[0] as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_that_begin_anywhere_reach_the_ends_least() {
        assert_eq!(pages_by_rate(8, false), [(64.0, 1.0)]);
        // 57 places to begin at, 8 pages each.
        let places = pages_by_rate(8, true);
        assert_eq!((places[0], places[7]), ((2.0, 1.0), (50.0, 8.0)));
        assert_eq!(places.iter().map(|(pages, times)| pages * times).sum::<f64>(), 57.0 * 8.0);
    }
}
