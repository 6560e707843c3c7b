//! The state in which a design was judged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state in which a design was judged. What some designs do depends on the requests that they have served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum JudgedState {
    /// Any: it does the same at any time, so that all requests count.
    #[default]
    Any,
    /// Once its placement policy had settled. Until then, results describe a transition.
    Settled(SettledState),
    /// Once its cache was warm.
    Warm(WarmState),
}

impl JudgedState {
    /// Whether what the design does depends on the requests that it has served. Then the requests of the whole trace
    /// do not count, because the first ones found it in another state.
    pub fn depends_on_history(&self) -> bool {
        !matches!(self, Self::Any)
    }
}

/// How far a placement policy got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettledState {
    /// Extents that moved in the measured run.
    pub moved_extents: u64,
    /// Whether few enough of them moved in its last quarter; absent if it was not looked at, because the design misses
    /// another budget.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub settled: Option<PolicySettled>,
}

/// How much a policy still moved at the end of the measured run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicySettled {
    /// Extents that moved during the last quarter of the requests.
    pub late_moves: u64,
    /// The most that may, for the policy to count as settled.
    pub late_moves_max: u64,
    /// Whether no more did.
    pub settled: bool,
    /// Extents that moved during the third quarter.
    #[serde(default)]
    pub third_moves: u64,
    /// By how many extents more the flash held at the end of the last quarter than at its beginning.
    #[serde(default)]
    pub late_growth: i64,
    /// Whether the policy moved about as much in both quarters, and as much back to disks as to flash: then it goes on
    /// like that, and the design is judged with its moves.
    #[serde(default)]
    pub steady: bool,
}

/// How warm a cache was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WarmState {
    /// Share of the reads and writes of lines that the warm cache hit: in the last quarter before the busy stretch, and
    /// in that. Absent if it was not looked at, because the design cannot keep up.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hit_ratio: Option<f64>,
    /// Whether the cache was warm when it was judged; absent likewise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub warmed: Option<CacheWarmed>,
}

/// Whether a cache was warm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheWarmed {
    /// Requests in the last quarter before the busy stretch.
    pub late_requests: u64,
    /// Lines that came in for the first time in it.
    pub late_lines: u64,
    /// The most that may, for a cache with free room to count as warm.
    pub late_lines_max: u64,
    /// Whether all its room was taken before.
    pub full: bool,
    /// Whether it was warm: full, or hardly filling any more.
    pub warm: bool,
}
