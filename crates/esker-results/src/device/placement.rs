//! Results of placement: extents that were moved or freed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counts of extents that were moved or freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlacementReport {
    /// Extents that were copied to another device.
    pub moved_extents: u64,
    /// Bytes of these extents.
    pub moved_bytes: u64,
    /// Bytes that copies have read, those that were given up included. Only written blocks are copied.
    pub copied_bytes: u64,
    /// Writes of the host that went to another device than the extent that they replaced.
    pub redirected_writes: u64,
    /// Copies that were begun and then given up: the host wrote to the extent again and again, or a device failed.
    pub abandoned_moves: u64,
    /// Extents that the host trimmed, whose places were freed.
    pub freed_extents: u64,
}
