//! Write amplification after it has settled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of further passes over the workload's writes, trims and flushes, after the measured run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettledResults {
    /// How settling ended.
    pub outcome: Settling,
    /// Programs per page that the host wrote, in the last stretch of writing; absent if the host wrote nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub write_amplification: Option<f64>,
    /// Share of the programs in that stretch that cleaning caused.
    pub cleaning_share: f64,
    /// How often the writes were played, including the measured run.
    pub passes: u32,
    /// Host capacities written in total, including the measured run.
    pub capacities_written: f64,
}

/// Whether write amplification is one that lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Settling {
    /// Nothing is written, so there is nothing to settle.
    NothingWritten,
    /// The measured run alone writes the host capacity at least once, so its own write amplification counts.
    OnePassIsEnough,
    /// Write amplification has settled: two consecutive stretches differ little enough.
    Settled,
    /// Write amplification did not settle before the limits on repeating were reached.
    NotSettled,
    /// So little is written that the limits would be reached before the host capacity is written once. Nothing was
    /// repeated.
    TooFewWrites,
    /// A pass writes less than ten times what the write buffers hold. Pages of one pass would still be there when the
    /// next one overwrites them, and flash would see little of either. Nothing was repeated.
    MostlyBuffered,
}

impl Settling {
    /// Whether the write amplification may be taken for years of such writing.
    pub const fn may_be_judged(self) -> bool {
        matches!(self, Self::NothingWritten | Self::OnePassIsEnough | Self::Settled)
    }
}
