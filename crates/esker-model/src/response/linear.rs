//! Equation 5.3 with coefficients found on past requests.

use super::window::RequestTerms;
use crate::least_squares::{Fit, FitError, Problem};

/// A request and its response time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResponseObservation {
    /// What was known when it arrived.
    pub terms: RequestTerms,
    /// Its response time: waiting and service, in ms.
    pub response_ms: f64,
}

/// Response times as a linear function of some of the [`RequestTerms`].
#[derive(Clone, Debug)]
pub struct LinearResponse {
    /// The terms that count, by their places in [`RequestTerms::row`].
    terms: Vec<usize>,
    /// The statistics of the training.
    pub fit: Fit,
}

impl LinearResponse {
    /// All terms, as published.
    pub const PUBLISHED: [usize; 6] = [0, 1, 2, 3, 4, 5];
    /// The size of the request alone.
    pub const SIZE_ALONE: [usize; 2] = [0, 5];

    /// Finds the coefficients of `terms`, places in [`RequestTerms::row`], on these requests.
    ///
    /// # Errors
    /// If there are too few requests, or a term follows from the others in them.
    pub fn train(terms: &[usize], requests: &[ResponseObservation]) -> Result<Self, FitError> {
        let problem = Problem {
            terms: terms.iter().map(|&term| RequestTerms::NAMES[term]).collect(),
            rows: requests.iter().map(|of| chosen(terms, &of.terms).collect()).collect(),
            values: requests.iter().map(|of| of.response_ms).collect(),
            weights: vec![1.0; requests.len()],
        };
        Ok(Self { terms: terms.to_vec(), fit: problem.solve()? })
    }

    /// Returns the response time to expect, in ms.
    pub fn predict(&self, terms: &RequestTerms) -> f64 {
        let of = self.fit.coefficients.iter().map(|of| of.estimate);
        of.zip(chosen(&self.terms, terms)).map(|(coefficient, term)| coefficient * term).sum()
    }
}

fn chosen<'a>(terms: &'a [usize], of: &RequestTerms) -> impl Iterator<Item = f64> + use<'a> {
    let row = of.row();
    terms.iter().map(move |&term| row[term])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_of_made_up_response_times_are_found() {
        let requests: Vec<ResponseObservation> = (0..500u32)
            .map(|index| {
                let part = |modulus: u32| f64::from(index % modulus) / f64::from(modulus);
                let terms = RequestTerms {
                    service_ms: part(7),
                    read_share: part(11),
                    sequential_share: part(13),
                    gap_ms: 100.0 * part(17),
                    size_sectors: 64.0 * part(19),
                };
                let response_ms = 0.1 + terms.service_ms - 0.6 * terms.read_share + 0.12 * terms.size_sectors;
                ResponseObservation { terms, response_ms }
            })
            .collect();
        let all = LinearResponse::train(&LinearResponse::PUBLISHED, &requests).unwrap();
        for (found, expected) in all.fit.coefficients.iter().zip([0.1, 1.0, -0.6, 0.0, 0.0, 0.12]) {
            assert!((found.estimate - expected).abs() < 1e-9, "{found:?}");
        }
        for of in &requests {
            assert!((all.predict(&of.terms) - of.response_ms).abs() < 1e-9);
        }
        let size = LinearResponse::train(&LinearResponse::SIZE_ALONE, &requests).unwrap();
        assert!(size.fit.r_squared > 0.9 && size.fit.r_squared < 0.99, "{}", size.fit.r_squared);
        let few = LinearResponse::train(&LinearResponse::PUBLISHED, &requests[..6]);
        assert_eq!(few.unwrap_err(), FitError::TooFew { values: 6, terms: 6 });
    }
}
