//! Write amplification once it has settled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What further passes of the workload's writes, trims and flushes came to, after the measured run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettledResults {
    /// How it ended.
    pub outcome: Settling,
    /// Programs per page that the host wrote, over the last stretch of writing; absent where the host wrote nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub write_amplification: Option<f64>,
    /// Share of that stretch's programs that cleaning caused.
    pub cleaning_share: f64,
    /// How often the writes were played, the measured run included.
    pub passes: u32,
    /// Host capacities that were written in all of them, the measured run included.
    pub capacities_written: f64,
}

/// Whether write amplification is one that lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Settling {
    /// Nothing is written, so there is nothing to settle.
    NothingWritten,
    /// The measured run alone writes the host capacity at least once: its own amplification counts.
    OnePassIsEnough,
    /// Two stretches in a row differ little enough.
    Settled,
    /// The bounds on repeating were reached first.
    NotSettled,
    /// So little is written that the bounds would be reached before the host capacity is written once; nothing was
    /// repeated.
    TooFewWrites,
}

impl Settling {
    /// Whether the amplification may be taken as that of years of such writing.
    pub const fn may_be_judged(self) -> bool {
        matches!(self, Self::NothingWritten | Self::OnePassIsEnough | Self::Settled)
    }
}
