//! The families of designs beside each other: all-flash, tiers, caches and so on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The best design of a family, in the market of the verdict. What it costs, draws and lasts is in its entry of
/// `candidates`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FamilyAnswer {
    /// Name of the family: "all-flash", "all-disk", "volumes", "tier (hybrid)", "cache".
    pub family: String,
    /// Number of its designs that were offered.
    pub offered: u64,
    /// Number of those that were simulated.
    pub simulated: u64,
    /// Name of the cheapest candidate that keeps every budget. Where none does, that of the nearest one; null if none
    /// was simulated.
    pub best: Option<String>,
    /// Whether `best` keeps every budget that can be judged.
    pub keeps_budgets: bool,
    /// Why none keeps every budget: what the nearest one misses, or why none was simulated. Empty if one keeps all.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub because: String,
}
