//! Results of recovery after a power failure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a drive finds its data after a power failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryWay {
    /// By the spare areas of all pages.
    #[default]
    FullScan,
    /// By the summaries of full blocks, and the spare areas of all pages of other blocks.
    Summaries,
    /// By the pages of the map, and the spare areas of those blocks only that may have newer data.
    Directory,
}

/// Effects of a power failure on a drive, and how the drive found its data again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecoveryReport {
    /// When power failed, in seconds of simulated time.
    pub at_s: f64,
    /// Time until requests were served again, in seconds of simulated time.
    pub duration_s: f64,
    /// Part of that time in which capacitors kept the drive running, to save the protected write buffer.
    pub save_s: f64,
    /// How the data were found.
    pub way: RecoveryWay,
    /// Spare areas, summaries and pages that were read.
    pub reads: u64,
    /// Of `reads`, spare areas of single pages.
    pub spare_area_reads: u64,
    /// Of `reads`, summaries of blocks.
    pub summary_reads: u64,
    /// Of `reads`, pages of the map.
    pub map_page_reads: u64,
    /// Blocks of which more than one spare area was read, not counting the summary.
    pub scanned_blocks: u64,
    /// Pages programmed, if recovery had to write.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Requests under way when power failed; they ended with an error.
    pub interrupted_requests: u64,
    /// Writes among them.
    pub interrupted_writes: u64,
    /// Programs and erases that power failure interrupted.
    pub interrupted_operations: u64,
    /// Programs and erases that were waiting for their dies, and were never begun.
    pub dropped_operations: u64,
    /// Pages that cannot be read because their program was interrupted.
    pub torn_pages: u64,
    /// Blocks that have to be erased again because their erase was interrupted.
    pub torn_blocks: u64,
    /// Pages with acknowledged writes that were lost with the write buffer.
    pub lost_pages: u64,
    /// Pages of a protected write buffer that were not on flash yet and were saved.
    pub saved_pages: u64,
    /// Host pages whose data were found on flash.
    pub found_pages: u64,
    /// Found pages that hold an older write than the last one given to flash before the power failure. Pages saved by a
    /// protected write buffer are not counted.
    pub older_pages: u64,
    /// Found pages that had no data before the power failure: trimmed pages that came back.
    pub returned_pages: u64,
    /// Host pages whose data had been given to flash before the power failure, and were not found. Pages saved by a
    /// protected write buffer are not counted.
    pub missing_pages: u64,
}
