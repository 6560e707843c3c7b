//! The slowest request and those around it, a column each, drawn by the template itself (after Kim 2009, figure 3.15).

use serde::Serialize;
use serde_json::Value;

use crate::bars::{Scale, Tick};
use crate::human;
use crate::json::{at, list, number, text};

/// Where time goes: the name in the JSON, the word and the term of the legend, and what it was, in the middle of a
/// sentence. From the foot of a column to its top: its own work, then what it waited for.
static PARTS: &[(&str, &str, &str, &str)] = &[
    ("flash_us", "own flash work", "own_work", "its own work on flash"),
    (
        "other_us",
        "link, buffer, rest",
        "other_time",
        "the link to the host, the write buffer, the decoder, or work on other dies",
    ),
    ("bus_us", "wait for the bus", "bus_wait", "waiting for the bus to its flash die"),
    (
        "requests_us",
        "behind other requests",
        "behind_requests",
        "waiting while its flash die worked for other requests",
    ),
    (
        "cleaning_us",
        "behind cleaning",
        "behind_cleaning",
        "waiting while its flash die copied pages and erased blocks to make space",
    ),
    (
        "map_us",
        "map on flash",
        "map_access",
        "the drive's map, of which a part had to be read from flash or written there",
    ),
    (
        "upkeep_us",
        "behind upkeep",
        "upkeep",
        "waiting while its flash die levelled wear, renewed old data or looked for its data",
    ),
    ("queue_us", "drive's queue full", "drive_queue", "waiting for a place in the drive's queue, which was full"),
];

/// The picture.
#[derive(Debug, Serialize)]
pub(crate) struct SlowStretch {
    /// The design, for people.
    design: String,
    /// The slowest request in a sentence.
    sentence: String,
    /// Numbers of the first and of the last request shown, from 1 on.
    first: f64,
    last: f64,
    start_s: f64,
    /// From the first arrival to the last.
    span_us: f64,
    ticks: Vec<Tick>,
    /// Distance of the slowest one from the left in per cent, and which end of its mark stands there: the arrow's.
    mark: (f64, &'static str),
    columns: Vec<Column>,
    legend: Vec<Entry>,
}

#[derive(Debug, Serialize)]
struct Column {
    /// Left edge and width in per cent of the picture.
    x: f64,
    width: f64,
    kind: String,
    tip: String,
    rects: Vec<Rect>,
}

#[derive(Debug, Serialize)]
struct Rect {
    /// Place in [`PARTS`], which is its colour.
    part: usize,
    /// Upper edge and height in per cent.
    y: f64,
    height: f64,
}

#[derive(Debug, Serialize)]
struct Entry {
    part: usize,
    word: &'static str,
    term: &'static str,
    /// Of the time of all requests shown.
    share: f64,
}

/// The picture of a workload, where its JSON has one.
pub(crate) fn slow_stretch(workload: &Value) -> Option<SlowStretch> {
    let stretch = at(workload, "slowest")?;
    let requests = list(stretch, "requests");
    let worst = number(stretch, "slowest")? as usize;
    let first = number(stretch, "first_request")? + 1.0;
    let longest = number(requests.get(worst)?, "response_us").filter(|time| *time > 0.0)?;
    let scale = Scale::over(&[longest]);
    let parts = |request: &Value| -> Vec<f64> {
        let parts = PARTS.iter().map(|(name, ..)| at(request, "parts").and_then(|parts| number(parts, name)));
        parts.map(|part| part.unwrap_or(0.0)).collect()
    };
    let count = requests.len() as f64;
    let mut sums = vec![0.0; PARTS.len()];
    let mut columns = Vec::new();
    for (index, request) in requests.iter().enumerate() {
        let (mut below, mut rects) = (0.0, Vec::new());
        for (part, time) in parts(request).into_iter().enumerate() {
            sums[part] += time;
            let (from, to) = (scale.percent(below), scale.percent(below + time));
            if to > from {
                rects.push(Rect { part, y: round(100.0 - to), height: round(to - from) });
            }
            below += time;
        }
        columns.push(Column {
            x: round(100.0 * index as f64 / count),
            width: round(80.0 / count),
            kind: text(request, "kind").unwrap_or("").to_string(),
            tip: format!(
                "Request {}: {}.",
                human::count(first + index as f64).text(),
                describe(request, &parts(request))
            ),
            rects,
        });
    }
    let all: f64 = sums.iter().sum();
    let legend = PARTS.iter().zip(&sums).enumerate();
    let name = text(stretch, "candidate");
    let candidate = list(workload, "candidates").iter().find(|candidate| text(candidate, "name") == name);
    // The arrow's tip, which is half a letter from the end of its mark, above the middle of the column.
    let place = 100.0 * (worst as f64 + 0.4) / count;
    Some(SlowStretch {
        design: candidate.and_then(|candidate| text(candidate, "title")).or(name).unwrap_or("unnamed").to_string(),
        sentence: sentence(&requests[worst], &parts(&requests[worst])),
        first,
        last: first + count - 1.0,
        start_s: number(stretch, "start_s").unwrap_or(0.0),
        span_us: number(requests.last()?, "arrival_us").unwrap_or(0.0),
        ticks: scale
            .ticks()
            .into_iter()
            .map(|value| Tick {
                at: round(100.0 - scale.percent(value)),
                label: human::micros(value).text(),
                anchor: "end",
            })
            .collect(),
        mark: (round(place), if worst as f64 * 2.0 > count { "end" } else { "start" }),
        columns,
        legend: legend
            .filter(|(_, (_, sum))| **sum > 0.0)
            .map(|(part, ((_, word, term, _), sum))| Entry { part, word, term, share: sum / all })
            .collect(),
    })
}

/// "read of 256 KiB".
fn what(request: &Value) -> String {
    let kind = text(request, "kind").unwrap_or("request");
    match number(request, "bytes").filter(|bytes| *bytes > 0.0) {
        Some(bytes) => format!("{kind} of {}", human::bytes(bytes).text()),
        None => kind.to_string(),
    }
}

fn describe(request: &Value, parts: &[f64]) -> String {
    let time = human::micros(number(request, "response_us").unwrap_or(0.0)).text();
    let parts = PARTS.iter().zip(parts).filter(|(_, time)| **time > 0.0);
    let parts: Vec<String> =
        parts.map(|((_, word, ..), time)| format!("{word} {}", human::micros(*time).text())).collect();
    format!("{}, {time} in all: {}", what(request), parts.join(", "))
}

fn sentence(request: &Value, parts: &[f64]) -> String {
    let whole = number(request, "response_us").unwrap_or(0.0);
    let (most, time) = (0..PARTS.len()).zip(parts).fold(
        (0, 0.0),
        |most, (part, time)| {
            if *time > most.1 { (part, *time) } else { most }
        },
    );
    let kind = what(request);
    format!(
        "The slowest request of all, a {kind}, took {}. The largest part of it, {}, was {}.",
        human::micros(whole).text(),
        human::share(time / whole).text(),
        PARTS[most].3
    )
}

/// Two decimals are a thirtieth of a pixel, and keep the page's bytes few.
fn round(percent: f64) -> f64 {
    (percent * 1e2).round() / 1e2
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_as_high_as_their_parts_and_the_sentence_names_the_largest() {
        let request = |kind: &str, bytes: u64, flash: f64, cleaning: f64| {
            let parts = json!({ "flash_us": flash, "cleaning_us": cleaning, "queue_us": 0.0 });
            json!({ "kind": kind, "bytes": bytes, "arrival_us": 5.0, "response_us": flash + cleaning, "parts": parts })
        };
        let workload = json!({
            "candidates": [{ "name": "a", "title": "A drive" }],
            "slowest": {
                "candidate": "a", "first_request": 99, "start_s": 3.0, "slowest": 1,
                "requests": [
                    request("flush", 0, 0.0, 0.0),
                    request("read", 4096, 50.0, 150.0),
                    request("write", 512, 100.0, 0.0),
                ],
            },
        });
        let stretch = slow_stretch(&workload).unwrap();
        assert_eq!((stretch.design.as_str(), stretch.first, stretch.last), ("A drive", 100.0, 102.0));
        let sentence = "The slowest request of all, a read of 4\u{a0}KiB, took 200\u{a0}µs. The largest part of it, \
                        75\u{a0}%, was waiting while its flash die copied pages and erased blocks to make space.";
        assert_eq!(stretch.sentence, sentence);
        let heights: Vec<Vec<f64>> =
            stretch.columns.iter().map(|column| column.rects.iter().map(|rect| rect.height).collect()).collect();
        assert_eq!(heights, [vec![], vec![23.81, 71.43], vec![47.62]]);
        assert_eq!(stretch.columns[1].rects[1].y, 4.76);
        let shares: Vec<_> = stretch.legend.iter().map(|entry| (entry.word, entry.share)).collect();
        assert_eq!(shares, [("own flash work", 0.5), ("behind cleaning", 0.5)]);
        assert!(slow_stretch(&json!({ "slowest": { "requests": [], "slowest": 0 } })).is_none());
    }
}
