//! As a storage engineer would reckon it: how much cleaning multiplies writes, how long the drive is busy with a
//! request, and how long a request waits for those before it.
//!
//! 1. Write amplification follows from how full the drive is. Under uniform writes, cleaned in the order of writing, a
//!    drive with the share `u` of its pages in use copies the share `v` of each block, with `u = (v - 1) / ln v`; the
//!    fit finds what greedy cleaning and runs of writes change.
//! 2. Busy time is so much for each page read, written and copied.
//! 3. Waiting is Kingman's formula for one server: the more its load, the variation of its busy times and that of
//!    the gaps between arrivals.

use esker_core::registry::{Entry, ParameterSource};

use super::{Form, Part, Prediction, Weight};
use crate::least_squares::Fit;
use crate::run::Characteristics;

pub(super) const ENTRY: Entry<Form> = Entry {
    name: "queueing",
    summary: "write amplification by fullness, busy time by pages, and waiting by Kingman's formula",
    source: "Kingman 1961 (waiting); Desnoyers 2012, cleaning in the order of writing",
    parameters: ParameterSource::NONE,
    capabilities: &[],
    build: Form { parts: &[AMPLIFICATION, BUSY, RESPONSE, ERASES], predict },
};

/// Waiting grows without end as the load nears 1, and a run does not last that long.
const LOAD_MAX: f64 = 0.97;

const AMPLIFICATION: Part = Part {
    name: "write amplification",
    explains: "logarithm of the write amplification, of runs that erased",
    terms: &["1", "A: log of the formula by fullness", "A x log of pages of a run of writes", "A x its square"],
    row: |_, of| amplification_row(of),
    value: |run| (run.measured.erases_per_s > 0.0).then_some(run.measured.write_amplification.ln()),
    weight: Weight::Equal,
};

const BUSY: Part = Part {
    name: "busy time",
    explains: "busy time per request, us",
    terms: &["1", "writes", "pages read", "pages written", "pages copied"],
    row: busy_row,
    value: |run| Some(run.measured.busy_share / run.characteristics.requests_per_s * 1e6).filter(|value| *value > 0.0),
    weight: Weight::Relative,
};

const RESPONSE: Part = Part {
    name: "response",
    explains: "logarithm of the mean response time in us",
    terms: &[
        "1",
        "B: log of busy time",
        "W: log of (busy time + waiting) - B, for Poisson arrivals",
        "log of (busy time + waiting) - W - B, in bursts",
    ],
    row: response_row,
    value: |run| Some(run.measured.response_us.ln()),
    weight: Weight::Equal,
};

const ERASES: Part = Part {
    name: "erases",
    explains: "logarithm of the erased blocks per second, of runs that erased",
    terms: &["1", "log of blocks written and copied per second"],
    row: erases_row,
    value: |run| (run.measured.erases_per_s > 0.0).then_some(run.measured.erases_per_s.ln()),
    weight: Weight::Equal,
};

fn predict(fits: &[Fit], of: &Characteristics) -> Prediction {
    Prediction {
        response_us: fits[2].value(&response_row(fits, of)).exp(),
        // Without writes nothing is erased; the logarithm of nothing is no number.
        erases_per_s: if pages_written(of) > 0.0 { fits[3].value(&erases_row(fits, of)).exp() } else { 0.0 },
    }
}

/// Pages of a request of this size; a part of a page takes as long as a page.
fn pages(bytes: f64, of: &Characteristics) -> f64 {
    (bytes / of.page_bytes).max(1.0)
}

/// Pages that the host writes, per request of any kind.
fn pages_written(of: &Characteristics) -> f64 {
    (1.0 - of.read_share) * pages(of.write_bytes, of)
}

fn pages_read(of: &Characteristics) -> f64 {
    of.read_share * pages(of.read_bytes, of)
}

/// The valid share `v` of blocks cleaned in the order of writing, for which `fullness = (v - 1) / ln v`.
fn valid_when_cleaned(fullness: f64) -> f64 {
    let (mut low, mut high) = (1e-9, 1.0 - 1e-9);
    // Each step halves the interval: after 50 it is as small as numbers tell apart.
    for _ in 0..50 {
        let middle: f64 = (low + high) / 2.0;
        if (middle - 1.0) / middle.ln() < fullness { low = middle } else { high = middle }
    }
    low
}

fn amplification_row(of: &Characteristics) -> Vec<f64> {
    let formula = -(1.0 - valid_when_cleaned(of.fullness.clamp(0.01, 0.99))).ln();
    // A write is followed by another that continues it with this probability, and so on.
    let goes_on = of.sequential_share * (1.0 - of.read_share);
    let run = (pages(of.write_bytes, of) / (1.0 - goes_on).max(1.0 / of.block_pages)).ln();
    vec![1.0, formula, formula * run, formula * run * run]
}

fn amplification(fits: &[Fit], of: &Characteristics) -> f64 {
    fits[0].value(&amplification_row(of)).exp().max(1.0)
}

fn busy_row(fits: &[Fit], of: &Characteristics) -> Vec<f64> {
    let written = pages_written(of);
    vec![1.0, 1.0 - of.read_share, pages_read(of), written, written * (amplification(fits, of) - 1.0)]
}

/// Mean busy time of a request, in microseconds.
fn busy_us(fits: &[Fit], of: &Characteristics) -> f64 {
    fits[1].value(&busy_row(fits, of)).max(1.0)
}

/// Mean waiting time of a request in microseconds, if the times between arrivals vary by `gap_variation`.
fn waiting_us(fits: &[Fit], of: &Characteristics, gap_variation: f64) -> f64 {
    let busy = busy_us(fits, of);
    let load = (of.requests_per_s * busy / 1e6).min(LOAD_MAX);
    let [read_page, written_page, copied_page] = [2, 3, 4].map(|index| fits[1].coefficients[index].estimate);
    let amplification = amplification(fits, of);
    let read = read_page * pages(of.read_bytes, of);
    let written = pages(of.write_bytes, of);
    let write = written_page * written + copied_page * written * (amplification - 1.0);
    // A block is cleaned at once, by one of many writes: the copies of its valid pages.
    let block = copied_page * of.block_pages * (1.0 - 1.0 / amplification);
    let blocks_per_write = written * amplification / of.block_pages;
    let squares =
        of.read_share * read * read + (1.0 - of.read_share) * (write * write + blocks_per_write * block * block);
    let variation = (squares / (busy * busy) - 1.0).max(0.0);
    load / (1.0 - load) * busy * (variation + gap_variation) / 2.0
}

fn response_row(fits: &[Fit], of: &Characteristics) -> Vec<f64> {
    let busy = busy_us(fits, of);
    let poisson = (waiting_us(fits, of, 1.0) / busy).ln_1p();
    vec![1.0, busy.ln(), poisson, (waiting_us(fits, of, of.gap_variation) / busy).ln_1p() - poisson]
}

fn erases_row(fits: &[Fit], of: &Characteristics) -> Vec<f64> {
    let blocks = of.requests_per_s * pages_written(of) * amplification(fits, of) / of.block_pages;
    vec![1.0, blocks.ln()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_valid_share_solves_its_equation() {
        for fullness in [0.1, 0.5, 0.8, 0.95, 0.99] {
            let valid = valid_when_cleaned(fullness);
            assert!(((valid - 1.0) / valid.ln() - fullness).abs() < 1e-9, "{fullness}: {valid}");
        }
        // Known from the literature: with 80 % in use, cleaning in order copies 1.7 pages for each page written.
        let amplification = 1.0 / (1.0 - valid_when_cleaned(0.8));
        assert!((amplification - 2.69).abs() < 0.01, "{amplification}");
    }
}
