//! The `[run]` table.

use std::num::NonZeroU32;

use esker_config::ConfigError;
use esker_core::{Nanos, Ratio, ReplaySettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use esker_core::Problem;

use super::device::beyond_whole;
use super::events::RunEvent;

/// The target in `[run]`.
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
    /// Requests that are served before measuring starts. Measuring starts when the last of them has ended. If that is
    /// after the next arrival, all later arrivals are moved back by the difference.
    #[serde(default)]
    pub warm_up_requests: u64,
    /// Length of the intervals of `series` in the results. Without it, there is no series. A hybrid also records where
    /// its extents are, and which are hot (`placement_map`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Nanos>,
    /// Number of requests, from the start of measuring, that the results of each drive list one by one, with their
    /// flash operations; of disks, accesses with what the arm did for each.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub timeline: u32,
    /// Open loop: the run ends as saturated when a request has waited this long for the device to take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_limit: Option<Nanos>,
    /// Open loop: the run ends as saturated when this many requests wait; ten million at most, as each takes memory.
    #[serde(default = "million")]
    pub backlog_limit: u64,
    /// After the measured run, repeat the workload's writes, trims and flushes without idle times until write
    /// amplification has settled: one pass of a short trace says little about wear. The outcome is `settled` in the
    /// results; all other results are of the measured run only. `{}` takes every default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<SettleSettings>,
    /// Changes of devices in the middle of the run, see below.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<RunEvent>,
}

/// When write amplification counts as settled, and for how long to try.
///
/// Writes are repeated in stretches: as many passes as write half the host capacity, at least one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SettleSettings {
    /// Settled means: the host capacity was written, and two consecutive stretches differ by no more than this.
    pub within: Ratio,
    /// Requests under way at a time while writes are repeated.
    pub queue_depth: NonZeroU32,
    /// No new stretch begins after this many requests...
    pub requests_max: u64,
    /// ... or this many times the host capacity.
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
            events: Vec::new(),
        }
    }
}

/// A timeline is meant for looking at. More requests would only make the results large.
const TIMELINE_MAX: u32 = 10_000;
/// This many requests that wait, or are under way in a closed loop, take about a gigabyte.
pub(super) const WAITING_MAX: u64 = 10_000_000;

impl RunSettings {
    /// Checks for invalid values.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.timeline > TIMELINE_MAX {
            let message = format!("{} requests are more than {TIMELINE_MAX}", self.timeline);
            return Err(ConfigError::new("run.timeline", Problem::new(message)));
        }
        if self.backlog_limit > WAITING_MAX {
            let message = format!("{} requests that wait are more than {WAITING_MAX}", self.backlog_limit);
            return Err(ConfigError::new("run.backlog_limit", Problem::new(message)));
        }
        if let Some(settle) = self.settle.as_ref().filter(|settle| settle.within > Ratio::ONE) {
            return Err(ConfigError::new("run.settle.within", beyond_whole("within", settle.within)));
        }
        if self.series == Some(Nanos::ZERO) {
            return Err(ConfigError::new("run.series", Problem::new("an interval is longer than 0s")));
        }
        Ok(())
    }

    /// Returns the settings for replaying requests from time zero on, `queue_depth` of them under way at a time in a
    /// closed loop. Warm-up and series are not included.
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
