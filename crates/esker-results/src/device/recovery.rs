//! What a power failure did to a drive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// By which way a drive finds its data again after a power failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryWay {
    /// It reads the spare area of every page.
    #[default]
    FullScan,
    /// It reads the summary of each full block, and the spare areas of the pages of others.
    Summaries,
    /// It reads the pages of the map, and only of those blocks more that may have what the map does not know.
    Directory,
}

/// What a power failure did to a drive, and how the drive found its data again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RecoveryReport {
    /// When power failed, in seconds of simulated time.
    pub at_s: f64,
    /// How long it took until requests were served again, in seconds of simulated time.
    pub duration_s: f64,
    /// Of that, how long capacitors kept the drive going to bring the protected write buffer to flash.
    pub save_s: f64,
    /// How it found its data.
    pub way: RecoveryWay,
    /// Spare areas, summaries and pages that were read.
    pub reads: u64,
    /// Of `reads`, spare areas of single pages.
    pub spare_area_reads: u64,
    /// Of `reads`, summaries of blocks.
    pub summary_reads: u64,
    /// Of `reads`, pages of the map.
    pub map_page_reads: u64,
    /// Blocks of which more than one spare area was read, the summary left out.
    pub scanned_blocks: u64,
    /// Pages that were programmed, where recovery had to write.
    pub programs: u64,
    /// Blocks that were erased.
    pub erases: u64,
    /// Requests that were under way when power failed, and ended with an error then.
    pub interrupted_requests: u64,
    /// Those of them that write.
    pub interrupted_writes: u64,
    /// Programs and erases that dies were amid when power failed.
    pub interrupted_operations: u64,
    /// Programs and erases that were waiting for their dies when power failed, and were never begun.
    pub dropped_operations: u64,
    /// Pages that cannot be read, since their program was interrupted.
    pub torn_pages: u64,
    /// Blocks that have to be erased again, since their erase was interrupted.
    pub torn_blocks: u64,
    /// Pages with writes that had ended, of which the write buffer lost some.
    pub lost_pages: u64,
    /// Pages of the write buffer that the flash lacked, and that its protection saved.
    pub saved_pages: u64,
    /// Host pages of which data were found on flash.
    pub found_pages: u64,
    /// Of these, pages that hold an earlier write than the last one that had been given to flash when power failed;
    /// without those that a protected write buffer saved.
    pub older_pages: u64,
    /// Of these, pages without data for the drive when power failed: trimmed ones that came back.
    pub returned_pages: u64,
    /// Host pages for which the drive had given data to flash when power failed, and found none there; without those
    /// that a protected write buffer saved.
    pub missing_pages: u64,
}
