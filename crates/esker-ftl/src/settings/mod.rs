//! Settings of a translation layer.

mod wear;

use esker_core::Ratio;
use esker_nand::PoolScope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Choice;

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
    /// The translation layer: one of [`crate::FTLS`].
    pub ftl: Choice,
    /// How cleaning works.
    pub cleaning: CleaningRules,
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

/// How cleaning works.
#[derive(Clone, Debug, PartialEq)]
pub struct CleaningRules {
    /// Which block is cleaned: one of [`crate::VICTIM_POLICIES`].
    pub victim: Choice,
    /// A pool cleans when its free blocks fall below this share of its blocks.
    pub threshold: Ratio,
    /// Below this share of free blocks each page written to a pool also copies some pages of a victim.
    pub gradual: Option<Ratio>,
    /// Below this share of free blocks a pool is cleaned ahead of need, when idle.
    pub background: Option<Ratio>,
    /// Which pages go to separate blocks.
    pub separate: Separation,
    /// With [`Separation::HotCold`], a page is hot if it is among the last writes of its pool. How many writes count is
    /// one to two times this share of the pool's host pages.
    pub hot_window: Ratio,
}

impl Default for CleaningRules {
    fn default() -> Self {
        Self {
            victim: Choice::named("greedy"),
            // Agrawal 2008, section 4.2: "when less than 5 % free blocks remain".
            threshold: Ratio::percent(5),
            gradual: None,
            background: None,
            separate: Separation::None,
            hot_window: Ratio::percent(50),
        }
    }
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
    /// Recently written pages, from all others, whether the host writes them or cleaning copies them.
    HotCold,
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
