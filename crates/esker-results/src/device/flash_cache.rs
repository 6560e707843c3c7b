//! Results of a flash cache in front of a backing device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a flash cache did. Requests are counted by line: one that touches three lines counts three times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
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
    /// Bytes read from the backing device to fill lines.
    pub filled_bytes: u64,
    /// Bytes that the cache wrote to the flash.
    pub flash_written_bytes: u64,
    /// Bytes of the flash that were trimmed because their lines have left (`trim_freed`).
    pub trimmed_bytes: u64,
    /// Bytes copied back to the backing device.
    pub copied_back_bytes: u64,
    /// Lines that the flash holds at the end.
    pub held_lines: u64,
    /// Those that are dirty.
    pub dirty_lines: u64,
    /// Slots of the flash in use at the end, each for a line: all, unless the flash was shrunk.
    pub slots: u64,
    /// Lines that the flash holds at the end beyond those slots, and that have yet to leave.
    pub beyond_lines: u64,
}
