//! Loads on which predictions of single response times are judged, and the judgement.

use std::num::NonZeroUsize;

use esker_core::{Nanos, RequestKind};
use esker_model::{CleaningClock, LinearResponse, RecursiveLeastSquares, RequestWindow, ResponseObservation};
use esker_trace::{ArrivalPattern, Rate};

use super::drive::{Served, Setup, simulate};
use super::workload::{CELLO, FINANCIAL, StandIn, TPC_H, shape};
use crate::{Context, Item, ItemFault, ReproduceError};

/// Requests of the window; the paper does not give a length. Of 10, 100 and 1,000, none predicts better on all loads.
const WINDOW: NonZeroUsize = NonZeroUsize::new(100).expect("not zero");
/// What a request still counts after one more, where the coefficients of (5.3) are found while requests go on.
const MEMORY: f64 = 0.9995;
/// Parts of the requests that are predicted, for the spread of errors.
const PARTS: usize = 20;
/// The 97.5 % quantile of Student's t with 19 degrees of freedom.
const STUDENT: f64 = 2.093;

/// A load, on a drive with one channel: in table 5.2, each further sector costs what writing it takes.
pub(super) struct ResponseLoad {
    pub(super) name: &'static str,
    pub(super) cleans: bool,
    /// Whether its coefficients are compared with those of table 5.2.
    pub(super) has_signs: bool,
    pub(super) workload: StandIn,
    layer: &'static str,
}

/// The loads. Writes are predicted, as many as the observations of table 5.2 in either half; the other workloads get
/// as many requests, and TPC-H, of which few are writes, three times as many. `part` of these are measured; what comes
/// before is never less, since a drive that is not full does not clean.
pub(super) fn loads(part: f64) -> [ResponseLoad; 6] {
    let requests = (part * 2.0 * 32_289.0 * 100.0 / (100 - FINANCIAL.reads_percent) as f64).ceil() as u64;
    let financial = StandIn { requests, warm_up: 700_000, drive: |drive| shape(drive, 1, 17_072), ..FINANCIAL.clone() };
    let empty = StandIn { warm_up: 0, ..financial.clone() };
    let calm = ArrivalPattern::Poisson { rate: Rate::per_10_000_seconds(74_906) };
    let cello = StandIn { requests, warm_up: 700_000, drive: |drive| shape(drive, 1, 8_536), ..CELLO.clone() };
    let tpc_h = StandIn { requests: 3 * requests, ..TPC_H.clone() };
    let load = |name, cleans, layer, workload: &StandIn| ResponseLoad {
        name,
        cleans,
        has_signs: ["Financial, empty flash, no bursts", "Financial"].contains(&name),
        workload: workload.clone(),
        layer,
    };
    [
        load("Financial, empty flash, no bursts", false, "Baseline", &StandIn { arrivals: calm, ..empty.clone() }),
        load("Financial, empty flash", false, "Baseline", &empty),
        load("Financial", true, "Baseline", &financial),
        load("Financial, DFTL", true, "DFTL", &financial),
        load("Cello99", true, "Baseline", &cello),
        load("TPC-H", true, "Baseline", &tpc_h),
    ]
}

/// What predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Predictor {
    /// The time that the drive took for the last request that has ended.
    LastValue,
    /// A constant and the size of the request, trained on the first half.
    SizeAlone,
    /// (5.3), trained on the first half.
    Published,
    /// (5.3), trained while requests go on.
    Recursive,
    /// Requests under way, the request itself, and the next cleaning.
    CleaningClock,
}

impl Predictor {
    pub(super) const ALL: [Self; 5] =
        [Self::LastValue, Self::SizeAlone, Self::Published, Self::Recursive, Self::CleaningClock];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::LastValue => "last value",
            Self::SizeAlone => "size alone",
            Self::Published => "(5.3), first half",
            Self::Recursive => "(5.3), recursive",
            Self::CleaningClock => "cleaning clock",
        }
    }
}

/// The writes of a load: what was known when they arrived, and what each predictor said then.
pub(super) struct Writes {
    observed: Vec<ResponseObservation>,
    said: Vec<[f64; Predictor::ALL.len()]>,
    /// (5.3) and the size alone, trained on the first half.
    pub(super) published: LinearResponse,
    pub(super) size_alone: LinearResponse,
}

/// Simulates a load and predicts each write when it arrives.
pub(super) fn predicted(
    item: &Item,
    context: &Context<'_>,
    load: &ResponseLoad,
    part: (usize, usize),
) -> Result<Writes, ReproduceError> {
    let run = simulate(item, context, &Setup::new(&load.workload, load.layer, part))?;
    let (observed, mut said) = follow(&run.served);
    let half = &observed[..observed.len() / 2];
    let train = |terms: &[usize]| {
        LinearResponse::train(terms, half).map_err(|error| ReproduceError::of(item, ItemFault::Fit(error)))
    };
    let (published, size_alone) = (train(&LinearResponse::PUBLISHED)?, train(&LinearResponse::SIZE_ALONE)?);
    for (of, said) in observed.iter().zip(&mut said) {
        said[Predictor::Published as usize] = published.predict(&of.terms);
        said[Predictor::SizeAlone as usize] = size_alone.predict(&of.terms);
    }
    Ok(Writes { observed, said, published, size_alone })
}

/// Goes through the requests of a drive that takes one at a time, in the order of their arrivals. What has ended before
/// a request arrives is known then, and nothing else.
fn follow(served: &[Served]) -> (Vec<ResponseObservation>, Vec<[f64; Predictor::ALL.len()]>) {
    let ms = |nanos: u64| nanos as f64 / 1e6;
    let (mut window, mut clock) = (RequestWindow::new(WINDOW), CleaningClock::new());
    let mut recursive = RecursiveLeastSquares::<6>::new(MEMORY);
    let (mut observed, mut said): (Vec<ResponseObservation>, _) = (Vec::new(), Vec::new());
    // The next request to end, and whether it is one of `observed`, by their order.
    let (mut ending, mut learnt) = (0, 0);
    let mut last = 0;
    for new in served {
        while served[ending].arrival + served[ending].response() < new.arrival {
            let ended = &served[ending];
            let at = Nanos(ended.arrival + ended.response());
            window.served(Nanos(ended.device));
            clock.ended(Nanos(ended.arrival), at, ended.request.kind, ended.request.length);
            if ended.request.kind != RequestKind::Read {
                let of = observed[learnt];
                recursive.learn(&of.terms.row(), of.response_ms);
                learnt += 1;
            }
            last = ended.device;
            ending += 1;
        }
        let now = Nanos(new.arrival);
        let terms = window.arrived(now, &new.request);
        if new.request.kind != RequestKind::Read {
            let mut predicted = [0.0; Predictor::ALL.len()];
            predicted[Predictor::LastValue as usize] = ms(last);
            predicted[Predictor::Recursive as usize] = recursive.predict(&terms.row());
            predicted[Predictor::CleaningClock as usize] = clock.predict(now, &new.request);
            observed.push(ResponseObservation { terms, response_ms: ms(new.response()) });
            said.push(predicted);
        }
        clock.sent(now, &new.request);
    }
    (observed, said)
}

/// The errors of a predictor on the second half of the writes.
#[derive(Clone, Debug)]
pub(super) struct PredictionErrors {
    /// Mean absolute error, ms.
    pub(super) mean_ms: f64,
    /// Share of the variance that is predicted; below 0 if the mean would be a better prediction.
    pub(super) r_squared: f64,
    /// Sum of absolute errors in each of [`PARTS`] parts.
    parts: Vec<f64>,
}

impl PredictionErrors {
    /// Returns this mean error over that of `other`, and the ends of its 95 % interval.
    pub(super) fn over(&self, other: &Self) -> (f64, [f64; 2]) {
        let (own, all) = (self.parts.iter().sum::<f64>(), other.parts.iter().sum::<f64>());
        let (ratio, count) = (own / all, self.parts.len() as f64);
        // Parts in which writes are hard to predict are so for both.
        let left = self.parts.iter().zip(&other.parts).map(|(own, other)| (own - ratio * other).powi(2));
        let reach = STUDENT * (left.sum::<f64>() / (count - 1.0) * count).sqrt() / all;
        (ratio, [ratio - reach, ratio + reach])
    }
}

impl Writes {
    pub(super) fn errors(&self, of: Predictor) -> PredictionErrors {
        let half = self.observed.len() / 2;
        let (observed, said) = (&self.observed[half..], &self.said[half..]);
        let errors: Vec<f64> =
            observed.iter().zip(said).map(|(of_write, said)| said[of as usize] - of_write.response_ms).collect();
        let count = errors.len() as f64;
        let mean = observed.iter().map(|of| of.response_ms).sum::<f64>() / count;
        let variance = observed.iter().map(|of| (of.response_ms - mean).powi(2)).sum::<f64>() / count;
        let square = errors.iter().map(|error| error * error).sum::<f64>() / count;
        let parts = errors.chunks(errors.len().div_ceil(PARTS).max(1));
        PredictionErrors {
            mean_ms: errors.iter().map(|error| error.abs()).sum::<f64>() / count,
            r_squared: 1.0 - square / variance,
            parts: parts.map(|part| part.iter().map(|error| error.abs()).sum()).collect(),
        }
    }
}
