//! Where the extents of a device are, over time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The address space of a device that places extents, in equal ranges, over time: which child holds how much of each
/// range, and how hot it is.
///
/// It is bounded: at most 256 ranges, at most 4096 ranges times children (but one range at least), at most 200 frames
/// after the first. Where there are more intervals of the series than that, neighbours are one frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacementMap {
    /// The children of the device, in the order of [`MapFrame::extents`].
    pub children: Vec<String>,
    /// Bytes of an extent.
    pub extent_bytes: u64,
    /// Bytes of a range; a whole number of extents.
    pub range_bytes: u64,
    /// Extents of each range, in order of address: all alike, but for the last one.
    pub range_extents: Vec<u32>,
    /// The moments, the first of which is the start of measuring. Each begins where the one before ends.
    pub frames: Vec<MapFrame>,
}

/// A stretch of time: which requests came, and where the extents were at its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MapFrame {
    /// Its start, in seconds after the start of the run.
    pub start_s: f64,
    /// Its end. The first frame has no length.
    pub end_s: f64,
    /// For each range: the host's requests with an address that ended in this stretch, each counted where it begins.
    pub requests: Vec<u64>,
    /// For each child, and there for each range: how many extents of the range it holds at the end of the stretch.
    /// Extents without a place are on no child.
    pub extents: Vec<Vec<u32>>,
}
