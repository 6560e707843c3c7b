//! The description of a chart, which the script of the page reads.

use esker_core::words;
use esker_results::study::ReplayMode;
use serde::Serialize;

use super::Source;
use super::align::{Curve, align};
use super::style::{Scale, Shape};
use crate::columns::{ColumnIndex, Columns};

/// A chart as the script of the page reads it.
#[derive(Debug, Serialize)]
pub(crate) struct Chart {
    /// Unique in the page.
    pub(crate) id: String,
    pub(crate) section: &'static str,
    /// The question that the chart answers.
    pub(crate) title: String,
    /// One sentence on how to read it.
    pub(crate) help: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// Charts of one group share their zoom and their cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) group: Option<String>,
    /// The choices; if there are several, one is drawn at a time.
    pub(super) choices: Vec<Choice>,
    /// Index of the choice that is drawn at first.
    pub(super) chosen: usize,
    /// Lines across the chart: budgets, knees.
    pub(super) marks: Vec<Mark>,
    /// Whether the chart takes the whole width.
    pub(crate) wide: bool,
    /// Whether there is room before the first x and after the last, so that their marks are not cut.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) padded: bool,
}

/// An axis: its quantity and its scale.
#[derive(Debug, Serialize)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(super) unit: Unit,
    pub(super) scale: Scale,
    /// The upper end of the axis; without it, the values decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top: Option<f64>,
    /// Names instead of numbers; for bars.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) names: Vec<String>,
    /// The start of the trace on its own clock, in seconds since 1970 (UTC). For axes of elapsed time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) epoch_s: Option<f64>,
}

impl Axis {
    pub(super) fn new(label: impl Into<String>, unit: Unit, scale: Scale) -> Self {
        Self { label: label.into(), unit, scale, top: None, names: Vec::new(), epoch_s: None }
    }
}

impl Axis {
    /// An axis of shares up to the whole.
    pub(super) fn shares(label: &'static str) -> Self {
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
    /// No unit: the axis names it.
    Plain,
}

/// Series that are drawn together, with common x values.
#[derive(Debug, Serialize)]
pub(crate) struct Choice {
    pub(super) label: String,
    x: ColumnIndex,
    series: Vec<Series>,
}

impl Choice {
    pub(super) fn new(label: impl Into<String>, series: Vec<Series>) -> Self {
        Self { label: label.into(), x: 0, series }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.series.is_empty()
    }
}

/// One line, area or set of bars.
#[derive(Debug, Serialize)]
pub(crate) struct Series {
    label: String,
    /// Series with the same key are shown and hidden together, in all charts.
    key: String,
    colour: Colour,
    shape: Shape,
    /// Whether the values are not measured, but published or aimed at: then they are dashed and hollow.
    #[serde(skip_serializing_if = "is_false")]
    published: bool,
    y: ColumnIndex,
    #[serde(skip)]
    curve: Curve,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Series {
    /// A series; `None` if there is nothing to see: fewer than two finite values at different x.
    pub(super) fn new(
        label: impl Into<String>,
        colour: Colour,
        shape: Shape,
        x: Vec<f64>,
        y: Vec<f64>,
    ) -> Option<Self> {
        let mut places = x.iter().zip(&y).filter(|(x, y)| x.is_finite() && y.is_finite()).map(|(x, _)| *x);
        let first = places.next()?;
        places.any(|place| place != first).then_some(())?;
        let label = label.into();
        Some(Self { key: label.clone(), label, colour, shape, published: false, y: 0, curve: Curve { x, y } })
    }

    /// A series of separate points, even of one; `None` if there is none.
    pub(super) fn of_points(
        label: String,
        colour: Colour,
        shape: Shape,
        published: bool,
        x: Vec<f64>,
        y: Vec<f64>,
    ) -> Option<Self> {
        y.iter().any(|value| value.is_finite()).then(|| Self {
            key: label.clone(),
            label,
            colour,
            shape,
            published,
            y: 0,
            curve: Curve { x, y },
        })
    }

    /// This series as a dashed line, with another label; shown and hidden as before.
    pub(super) fn dashed(self, label: impl FnOnce(&str) -> String) -> Self {
        Self { label: label(&self.label), published: true, ..self }
    }

    /// This series with a key: it is shown and hidden together with all series of the same key.
    pub(super) fn keyed(self, key: impl Into<String>) -> Self {
        Self { key: key.into(), ..self }
    }
}

/// Colours by role. The style sheet defines them, for light and dark pages.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "role", content = "index")]
pub(crate) enum Colour {
    /// One of the categorical colours. After the last one they start again, dashed.
    Category(usize),
    /// The response times of the traced system.
    Measured,
    /// A line for comparison.
    Reference,
}

/// A line across the chart.
#[derive(Debug, Serialize)]
pub(crate) struct Mark {
    pub(super) axis: &'static str,
    pub(super) value: f64,
    pub(super) label: String,
}

impl Chart {
    pub(super) fn new(
        title: impl Into<String>,
        help: impl Into<String>,
        x: Axis,
        y: Axis,
        series: Vec<Series>,
    ) -> Self {
        Self {
            id: String::new(),
            section: "",
            title: title.into(),
            help: help.into(),
            x,
            y,
            group: None,
            choices: vec![Choice::new("", series)],
            chosen: 0,
            marks: Vec::new(),
            wide: false,
            padded: false,
        }
    }

    /// A chart over time. It shares zoom and cursor with all charts of its workload that have the same clock.
    pub(super) fn over_time(
        source: &Source<'_>,
        clock: Clock,
        title: impl Into<String>,
        help: impl Into<String>,
        y: Axis,
        series: Vec<Series>,
    ) -> Self {
        let of_trace = clock == Clock::Trace || source.workload.replay.mode == ReplayMode::Open;
        let epoch_s = Some(source.workload.profile.first_arrival_ns)
            .filter(|first| of_trace && words::is_clock(*first))
            .map(|first| first as f64 / 1e9);
        let label = match (of_trace, epoch_s) {
            (true, Some(_)) => "time in the trace (UTC)",
            (true, None) => "time since the start",
            (false, _) => "time since the start of the replay",
        };
        let x = Axis { epoch_s, ..Axis::new(label, Unit::Elapsed, Scale::Linear) };
        let group = if of_trace { "trace" } else { "replay" };
        Self { group: Some(group.to_string()), ..Self::new(title, help, x, y, series) }
    }

    /// Gives the chart a name, and moves its numbers to the columns of the page.
    pub(super) fn stored(mut self, prefix: &str, name: &str, section: &'static str, columns: &mut Columns) -> Self {
        for choice in &mut self.choices {
            let curves: Vec<(&Curve, Shape)> = choice.series.iter().map(|one| (&one.curve, one.shape)).collect();
            let (places, values) = align(&curves, self.x.scale, self.y.scale);
            choice.x = columns.exact(&places);
            for (one, values) in choice.series.iter_mut().zip(values) {
                one.y = columns.drawn(&values);
            }
        }
        self.id = format!("{prefix}-{name}");
        self.section = section;
        self.group = self.group.map(|group| format!("{prefix}-{group}"));
        self
    }
}

/// The clock of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// The clock of the trace.
    Trace,
    /// The clock of the simulated runs: that of the trace, unless replay is closed-loop.
    Run,
}
