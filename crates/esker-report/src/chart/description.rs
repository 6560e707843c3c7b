//! What a chart is made of, as the page's script reads it.

use esker_core::words;
use esker_results::study::ReplayMode;
use serde::Serialize;

use super::Source;
use super::align::{Curve, align};
use super::style::{Scale, Shape};
use crate::columns::{ColumnIndex, Columns};

/// A chart as the page's script reads it.
#[derive(Debug, Serialize)]
pub(crate) struct Chart {
    /// Unique in the page.
    pub(crate) id: String,
    pub(crate) section: &'static str,
    /// The question that it answers.
    pub(crate) title: String,
    /// One sentence on how to read it.
    pub(crate) help: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// Charts of one group share their zoom and their cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) group: Option<String>,
    /// One is drawn at a time, where there are several.
    pub(super) choices: Vec<Choice>,
    /// Which choice is drawn at first.
    pub(super) chosen: usize,
    /// Lines across: budgets, knees.
    pub(super) marks: Vec<Mark>,
    /// Where a second chart would need the whole width.
    pub(crate) wide: bool,
    /// Room before the first and after the last place, so that their marks are whole.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) padded: bool,
}

/// What an axis counts, and how.
#[derive(Debug, Serialize)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(super) unit: Unit,
    pub(super) scale: Scale,
    /// Where the axis ends; by its values where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top: Option<f64>,
    /// Names instead of numbers, for bars.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) names: Vec<String>,
    /// When the trace began on its own clock, seconds since 1970 (UTC); for axes of elapsed time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) epoch_s: Option<f64>,
}

impl Axis {
    pub(super) fn new(label: impl Into<String>, unit: Unit, scale: Scale) -> Self {
        Self { label: label.into(), unit, scale, top: None, names: Vec::new(), epoch_s: None }
    }
}

impl Axis {
    /// Shares up to the whole.
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
    /// The axis names it.
    Plain,
}

/// What is drawn together, at common places along the axis.
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

/// One line, area or row of bars.
#[derive(Debug, Serialize)]
pub(crate) struct Series {
    label: String,
    /// Series of the same key are shown and hidden together, in every chart.
    key: String,
    colour: Colour,
    shape: Shape,
    /// Values of a paper: dashed and hollow.
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
    /// `None` where there is nothing to see: no two finite values at different places.
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

    /// Points by themselves, even if there is but one; `None` where there is none.
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

    /// The same, shown and hidden with all series of this key.
    pub(super) fn keyed(self, key: impl Into<String>) -> Self {
        Self { key: key.into(), ..self }
    }
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

    /// A chart over time: it shares zoom and cursor with all others of its workload whose time is the same.
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

    /// Named, and with its numbers among the page's columns.
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

/// Whose time a chart shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// That of the trace.
    Trace,
    /// That of the simulated runs: the trace's, unless replay is closed.
    Run,
}
