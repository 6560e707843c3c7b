//! Fast division by a number that is fixed for a whole run.

/// Divides by multiplying with a reciprocal: exact for every `u32` (Lemire, Kaser and Kurz 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    divisor: u32,
    reciprocal: u64,
}

impl Divisor {
    /// Creates a divisor, which must be at least 1 (asserted).
    pub fn new(divisor: u32) -> Self {
        assert!(divisor > 0, "nothing can be divided by zero");
        Self { divisor, reciprocal: (u64::MAX / u64::from(divisor)).wrapping_add(1) }
    }

    /// Returns the divisor.
    #[inline(always)]
    pub fn get(self) -> u32 {
        self.divisor
    }

    /// Returns `value / divisor`.
    #[inline(always)]
    pub fn quotient(self, value: u32) -> u32 {
        if self.divisor == 1 {
            return value;
        }
        ((u128::from(self.reciprocal) * u128::from(value)) >> 64) as u32
    }

    /// Returns `(value / divisor, value % divisor)`.
    #[inline(always)]
    pub fn divide(self, value: u32) -> (u32, u32) {
        let quotient = self.quotient(value);
        (quotient, value - quotient * self.divisor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Divisor;

    proptest! {
        #[test]
        fn it_divides_like_the_processor(value: u32, divisor in 1u32.., small in 1u32..300) {
            for divisor in [divisor, small, u32::MAX] {
                prop_assert_eq!(Divisor::new(divisor).divide(value), (value / divisor, value % divisor));
            }
        }
    }
}
