//! What predicts the response times of one device.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use esker_core::{Bytes, Nanos, Request, RequestKind};
use esker_model::{MarginalCost, RecursiveLeastSquares, RequestTerms, RequestWindow};
use esker_tier::Completed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limit of the window.
pub(super) const WINDOW_MAX: u32 = 100_000;
/// What a request still counts after one more, where coefficients are found while requests go on.
const MEMORY: f64 = 0.9995;

/// A kind of predictor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PredictorKind {
    /// The mean response time of the training phase.
    Mean,
    /// Equation 5.3 with the coefficients of the training phase.
    Published,
    /// Equation 5.3 with coefficients found by recursive least squares while requests go on.
    Recursive,
    /// By how much all response times together grow: requests under way, the time for the request itself, and its share
    /// of the next cleaning. A disk does not clean; the rest holds there, too.
    Marginal,
}

/// Predicts the response times of one device. It learns only from what the host has sent and what has ended.
#[derive(Debug)]
pub(super) struct DevicePredictor {
    model: PredictorModel,
    /// Number of requests from which it has learnt.
    ended: u64,
    /// Requests after which the models of a training phase stay as they are.
    training: u64,
}

#[derive(Debug)]
enum PredictorModel {
    Mean { response_ms: f64 },
    Linear(Box<LinearModel>),
    Cost(Box<MarginalCost>),
}

/// Equation 5.3.
#[derive(Debug)]
struct LinearModel {
    window: RequestWindow,
    coefficients: RecursiveLeastSquares<6>,
    /// Whether the coefficients are those of the training phase.
    stays: bool,
    under_way: VecDeque<(Nanos, RequestKind, Bytes, RequestTerms)>,
    /// When the last request ended.
    last_end: Nanos,
}

impl DevicePredictor {
    pub(super) fn new(kind: PredictorKind, training: u32, window: u32) -> Self {
        let linear = |memory, stays| {
            PredictorModel::Linear(Box::new(LinearModel {
                window: RequestWindow::new(NonZeroUsize::new(window as usize).unwrap_or(NonZeroUsize::MIN)),
                coefficients: RecursiveLeastSquares::new(memory),
                stays,
                under_way: VecDeque::new(),
                last_end: Nanos::ZERO,
            }))
        };
        let model = match kind {
            PredictorKind::Mean => PredictorModel::Mean { response_ms: 0.0 },
            // One after the other or all at once, least squares give the same coefficients.
            PredictorKind::Published => linear(1.0, true),
            PredictorKind::Recursive => linear(MEMORY, false),
            PredictorKind::Marginal => PredictorModel::Cost(Box::default()),
        };
        Self { model, ended: 0, training: u64::from(training) }
    }

    /// Returns the number of requests from which it has learnt.
    pub(super) fn learnt(&self) -> u64 {
        self.ended
    }

    /// Returns the response time to expect of `request` if it is sent at `now`, in ms.
    pub(super) fn predict(&self, now: Nanos, request: &Request) -> f64 {
        match &self.model {
            PredictorModel::Mean { response_ms } => *response_ms,
            PredictorModel::Linear(of) => of.coefficients.predict(&of.window.terms(now, request).row()),
            PredictorModel::Cost(cost) => cost.of(now, request),
        }
    }

    pub(super) fn sent(&mut self, now: Nanos, request: &Request) {
        match &mut self.model {
            PredictorModel::Mean { .. } => {}
            PredictorModel::Linear(of) => {
                let terms = of.window.arrived(now, request);
                of.under_way.push_back((now, request.kind, request.length, terms));
            }
            PredictorModel::Cost(cost) => cost.sent(now, request),
        }
    }

    /// Takes the end of a request of the host.
    pub(super) fn ended(&mut self, done: &Completed) {
        let is_training = self.ended < self.training;
        self.ended += 1;
        let response_ms = done.at.saturating_sub(done.sent).0 as f64 / 1e6;
        match &mut self.model {
            PredictorModel::Mean { response_ms: mean } if is_training => {
                *mean += (response_ms - *mean) / self.ended as f64;
            }
            PredictorModel::Mean { .. } => {}
            PredictorModel::Linear(of) => of.ended(done, response_ms, is_training),
            PredictorModel::Cost(cost) => cost.ended(done.sent, done.at, done.kind, done.length),
        }
    }
}

impl LinearModel {
    fn ended(&mut self, done: &Completed, response_ms: f64, is_training: bool) {
        let key = (done.sent, done.kind, done.length);
        let Some(index) = self.under_way.iter().position(|of| (of.0, of.1, of.2) == key) else { return };
        let Some((.., terms)) = self.under_way.remove(index) else { return };
        self.window.served(done.at.saturating_sub(done.sent.max(self.last_end)));
        self.last_end = self.last_end.max(done.at);
        // The controller places writes, so it learns from writes.
        if done.kind != RequestKind::Read && (is_training || !self.stays) {
            self.coefficients.learn(&terms.row(), response_ms);
        }
    }
}
