//! Results of a solid-state drive.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::zero::is_zero;
use super::{ArrayReport, EnergyReport, MappingCounts, MergeCounts, RecoveryReport, TimelineReport};
use crate::Counters;

/// Page operations by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageOperations {
    /// For host requests, including the reads of read-modify-write.
    pub host: u64,
    /// Copies of cleaning.
    pub cleaning: u64,
    /// For the map: translation pages, block summaries.
    pub mapping: u64,
    /// Copies of wear-levelling.
    pub wear_levelling: u64,
    /// Reads after a power failure, to find the data.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub recovery: u64,
    /// Pages written again because their data had too many bit errors when they were read.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub refresh: u64,
    /// Pages programmed again in another write mode that suits the host's reads of them.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub re_encoding: u64,
}

impl PageOperations {
    /// Operations of all causes.
    pub fn total(&self) -> u64 {
        let Self { host, cleaning, mapping, wear_levelling, recovery, refresh, re_encoding } = *self;
        host + cleaning + mapping + wear_levelling + recovery + refresh + re_encoding
    }
}

/// Counts of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageCounts {
    /// All pages of the array.
    pub raw: u64,
    /// Pages that can hold data (without block summaries).
    pub data: u64,
    /// Data pages of the blocks that are always kept free.
    pub reserve: u64,
    /// Pages that the host can address.
    pub host: u64,
}

/// Erases per block since the device was new, of the blocks that were not bad from the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EraseCounts {
    /// Mean over all blocks.
    pub mean: f64,
    /// Standard deviation over all blocks.
    pub stddev: f64,
    /// Erases of the most worn block.
    pub max: u64,
}

/// Results of a solid-state drive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlashReport {
    /// Page reads by cause.
    pub reads: PageOperations,
    /// Page programs by cause.
    pub programs: PageOperations,
    /// Pages that the host wrote: the divisor of `write_amplification`. Less than `programs.host` if a page of the host
    /// takes more than one program.
    pub host_page_writes: u64,
    /// Pages that the host's reads asked for.
    pub host_page_reads: u64,
    /// Pages among them without data: never written, or trimmed. Reading them takes no flash operation, so their
    /// response times are short.
    pub unwritten_page_reads: u64,
    /// Pages of the array.
    pub pages: PageCounts,
    /// Spare share of what the translation layer can use: 1 - host / (data - reserve).
    pub effective_spare_factor: f64,
    /// Block erases in the measured phase.
    pub erases: u64,
    /// Merges by kind.
    pub merges: MergeCounts,
    /// Full merges by the number of data blocks that took part in each (Kim 2009, figure 3.10).
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub full_merge_data_blocks: BTreeMap<u32, u64>,
    /// Log blocks erased without a merge, because all their pages had been superseded.
    pub dead_log_blocks: u64,
    /// Bytes of controller memory for the translation layer's tables: the memory that the drive would need, not that of
    /// the simulator.
    pub map_bytes: u64,
    /// How cleaning made space; absent if no block was cleaned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cleaning: Option<CleaningReport>,
    /// Energy used by the flash, if the drive's settings give the power and energy of operations.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub energy: Option<EnergyReport>,
    /// Work of each die and bus, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub array: Option<ArrayReport>,
    /// The first requests with their flash operations, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timeline: Option<TimelineReport>,
    /// Programs per page that the host wrote; absent if the host wrote nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub write_amplification: Option<f64>,
    /// Erases per block since the drive was new.
    pub erase_count: EraseCounts,
    /// Rated number of erases per block.
    pub endurance_cycles: u64,
    /// Years until the mean block reaches its rated erases, at the erase rate of the measured phase; absent if nothing
    /// was erased.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub projected_lifetime_years: Option<f64>,
    /// Wear levelling and bad blocks, if the drive's settings ask for them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wear: Option<WearReport>,
    /// Bit errors and their correction, if the drive models them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ecc: Option<EccReport>,
    /// Operations by write mode, if the drive has several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub write_modes: Option<WriteModesReport>,
    /// Counts of the write buffer, if the drive has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub write_buffer: Option<BufferReport>,
    /// Memory that the simulator uses per flash page.
    pub simulator_bytes_per_page: f64,
    /// How preconditioning ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub precondition: Option<PreconditionReport>,
    /// Counts of the map, if it is on flash.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mapping: Option<MappingCounts>,
    /// Recovery after the power failure, if there was one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub recovery: Option<RecoveryReport>,
    /// A power failure was asked for after the end of the run, so it never happened.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub power_failure_missed: bool,
}

/// Bit errors of a drive's flash, and their correction. Rates are shares of the bits of a page or codeword.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EccReport {
    /// Page reads by the decoding step that corrected them, the first step first. Does not include reads of spare areas
    /// alone.
    pub reads_by_step: Vec<u64>,
    /// Page reads that no step could correct, by cause. If a request waited for one, it ended in an error.
    pub uncorrectable_reads: PageOperations,
    /// Pages lost because they could not be read when they had to be moved or rewritten in part.
    pub lost_pages: u64,
    /// Reads of pages that were already lost.
    pub reads_of_lost_pages: u64,
    /// Mean raw bit-error rate of the pages that were read.
    pub mean_raw_bit_error_rate: f64,
    /// Highest raw bit-error rate of a page that was read.
    pub worst_raw_bit_error_rate: f64,
    /// Codewords that no step corrects, per bit of data read: the expected value for the raw bit-error rates of the
    /// reads.
    pub expected_uncorrectable_bit_error_rate: f64,
    /// Pages that no step corrected, per bit of data read.
    pub uncorrectable_bit_error_rate: f64,
}

/// Page operations by write mode: by how finely pages are programmed (Xia 2017, chapter 5).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteModesReport {
    /// Operations of each mode that the policy uses.
    pub modes: Vec<WriteModeReport>,
    /// Bytes of controller memory for the tags that hold the mode of each page: the memory that the drive would need,
    /// not that of the simulator.
    pub tag_bytes: u64,
    /// Bytes of controller memory for what the policy remembers of the host's accesses.
    pub history_bytes: u64,
}

/// Page operations of one write mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteModeReport {
    /// The mode: "normal", "low-cost", "medium-cost" or "high-cost".
    pub mode: String,
    /// Reads of pages that were programmed in this mode, by cause, without spare areas.
    pub reads: PageOperations,
    /// Programs in this mode, by cause.
    pub programs: PageOperations,
}

/// Wear levelling and bad blocks, since the drive was new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WearReport {
    /// Mean number of rated erases that a block has left.
    pub remaining_mean: f64,
    /// Standard deviation of that number over blocks.
    pub remaining_stddev: f64,
    /// Number of blocks by erases left, in tenths of the mean: blocks with less than a tenth of the mean (or none
    /// left), blocks from one tenth on, and so on; the last group has twice the mean or more.
    pub remaining_by_tenths: [u64; 21],
    /// Blocks that have reached their rated erases.
    pub expired_blocks: u64,
    /// Blocks that were bad from the start.
    pub factory_bad_blocks: u64,
    /// Blocks that were retired.
    pub retired_blocks: u64,
    /// Blocks whose cold data were moved to a worn block.
    pub migrated_blocks: u64,
    /// Victims that were not cleaned because of the rate limit.
    pub spared_victims: u64,
    /// Whether the drive takes no more writes because too many blocks have gone bad.
    pub read_only: bool,
}

/// Counts of a drive's write buffer, in pages of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BufferReport {
    /// Pages that the buffer holds.
    pub pages_max: u64,
    /// Pages that reads asked for.
    pub pages_read: u64,
    /// Pages read from the buffer.
    pub pages_read_from_buffer: u64,
    /// Pages that writes sent.
    pub pages_written: u64,
    /// Pages that replaced an earlier write of the same page in the buffer, before it reached flash.
    pub pages_overwritten_in_buffer: u64,
    /// Pages written from the buffer to flash.
    pub pages_to_flash: u64,
    /// Writes that waited for room in the buffer.
    pub writes_that_waited: u64,
}

impl Counters for BufferReport {
    fn each_with(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            pages_max: self.pages_max,
            pages_read: of(self.pages_read, other.pages_read),
            pages_read_from_buffer: of(self.pages_read_from_buffer, other.pages_read_from_buffer),
            pages_written: of(self.pages_written, other.pages_written),
            pages_overwritten_in_buffer: of(self.pages_overwritten_in_buffer, other.pages_overwritten_in_buffer),
            pages_to_flash: of(self.pages_to_flash, other.pages_to_flash),
            writes_that_waited: of(self.writes_that_waited, other.writes_that_waited),
        }
    }
}

/// How cleaning made space in the measured phase (Agrawal 2008, section 3.1 and table 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CleaningReport {
    /// Blocks that were cleaned.
    pub blocks: u64,
    /// Valid pages moved out of these blocks.
    pub pages_moved: u64,
    /// Of these, pages that were copied inside their plane, without crossing the bus twice; fractions of a page that
    /// spans several planes are left out.
    pub copy_backs: u64,
    /// Cleaning efficiency: superseded pages per page of the cleaned blocks, from 0 to 1.
    pub efficiency: f64,
    /// Mean time to clean a block: the time of its copies and its erase on dies and buses, without waiting.
    pub mean_block_us: f64,
}

/// How preconditioning ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreconditionReport {
    /// Host pages filled with data.
    pub filled_pages: u64,
    /// How the steady state was reached; absent if it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub origin: Option<SteadyOrigin>,
    /// Host pages overwritten at random afterwards.
    pub overwritten_pages: u64,
    /// Write amplification of the last stretch of overwriting.
    pub write_amplification: f64,
    /// Whether write amplification had settled: two stretches agree within 0.15 %. After a stationary start, whose
    /// stretches are short, within 0.15 % or what chance explains, and within 0.5 % of theory.
    pub steady: bool,
}

/// How preconditioning reached the steady state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SteadyOrigin {
    /// The drive was filled in order of address, and overwritten at random until its write amplification settled.
    Overwriting,
    /// Blocks were given the numbers of valid pages that they have in the steady state of uniformly random page
    /// writes; a short stretch of overwriting confirmed it. Wear is that of this stretch alone.
    StationaryDistribution,
}
