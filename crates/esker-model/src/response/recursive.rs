//! Least squares while values arrive.

/// What the coefficients may be before the first value: as good as anything.
const VARIANCE_FIRST: f64 = 1e6;
/// The variance at which forgetting pauses. Where a term does not change for long, forgetting would let the variance of
/// its coefficient grow without end, and the next change would throw the coefficient anywhere.
const VARIANCE_MAX: f64 = 1e8;

/// Coefficients of `N` terms by recursive least squares with exponential forgetting: after each value they are those
/// with the least sum of squared differences, in which a value counts `memory` times as much as the one after it.
#[derive(Clone, Debug)]
pub struct RecursiveLeastSquares<const N: usize> {
    coefficients: [f64; N],
    /// Covariance of the coefficients over that of a value.
    covariance: [[f64; N]; N],
    memory: f64,
}

impl<const N: usize> RecursiveLeastSquares<N> {
    /// Knows nothing yet. `memory` is above 0 and at most 1: with 1 nothing is forgotten, with 0.999 a value counts a
    /// third after a thousand others.
    ///
    /// # Panics
    /// If `memory` is not in that range.
    pub fn new(memory: f64) -> Self {
        Self::starting_with([0.0; N], memory)
    }

    /// Begins with these coefficients, which the first values correct; else like [`RecursiveLeastSquares::new`].
    ///
    /// # Panics
    /// If `memory` is not in its range.
    pub fn starting_with(coefficients: [f64; N], memory: f64) -> Self {
        assert!(memory > 0.0 && memory <= 1.0, "a share of what a value counts, not {memory}");
        let mut covariance = [[0.0; N]; N];
        for (index, row) in covariance.iter_mut().enumerate() {
            row[index] = VARIANCE_FIRST;
        }
        Self { coefficients, covariance, memory }
    }

    /// Returns the coefficients.
    pub fn coefficients(&self) -> &[f64; N] {
        &self.coefficients
    }

    /// Returns the value to expect with these terms.
    pub fn predict(&self, terms: &[f64; N]) -> f64 {
        dot(&self.coefficients, terms)
    }

    /// Learns that these terms came with this value. What is no finite number teaches nothing.
    pub fn learn(&mut self, terms: &[f64; N], value: f64) {
        if !value.is_finite() || terms.iter().any(|term| !term.is_finite()) {
            return;
        }
        let towards: [f64; N] = std::array::from_fn(|row| dot(&self.covariance[row], terms));
        let spread = self.memory + dot(&towards, terms);
        let error = value - self.predict(terms);
        for (coefficient, towards) in self.coefficients.iter_mut().zip(towards) {
            *coefficient += towards / spread * error;
        }
        for row in 0..N {
            // Both halves are given one value, or rounding would let them drift apart.
            for column in row..N {
                let known = self.covariance[row][column] - towards[row] * towards[column] / spread;
                (self.covariance[row][column], self.covariance[column][row]) = (known, known);
            }
        }
        if self.memory < 1.0 && (0..N).all(|index| self.covariance[index][index] < VARIANCE_MAX) {
            self.covariance.iter_mut().flatten().for_each(|of| *of /= self.memory);
        }
    }
}

fn dot<const N: usize>(one: &[f64; N], other: &[f64; N]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[cfg(test)]
mod tests {
    use esker_core::Rng;
    use proptest::prelude::*;

    use super::*;
    use crate::Problem;

    fn between(rng: &mut Rng, low: f64, high: f64) -> f64 {
        low + (high - low) * rng.below(1 << 30) as f64 / f64::from(1u32 << 30)
    }

    /// Values of three terms with noise, and how much each counts in the end.
    fn problem(seed: u64, memory: f64, of: [f64; 3]) -> Problem {
        let mut rng = Rng::new(seed);
        let rows: Vec<[f64; 3]> =
            (0..400).map(|_| [1.0, between(&mut rng, 0.0, 10.0), between(&mut rng, -3.0, 0.5)]).collect();
        let values = rows.iter().map(|row| dot(row, &of) + between(&mut rng, -0.5, 0.5)).collect();
        let weights = (0..rows.len()).rev().map(|after| memory.powi(after as i32)).collect();
        let rows = rows.iter().map(|row| row.to_vec()).collect();
        Problem { terms: vec!["constant", "one", "other"], rows, values, weights }
    }

    /// The largest difference between the coefficients found one value after the other and those of all at once.
    fn difference(problem: &Problem, memory: f64) -> f64 {
        let mut found = RecursiveLeastSquares::<3>::new(memory);
        for (row, value) in problem.rows.iter().zip(&problem.values) {
            found.learn(&[row[0], row[1], row[2]], *value);
        }
        let at_once = problem.solve().unwrap();
        let pairs = at_once.coefficients.iter().zip(found.coefficients());
        pairs.map(|(one, other)| (one.estimate - other).abs()).fold(0.0, f64::max)
    }

    proptest! {
        #[test]
        fn one_after_the_other_gives_what_all_at_once_give(
            seed in 0u64..1_000,
            memory in prop_oneof![Just(1.0), 0.97..1.0f64],
            of in [-5.0..5.0f64, -5.0..5.0f64, -5.0..5.0f64],
        ) {
            let problem = problem(seed, memory, of);
            prop_assert!(difference(&problem, memory) < 1e-4, "{}", difference(&problem, memory));
            // The wrong twin forgets at another rate.
            prop_assert!(difference(&problem, memory * 0.9) > 1e-4);
        }
    }

    #[test]
    fn what_changes_is_followed_if_the_past_is_forgotten() {
        let mut rng = Rng::new(1);
        let (mut forgets, mut keeps) = (RecursiveLeastSquares::<2>::new(0.99), RecursiveLeastSquares::<2>::new(1.0));
        for index in 0..4_000 {
            let terms = [1.0, between(&mut rng, 0.0, 1.0)];
            let slope = if index < 2_000 { 1.0 } else { 3.0 };
            for each in [&mut forgets, &mut keeps] {
                each.learn(&terms, slope * terms[1]);
            }
        }
        assert!((forgets.coefficients()[1] - 3.0).abs() < 1e-6);
        assert!((keeps.coefficients()[1] - 2.0).abs() < 0.1);
    }

    /// A term that is always zero says nothing of its coefficient for a million values. When it moves at last, a few
    /// values teach it, and the others have not been lost.
    #[test]
    fn a_term_that_never_changes_does_no_harm() {
        let mut rng = Rng::new(1);
        let mut found = RecursiveLeastSquares::<3>::new(0.99);
        for index in 0..1_000_100 {
            let terms = [1.0, between(&mut rng, 0.0, 1.0), if index < 1_000_000 { 0.0 } else { 1.0 }];
            found.learn(&terms, 2.0 + 3.0 * terms[1] + 5.0 * terms[2]);
            assert!(found.coefficients().iter().all(|of| of.is_finite()), "{index}");
        }
        assert!((found.predict(&[1.0, 0.5, 1.0]) - 8.5).abs() < 1e-3, "{:?}", found.coefficients());
        found.learn(&[f64::NAN, 1.0, 1.0], 1.0);
        found.learn(&[1.0; 3], f64::INFINITY);
        assert!((found.predict(&[1.0, 0.5, 1.0]) - 8.5).abs() < 1e-3);
    }
}
