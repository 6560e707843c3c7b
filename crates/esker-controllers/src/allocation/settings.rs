//! Settings of a cache that chooses its own size.

use esker_core::{Bytes, Nanos, Ratio};
use esker_curves::CurveMethod;
use esker_tier::{CacheRole, ControllerFault, FlashCacheSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CopyingBack, PERCENT};
use crate::error::{AllocationError, SettingFault};

/// How a cache chooses how much of the flash its lines take. Times and blocks are those of Xia's table 5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AllocationSettings {
    /// Bytes that the host writes in a window (default: twice the flash).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Bytes>,
    /// How it is found out what cleaning costs with each size.
    pub training: AllocationTraining,
    /// Bytes that the host writes in each of the eight steps of a training on the flash, the second half of which is
    /// measured (default: half of the flash).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub training_step: Option<Bytes>,
    /// Share of the flash that is left to cleaning in the first window.
    pub first: Ratio,
    /// How the miss-ratio curve of a window is computed.
    pub curve: AllocationCurve,
    /// The cache is trained on the flash again when the curve of a window differs by so much from the one after the
    /// last training: the share of the largest cache's hits, in the mean of all sizes. Assumed.
    pub retrain: Ratio,
    /// Time to read a line from the flash.
    pub read: Nanos,
    /// Time to program a line.
    pub program: Nanos,
    /// Time to erase a block.
    pub erase: Nanos,
    /// Bytes of an erase block.
    pub block: Bytes,
    /// Time of an access of the backing device.
    pub miss: Nanos,
    /// When a line that leaves is copied back, as far as expected latencies go.
    pub copying_back: CopyingBack,
    /// How long the flash has to live. Without it, latency alone decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Lifetime>,
}

/// How the miss-ratio curve of a window is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllocationCurve {
    /// SHARDS, at the rate with which a full flash has 32,768 lines in the sample, or with all lines if the flash has
    /// fewer.
    #[default]
    Sampled,
    /// AET, from the times between uses of a line. Takes about 30 bytes for each line that is used.
    Aet,
    /// Exact. Takes about 30 bytes for each line that is used.
    Exact,
}

/// How it is found out what cleaning costs with each size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllocationTraining {
    /// A sample of the lines goes through eight small caches, each on a small flash of its own. Meanwhile the cache
    /// itself serves the host with one size.
    #[default]
    InMiniature,
    /// The cache runs with eight sizes in turn, after the first window and whenever the curve has changed (Xia 2017,
    /// section 4.4).
    OnFlash,
}

/// Number of lines of a full flash in the sample of its curve. Assumed.
const SAMPLED: f64 = 32_768.0;

impl AllocationCurve {
    /// The method for a cache on a flash of `slots` lines.
    pub(crate) fn method(self, slots: u32) -> CurveMethod {
        match self {
            // A sample of fixed size would have to rescale all distances whenever its rate falls.
            Self::Sampled => CurveMethod::Shards { rate: Ratio::from_f64((SAMPLED / f64::from(slots)).min(1.0)) },
            Self::Aet => CurveMethod::Aet,
            Self::Exact => CurveMethod::Exact,
        }
    }
}

/// How long the flash has to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lifetime {
    /// Years of 365 days.
    pub years: u32,
    /// Erases that a block endures.
    pub cycles: u32,
}

impl Default for AllocationSettings {
    fn default() -> Self {
        Self {
            window: None,
            training: AllocationTraining::default(),
            training_step: None,
            first: Ratio::percent(35),
            curve: AllocationCurve::default(),
            retrain: Ratio::percent(10),
            read: Nanos::from_micros(25),
            program: Nanos::from_micros(200),
            erase: Nanos::from_micros(1500),
            block: Bytes::kib(256),
            miss: Nanos::from_millis(5),
            copying_back: CopyingBack::default(),
            lifetime: None,
        }
    }
}

impl AllocationSettings {
    /// Checks the settings, and that they go with those of the cache.
    pub(crate) fn check_with(&self, cache: &FlashCacheSettings) -> Result<(), ControllerFault> {
        if cache.slots.is_log() {
            return Err(AllocationError::Log(cache.slots).into());
        }
        if !cache.trim_freed {
            return Err(AllocationError::WithoutTrims.into());
        }
        if cache.role == CacheRole::Read {
            return Err(AllocationError::Reads.into());
        }
        self.check(cache.line).map_err(AllocationError::Setting)?;
        if cache.owned.is_some() {
            return Err(AllocationError::OwnedFlash.into());
        }
        Ok(())
    }

    /// Checks the settings for lines of `line` bytes.
    fn check(&self, line: Bytes) -> Result<(), SettingFault> {
        let fault = |keys, message: String| Err(SettingFault { keys, message });
        let bytes: [(&'static [&'static str], Option<Bytes>); 2] =
            [(&["allocation", "window"], self.window), (&["allocation", "training_step"], self.training_step)];
        for (keys, bytes) in bytes {
            if let Some(bytes) = bytes.filter(|bytes| bytes.0 < 2 * line.0) {
                return fault(keys, format!("`{}` is {bytes}, less than two lines of {line}", keys[1]));
            }
        }
        if self.block.0 < line.0 || !self.block.0.is_multiple_of(line.0) {
            let message = format!("`block` is {}; it has to be whole lines of {line}, one at least", self.block);
            return fault(&["allocation", "block"], message);
        }
        let shares = f64::from(*PERCENT.start()) / 100.0..=f64::from(*PERCENT.end()) / 100.0;
        if !shares.contains(&self.first.as_f64()) {
            let (least, most) = (PERCENT.start(), PERCENT.end());
            let message = format!("`first` is {}; it can be {least}% to {most}%", self.first);
            return fault(&["allocation", "first"], message);
        }
        if let Some(Lifetime { years, cycles }) = self.lifetime
            && (years == 0 || cycles == 0)
        {
            let message = format!("`lifetime` is {years} years with {cycles} erases of a block; both have to be more");
            return fault(&["allocation", "lifetime"], message);
        }
        if self.program == Nanos::ZERO || self.miss == Nanos::ZERO {
            let key: &[&str] =
                if self.miss == Nanos::ZERO { &["allocation", "miss"] } else { &["allocation", "program"] };
            return fault(key, format!("`{}` is 0; with that nothing is worth a choice", key[1]));
        }
        Ok(())
    }
}
