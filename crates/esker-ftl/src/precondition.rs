//! Preconditioning: fills and overwrites a drive to a stated condition, without simulated time.

use esker_core::{LogicalPage, Precondition, Rng};
use esker_nand::state::FlashState;
use esker_results::{PreconditionReport, SteadyOrigin};

use crate::{Ftl, Space};

/// Two consecutive stretches agree, and write amplification is steady, if they differ by less than this share.
const TOLERANCE: f64 = 0.0015;
/// A stretch is half of the filled pages, and at least this many page writes, so that random variation stays well below
/// the tolerance.
const STRETCH_MIN: u64 = 1 << 20;
/// Overwriting ends, steady or not, this many stretches after the first erase (which comes at the latest when as many
/// pages were written as the array has).
const STRETCHES_MAX: u64 = 32;
/// Overwriting ends after this many programs per page of the array (or of a stretch, if that is longer), steady or not:
/// merging may cost dozens of programs for each page.
const PROGRAMS_PER_PAGE_MAX: u64 = 64;
/// After a start in the steady state, this many pages at most, or a quarter of the filled pages, are written before
/// anything is measured, so that caches and open blocks reach their usual state.
const SETTLING_MAX: u64 = 1 << 17;
/// Write amplification is then measured in this many parts. Their differences show the random variation.
const PARTS: u64 = 16;
/// Page writes of a part: a sixty-fourth of the filled pages, within these bounds.
const PART: std::ops::RangeInclusive<u64> = 1 << 12..=1 << 15;
/// A start in the steady state is accepted if write amplification is within this share of the theoretical value.
const DEVIATION_MAX: f64 = 0.005;
/// Two means agree if they differ by less than this many standard errors.
const CHANCE: f64 = 3.0;
/// Number of pages that are drawn at once.
const BATCH: u64 = 1 << 16;

/// Fills (and overwrites) an erased device. Returns a report, and the number of pages written.
pub fn run(
    condition: Precondition,
    ftl: &mut dyn Ftl,
    flash: &mut FlashState,
    space: &Space,
) -> (Option<PreconditionReport>, u64) {
    let (utilisation, seed) = match condition {
        Precondition::Empty => return (None, 0),
        Precondition::Filled { utilisation } => (utilisation, None),
        Precondition::Steady { utilisation, seed } => (utilisation, Some(seed)),
    };
    let pages = utilisation.of(u64::from(space.host_pages)).min(u64::from(space.host_pages));
    let mut writer = Writer { ftl, flash, batch: Vec::new(), programs_max: u64::MAX };
    let mut report = PreconditionReport::default();
    let begun = seed.and_then(|seed| writer.ftl.begin_steady(pages as u32, seed, writer.flash));
    let given = match begun {
        Some(_) => writer.flash.counts().programs().host,
        None => writer.write((0..pages).map(|page| LogicalPage(page as u32))),
    };
    report.filled_pages = given.min(pages);
    if let (Some(seed), true) = (seed, given >= pages && pages > 0) {
        let mut rng = Rng::derive(seed, "precondition");
        report.origin = Some(SteadyOrigin::StationaryDistribution);
        if !begun.is_some_and(|expected| settle(&mut writer, pages, expected, &mut rng, &mut report)) {
            report.origin = Some(SteadyOrigin::Overwriting);
            overwrite(&mut writer, pages, &mut rng, &mut report);
        }
    }
    (Some(report), given + report.overwritten_pages)
}

/// Overwrites part of a drive that begins in its steady state, with `expected` data programs per page written. Returns
/// true if it is steady: it has the expected number of programs, and the same in both halves of the measurement.
fn settle(writer: &mut Writer<'_>, pages: u64, expected: f64, rng: &mut Rng, report: &mut PreconditionReport) -> bool {
    let mut write = |count| {
        let before = writer.flash.counts().programs();
        let written = writer.write((0..count).map(|_| LogicalPage(rng.below(pages) as u32)));
        report.overwritten_pages += written;
        let programs = writer.flash.counts().programs();
        let data = programs.host - before.host + programs.cleaning - before.cleaning;
        let all = programs.total() - before.total();
        (written == count).then_some((all as f64 / count as f64, data as f64 / count as f64))
    };
    let part = (pages / 64).clamp(*PART.start(), *PART.end());
    let settled = write((pages / 4).min(SETTLING_MAX));
    let measured = settled.and_then(|_| (0..PARTS).map(|_| write(part)).collect::<Option<Vec<_>>>());
    let Some(measured) = measured else { return false };
    let (all, data): (Vec<f64>, Vec<f64>) = measured.into_iter().unzip();
    let (first, second) = all.split_at(all.len() / 2);
    let ((first, first_error), (second, second_error)) = (mean(first), mean(second));
    report.write_amplification = f64::midpoint(first, second);
    let chance = CHANCE * first_error.hypot(second_error);
    let (of_data, error) = mean(&data);
    report.steady = (first - second).abs() <= TOLERANCE * first + chance
        && (of_data - expected).abs() <= DEVIATION_MAX * expected + CHANCE * error;
    report.steady
}

/// Returns the mean and its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

/// Overwrites in stretches until two consecutive stretches agree.
fn overwrite(writer: &mut Writer<'_>, pages: u64, rng: &mut Rng, report: &mut PreconditionReport) {
    let stretch = pages.div_ceil(2).max(STRETCH_MIN);
    let programs = writer.flash.counts().programs().total();
    let array = u64::from(writer.flash.geometry().pages());
    writer.programs_max = programs + PROGRAMS_PER_PAGE_MAX * array.max(STRETCH_MIN);
    // While there is free space, write amplification is 1, and only seems steady.
    let erases = writer.flash.counts().erases;
    while writer.flash.counts().erases == erases {
        let written = writer.write((0..BATCH).map(|_| LogicalPage(rng.below(pages) as u32)));
        report.overwritten_pages += written;
        if written < BATCH {
            return;
        }
    }
    let mut before = f64::NAN;
    for _ in 0..STRETCHES_MAX {
        let programs = writer.flash.counts().programs().total();
        let written = writer.write((0..stretch).map(|_| LogicalPage(rng.below(pages) as u32)));
        report.overwritten_pages += written;
        if written == 0 {
            return;
        }
        let amplification = (writer.flash.counts().programs().total() - programs) as f64 / written as f64;
        report.write_amplification = amplification;
        if written < stretch {
            return;
        }
        report.steady = report.overwritten_pages >= pages && (amplification / before - 1.0).abs() <= TOLERANCE;
        if report.steady {
            return;
        }
        before = amplification;
    }
}

struct Writer<'a> {
    ftl: &'a mut dyn Ftl,
    flash: &'a mut FlashState,
    batch: Vec<LogicalPage>,
    /// No batch begins once the array has had this many programs.
    programs_max: u64,
}

impl Writer<'_> {
    /// Writes `pages` in order. Returns how many were written: fewer only if the translation layer runs out of space,
    /// or if writing took too many programs.
    fn write(&mut self, mut pages: impl Iterator<Item = LogicalPage>) -> u64 {
        let mut written = 0;
        loop {
            self.batch.clear();
            self.batch.extend(pages.by_ref().take(BATCH as usize));
            let spent = self.flash.counts().programs().total() >= self.programs_max;
            if spent || self.batch.is_empty() || self.ftl.write_untimed(&self.batch, self.flash).is_err() {
                return written;
            }
            written += self.batch.len() as u64;
        }
    }
}
