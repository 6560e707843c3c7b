//! What a misalignment costs, as rows of a table.

use esker_results::study::MisalignmentCost;

/// What a misalignment costs: term, word, value as traced, value when aligned, change.
pub(crate) type Cost = (&'static str, &'static str, f64, f64, Option<f64>);

fn cost(term: &'static str, word: &'static str, before: f64, after: f64) -> Cost {
    (term, word, before, after, (before != 0.0).then(|| after / before - 1.0))
}

/// Times in microseconds.
pub(crate) fn times_of(found: &MisalignmentCost) -> [Cost; 2] {
    let (before, after) = (&found.as_traced, &found.aligned);
    [
        cost("response_time", "Mean response time", before.mean_us, after.mean_us),
        cost("p99", "p99", before.p99_us, after.p99_us),
    ]
}

pub(crate) fn pages_of(found: &MisalignmentCost) -> [Cost; 2] {
    let (before, after) = (&found.as_traced, &found.aligned);
    [
        cost("page_reads", "Flash page reads for the host", before.page_reads as f64, after.page_reads as f64),
        cost("page_programs", "Flash page programs", before.page_programs as f64, after.page_programs as f64),
    ]
}
