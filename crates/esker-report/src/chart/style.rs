//! How values are spaced along an axis, and how a series is drawn.

use serde::Serialize;

/// How the script spaces values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scale {
    Linear,
    Log,
    /// Shares below one: 90 %, 99 % and 99.9 % are equally far apart.
    Nines,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shape {
    Line,
    /// Constant over each interval.
    Steps,
    /// Steps, filled down to zero.
    Area,
    Bars,
    /// A line through points of its own, marked.
    Points,
    /// The same where there are so many that marks would hide the line.
    ManyPoints,
    /// Bars, each at a place of its own.
    Slots,
}
