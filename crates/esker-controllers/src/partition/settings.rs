//! Settings of a cache that is divided into parts.

use esker_cache::PARTS_MAX;
use esker_core::{Bytes, Nanos, Ratio};
use esker_tier::{CacheRole, ControllerFault, FlashCacheSettings, WriteHandling};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::allocation::AllocationCurve;
use crate::error::{PartitionError, SettingFault};

/// What the parts of a cache hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartitionBy {
    /// Two parts: clean lines, which reads bring in, and dirty ones, which were written.
    Access,
    /// A part for the lines of each volume: of each stream of the requests.
    Volume,
}

/// How a cache is divided into parts, each of which evicts its least recently used lines. The shares are fixed, or
/// chosen anew in each window of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartitionSettings {
    /// What the parts hold.
    pub by: PartitionBy,
    /// The fixed shares, which sum to 100%: of clean and of dirty lines, or of each volume in the order of its stream
    /// (default: they are chosen).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<Vec<Ratio>>,
    /// Bytes of the lines that the host reads and writes in a window (default: twice the flash).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Bytes>,
    /// A part that is chosen has at least so much of an equal share. Assumed.
    #[serde(default = "default_least")]
    pub least: Ratio,
    /// How the miss-ratio curves of volumes are computed.
    #[serde(default)]
    pub curve: AllocationCurve,
    /// Time of a read of the backing device, for a read that misses: it weighs reads against writes.
    #[serde(default = "default_time")]
    pub miss: Nanos,
    /// Time of a write of the backing device, for a dirty line that is copied back: it weighs writes against reads.
    #[serde(default = "default_time")]
    pub copy_back: Nanos,
}

const fn default_least() -> Ratio {
    Ratio::percent(10)
}

/// The time of Xia's table 5, as for `allocation`.
const fn default_time() -> Nanos {
    Nanos::from_millis(5)
}

/// Fixed shares are stored as millionths.
const MILLION: f64 = 1e6;

impl PartitionSettings {
    /// Settings for parts whose shares are chosen.
    pub fn by(by: PartitionBy) -> Self {
        Self {
            by,
            shares: None,
            window: None,
            least: default_least(),
            curve: AllocationCurve::default(),
            miss: default_time(),
            copy_back: default_time(),
        }
    }

    /// Returns the fixed shares as weights.
    pub(super) fn weights(&self) -> Option<Vec<u32>> {
        let weight = |share: &Ratio| (share.as_f64() * MILLION).round() as u32;
        self.shares.as_ref().map(|shares| shares.iter().map(weight).collect())
    }

    /// Checks the settings, and that they go with those of the cache, which `has_allocation` or not.
    pub(crate) fn check_with(&self, cache: &FlashCacheSettings, has_allocation: bool) -> Result<(), ControllerFault> {
        if cache.slots.is_log() && cache.owned.is_some() {
            // The cache itself refuses this, and says so better.
            return Ok(());
        }
        if cache.policy.kind != "lru" {
            return Err(PartitionError::Policy(cache.policy.kind.clone()).into());
        }
        if cache.slots.is_log() {
            return Err(PartitionError::Log(cache.slots).into());
        }
        if has_allocation {
            return Err(PartitionError::Allocation.into());
        }
        let is_write_back = cache.write == WriteHandling::WriteBack && cache.role == CacheRole::Unified;
        if self.by == PartitionBy::Access && !is_write_back {
            return Err(PartitionError::Access { role: cache.role, write: cache.write }.into());
        }
        Ok(self.check(cache.line).map_err(PartitionError::Setting)?)
    }

    /// Checks the settings for lines of `line` bytes.
    fn check(&self, line: Bytes) -> Result<(), SettingFault> {
        let fault = |keys, message: String| Err(SettingFault { keys, message });
        if let Some(window) = self.window.filter(|window| window.0 < 2 * line.0) {
            let message = format!("`window` is {window}, less than two lines of {line}");
            return fault(&["partition", "window"], message);
        }
        if self.least > Ratio::ONE {
            let message =
                format!("`least` is {} of an equal share; no more than 100% of it is there for all", self.least);
            return fault(&["partition", "least"], message);
        }
        if self.miss == Nanos::ZERO && self.copy_back == Nanos::ZERO {
            let message = "`miss` and `copy_back` are 0; with that nothing is worth a choice".to_string();
            return fault(&["partition", "miss"], message);
        }
        self.check_shares()
    }

    fn check_shares(&self) -> Result<(), SettingFault> {
        let Some(shares) = &self.shares else { return Ok(()) };
        let fault = |message: String| Err(SettingFault { keys: &["partition", "shares"], message });
        if self.by == PartitionBy::Access && shares.len() != 2 {
            let message =
                format!("`shares` has {}; `by = \"access\"` takes two, of clean and of dirty lines", shares.len());
            return fault(message);
        }
        if shares.len() > usize::from(PARTS_MAX) {
            return fault(format!("`shares` has {}; a cache has {PARTS_MAX} parts at most", shares.len()));
        }
        let sum: f64 = shares.iter().map(|share| share.as_f64()).sum();
        if (sum - 1.0).abs() > 0.001 {
            return fault(format!("`shares` sum to {:.1}%; they have to sum to 100%", sum * 100.0));
        }
        Ok(())
    }
}
