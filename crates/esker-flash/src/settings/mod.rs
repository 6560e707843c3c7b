//! What a configuration says of a drive, as it is written. [`crate::Ssd::new`] checks it and works out the rest.

mod array;
mod ecc;
mod energy;
mod layout;
mod wear;

use esker_core::{ByteRate, Bytes, Nanos, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Choice;

pub use array::{
    ArrayLevel, ArraySettings, CopyBack, Gang, GangControl, GangData, MultiPlane, Placement, Rewrite, Scheduling,
    Stripe, SuspendSettings,
};
pub use ecc::{DecodingStepSettings, EccCode, EccSettings, ErrorCount, RawErrorSettings};
pub use energy::EnergySettings;

pub use wear::{EndOfLife, WearLevelling, WearSettings};

/// A solid-state drive. Physical parameters have no default: a preset states them, or the configuration does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SsdSettings {
    /// Share of all raw pages that the host cannot address. Excludes `spare_factor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_provisioning: Option<Ratio>,
    /// Exact spare factor S of the literature: host pages = (1 - S) x (data pages - reserve), where data pages are raw
    /// pages without block summaries, and the reserve is the blocks that cleaning always keeps free. Excludes
    /// `over_provisioning`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_factor: Option<Ratio>,
    /// What applies where neither `over_provisioning` nor `spare_factor` is given: the share of all raw pages that the
    /// drive is sold with. Presets state this one, so that either of the others may be laid over a preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factory_over_provisioning: Option<Ratio>,
    /// Whether the last page of each block holds the block's map (Agrawal 2008, section 3.5). Its programs count as
    /// mapping, and in write amplification.
    #[serde(default)]
    pub block_summary: bool,
    /// Translation layer: one of [`crate::FTLS`].
    #[serde(default = "page_ftl")]
    pub ftl: Choice,
    /// How space is made.
    #[serde(default)]
    pub cleaning: CleaningSettings,
    /// Where the pages of one stripe unit may go.
    #[serde(default)]
    pub pool: PoolScope,
    /// How many blocks of a pool take writes at the same time.
    #[serde(default)]
    pub write_frontiers: WriteFrontiers,
    /// How many streams of the host are kept apart in blocks of their own, 1 (the default) to 16: each then has as many
    /// write frontiers as `write_frontiers` says, and writes of stream s go to those of number s modulo this. What
    /// cleaning copies stays with its stream, unless `cleaning.separate` = "copied" keeps it apart from all. For layer
    /// `page`.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub streams: u32,
    /// Requests that the drive takes at once.
    pub queue_depth: u32,
    /// Rated erases per block.
    pub endurance_cycles: u64,
    /// The flash array.
    pub geometry: GeometrySettings,
    /// How long its operations take.
    pub timing: TimingSettings,
    /// How the array is wired and driven.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub array: ArraySettings,
    /// The way to the host; left out, requests and data reach the drive in no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkSettings>,
    /// How blocks wear; left out, erases are counted and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wear: Option<WearSettings>,
    /// Bit errors and the code that corrects them; left out, reads never fail and take no decoding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc: Option<EccSettings>,
    /// Memory for data; left out, every write waits for the flash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_buffer: Option<WriteBufferSettings>,
    /// Has power fail once in the run; left out, it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_failure: Option<PowerFailureSettings>,
}

/// A power failure in the run, at one of these moments. New requests wait until the drive has found out where its data
/// are. A pool keeps at least a free block more than it has write frontiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerFailureSettings {
    /// After so many requests, those of the warm-up included. Requests under way end first; what the drive does on its
    /// own, for its write buffer or in idle time, is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_requests: Option<u64>,
    /// At this time of the run, the warm-up included, whatever is under way. Requests under way end with an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Nanos>,
    /// As soon as dies have ended so many flash operations of the run, whatever else is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_operations: Option<u64>,
}

impl PowerFailureSettings {
    /// After so many requests.
    pub fn after_requests(requests: u64) -> Self {
        Self { after_requests: Some(requests), ..Self::default() }
    }
    /// At this time of the run.
    pub fn at(time: Nanos) -> Self {
        Self { at: Some(time), ..Self::default() }
    }
    /// After so many flash operations.
    pub fn after_operations(operations: u64) -> Self {
        Self { after_operations: Some(operations), ..Self::default() }
    }
}

/// Plain arrays leave no trace in resolved configurations.
fn is_plain(array: &ArraySettings) -> bool {
    *array == ArraySettings::default()
}
fn one() -> u32 {
    1
}
/// Most streams that a drive keeps apart: as many as drives with placement hints do.
pub(crate) const STREAMS_MAX: u32 = 16;

fn is_one(count: &u32) -> bool {
    *count == 1
}
fn page_ftl() -> Choice {
    Choice::named("page")
}

/// The flash array, from the outside in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeometrySettings {
    /// Serial buses.
    pub channels: u32,
    /// Packages that share a channel's bus (a shared-bus gang).
    pub packages_per_channel: u32,
    /// Dies of a package: what works on its own.
    pub dies_per_package: u32,
    /// Planes of a die.
    pub planes_per_die: u32,
    /// Erase blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Data bytes of a page: a power of two, at least one sector.
    pub page_size: Bytes,
    /// How many consecutive pages of a block are read from the cells together. Above 1 a page here is the unit
    /// that is mapped and transferred, and this many of them make a page of the flash: units of one flash page
    /// that wait for a die one behind the other are sensed once. `timing.page_program` is then a unit's share of
    /// the program. Divides `pages_per_block`.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub units_per_page: u32,
    /// Bytes of a page beside its data (identification, error correction). They cross the bus with the data.
    pub spare_size: Bytes,
}

/// Times of the flash array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimingSettings {
    /// Cells to data register (data sheets: tR).
    pub page_read: Nanos,
    /// Data register to cells (data sheets: tPROG).
    pub page_program: Nanos,
    /// Erase of a block (data sheets: tBERS).
    pub block_erase: Nanos,
    /// Rate of a channel's bus. 25 ns per byte are "40MB/s".
    pub bus_rate: ByteRate,
}

/// The way to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSettings {
    /// Rate in each direction; the two directions do not disturb each other.
    pub rate: ByteRate,
    /// What each request spends in the controller before anything else. Requests pass it at the same time.
    pub overhead: Nanos,
}

/// The drive's memory for data. Writes of the same page meet in it, reads of what it holds need no flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteBufferSettings {
    /// How much data it holds, in whole pages.
    pub size: Bytes,
    /// Whether writes end in memory or in flash.
    #[serde(default)]
    pub mode: BufferMode,
    /// What a request takes that needs nothing but the memory.
    pub latency: Nanos,
    /// Writing to flash begins when more than this share of the memory holds what the flash lacks.
    #[serde(default = "three_quarters")]
    pub high_water: Ratio,
    /// It ends when no more than this share does. The pages that were used longest ago go first, at most one for each
    /// die of a pool at a time; while writes wait for room, as many more at a time as those still bring.
    #[serde(default = "half")]
    pub low_water: Ratio,
    /// Whether pages that were read from flash are kept for further reads.
    #[serde(default)]
    pub keep_reads: bool,
    /// Whether capacitors bring the content to flash when power fails, from where it is read back. Then flushes have
    /// nothing to do, and writes with forced unit access end in memory as others do.
    #[serde(default)]
    pub power_protected: bool,
}

fn three_quarters() -> Ratio {
    Ratio::percent(75)
}
fn half() -> Ratio {
    Ratio::percent(50)
}

/// When a write is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferMode {
    /// Once it is in memory. It waits for room where everything there is still to be written to flash.
    #[default]
    WriteBack,
    /// Once it is in flash. The memory keeps it for reads.
    WriteThrough,
}

/// How space is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CleaningSettings {
    /// Which block is cleaned: one of [`crate::VICTIM_POLICIES`].
    #[serde(default = "greedy")]
    pub victim: Choice,
    /// A pool cleans when its free blocks fall below this share of its blocks.
    #[serde(default = "five_percent")]
    pub threshold: Ratio,
    /// Below this share of free blocks each page written to a pool also copies some pages of a victim: as many as it
    /// takes to clean the victim by the time that the space it gives is used up. So no single write waits for a whole
    /// block. Above `threshold`; left out, writes clean only when they must, and then whole blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradual: Option<Ratio>,
    /// Below this share of free blocks a pool is cleaned while the drive has no requests. Above `threshold`; left out,
    /// idle time is not used. The more is kept free, the less spare space is left for cleaning to be cheap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Ratio>,
    /// How long the drive has had no requests before it begins with `background`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub idle_before_background: Nanos,
    /// Which pages are kept apart in blocks of their own: each kind then has as many write frontiers as
    /// `write_frontiers` says. For layers that can `separate`.
    #[serde(default, skip_serializing_if = "is_together")]
    pub separate: Separation,
    /// With `separate` = "hot-cold": a page is hot if it was written among the last writes of its pool, one to two
    /// times as many as this share of the pool's host pages.
    #[serde(default = "half", skip_serializing_if = "is_half")]
    pub hot_window: Ratio,
}

/// Which pages are kept apart in blocks of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Separation {
    /// None.
    #[default]
    None,
    /// Pages that cleaning copies, from those that the host writes.
    Copied,
    /// Pages that were written lately, from all others, whoever writes or copies them.
    HotCold,
}

fn is_together(separation: &Separation) -> bool {
    *separation == Separation::None
}
fn is_half(share: &Ratio) -> bool {
    *share == half()
}

fn is_zero(time: &Nanos) -> bool {
    *time == Nanos::ZERO
}

fn greedy() -> Choice {
    Choice::named("greedy")
}
/// Agrawal 2008, section 4.2: "when less than 5 % free blocks remain".
fn five_percent() -> Ratio {
    Ratio::percent(5)
}

impl Default for CleaningSettings {
    fn default() -> Self {
        Self {
            victim: greedy(),
            threshold: five_percent(),
            gradual: None,
            background: None,
            idle_before_background: Nanos::ZERO,
            separate: Separation::None,
            hot_window: half(),
        }
    }
}

/// What shares its free blocks and is cleaned as one (Agrawal 2008, section 3.1: allocation pool). Logical pages are
/// spread over the pools page by page and never change their pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolScope {
    /// Each plane.
    Plane,
    /// Each die.
    Die,
    /// Each package, as in Agrawal 2008, section 4.2.
    #[default]
    Package,
    /// Each gang: the packages of a channel.
    Gang,
    /// The whole array.
    Device,
}

/// How many blocks of a pool take writes at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteFrontiers {
    /// One per die, in turn; what is copied while cleaning stays on its die.
    #[default]
    Die,
    /// One per plane, in turn; what is copied while cleaning stays in its plane (Agrawal 2008, section 3.2: "an active
    /// block and cleaning state per plane").
    Plane,
    /// One for the whole pool; successive blocks are taken from its dies in turn.
    Pool,
}
