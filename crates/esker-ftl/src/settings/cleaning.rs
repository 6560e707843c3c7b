//! Settings of cleaning.

use esker_core::{Nanos, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Choice;

/// Cleaning (garbage collection): when and how blocks are made free.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CleaningSettings {
    /// Policy that chooses which block is cleaned, by name ([`crate::VICTIM_POLICIES`]).
    pub victim: Choice,
    /// A pool cleans when its free blocks fall below this share of its blocks.
    pub threshold: Ratio,
    /// Gradual cleaning: below this share of free blocks, each page written to a pool also copies some pages of a
    /// victim, as many as it takes to clean the victim by the time that the space it gives is used up. So no single
    /// write waits for a whole block. Must be above `threshold`. If left out, writes clean only when they must, and
    /// then whole blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gradual: Option<Ratio>,
    /// Background cleaning: below this share of free blocks, a pool is cleaned while the drive has no requests. Must be
    /// above `threshold`. If left out, idle time is not used. The more blocks are kept free, the less spare space is
    /// left to make cleaning cheap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<Ratio>,
    /// How long the drive must have had no requests before background cleaning begins.
    // The drive measures this time. Layers only clean when it asks them to.
    #[schemars(extend("most" = "1d"))]
    #[serde(skip_serializing_if = "is_zero")]
    pub idle_before_background: Nanos,
    /// Which kinds of pages are kept in separate blocks. Each kind then has as many write frontiers as
    /// `write_frontiers` says. Only for layers that can `separate`.
    #[serde(skip_serializing_if = "is_together")]
    pub separate: Separation,
    /// With `separate` = "hot-cold": a page is hot if it was among the last N page writes of its pool, where N is one
    /// to two times this share of the pool's host pages.
    #[serde(skip_serializing_if = "is_default_window")]
    pub hot_window: Ratio,
}

impl Default for CleaningSettings {
    fn default() -> Self {
        Self {
            victim: Choice::named("greedy"),
            // Agrawal 2008, section 4.2: "when less than 5 % free blocks remain".
            threshold: Ratio::percent(5),
            gradual: None,
            background: None,
            idle_before_background: Nanos::ZERO,
            separate: Separation::None,
            hot_window: HOT_WINDOW,
        }
    }
}

/// The default of [`CleaningSettings::hot_window`].
const HOT_WINDOW: Ratio = Ratio::percent(50);

fn is_zero(time: &Nanos) -> bool {
    *time == Nanos::ZERO
}
fn is_together(separation: &Separation) -> bool {
    *separation == Separation::None
}
fn is_default_window(share: &Ratio) -> bool {
    *share == HOT_WINDOW
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
