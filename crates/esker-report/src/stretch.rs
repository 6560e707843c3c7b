//! The slowest request and those around it, one column each (after Kim 2009, figure 3.15). The template draws it
//! itself.

use esker_core::words::page;
use esker_results::study::{ResponseParts, SlowRequest, WorkloadStudy};

use crate::bars::{Scale, Tick};

/// One part of a response time.
struct ResponsePart {
    time_us: fn(&ResponseParts) -> f64,
    /// Word in the legend, and its term in the glossary.
    word: &'static str,
    term: &'static str,
    /// Word for the middle of a sentence.
    what: &'static str,
}

const fn part(
    time_us: fn(&ResponseParts) -> f64,
    word: &'static str,
    term: &'static str,
    what: &'static str,
) -> ResponsePart {
    ResponsePart { time_us, word, term, what }
}

/// From the bottom of a column to its top: the request's own work, then what it waited for.
static PARTS: &[ResponsePart] = &[
    part(|parts| parts.flash_us, "own flash work", "own_work", "its own work on flash"),
    part(
        |parts| parts.other_us,
        "link, buffer, rest",
        "other_time",
        "the link to the host, the write buffer, the decoder, or work on other dies",
    ),
    part(|parts| parts.bus_us, "wait for the bus", "bus_wait", "waiting for the bus to its flash die"),
    part(
        |parts| parts.requests_us,
        "behind other requests",
        "behind_requests",
        "waiting while its flash die worked for other requests",
    ),
    part(
        |parts| parts.cleaning_us,
        "behind cleaning",
        "behind_cleaning",
        "waiting while its flash die copied pages and erased blocks to make space",
    ),
    part(
        |parts| parts.map_us,
        "map on flash",
        "map_access",
        "the drive's map, of which a part had to be read from flash or written there",
    ),
    part(
        |parts| parts.upkeep_us,
        "behind upkeep",
        "upkeep",
        "waiting while its flash die levelled wear, renewed old data or looked for its data",
    ),
    part(
        |parts| parts.queue_us,
        "drive's queue full",
        "drive_queue",
        "waiting for a place in the drive's queue, which was full",
    ),
];

/// The picture of the slowest requests.
#[derive(Debug)]
pub(crate) struct SlowStretch {
    /// Name of the design, for people.
    pub(crate) design: String,
    /// A sentence about the slowest request.
    pub(crate) sentence: String,
    /// Numbers of the first and of the last request shown, counted from 1.
    pub(crate) first: f64,
    pub(crate) last: f64,
    pub(crate) start_s: f64,
    /// Time from the first arrival to the last.
    pub(crate) span_us: f64,
    pub(crate) ticks: Vec<Tick>,
    /// Distance of the slowest request from the left in per cent, and which end of its label has the arrow.
    pub(crate) mark: (f64, &'static str),
    pub(crate) columns: Vec<Column>,
    pub(crate) legend: Vec<Entry>,
}

#[derive(Debug)]
pub(crate) struct Column {
    /// Left edge and width in per cent of the picture.
    pub(crate) x: f64,
    pub(crate) width: f64,
    pub(crate) kind: String,
    pub(crate) tip: String,
    pub(crate) rects: Vec<Rect>,
}

#[derive(Debug)]
pub(crate) struct Rect {
    /// Index in [`PARTS`], which selects the colour.
    pub(crate) part: usize,
    /// Upper edge and height in per cent.
    pub(crate) y: f64,
    pub(crate) height: f64,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) part: usize,
    pub(crate) word: &'static str,
    pub(crate) term: &'static str,
    /// Share of the time of all requests shown.
    pub(crate) share: f64,
}

/// The picture of a workload, if its study has the data.
pub(crate) fn slow_stretch(workload: &WorkloadStudy) -> Option<SlowStretch> {
    let stretch = workload.slowest.as_ref()?;
    let requests = &stretch.requests;
    let worst = requests.get(stretch.slowest as usize).filter(|request| request.response_us > 0.0)?;
    let scale = Scale::over(&[worst.response_us]);
    let count = requests.len() as f64;
    let first = stretch.first_request as f64 + 1.0;
    let columns = requests.iter().enumerate().map(|(index, request)| Column {
        x: round(100.0 * index as f64 / count),
        width: round(80.0 / count),
        kind: request.kind.clone(),
        tip: format!("Request {}: {}.", page::count(first + index as f64).text(), describe(request)),
        rects: rects(request, &scale),
    });
    let candidate = workload.candidates.iter().find(|candidate| candidate.name == stretch.candidate);
    // The tip of the arrow, half a letter from the end of its label, is above the middle of the column.
    let place = 100.0 * (f64::from(stretch.slowest) + 0.4) / count;
    Some(SlowStretch {
        design: candidate.map_or(&stretch.candidate, |candidate| &candidate.title).clone(),
        sentence: sentence(worst, stretch.of_busiest),
        first,
        last: first + count - 1.0,
        start_s: stretch.start_s,
        span_us: requests.last()?.arrival_us,
        ticks: scale.ticks().into_iter().map(|value| tick(value, &scale)).collect(),
        mark: (round(place), if f64::from(stretch.slowest) * 2.0 > count { "end" } else { "start" }),
        columns: columns.collect(),
        legend: legend(requests),
    })
}

/// The parts of a response time, in the order of [`PARTS`].
fn times(request: &SlowRequest) -> impl Iterator<Item = (usize, &'static ResponsePart, f64)> {
    PARTS.iter().enumerate().map(|(index, part)| (index, part, (part.time_us)(&request.parts)))
}

fn rects(request: &SlowRequest, scale: &Scale) -> Vec<Rect> {
    let mut below = 0.0;
    let rects = times(request).filter_map(|(part, _, time)| {
        let (from, to) = (scale.percent(below), scale.percent(below + time));
        below += time;
        (to > from).then(|| Rect { part, y: round(100.0 - to), height: round(to - from) })
    });
    rects.collect()
}

fn tick(value: f64, scale: &Scale) -> Tick {
    Tick { at: round(100.0 - scale.percent(value)), label: page::micros(value).text(), anchor: "end" }
}

fn legend(requests: &[SlowRequest]) -> Vec<Entry> {
    let sum = |part: &ResponsePart| requests.iter().map(|request| (part.time_us)(&request.parts)).sum::<f64>();
    let all: f64 = PARTS.iter().map(sum).sum();
    let entry = |(index, part): (usize, &ResponsePart)| {
        let sum = sum(part);
        (sum > 0.0).then(|| Entry { part: index, word: part.word, term: part.term, share: sum / all })
    };
    PARTS.iter().enumerate().filter_map(entry).collect()
}

/// A request in words: "read of 256 KiB".
fn what(request: &SlowRequest) -> String {
    match request.bytes {
        0 => request.kind.clone(),
        bytes => format!("{} of {}", request.kind, page::bytes(bytes as f64).text()),
    }
}

fn describe(request: &SlowRequest) -> String {
    let whole = page::micros(request.response_us).text();
    let parts = times(request).filter(|(_, _, time)| *time > 0.0);
    let parts: Vec<String> =
        parts.map(|(_, part, time)| format!("{} {}", part.word, page::micros(time).text())).collect();
    format!("{}, {whole} in all: {}", what(request), parts.join(", "))
}

fn sentence(request: &SlowRequest, of_busiest: bool) -> String {
    let first = (PARTS[0].what, 0.0);
    let (most, time) =
        times(request).fold(first, |most, (_, part, time)| if time > most.1 { (part.what, time) } else { most });
    format!(
        "The slowest request of {}, a {}, took {}. The largest part of it, {}, was {most}.",
        if of_busiest { "the trace's busiest stretches" } else { "all" },
        what(request),
        page::micros(request.response_us).text(),
        page::share(time / request.response_us).text()
    )
}

/// Two decimals are a thirtieth of a pixel, and keep the page small.
fn round(percent: f64) -> f64 {
    (percent * 1e2).round() / 1e2
}

#[cfg(test)]
mod tests {
    use esker_results::study::{Candidate, SlowStretch as Found};

    use super::*;
    use crate::samples;

    #[test]
    fn columns_are_as_high_as_their_parts_and_the_sentence_names_the_largest() {
        let request = |kind: &str, bytes: u64, flash_us: f64, cleaning_us: f64| SlowRequest {
            kind: kind.into(),
            bytes,
            arrival_us: 5.0,
            response_us: flash_us + cleaning_us,
            parts: ResponseParts { flash_us, cleaning_us, ..ResponseParts::default() },
        };
        let found = Found {
            candidate: "a".into(),
            of_busiest: false,
            first_request: 99,
            start_s: 3.0,
            slowest: 1,
            requests: vec![
                request("flush", 0, 0.0, 0.0),
                request("read", 4096, 50.0, 150.0),
                request("write", 512, 100.0, 0.0),
            ],
        };
        let mut workload = samples::workload();
        workload.candidates = vec![Candidate::new("a", "A drive", "ssd", 1)];
        workload.slowest = Some(found);
        let stretch = slow_stretch(&workload).unwrap();
        assert_eq!((stretch.design.as_str(), stretch.first, stretch.last), ("A drive", 100.0, 102.0));
        let sentence = "The slowest request of all, a read of 4\u{a0}KiB, took 200\u{a0}µs. The largest part of it, \
            75\u{a0}%, was \
                        waiting while its flash die copied pages and erased blocks to make space.";
        assert_eq!(stretch.sentence, sentence);
        let heights: Vec<Vec<f64>> =
            stretch.columns.iter().map(|column| column.rects.iter().map(|rect| rect.height).collect()).collect();
        assert_eq!(heights, [vec![], vec![23.81, 71.43], vec![47.62]]);
        assert_eq!(stretch.columns[1].rects[1].y, 4.76);
        let shares: Vec<_> = stretch.legend.iter().map(|entry| (entry.word, entry.share)).collect();
        assert_eq!(shares, [("own flash work", 0.5), ("behind cleaning", 0.5)]);
        workload.slowest.as_mut().unwrap().requests.clear();
        assert!(slow_stretch(&workload).is_none());
    }
}
