//! What became of extents in a device that places them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Extents that changed their places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlacementReport {
    /// Extents that were copied to another device.
    pub moved_extents: u64,
    /// Bytes of them.
    pub moved_bytes: u64,
    /// Copies that were begun and came to nothing: the host wrote to them again and again, or a device failed.
    pub abandoned_moves: u64,
    /// Extents that the host trimmed, and whose places were freed.
    pub freed_extents: u64,
}
