//! Forms of models: which terms explain what, and how a prediction is made of them. Each is one file and one line in
//! [`FORMS`].

mod linear;
mod log_linear;
mod queueing;

use esker_core::registry::Entry;
use serde::{Deserialize, Serialize};

use crate::least_squares::{Fit, FitError, Problem};
use crate::run::{Characteristics, Run};

/// What a form is made of.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// What is fitted, one after the other.
    pub parts: &'static [Part],
    /// Makes a prediction of the fits of all parts.
    pub predict: fn(&[Fit], &Characteristics) -> Prediction,
}

/// One least-squares fit of a form.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// What it explains, with its unit.
    pub explains: &'static str,
    /// The names of its terms.
    pub terms: &'static [&'static str],
    /// Returns the terms of a workload, which may depend on the fits of the parts before.
    pub row: fn(&[Fit], &Characteristics) -> Vec<f64>,
    /// Returns the value that a run measured; `None` if it has none.
    pub value: fn(&Run) -> Option<f64>,
    /// How much each run counts.
    pub weight: Weight,
}

/// How much a run counts in a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// As much as any other.
    Equal,
    /// By the inverse square of its value: what is made small is the error in percent.
    Relative,
}

/// What a model says of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// Mean response time in microseconds.
    pub response_us: f64,
    /// Erased blocks per second, of the whole drive.
    pub erases_per_s: f64,
}

/// Every form, the shipped one first.
pub static FORMS: &[Entry<Form>] = &[queueing::ENTRY, log_linear::ENTRY, linear::ENTRY];

impl Part {
    /// Finds its coefficients, given the fits of the parts before.
    pub(crate) fn train(&self, before: &[Fit], runs: &[&Run]) -> Result<Fit, FitError> {
        let measured =
            runs.iter().filter_map(|run| Some(((self.row)(before, &run.characteristics), (self.value)(run)?)));
        let (rows, values): (Vec<Vec<f64>>, Vec<f64>) = measured.unzip();
        let weights = match self.weight {
            Weight::Equal => vec![1.0; values.len()],
            Weight::Relative => values.iter().map(|value| value.powi(-2)).collect(),
        };
        Problem { terms: self.terms.to_vec(), rows, values, weights }.solve()
    }
}

/// The time between two arrivals, in milliseconds.
fn gap_ms(of: &Characteristics) -> f64 {
    1e3 / of.requests_per_s
}

/// The mean size of a request in KiB.
fn size_kib(of: &Characteristics) -> f64 {
    (of.read_share * of.read_bytes + (1.0 - of.read_share) * of.write_bytes) / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_has_no_faults() {
        assert!(esker_core::registry::check(FORMS).is_empty());
    }
}
