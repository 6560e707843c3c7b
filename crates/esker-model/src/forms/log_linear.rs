//! The published form: the logarithms of response time and erase rate as sums of the five characteristics.

use esker_core::registry::{Entry, ParameterSource};

use super::linear::{TERMS, row};
use super::{Form, Part, Prediction, Weight};

pub(super) const ENTRY: Entry<Form> = Entry {
    name: "log-linear",
    summary: "logarithms as sums of size, read share, sequential share, fullness and the time between arrivals",
    source: "Kim 2009, (5.1) and (5.2)",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: Form {
        parts: &[
            Part {
                name: "response",
                explains: "logarithm of the mean response time in us",
                terms: TERMS,
                row: |_, of| row(of),
                value: |run| Some(run.measured.response_us.ln()),
                weight: Weight::Equal,
            },
            Part {
                name: "erases",
                explains: "logarithm of the erased blocks per second, of runs that erased",
                terms: TERMS,
                row: |_, of| row(of),
                value: |run| Some(run.measured.erases_per_s.ln()).filter(|value| value.is_finite()),
                weight: Weight::Equal,
            },
        ],
        predict: |fits, of| Prediction {
            response_us: fits[0].value(&row(of)).exp(),
            erases_per_s: fits[1].value(&row(of)).exp(),
        },
    },
};
