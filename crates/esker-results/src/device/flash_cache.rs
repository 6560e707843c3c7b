//! Results of a flash cache in front of a backing device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CachePartition;
use super::zero::is_zero;

/// What a flash cache did. Requests are counted by line: one that touches three lines counts three times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlashCacheReport {
    /// Reads and writes of lines that the flash held.
    pub hits: u64,
    /// All other reads and writes of lines.
    pub misses: u64,
    /// Hits, as a part of both.
    pub hit_ratio: f64,
    /// Hits of reads.
    pub read_hits: u64,
    /// Misses of reads.
    pub read_misses: u64,
    /// Hits of reads, as a part of all reads.
    pub read_hit_ratio: f64,
    /// Lines that left, because the policy chose them or the flash shrank.
    pub evictions: u64,
    /// Those of them that were dirty, and were copied back first.
    pub dirty_evictions: u64,
    /// Lines that were to leave, and were used again before they had.
    pub revived: u64,
    /// Lines that had left, and were used again before flash that the cache owns had erased them (`own_flash`).
    #[serde(skip_serializing_if = "is_zero", default)]
    pub revived_suspects: u64,
    /// Lines that had left, and that such flash has erased.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub erased_suspects: u64,
    /// Lines that were held, and that such flash dropped instead of copying them.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub dropped_lines: u64,
    /// Dirty lines that the background cleaner copied back.
    pub cleaned: u64,
    /// Reads and writes that missed, and that the admission policy kept out of the cache.
    pub refused: u64,
    /// Accesses that the policies would have taken in, and that found no free slot.
    pub without_slot: u64,
    /// Reads of clean lines that failed on the flash and were served by the backing device.
    pub flash_errors: u64,
    /// Requests and copies that failed because the flash has lost, or may have lost, the only copy.
    pub lost: u64,
    /// Writes for which such flash, which is worn, had no room: the lines stayed out, or left, and requests went to the
    /// backing device.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub refused_writes: u64,
    /// Bytes read from the backing device to fill lines.
    pub filled_bytes: u64,
    /// Bytes that the cache wrote to the flash.
    pub flash_written_bytes: u64,
    /// Bytes of the flash that were trimmed because their lines have left (`trim_freed`).
    pub trimmed_bytes: u64,
    /// Bytes copied back to the backing device.
    pub copied_back_bytes: u64,
    /// Lines that have left, and whose data such flash still has at the end.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub suspected_lines: u64,
    /// Lines that the flash holds at the end.
    pub held_lines: u64,
    /// Those that are dirty.
    pub dirty_lines: u64,
    /// Slots of the flash in use at the end, each for a line: all, unless the flash was shrunk; of flash that the cache
    /// owns so many as may hold lines, less what went with the blocks that went out of use.
    pub slots: u64,
    /// Lines that the flash holds at the end beyond those slots, and that have yet to leave.
    pub beyond_lines: u64,
    /// What is left of flash that the cache owns and that has worn; absent of all other flash.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub room: Option<CacheRoomLeft>,
    /// The windows of a cache with `allocation`; absent of others.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub allocation: Option<CacheAllocation>,
    /// What a cache with `allocation` has decided at the end of each window, from the beginning of the run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub windows: Vec<CacheWindow>,
    /// The parts of a cache with `partition`; absent of others.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub partition: Option<CachePartition>,
    /// What the backing device served of the hits of a cache with `routing`; absent of others.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub routing: Option<CacheRouting>,
}

/// What the backing device served of the hits of a cache. Reads are counted by line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheRouting {
    /// Reads of lines that the flash held, and that were sent to the backing device.
    pub routed: u64,
    /// Those, as a part of all reads that hit.
    pub routed_ratio: f64,
    /// Those of them that the backing device could not serve, so that the flash did.
    pub fell_back: u64,
    /// How many times admission was stopped.
    pub admission_stops: u64,
    /// Reads that missed, and whose lines stayed out because admission was stopped.
    pub kept_out: u64,
    /// The share of the reads of clean lines that went to the backing device at the end.
    pub share_at_end: f64,
    /// Whether the lines that reads missed entered the cache at the end.
    pub admits_at_end: bool,
}

/// How flash that the cache owns has worn. `slots` of the cache is what is left at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheRoomLeft {
    /// Slots that could hold lines while the flash was new.
    pub slots_at_first: u64,
    /// When there were fewer for the first time, and whenever another tenth of them was lost, from the beginning of the
    /// run; the last one has none once the flash is used up.
    pub shrank: Vec<CacheShrink>,
}

/// A moment at which there was less room on flash that wears out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheShrink {
    /// When, in seconds since the start of the run.
    pub at_s: f64,
    /// Slots that could hold lines from then on.
    pub slots: u64,
}

/// How a cache that chooses its own size does so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheAllocation {
    /// Bytes that the host writes in a window.
    pub window_bytes: u64,
    /// Bytes that it had written at the end of the run in the window that had not ended.
    pub open_window_bytes: u64,
    /// Erases in a day that the lifetime allows, if one was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub erases_per_day_max: Option<f64>,
}

/// What a cache that chooses its own size has decided at the end of a window of its requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheWindow {
    /// When the window ended, in seconds.
    pub ends_s: f64,
    /// Share of the slots that lines leave to cleaning from then on. The drive's own over-provisioning, which is of its
    /// raw pages, comes beside it.
    pub left_to_cleaning: f64,
    /// Share of writes among the accesses of the window.
    pub write_share: f64,
    /// Whether the cache is trained first: run with several sizes, to see what cleaning costs.
    pub trains: bool,
    /// Whether it is expected to keep the lifetime that was asked for; true if none was.
    pub keeps_lifetime: bool,
    /// What was expected with the share that was chosen.
    pub chosen: CacheWindowCost,
    /// What was expected with several shares left to cleaning.
    pub expected: Vec<CacheWindowCost>,
}

/// What a window lets expect with a share of the flash left to cleaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheWindowCost {
    /// Share of the slots that lines leave to cleaning.
    pub left_to_cleaning: f64,
    /// Share of the accesses that miss, by the window's curve.
    pub miss_ratio: f64,
    /// Share of the lines of a block that are valid when it is cleaned.
    pub valid_share: f64,
    /// Mean latency of an access, in microseconds.
    pub latency_us: f64,
    /// Blocks of the flash that are erased in a day.
    pub erases_per_day: f64,
}

impl CacheWindow {
    /// Returns what was expected with the share that wears the flash least; `None` if nothing was.
    pub(crate) fn least_erases(&self) -> Option<&CacheWindowCost> {
        self.expected.iter().min_by(|one, other| one.erases_per_day.total_cmp(&other.erases_per_day))
    }
}
