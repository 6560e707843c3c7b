//! How blocks wear.

use esker_core::Ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How blocks wear, and what is done about it. Agrawal 2008, section 5, has the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WearSettings {
    /// How uneven wear is countered.
    pub levelling: WearLevelling,
    /// A block is spared with rising probability once its remaining life is shorter than the mean one by more than this
    /// share.
    pub age_variance: Ratio,
    /// A block whose remaining life is below this share of the mean one takes cold data.
    pub retirement_age: Ratio,
    /// What happens to a block that has reached its rated erases.
    pub end_of_life: EndOfLife,
    /// Share of blocks that are bad from the start, at random, as many in each pool.
    pub factory_bad_blocks: Ratio,
    /// Probability that an erase makes its block bad.
    pub erase_failures: Ratio,
    /// Erases that every block has behind it at the start.
    pub initial_erases: u32,
}

impl Default for WearSettings {
    fn default() -> Self {
        Self {
            levelling: WearLevelling::None,
            age_variance: Ratio::percent(20),
            retirement_age: Ratio::percent(85),
            end_of_life: EndOfLife::Count,
            factory_bad_blocks: Ratio::ZERO,
            erase_failures: Ratio::ZERO,
            initial_erases: 0,
        }
    }
}

/// How uneven wear is countered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WearLevelling {
    /// Not at all.
    #[default]
    None,
    /// Worn blocks are cleaned less often.
    RateLimit,
    /// The same, and cold data go to worn blocks.
    Migration,
}

/// What happens to a block that has reached its rated erases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndOfLife {
    /// It is counted as expired, and used on.
    #[default]
    Count,
    /// It is given up. A drive with too few blocks left for the host's data takes no more writes.
    Retire,
}
