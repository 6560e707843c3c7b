//! Response time and erase rate as sums of the five characteristics.

use esker_core::registry::{Entry, ParameterSource};

use super::{Form, Part, Prediction, Weight, gap_ms, size_kib};
use crate::run::Characteristics;

pub(super) const ENTRY: Entry<Form> = Entry {
    name: "linear",
    summary: "sums of size, read share, sequential share, fullness and the time between arrivals",
    source: "Kim 2009, section 5.2.1, tried before the log-linear form",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: Form {
        parts: &[
            Part {
                name: "response",
                explains: "mean response time, us",
                terms: TERMS,
                row: |_, of| row(of),
                value: |run| Some(run.measured.response_us),
                weight: Weight::Equal,
            },
            Part {
                name: "erases",
                explains: "erased blocks per second",
                terms: TERMS,
                row: |_, of| row(of),
                value: |run| Some(run.measured.erases_per_s),
                weight: Weight::Equal,
            },
        ],
        predict: |fits, of| Prediction { response_us: fits[0].value(&row(of)), erases_per_s: fits[1].value(&row(of)) },
    },
};

pub(super) const TERMS: &[&str] =
    &["1", "size, KiB", "read share", "sequential share", "fullness", "time between arrivals, ms"];

pub(super) fn row(of: &Characteristics) -> Vec<f64> {
    vec![1.0, size_kib(of), of.read_share, of.sequential_share, of.fullness, gap_ms(of)]
}
