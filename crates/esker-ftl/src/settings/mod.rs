//! Settings of a translation layer.

mod cleaning;
mod wear;

use esker_core::Ratio;
use esker_nand::PoolScope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Choice;

pub use cleaning::{CleaningSettings, Separation};
pub use wear::{EndOfLife, WearLevelling, WearSettings};

/// The largest number of streams that a drive can separate, as in drives with placement hints.
pub const STREAMS_MAX: u32 = 16;

/// The settings of a drive that its translation layer uses. Errors name the drive's keys.
#[derive(Clone, Debug, PartialEq)]
pub struct FtlSettings {
    /// Share of all raw pages that the host cannot address. Excludes `spare_factor`.
    pub over_provisioning: Option<Ratio>,
    /// Exact spare factor S of the literature. Excludes `over_provisioning`.
    pub spare_factor: Option<Ratio>,
    /// Share of all raw pages that the drive is sold with, used if neither of the above is given.
    pub factory_over_provisioning: Option<Ratio>,
    /// The translation layer, by name ([`crate::FTLS`]).
    pub ftl: Choice,
    /// When and how blocks are made free.
    pub cleaning: CleaningSettings,
    /// Where the pages of a stripe unit may go.
    pub pool: PoolScope,
    /// How many blocks of a pool take writes at the same time.
    pub write_frontiers: WriteFrontiers,
    /// Whether host writes go to the frontier whose die has the least pending work, instead of the next in turn.
    pub least_loaded: bool,
    /// Number of the host's streams that are separate.
    pub streams: u32,
    /// Rated erases per block.
    pub endurance_cycles: u64,
    /// How blocks wear. Without these settings, erases are only counted.
    pub wear: Option<WearSettings>,
    /// Whether pages with too many bit errors are rewritten.
    pub refresh: bool,
    /// Whether pages are programmed again in another write mode.
    pub re_encode: bool,
    /// Whether power may fail. The layer then keeps what recovery needs.
    pub power_fails: bool,
}

/// How many blocks of a pool take writes at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteFrontiers {
    /// One per die, in turn. Cleaning copies within a die.
    #[default]
    Die,
    /// One per plane, in turn. Cleaning copies within a plane (Agrawal 2008, section 3.2: "an active block and cleaning
    /// state per plane").
    Plane,
    /// One for the whole pool. Its blocks are taken from the dies in turn.
    Pool,
}
