//! Settings of wear.

use esker_core::Ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How blocks wear, and how wear is levelled (Agrawal 2008, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WearSettings {
    /// How uneven wear is levelled.
    pub levelling: WearLevelling,
    /// If the remaining life of a block is shorter than the mean by more than this share, cleaning spares it, with a
    /// probability that rises to 1.
    pub age_variance: Ratio,
    /// A block whose remaining life is below this share of the mean takes cold data.
    pub retirement_age: Ratio,
    /// With static levelling, the difference of the erase counts of two blocks above which their data are exchanged.
    pub spread: u32,
    /// What happens to a block that has reached its rated erases.
    pub end_of_life: EndOfLife,
    /// Share of blocks that are bad from the start, spread at random, with equal numbers in each pool.
    pub factory_bad_blocks: Ratio,
    /// Probability that an erase makes its block bad.
    pub erase_failures: Ratio,
    /// Erases of every block before the start.
    pub initial_erases: u32,
}

impl Default for WearSettings {
    fn default() -> Self {
        Self {
            levelling: WearLevelling::None,
            age_variance: Ratio::percent(20),
            retirement_age: Ratio::percent(85),
            spread: 20,
            end_of_life: EndOfLife::Count,
            factory_bad_blocks: Ratio::ZERO,
            erase_failures: Ratio::ZERO,
            initial_erases: 0,
        }
    }
}

/// How uneven wear is levelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WearLevelling {
    /// Not at all.
    #[default]
    None,
    /// Worn blocks are cleaned less often.
    RateLimit,
    /// Worn blocks are cleaned less often, and take cold data.
    Migration,
    /// A block that has been erased far more often than another takes the data of that one.
    Static,
}

impl WearLevelling {
    /// Returns true if worn blocks are cleaned less often.
    pub(crate) const fn limits_rate(self) -> bool {
        matches!(self, Self::RateLimit | Self::Migration)
    }

    /// Returns true if data are moved only to level wear. The rate limit moves nothing by itself.
    pub(crate) const fn moves_data(self) -> bool {
        matches!(self, Self::Migration | Self::Static)
    }
}

/// What happens to a block that has reached its rated erases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndOfLife {
    /// It is counted as expired, and used further.
    #[default]
    Count,
    /// It is taken out of use. A drive with too few blocks for the host's data takes no more writes.
    Retire,
}
