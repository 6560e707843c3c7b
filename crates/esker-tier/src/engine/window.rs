//! Reports of a cache that chooses its own size.

use esker_core::{Bytes, Nanos};

/// The windows of a cache that chooses its own size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheWindows<'a> {
    /// The decision at the end of each window.
    pub decided: &'a [WindowDecision],
    /// Length of a window, in bytes that the host writes.
    pub length: Bytes,
    /// How many bytes the host has written in the current window.
    pub open: Bytes,
    /// Erases of blocks per day that the requested lifetime allows; `None` if no lifetime was requested.
    pub erases_per_day_max: Option<f64>,
}

/// The decision at the end of a window, and what it is based on.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowDecision {
    /// Time of the decision.
    pub at: Nanos,
    /// Over-provisioning from then on: the share of the flash that is left to cleaning.
    pub over_provisioning: f64,
    /// Share of the window's accesses that were writes.
    pub writes: f64,
    /// The expected cost of that over-provisioning.
    pub chosen: ExpectedCost,
    /// The expected cost of each over-provisioning that the training measures.
    pub expected: Vec<ExpectedCost>,
    /// True if a training begins now, before the chosen size is used.
    pub trains: bool,
    /// True if the requested lifetime is expected to be kept, or if none was requested.
    pub keeps_lifetime: bool,
}

/// The expected cost of an over-provisioning, from a window's miss-ratio curve and the last training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedCost {
    /// Share of the flash that is left to cleaning.
    pub over_provisioning: f64,
    /// Share of the accesses that miss.
    pub miss_ratio: f64,
    /// Share of a block's lines that are still valid when the block is cleaned.
    pub valid: f64,
    /// Mean latency of an access.
    pub latency: Nanos,
    /// Blocks of the flash that are erased per day.
    pub erases_per_day: f64,
}
