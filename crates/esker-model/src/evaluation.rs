//! How far the predictions of a model are from what runs measured.

use serde::{Deserialize, Serialize};

use crate::forms::Prediction;
use crate::model::{Model, is_usable};
use crate::run::Run;

/// A model, judged by runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// The form of the model.
    pub form: String,
    /// Runs that were left out, because the drive was busy for more than nine tenths of the time.
    pub left_out: usize,
    /// Errors of response times; absent if there was no run.
    pub response: Option<Errors>,
    /// Errors of erase rates, of runs that erased; absent if there was none.
    pub erases: Option<Errors>,
    /// Every run that was not left out.
    pub runs: Vec<Judged>,
}

/// Errors over several runs, each as a part of what was measured: 0.1 is ten percent, too much or too little.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Errors {
    /// Number of runs.
    pub runs: usize,
    /// The median error.
    pub median: f64,
    /// The mean error.
    pub mean: f64,
    /// Nine in ten errors are no larger.
    pub p90: f64,
    /// Share of the variance of the measured logarithms that the predicted ones explain; below zero if the mean of all
    /// would be nearer. Absent for a single run.
    pub r_squared_of_logarithms: Option<f64>,
}

/// A run beside its prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judged {
    /// The run.
    pub name: String,
    /// Measured mean response time in microseconds.
    pub response_us: f64,
    /// Measured erased blocks per second.
    pub erases_per_s: f64,
    /// What the model says.
    pub predicted: Prediction,
    /// The characteristics that are outside of what the model was trained on.
    pub outside: Vec<String>,
}

impl Model {
    /// Judges the model by `runs`.
    pub fn evaluate(&self, runs: &[Run]) -> Evaluation {
        let usable = runs.iter().filter(|run| is_usable(run));
        let judged: Vec<Judged> = usable.map(|run| self.judge(run)).collect();
        let responses = judged.iter().map(|run| (run.response_us, run.predicted.response_us));
        let erases = judged.iter().map(|run| (run.erases_per_s, run.predicted.erases_per_s));
        Evaluation {
            form: self.form.clone(),
            left_out: runs.len() - judged.len(),
            response: Errors::of(responses),
            erases: Errors::of(erases.filter(|(measured, _)| *measured > 0.0)),
            runs: judged,
        }
    }

    fn judge(&self, run: &Run) -> Judged {
        let outside = self.outside(&run.characteristics).into_iter().map(|range| range.characteristic.clone());
        Judged {
            name: run.name.clone(),
            response_us: run.measured.response_us,
            erases_per_s: run.measured.erases_per_s,
            predicted: self.predict(&run.characteristics),
            outside: outside.collect(),
        }
    }
}

impl Errors {
    /// Of pairs of measured and predicted values.
    fn of(pairs: impl Iterator<Item = (f64, f64)>) -> Option<Self> {
        let pairs: Vec<(f64, f64)> = pairs.collect();
        let runs = pairs.len();
        let mut errors: Vec<f64> = pairs.iter().map(|(measured, said)| (said / measured - 1.0).abs()).collect();
        errors.sort_by(f64::total_cmp);
        let rank = |share: f64| errors[((runs as f64 * share).ceil() as usize).clamp(1, runs) - 1];
        (runs > 0).then(|| Self {
            runs,
            median: rank(0.5),
            mean: errors.iter().sum::<f64>() / runs as f64,
            p90: rank(0.9),
            r_squared_of_logarithms: r_squared(&pairs),
        })
    }
}

fn r_squared(pairs: &[(f64, f64)]) -> Option<f64> {
    // A form that is no product may predict less than nothing, which has no logarithm.
    let logs: Vec<(f64, f64)> = pairs.iter().map(|(measured, said)| (measured.ln(), said.ln())).collect();
    let mean = logs.iter().map(|(measured, _)| measured).sum::<f64>() / logs.len() as f64;
    let total: f64 = logs.iter().map(|(measured, _)| (measured - mean).powi(2)).sum();
    let left: f64 = logs.iter().map(|(measured, said)| (measured - said).powi(2)).sum();
    Some(1.0 - left / total).filter(|share| share.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_parts_of_what_was_measured() {
        let of = |pairs: &[(f64, f64)]| Errors::of(pairs.iter().copied());
        assert_eq!(of(&[]), None);
        let errors = of(&[(10.0, 11.0), (10.0, 8.0), (100.0, 100.0), (2.0, 4.0)]).unwrap();
        assert_eq!((errors.runs, errors.p90), (4, 1.0));
        assert!((errors.median - 0.1).abs() < 1e-12 && (errors.mean - 0.325).abs() < 1e-12, "{errors:?}");
        assert_eq!(of(&[(1.0, 1.0), (5.0, 5.0)]).unwrap().r_squared_of_logarithms, Some(1.0));
        assert_eq!(of(&[(1.0, 2.0)]).unwrap().r_squared_of_logarithms, None, "one value has no variance");
        assert_eq!(of(&[(1.0, -2.0), (2.0, 1.0)]).unwrap().r_squared_of_logarithms, None);
    }
}
