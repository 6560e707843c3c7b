//! What a translation layer has to know of a drive's settings.

mod wear;

use esker_core::Ratio;
use esker_nand::PoolScope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Choice;

pub use wear::{EndOfLife, WearLevelling, WearSettings};

/// Most streams that a drive keeps apart: as many as drives with placement hints do.
pub const STREAMS_MAX: u32 = 16;

/// What a translation layer has to know of a drive's settings. Errors name the keys of those.
#[derive(Clone, Debug, PartialEq)]
pub struct FtlSettings {
    /// Share of all raw pages that the host cannot address. Excludes `spare_factor`.
    pub over_provisioning: Option<Ratio>,
    /// Exact spare factor S of the literature. Excludes `over_provisioning`.
    pub spare_factor: Option<Ratio>,
    /// What applies where neither is given: the share of all raw pages that the drive is sold with.
    pub factory_over_provisioning: Option<Ratio>,
    /// The translation layer: one of [`crate::FTLS`].
    pub ftl: Choice,
    /// How space is made.
    pub cleaning: CleaningRules,
    /// Where the pages of one stripe unit may go.
    pub pool: PoolScope,
    /// How many blocks of a pool take writes at the same time.
    pub write_frontiers: WriteFrontiers,
    /// Whether host writes go to the frontier whose die has the least work before it, and not to the next in turn.
    pub least_loaded: bool,
    /// How many streams of the host are kept apart.
    pub streams: u32,
    /// Rated erases per block.
    pub endurance_cycles: u64,
    /// How blocks wear; without, erases are counted and nothing else.
    pub wear: Option<WearSettings>,
    /// Whether pages with too many bit errors are to be written again.
    pub refresh: bool,
    /// Whether power may fail: the layer then keeps what recovery needs.
    pub power_fails: bool,
}

/// How space is made.
#[derive(Clone, Debug, PartialEq)]
pub struct CleaningRules {
    /// Which block is cleaned: one of [`crate::VICTIM_POLICIES`].
    pub victim: Choice,
    /// A pool cleans when its free blocks fall below this share of its blocks.
    pub threshold: Ratio,
    /// Below this share of free blocks each page written to a pool also copies some pages of a victim.
    pub gradual: Option<Ratio>,
    /// Below this share of free blocks a pool is cleaned ahead of need, when the layer is asked to.
    pub background: Option<Ratio>,
    /// Which pages are kept apart in blocks of their own.
    pub separate: Separation,
    /// With [`Separation::HotCold`]: a page is hot if it was written among the last writes of its pool, one to two times
    /// as many as this share of the pool's host pages.
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
    /// Pages that were written lately, from all others, whoever writes or copies them.
    HotCold,
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
