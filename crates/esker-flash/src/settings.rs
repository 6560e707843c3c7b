//! What a configuration says of a drive, as it is written. [`crate::Ssd::new`] checks it and works out the rest.

use esker_core::{ByteRate, Bytes, Nanos, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Choice;

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
    /// Requests that the drive takes at once.
    pub queue_depth: u32,
    /// Rated erases per block.
    pub endurance_cycles: u64,
    /// The flash array.
    pub geometry: GeometrySettings,
    /// How long its operations take.
    pub timing: TimingSettings,
    /// The way to the host; left out, requests and data reach the drive in no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkSettings>,
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
        Self { victim: greedy(), threshold: five_percent() }
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
    /// One for the whole pool; successive blocks are taken from its dies in turn.
    Pool,
}
