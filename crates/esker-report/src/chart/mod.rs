//! Charts: each answers one question, which is its title. One file per chart, one line in [`CHARTS`].
//!
//! A chart picks columns out of a workload's JSON; `assets/charts.js` draws it. Where the JSON lacks what a chart needs,
//! there is no chart.

mod load;
mod miss_ratio;
mod request_sizes;
mod response_curve;
mod response_series;
mod skew;
mod utilisation;
mod working_set;

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use crate::columns::{ColumnIndex, Columns};
use crate::human;
use crate::json::{list, number, text};

/// All charts, in the order of the report.
static CHARTS: &[ChartEntry] = &[
    load::REQUESTS,
    load::BYTES,
    request_sizes::ENTRY,
    skew::ENTRY,
    working_set::ENTRY,
    response_curve::ENTRY,
    response_series::ENTRY,
    utilisation::ENTRY,
    miss_ratio::ENTRY,
];

/// One kind of chart.
struct ChartEntry {
    /// Its name within a workload.
    name: &'static str,
    /// The section that shows it: "workload", "performance", "lifetime", "cache".
    section: &'static str,
    /// Draws it, where there is data.
    build: fn(&Source<'_>, &mut Columns) -> Option<Chart>,
}

/// Where a chart finds its data.
struct Source<'a> {
    /// The whole study: budgets.
    study: &'a Value,
    /// The workload that the chart is of.
    workload: &'a Value,
}

/// A chart as the page's script reads it.
#[derive(Debug, Serialize)]
pub(crate) struct Chart {
    /// Unique in the page.
    id: String,
    section: &'static str,
    /// The question that it answers.
    title: String,
    /// One sentence on how to read it.
    help: String,
    x: Axis,
    y: Axis,
    /// Charts of one group share their zoom and their cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    /// One is drawn at a time, where there are several.
    choices: Vec<Choice>,
    /// Which choice is drawn at first.
    chosen: usize,
    /// Lines across: budgets, knees.
    marks: Vec<Mark>,
    /// Where a second chart would need the whole width.
    wide: bool,
}

/// What an axis counts, and how.
#[derive(Debug, Serialize)]
pub(crate) struct Axis {
    label: &'static str,
    unit: Unit,
    scale: Scale,
    /// Where the axis ends; by its values where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    top: Option<f64>,
    /// Names instead of numbers, for bars.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    /// When the trace began on its own clock, seconds since 1970 (UTC); for axes of elapsed time.
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch_s: Option<f64>,
}

impl Axis {
    fn new(label: &'static str, unit: Unit, scale: Scale) -> Self {
        Self { label, unit, scale, top: None, names: Vec::new(), epoch_s: None }
    }
}

impl Axis {
    /// Shares up to the whole.
    fn shares(label: &'static str) -> Self {
        Self { top: Some(1.0), ..Self::new(label, Unit::Share, Scale::Linear) }
    }
}

/// How the script writes a value.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    Elapsed,
    Micros,
    Bytes,
    BytesPerSecond,
    PerSecond,
    Share,
    Count,
}

/// How the script spaces values.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scale {
    Linear,
    Log,
    /// Shares below one: 90 %, 99 % and 99.9 % are equally far apart.
    Nines,
}

/// What is drawn together.
#[derive(Debug, Serialize)]
pub(crate) struct Choice {
    label: String,
    series: Vec<Series>,
}

/// One line, area or row of bars.
#[derive(Debug, Serialize)]
pub(crate) struct Series {
    label: String,
    /// Series of the same key are shown and hidden together, in every chart.
    key: String,
    colour: Colour,
    shape: Shape,
    x: ColumnIndex,
    y: ColumnIndex,
}

/// Colours by role; the style sheet has them, light and dark.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "role", content = "index")]
pub(crate) enum Colour {
    /// One of the categorical colours; beyond the last one they begin again, dashed.
    Category(usize),
    /// Today, as measured.
    Measured,
    /// A line to compare with.
    Reference,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shape {
    Line,
    /// Constant over each interval.
    Steps,
    /// Steps, filled down to zero.
    Area,
    Bars,
}

/// A line across the chart.
#[derive(Debug, Serialize)]
pub(crate) struct Mark {
    axis: &'static str,
    value: f64,
    label: String,
}

impl Chart {
    fn new(title: impl Into<String>, help: impl Into<String>, x: Axis, y: Axis, series: Vec<Series>) -> Self {
        Self {
            id: String::new(),
            section: "",
            title: title.into(),
            help: help.into(),
            x,
            y,
            group: None,
            choices: vec![Choice { label: String::new(), series }],
            chosen: 0,
            marks: Vec::new(),
            wide: false,
        }
    }

    /// A chart over time: it shares zoom and cursor with all others of its workload whose time is the same.
    fn over_time(
        source: &Source<'_>,
        clock: Clock,
        title: impl Into<String>,
        help: impl Into<String>,
        y: Axis,
        series: Vec<Series>,
    ) -> Self {
        let closed = text(source.workload, "replay.mode") == Some("closed");
        let of_trace = clock == Clock::Trace || !closed;
        let epoch_s = number(source.workload, "profile.first_arrival_ns")
            .filter(|first| of_trace && human::is_clock(*first))
            .map(|first| first / 1e9);
        let label = match (of_trace, epoch_s) {
            (true, Some(_)) => "time in the trace (UTC)",
            (true, None) => "time since the start",
            (false, _) => "time since the start of the replay",
        };
        let x = Axis { epoch_s, ..Axis::new(label, Unit::Elapsed, Scale::Linear) };
        let group = if of_trace { "trace" } else { "replay" };
        Self { group: Some(group.to_string()), ..Self::new(title, help, x, y, series) }
    }
}

/// Whose time a chart shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// That of the trace.
    Trace,
    /// That of the simulated runs: the trace's, unless replay is closed.
    Run,
}

/// The charts of one workload; `prefix` makes their identities unique in the page.
pub(crate) fn charts(study: &Value, workload: &Value, prefix: &str, columns: &mut Columns) -> Vec<Chart> {
    let source = Source { study, workload };
    let mut charts = Vec::new();
    for entry in CHARTS {
        if let Some(mut chart) = (entry.build)(&source, columns) {
            chart.id = format!("{prefix}-{}", entry.name);
            chart.section = entry.section;
            chart.group = chart.group.map(|group| format!("{prefix}-{group}"));
            charts.push(chart);
        }
    }
    charts
}

/// The candidates with their place, which is their colour, and their title.
fn candidates(workload: &Value) -> impl Iterator<Item = (usize, &Value, &str)> {
    list(workload, "candidates").iter().enumerate().map(|(index, candidate)| {
        let name = text(candidate, "name").unwrap_or("unnamed");
        (index, candidate, text(candidate, "title").unwrap_or(name))
    })
}

/// Key of a candidate's series.
fn key(candidate: &Value) -> String {
    text(candidate, "name").unwrap_or("unnamed").to_string()
}

/// Begins of intervals.
fn starts(intervals: &[Value]) -> Vec<f64> {
    intervals.iter().map(|interval| number(interval, "start_s").unwrap_or(f64::NAN)).collect()
}

/// Begins of intervals and their values, closed by the end of the last interval, so that steps show its length too.
fn close_steps(starts: &[f64], values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut starts, mut values) = (starts.to_vec(), values.to_vec());
    if let [.., before, last] = starts[..] {
        starts.push(2.0 * last - before);
        values.push(values.last().copied().unwrap_or(f64::NAN));
    }
    (starts, values)
}

/// Whether there is anything to see: two finite values at different places.
fn drawable(x: &[f64], y: &[f64]) -> bool {
    let places: BTreeSet<u64> =
        x.iter().zip(y).filter(|(x, y)| x.is_finite() && y.is_finite()).map(|(x, _)| x.to_bits()).collect();
    places.len() > 1
}
