//! The `[run]` table.

use std::num::NonZeroU32;

use esker_core::{Nanos, Ratio, ReplaySettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use esker_core::Problem;

use super::error::ConfigError;

/// What `[run]` says of the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunTarget {
    /// The device that serves the workload.
    pub(crate) target: String,
}

/// How a workload is run on a system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSettings {
    /// Seed of everything random in the run; each device and the workload draw their own from it.
    #[serde(default = "one")]
    pub seed: u64,
    /// Requests that are served before measuring starts. Measuring starts once the last of them has ended; where that
    /// is after the next arrival, all later arrivals are moved back by the difference.
    #[serde(default)]
    pub warm_up_requests: u64,
    /// Length of the intervals of `series` in the results; none without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Nanos>,
    /// How many requests from the start of measuring on stand in the results of each drive one by one, with their flash
    /// operations.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub timeline: u32,
    /// Open loop: the run ends as saturated once a request has waited this long for the device to take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_limit: Option<Nanos>,
    /// Open loop: the run ends as saturated once this many requests wait.
    #[serde(default = "million")]
    pub backlog_limit: u64,
    /// After the measured run, the workload's writes, trims and flushes are played again, without waiting times, until
    /// write amplification has settled: a drive is not worn as one pass of a short trace tells. What comes of it is
    /// `settled` in the results; everything else there is of the measured run alone. `{}` takes every default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<SettleSettings>,
}

/// When write amplification has settled, and how long that is tried.
///
/// Writes are repeated in stretches: as many passes as write half the host capacity, one at least.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SettleSettings {
    /// It has settled once the host capacity was written and two stretches in a row differ by no more than this.
    pub within: Ratio,
    /// Requests under way while writes are repeated.
    pub queue_depth: NonZeroU32,
    /// No new stretch begins after so many requests...
    pub requests_max: u64,
    /// ... or so many host capacities.
    pub capacities_max: NonZeroU32,
}

impl Default for SettleSettings {
    fn default() -> Self {
        Self {
            within: Ratio::percent(2),
            queue_depth: NonZeroU32::new(32).expect("it is not zero"),
            requests_max: 3_000_000,
            capacities_max: NonZeroU32::new(4).expect("it is not zero"),
        }
    }
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            seed: one(),
            warm_up_requests: 0,
            series: None,
            timeline: 0,
            wait_limit: None,
            backlog_limit: million(),
            settle: None,
        }
    }
}

/// A timeline is for looking at; more requests would only make the results large.
const TIMELINE_MAX: u32 = 10_000;

impl RunSettings {
    /// Finds values that make no sense.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.timeline > TIMELINE_MAX {
            let message = format!("{} requests are more than {TIMELINE_MAX}", self.timeline);
            return Err(ConfigError::new("run.timeline", Problem::new(message)));
        }
        if self.series == Some(Nanos::ZERO) {
            return Err(ConfigError::new("run.series", Problem::new("an interval is longer than 0s")));
        }
        Ok(())
    }

    /// How requests are replayed, `queue_depth` of them under way at any time in a closed loop, from time zero on.
    /// Neither the warm-up nor the series is among it.
    pub fn replay_settings(&self, queue_depth: Option<NonZeroU32>) -> ReplaySettings {
        ReplaySettings {
            queue_depth: queue_depth.map(|depth| depth.get() as usize),
            wait_limit: self.wait_limit.unwrap_or(Nanos::NEVER),
            backlog_limit: usize::try_from(self.backlog_limit).unwrap_or(usize::MAX),
            ..ReplaySettings::OPEN
        }
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

const fn one() -> u64 {
    1
}

const fn million() -> u64 {
    1_000_000
}
