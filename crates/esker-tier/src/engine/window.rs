//! What a cache that chooses its own size has decided.

use esker_core::{Bytes, Nanos};

/// The windows of a cache that chooses its own size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheWindows<'a> {
    /// What was decided at the end of each.
    pub decided: &'a [WindowDecision],
    /// Bytes that the host writes in one.
    pub length: Bytes,
    /// Bytes that it has written in the one that has not ended.
    pub open: Bytes,
    /// Erases in a day that the lifetime allows, if one was asked for.
    pub erases_per_day_max: Option<f64>,
}

/// What was decided at the end of a window, and from what.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowDecision {
    /// When.
    pub at: Nanos,
    /// Share of the flash that is left to cleaning from then on.
    pub over_provisioning: f64,
    /// Share of writes among the accesses of the window.
    pub writes: f64,
    /// What was expected with it.
    pub chosen: ExpectedCost,
    /// What was expected with each over-provisioning of the training.
    pub expected: Vec<ExpectedCost>,
    /// Whether the cache is trained before this holds.
    pub trains: bool,
    /// Whether it is expected to keep the lifetime that was asked for; true if none was.
    pub keeps_lifetime: bool,
}

/// What a window's curve and the last training let expect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedCost {
    /// Share of the flash that is left to cleaning.
    pub over_provisioning: f64,
    /// Share of the accesses that miss.
    pub miss_ratio: f64,
    /// Share of the lines of a block that are valid when it is cleaned.
    pub valid: f64,
    /// Mean latency of an access.
    pub latency: Nanos,
    /// Blocks of the flash that are erased in a day.
    pub erases_per_day: f64,
}
