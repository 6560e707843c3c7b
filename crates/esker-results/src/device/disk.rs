//! Results of a disk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Results of a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DiskReport {
    /// Seeks over at least one cylinder.
    pub seeks: u64,
    /// Mean seek time over all requests, with or without a move.
    pub mean_seek_us: f64,
    /// Mean rotational wait over all requests.
    pub mean_rotation_us: f64,
    /// Mean transfer time over all requests.
    pub mean_transfer_us: f64,
    /// Mean number of cylinders passed per request.
    pub mean_seek_cylinders: f64,
}
