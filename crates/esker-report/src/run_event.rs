//! What happened in the middle of a run, for charts and lists.

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunEvent {
    /// When, in seconds after the start of the run.
    pub(crate) at_s: f64,
    /// What, for a mark in a chart.
    pub(crate) what: String,
}
