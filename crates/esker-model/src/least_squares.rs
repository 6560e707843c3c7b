//! Least squares with its statistics: what each coefficient is, how sure it is, and how much of the values the whole
//! explains.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};
use thiserror::Error;

/// The confidence of the intervals of coefficients.
pub const CONFIDENCE: f64 = 0.99;

/// What is left of a column after the others were taken out of it, as a part of its length, below which it says nothing
/// of its own.
const INDEPENDENT: f64 = 1e-9;

/// Values and what explains them.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The names of the terms.
    pub terms: Vec<&'static str>,
    /// For each value, the term of each name.
    pub rows: Vec<Vec<f64>>,
    /// The values to explain.
    pub values: Vec<f64>,
    /// How much each value counts; all above zero.
    pub weights: Vec<f64>,
}

/// The coefficients that explain the values best.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// Number of values.
    pub values: usize,
    /// Number of values less number of coefficients.
    pub degrees_of_freedom: usize,
    /// Share of the variance of the values that the terms explain; zero where all values are equal.
    pub r_squared: f64,
    /// The same, of variances for each degree of freedom: a term that explains nothing does not raise it.
    pub adjusted_r_squared: f64,
    /// Standard deviation of what is left unexplained, in the unit of the values; with relative weights, as a part of
    /// the values.
    pub residual_deviation: f64,
    /// One for each term.
    pub coefficients: Vec<Coefficient>,
}

/// The coefficient of a term.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coefficient {
    /// The term.
    pub term: String,
    /// The coefficient.
    pub estimate: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// How likely an estimate so far from zero is if the coefficient is zero, by Student's t (two-sided).
    pub p: f64,
    /// The lower end of its 99 % interval.
    pub low_99: f64,
    /// The upper end of its 99 % interval.
    pub high_99: f64,
}

/// Why coefficients cannot be found.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FitError {
    /// There are not more values than terms.
    #[error("{values} runs are too few for {terms} coefficients; it takes more runs than coefficients")]
    TooFew {
        /// Number of values.
        values: usize,
        /// Number of terms.
        terms: usize,
    },
    /// A term is a sum of others.
    #[error("the term `{term}` follows from the others in these runs, so that no coefficient of its own can be found")]
    Collinear {
        /// The term.
        term: &'static str,
    },
    /// A term or a value is not a number.
    #[error("the term `{term}` is no finite number in run {run}")]
    NotFinite {
        /// The term, or "the value".
        term: &'static str,
        /// The run, from 1.
        run: usize,
    },
}

/// Returns the share of `total` that is explained if `unexplained` is left.
fn explained(unexplained: f64, total: f64) -> f64 {
    if total > 0.0 { 1.0 - unexplained / total } else { 0.0 }
}

impl Problem {
    /// Finds the coefficients with the least sum of squared differences from the values.
    ///
    /// The rows are brought into triangular form by Householder reflections, which loses no digits to squares of terms
    /// as the normal equations would.
    pub fn solve(&self) -> Result<Fit, FitError> {
        let (values, terms) = (self.values.len(), self.terms.len());
        self.check()?;
        let (triangle, rotated) = self.triangle()?;
        let estimates = back_substitute(&triangle, &rotated[..terms]);
        let degrees = values - terms;
        let unexplained: f64 = rotated[terms..].iter().map(|rest| rest * rest).sum();
        let total = self.variation();
        let variance = unexplained / degrees as f64;
        let errors = variances(&triangle).into_iter().map(|of| (of * variance).sqrt());
        let student = StudentsT::new(0.0, 1.0, degrees as f64).expect("there are degrees of freedom");
        let reach = student.inverse_cdf(0.5 + CONFIDENCE / 2.0);
        let coefficient = |((term, estimate), standard_error): ((&&str, f64), f64)| Coefficient {
            term: (*term).to_string(),
            estimate,
            standard_error,
            p: match estimate / standard_error {
                // All values are zero, as the estimate is: nothing says that it is not.
                undefined if undefined.is_nan() => 1.0,
                t => 2.0 * student.sf(t.abs()),
            },
            low_99: estimate - reach * standard_error,
            high_99: estimate + reach * standard_error,
        };
        Ok(Fit {
            values,
            degrees_of_freedom: degrees,
            r_squared: explained(unexplained, total),
            adjusted_r_squared: explained(variance, total / (values - 1) as f64),
            residual_deviation: variance.sqrt(),
            coefficients: self.terms.iter().zip(estimates).zip(errors).map(coefficient).collect(),
        })
    }

    /// Returns the weighted sum of squared differences of the values from their mean.
    fn variation(&self) -> f64 {
        let weighted = || self.values.iter().zip(&self.weights);
        let mean = weighted().map(|(value, weight)| value * weight).sum::<f64>() / self.weights.iter().sum::<f64>();
        weighted().map(|(value, weight)| weight * (value - mean).powi(2)).sum()
    }

    fn check(&self) -> Result<(), FitError> {
        let (values, terms) = (self.values.len(), self.terms.len());
        if values <= terms {
            return Err(FitError::TooFew { values, terms });
        }
        for (index, (row, value)) in self.rows.iter().zip(&self.values).enumerate() {
            assert_eq!(row.len(), terms, "each row has every term");
            let wrong = row.iter().zip(&self.terms).find(|(of, _)| !of.is_finite()).map(|(_, term)| *term);
            if let Some(term) = wrong.or((!value.is_finite()).then_some("the value")) {
                return Err(FitError::NotFinite { term, run: index + 1 });
            }
        }
        Ok(())
    }

    /// Returns the upper triangle that the terms become, and the values turned likewise.
    fn triangle(&self) -> Result<(Vec<Vec<f64>>, Vec<f64>), FitError> {
        let roots: Vec<f64> = self.weights.iter().map(|weight| weight.sqrt()).collect();
        let weighted = |(row, root): (&Vec<f64>, &f64)| row.iter().map(|of| of * root).collect();
        let mut rows: Vec<Vec<f64>> = self.rows.iter().zip(&roots).map(weighted).collect();
        let mut values: Vec<f64> = self.values.iter().zip(&roots).map(|(value, root)| value * root).collect();
        let terms = self.terms.len();
        for at in 0..terms {
            let length = |from: usize| rows[from..].iter().map(|row| row[at] * row[at]).sum::<f64>().sqrt();
            let (whole, left) = (length(0), length(at));
            if left <= INDEPENDENT * whole || whole == 0.0 {
                return Err(FitError::Collinear { term: self.terms[at] });
            }
            // The reflection that turns this column, from its diagonal on, into (-sign * left, 0, 0, ...).
            let target = -left.copysign(rows[at][at]);
            let mut mirror: Vec<f64> = rows[at..].iter().map(|row| row[at]).collect();
            mirror[0] -= target;
            let norm: f64 = mirror.iter().map(|of| of * of).sum();
            for column in at..terms {
                let along: f64 = mirror.iter().zip(&rows[at..]).map(|(of, row)| of * row[column]).sum();
                for (of, row) in mirror.iter().zip(&mut rows[at..]) {
                    row[column] -= 2.0 * along / norm * of;
                }
            }
            let along: f64 = mirror.iter().zip(&values[at..]).map(|(of, value)| of * value).sum();
            for (of, value) in mirror.iter().zip(&mut values[at..]) {
                *value -= 2.0 * along / norm * of;
            }
        }
        rows.truncate(terms);
        Ok((rows, values))
    }
}

impl Fit {
    /// Returns the value that the coefficients give for a row of terms.
    pub fn value(&self, row: &[f64]) -> f64 {
        assert_eq!(row.len(), self.coefficients.len(), "one term for each coefficient");
        self.coefficients.iter().zip(row).map(|(of, term)| of.estimate * term).sum()
    }
}

fn back_substitute(triangle: &[Vec<f64>], values: &[f64]) -> Vec<f64> {
    let terms = triangle.len();
    let mut solution = vec![0.0; terms];
    for at in (0..terms).rev() {
        let known: f64 = (at + 1..terms).map(|column| triangle[at][column] * solution[column]).sum();
        solution[at] = (values[at] - known) / triangle[at][at];
    }
    solution
}

/// The diagonal of the inverse of the terms' products: each is the squared length of a row of the triangle's inverse.
fn variances(triangle: &[Vec<f64>]) -> Vec<f64> {
    let terms = triangle.len();
    let mut variances = vec![0.0; terms];
    for column in 0..terms {
        let unit: Vec<f64> = (0..terms).map(|row| if row == column { 1.0 } else { 0.0 }).collect();
        for (variance, of) in variances.iter_mut().zip(back_substitute(triangle, &unit)) {
            *variance += of * of;
        }
    }
    variances
}
