//! Results of a read cache that owns its flash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::zero::is_zero;

/// Results of a read cache that owns its flash. Everything is counted in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostManagedCacheReport {
    /// Reads of pages that the cache held, or that were already being fetched for it.
    pub hits: u64,
    /// Reads of pages that the cache had evicted, and whose data still lay in the flash.
    pub revived: u64,
    /// Reads of pages that had to be fetched.
    pub misses: u64,
    /// Hits and revived pages, as a share of all reads.
    pub hit_ratio: f64,
    /// Pages written to the flash after they were fetched.
    pub filled_pages: u64,
    /// Fetched pages for which the flash had no room.
    pub refused_pages: u64,
    /// Reads of pages that missed, and that the admission policy kept out of the cache.
    pub not_admitted_pages: u64,
    /// Held pages that the host wrote to.
    pub invalidated_pages: u64,
    /// Erased blocks.
    pub erases: u64,
    /// Pages that cleaning copied.
    pub copied_pages: u64,
    /// Held pages that cleaning dropped instead of copying them.
    pub dropped_pages: u64,
    /// Evicted pages that were erased before anybody read them.
    pub erased_suspects: u64,
    /// Programs per page written after a fetch, copies included.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub write_amplification: Option<f64>,
    /// Pages of the flash: C_total.
    pub flash_pages: u64,
    /// Pages that the cache may hold at the end: C_user, less what went with the blocks that went out of use.
    pub user_pages: u64,
    /// Blocks that went out of use since the flash was new.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub retired_blocks: u64,
    /// Evicted pages that a policy may remember: N_SQ, (OP - GC_th) x C_total.
    pub suspects_max: u64,
    /// Pages that the cache holds at the end.
    pub held_pages: u64,
    /// Evicted pages at the end whose data can be revived.
    pub suspected_pages: u64,
    /// Bytes of the map from pages of the volume to flash pages.
    pub map_bytes: u64,
}
