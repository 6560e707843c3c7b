//! Divides requests among devices so that as many as possible are completed per second.

use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::balance::{Balance, BalanceOutcome};
use super::climb::Climb;
use super::homes::Homes;
use super::rates::{Rates, best_shares};
use super::static_split::checked_weights;
use super::{
    Completed, DeviceView, Event, NewExtent, NewPolicy, Placement, PlacementEntry, PlacementError, Rewrite, Wishes,
    schema_of,
};
use crate::extent::{DeviceIndex, LogicalExtent};

/// The entry of [`super::PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "throughput",
    summary: "Splits requests so that they are answered fastest on the whole: balances first, then tries other shares",
    source: "Ours: the equilibrium, a closed queueing network with measured rates (Buzen 1973), and a search",
    parameters: ParameterSource::Schema(schema_of::<ThroughputSettings>),
    capabilities: &[],
    build,
};

/// Settings of [`Throughput`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ThroughputSettings {
    /// Shares of the requests to begin with, one weight per device. With an empty list they are equal.
    weights: Vec<u32>,
    /// Each device gets a request about this often, so that it is noticed when it becomes faster; but never more than
    /// half of an equal share.
    #[schemars(extend("least" = "1ns"))]
    probe: Nanos,
    /// The least time from one move to the next.
    interval: Nanos,
}

impl Default for ThroughputSettings {
    fn default() -> Self {
        Self { weights: Vec::new(), probe: Nanos::from_secs(1), interval: Nanos::from_millis(1) }
    }
}

/// Number of requests without a difference between the devices after which they count as balanced, and number of
/// requests after which balancing ends in any case.
const BALANCED: u64 = 1 << 14;
const BALANCING_MAX: u64 = 150_000;
/// Number of requests in a batch of the search.
const BATCH: u64 = 256;
/// A batch does not count if more than this share of its requests go to extents that still have to move.
const ASTRAY_MAX: f64 = 0.02;
/// By this factor, earlier measurements of rates lose weight each time this many requests have ended.
const MEMORY: f64 = 0.8;
const MEMORY_AFTER: u64 = 2048;

fn build(policy: &NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError> {
    let ThroughputSettings { weights, probe, interval } = policy.options()?;
    if probe == Nanos::ZERO {
        return Err(PlacementError::new("probe", "`probe` is 0; a device gets a request once in some time"));
    }
    let weights = checked_weights(&weights, policy.devices)?;
    let homes = Homes::new(&weights, 1.0 / probe.as_secs_f64(), interval);
    let (rates, window, stage) =
        (Rates::new(policy.devices), SearchWindow::default(), ThroughputStage::first(policy.devices));
    Ok(Box::new(Throughput { homes, rates, window, stage }))
}

/// Searches for the shares with which requests are completed fastest. It begins at equal response times
/// ([`super::wardrop`]), which are best with many requests under way; with few, a slow device keeps requests waiting
/// that could be answered elsewhere.
///
/// A model suggests better shares: it uses the measured rate of each device with one, two, three, ... requests under
/// way, and computes with which shares the most requests would be completed. The model knows nothing about caches that
/// empty in between, or about adjacent data that are read together. So its shares are only tried first, followed by
/// small steps, and all are judged by the mean response time of all requests: in a closed loop it is least where the
/// most requests are completed (Little's law).
#[derive(Debug)]
struct Throughput {
    homes: Homes,
    rates: Rates,
    window: SearchWindow,
    stage: ThroughputStage,
}

#[derive(Debug)]
enum ThroughputStage {
    /// Looks for equal response times.
    Balancing { balance: Balance, requests: u64 },
    /// Tries other shares.
    Searching(Climb),
}

impl ThroughputStage {
    fn first(devices: usize) -> Self {
        Self::Balancing { balance: Balance::new(devices), requests: 0 }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct SearchWindow {
    began: Nanos,
    requests: u64,
    astray: u64,
    /// Sum of response times, in nanoseconds.
    times: f64,
}

impl Throughput {
    /// Takes the end of a request of the host; `astray` if some of its extents were not at home.
    fn ended(&mut self, now: Nanos, done: &Completed, astray: bool) {
        match &mut self.stage {
            ThroughputStage::Balancing { balance, requests } => {
                *requests += 1;
                if requests.is_multiple_of(MEMORY_AFTER) {
                    self.rates.forget(MEMORY);
                }
                let shown = balance.record(now, done, astray, &mut self.homes);
                let balanced = matches!(shown, BalanceOutcome::NoDifference(requests) if requests >= BALANCED);
                if balanced || *requests >= BALANCING_MAX {
                    self.begin_search(now);
                }
            }
            ThroughputStage::Searching(climb) => {
                self.window.requests += 1;
                self.window.astray += u64::from(astray);
                self.window.times += done.at.saturating_sub(done.sent).0 as f64;
                if self.window.requests < BATCH {
                    return;
                }
                let window =
                    std::mem::replace(&mut self.window, SearchWindow { began: now, ..SearchWindow::default() });
                if window.astray as f64 > ASTRAY_MAX * window.requests as f64 {
                    return;
                }
                let shares = climb.batch(window.times / window.requests as f64);
                if climb.has_lost_its_way() {
                    self.stage = ThroughputStage::first(self.homes.shares.len());
                } else if let Some(shares) = shares {
                    self.homes.shares = shares;
                    let seconds = now.saturating_sub(window.began).as_secs_f64().max(1e-9);
                    self.homes.keep_probing(window.requests as f64 / seconds);
                }
            }
        }
    }

    fn begin_search(&mut self, now: Nanos) {
        let population = self.rates.population();
        let rates = self.rates.of_devices(population.ceil() as usize);
        let promising = best_shares(&rates, population);
        self.window = SearchWindow { began: now, ..SearchWindow::default() };
        self.stage = ThroughputStage::Searching(Climb::new(&self.homes.shares, promising));
    }
}

impl Placement for Throughput {
    fn place(&mut self, new: &NewExtent<'_>, _: &[DeviceView]) -> DeviceIndex {
        self.homes.home(new.extent)
    }

    fn targets(&self) -> Option<Vec<f64>> {
        Some(self.homes.shares.clone())
    }

    fn placed(&mut self, extent: LogicalExtent, _: Bytes, device: Option<DeviceIndex>) {
        self.homes.placed(extent, device);
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        match *event {
            Event::Request { .. } => self.rates.time_passes(now, devices, None),
            Event::Completed(done) if done.for_host => {
                self.rates.time_passes(now, devices, Some(done.device));
                if done.ok && done.kind.has_data() {
                    let astray = self.homes.move_home(now, &done, devices, wishes);
                    self.ended(now, &done, astray);
                }
            }
            Event::Completed(done) => self.homes.copy_ended(&done),
            Event::Moved { extent, outcome } => self.homes.moved(now, extent, outcome),
            _ => {}
        }
    }

    fn observes(&self) -> bool {
        true
    }

    /// A write that replaces an extent moves it home.
    fn redirect(&mut self, write: &Rewrite<'_>, _: &[DeviceView]) -> Option<DeviceIndex> {
        Some(self.homes.home(write.extent))
    }

    fn redirects(&self) -> bool {
        true
    }

    fn devices_joined(&mut self, devices: usize) {
        self.homes.devices_joined(devices);
        (self.rates, self.stage) = (Rates::new(devices), ThroughputStage::first(devices));
    }
}
