//! Results of placement: extents that were moved or freed, and what a memory cache did.

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

/// What a cache of extents in memory did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryCacheReport {
    /// Reads of extents, or of parts of them, that were in memory or on their way there.
    pub hits: u64,
    /// All other reads of extents.
    pub misses: u64,
    /// Hits, as a part of both.
    pub hit_ratio: f64,
    /// Bytes of the extents that were fetched, unwritten ones included.
    pub fetched_bytes: u64,
    /// Writes that became writes of all that their extent holds, and so moved it.
    pub widened_writes: u64,
}
