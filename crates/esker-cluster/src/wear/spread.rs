//! How unevenly the pages of a drive are written.

/// Classes of write rates, each twice as fast as the one before.
pub const RATE_CLASSES: usize = 16;
/// The class of the mean rate. Below are six slower ones, so that what is never written is in class 0.
const MEAN_CLASS: i32 = 6;

/// How many of a drive's pages are written how often. Pages are sorted into [`RATE_CLASSES`] classes by their rate,
/// from 1/64 of a mean that the caller chooses to 512 times it. Each class keeps the sum of its pages and of their
/// writes, so the pages of a class count as if all were written at the mean rate of the class.
///
/// Units cancel out: pages may be counted in slices, and writes in any time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WriteSpread {
    pages: [f32; RATE_CLASSES],
    writes: [f32; RATE_CLASSES],
}

impl WriteSpread {
    /// Every page is written as often as every other one.
    pub const EVEN: Self = {
        let (mut pages, mut writes) = ([0.0; RATE_CLASSES], [0.0; RATE_CLASSES]);
        (pages[MEAN_CLASS as usize], writes[MEAN_CLASS as usize]) = (1.0, 1.0);
        Self { pages, writes }
    };

    /// No page at all.
    pub const NONE: Self = Self { pages: [0.0; RATE_CLASSES], writes: [0.0; RATE_CLASSES] };

    /// The spread of some numbers of pages, each with its writes.
    pub fn of(parts: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let (pages, writes) = parts.clone().fold((0.0, 0.0), |(all, sum), (pages, writes)| (all + pages, sum + writes));
        // Many small parts would be lost in sums of 32 bits.
        let mut sums = [(0.0, 0.0); RATE_CLASSES];
        for (part, written) in parts {
            let sum = &mut sums[rate_class(written * pages, writes * part)];
            (sum.0, sum.1) = (sum.0 + part, sum.1 + written);
        }
        let mut spread = Self::NONE;
        sums.iter().enumerate().for_each(|(class, (pages, writes))| spread.add(class, *pages, *writes));
        spread
    }

    /// Adds pages with their writes to a class.
    pub fn add(&mut self, class: usize, pages: f64, writes: f64) {
        self.pages[class] += pages as f32;
        self.writes[class] += writes as f32;
    }

    /// The share of pages in each class that has any, and how much faster they are written than the mean of the drive.
    pub(super) fn classes(&self) -> Option<impl Iterator<Item = (f64, f64)> + Clone> {
        let sum = |values: &[f32]| values.iter().map(|value| f64::from(*value)).sum::<f64>();
        let (pages, writes) = (sum(&self.pages), sum(&self.writes));
        let mean = writes / pages;
        let class = move |(of_pages, of_writes): (&f32, &f32)| {
            let (of_pages, of_writes) = (f64::from(*of_pages), f64::from(*of_writes));
            (of_pages / pages, of_writes / of_pages / mean)
        };
        let all = self.pages.iter().zip(&self.writes).filter(|(pages, _)| **pages > 0.0);
        (pages > 0.0 && writes > 0.0).then(|| all.map(class))
    }
}

/// The class of pages that are written `rate` times in a time in which a mean page is written `mean` times.
pub fn rate_class(rate: f64, mean: f64) -> usize {
    // The exponent of a number is the whole part of its logarithm, and exact.
    let exponent = |value: f64| (value.to_bits() >> 52 & 0x7ff) as i32;
    match rate > 0.0 && mean > 0.0 {
        true => (exponent(rate / mean) - exponent(1.0) + MEAN_CLASS).clamp(0, RATE_CLASSES as i32 - 1) as usize,
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_two_about_the_mean() {
        assert_eq!(
            [0.0, 0.01, 0.5, 0.99, 1.0, 1.99, 2.0, 1e9].map(|rate| rate_class(rate, 1.0)),
            [0, 0, 5, 5, 6, 6, 7, 15]
        );
        assert_eq!((rate_class(30.0, 10.0), rate_class(1.0, 0.0)), (7, 0));
    }

    #[test]
    fn shares_and_rates_are_of_the_whole() {
        let spread = WriteSpread::of([(30.0, 10.0), (10.0, 30.0)].into_iter());
        let classes: Vec<(f64, f64)> = spread.classes().unwrap().collect();
        let expected = [(0.75, 1.0 / 3.0), (0.25, 3.0)];
        for ((share, rate), (of_pages, of_rate)) in classes.iter().zip(expected) {
            assert!((share - of_pages).abs() < 1e-6 && (rate - of_rate).abs() < 1e-6, "{classes:?}");
        }
        assert!(WriteSpread::NONE.classes().is_none());
        assert_eq!(WriteSpread::EVEN.classes().unwrap().collect::<Vec<_>>(), [(1.0, 1.0)]);
    }
}
