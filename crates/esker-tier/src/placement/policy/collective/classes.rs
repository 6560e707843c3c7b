//! Extents that are alike.

use super::counts::{PAST_MAX, PAST_MIN, Past, PastSum};

/// Number of classes of a count of requests.
const RATES: usize = 32;
const _: () = assert!(rate(PAST_MAX) < RATES);

/// Returns the class of a count of requests: one for each power of two, and 0 for what is no past.
const fn rate(requests: f32) -> usize {
    (exponent(requests) + 1).saturating_sub(exponent(PAST_MIN)) as usize
}

/// Returns the biased exponent of a number that is not negative.
const fn exponent(number: f32) -> u32 {
    number.to_bits() >> (f32::MANTISSA_DIGITS - 1)
}

/// Extents that are alike: on one device, with about as many reads and writes. Classes of one device are next to each
/// other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ClassIndex(usize);

impl ClassIndex {
    /// Returns the class of an extent on device `home` with a past of `past` reads and writes.
    pub(super) fn of(home: u16, past: [f32; 2]) -> Self {
        let [reads, writes] = past.map(rate);
        Self((usize::from(home) * RATES + reads) * RATES + writes)
    }

    pub(super) fn index(self) -> usize {
        self.0
    }

    /// Returns the device of its extents.
    pub(super) fn home(self) -> usize {
        self.0 / (RATES * RATES)
    }
}

/// Extents by their classes.
#[derive(Debug, Default)]
pub(super) struct Classes(Vec<PastSum>);

impl Classes {
    #[inline]
    pub(super) fn add(&mut self, class: ClassIndex, past: &Past) {
        if self.0.len() <= class.0 {
            self.0.resize((class.home() + 1) * RATES * RATES, PastSum::default());
        }
        self.0[class.0].add(past);
    }

    /// Returns the classes that have extents.
    pub(super) fn present(&self) -> impl Iterator<Item = (ClassIndex, &PastSum)> {
        let all = self.0.iter().enumerate().map(|(index, sum)| (ClassIndex(index), sum));
        all.filter(|(_, sum)| sum.extents > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_power_of_two_has_a_class() {
        assert_eq!([0.0, PAST_MIN * 0.99, PAST_MIN, PAST_MIN * 1.99, PAST_MIN * 2.0].map(rate), [0, 0, 1, 1, 2]);
        assert_eq!(rate(PAST_MAX), rate(PAST_MAX / 1024.0) + 10);
    }

    #[test]
    fn classes_know_their_device() {
        let (one, other) = (ClassIndex::of(0, [PAST_MAX; 2]), ClassIndex::of(3, [0.0; 2]));
        assert_eq!((one.home(), other.home()), (0, 3));
        let mut classes = Classes::default();
        for class in [other, one, other] {
            classes.add(class, &Past { requests: [2.0, 0.5], sectors: [1.0; 2] });
        }
        let found: Vec<(ClassIndex, u32)> = classes.present().map(|(class, sum)| (class, sum.extents)).collect();
        assert_eq!(found, [(one, 1), (other, 2)]);
    }
}
