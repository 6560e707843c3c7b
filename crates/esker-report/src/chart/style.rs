//! How an axis spaces values, and how a series is drawn.

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
    /// A line with marks at its points.
    Points,
    /// A line with points that are too many to be marked.
    ManyPoints,
    /// Bars, each at its own x.
    Slots,
}
