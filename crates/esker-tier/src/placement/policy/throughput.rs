//! Splits requests so that as many as possible end per second.

use esker_core::Nanos;
use esker_core::registry::ParameterSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::homes::Homes;
use super::rates::{Rates, best_shares, throughput};
use super::static_split::checked_weights;
use super::{
    DeviceView, Event, NewExtent, Placement, PlacementEntry, PlacementError, PolicySettings, Rewrite, Wishes, schema_of,
};
use crate::extent::DeviceIndex;

/// The entry of [`super::PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "throughput",
    summary: "Splits requests so that as many as possible end per second, by what the devices do at each queue depth",
    source: "Ours: a closed queueing network with load-dependent rates (Buzen 1973), measured in operation",
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

/// Requests between two looks at the shares, at least.
const WINDOW: u64 = 2048;
/// Shares change when that promises this part more requests per second.
const GAIN_MIN: f64 = 0.01;
/// Part of the requests of a window that may go to extents that still have to move, for it to count.
const ASTRAY_MAX: f64 = 0.02;
/// What the windows before count beside a new one.
const MEMORY: f64 = 0.8;

fn build(settings: &PolicySettings, devices: usize) -> Result<Box<dyn Placement>, PlacementError> {
    let ThroughputSettings { weights, probe, interval } = settings.options()?;
    if probe == Nanos::ZERO {
        return Err(PlacementError::new("probe", "`probe` is 0; a device gets a request once in some time"));
    }
    let weights = checked_weights(&weights, devices)?;
    let homes = Homes::new(&weights, 1.0 / probe.as_secs_f64(), interval);
    Ok(Box::new(Throughput { homes, rates: Rates::new(devices), window: Window::default() }))
}

/// Measures how many requests each device ends per second when it has one, two, three... of them under way, and
/// computes the shares with which most would end. Equal response times ([`super::wardrop`]) are not that: with few
/// requests under way, a slow device makes them wait that could be answered elsewhere.
#[derive(Debug)]
struct Throughput {
    homes: Homes,
    rates: Rates,
    window: Window,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    began: Nanos,
    requests: u64,
    astray: u64,
}

impl Throughput {
    /// Changes the shares, if that promises enough.
    fn improve(&mut self, now: Nanos) {
        let window = std::mem::replace(&mut self.window, Window { began: now, ..Window::default() });
        let population = self.rates.population();
        let settled = window.astray as f64 <= ASTRAY_MAX * window.requests as f64;
        let seconds = now.saturating_sub(window.began).as_secs_f64();
        if settled && seconds > 0.0 {
            let rates = self.rates.of_devices(population.ceil() as usize);
            let best = best_shares(&rates, population);
            let promise = throughput(&rates, &best, population) / throughput(&rates, &self.homes.shares, population);
            if promise > 1.0 + GAIN_MIN {
                self.homes.shares = best;
                self.homes.keep_probing(window.requests as f64 / seconds);
            }
        }
        self.rates.forget(MEMORY);
    }
}

impl Placement for Throughput {
    fn place(&mut self, new: &NewExtent<'_>, _: &[DeviceView]) -> DeviceIndex {
        self.homes.home(new.extent)
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        match *event {
            Event::Request { .. } => self.rates.time_passes(now, devices, None),
            Event::Completed(done) if done.for_host => {
                self.rates.time_passes(now, devices, Some(done.device));
                if done.ok && done.kind.has_data() {
                    let astray = self.homes.move_home(now, &done, devices, wishes);
                    self.window.requests += 1;
                    self.window.astray += u64::from(astray);
                }
                if self.window.requests >= WINDOW {
                    self.improve(now);
                }
            }
            Event::Moved { extent, outcome } => self.homes.moved(now, extent, outcome),
            _ => {}
        }
    }

    fn observes(&self) -> bool {
        true
    }

    /// A write that replaces an extent takes it home.
    fn redirect(&mut self, write: &Rewrite<'_>, _: &[DeviceView]) -> Option<DeviceIndex> {
        Some(self.homes.home(write.extent))
    }

    fn redirects(&self) -> bool {
        true
    }

    fn devices_joined(&mut self, devices: usize) {
        self.homes.devices_joined(devices);
        self.rates.resize(devices);
    }
}
