//! Splits requests so that as many as possible end per second.

use esker_core::Nanos;
use esker_core::registry::ParameterSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::climb::Climb;
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
    summary: "Splits requests so that they are answered fastest on the whole: by a model, then by trying",
    source: "Ours: a closed queueing network with measured, load-dependent rates (Buzen 1973); then a search",
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

/// Requests that end between two looks at the model.
const WINDOW: u64 = 2048;
/// Looks at the model before better shares are searched by trying.
const LOOKS_MAX: u32 = 12;
/// Requests of a batch of the search.
const BATCH: u64 = 256;
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
    Ok(Box::new(Throughput { homes, rates: Rates::new(devices), window: Window::default(), looks: 0, climb: None }))
}

/// Measures how many requests each device ends per second when it has one, two, three... of them under way, and
/// computes the shares with which most would end. Equal response times ([`super::wardrop`]) are not that: with few
/// requests under way, a slow device makes them wait that could be answered elsewhere.
///
/// The model knows nothing of caches that are emptied in between, or of neighbours that are read together. So better
/// shares are searched from there on, by the mean response time of all requests: in a closed loop, it is least where
/// most requests end (Little).
#[derive(Debug)]
struct Throughput {
    homes: Homes,
    rates: Rates,
    window: Window,
    looks: u32,
    climb: Option<Climb>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    began: Nanos,
    requests: u64,
    astray: u64,
    /// Sum of response times, in nanoseconds.
    times: f64,
}

impl Window {
    /// Whether the shares are those that were asked for.
    fn is_settled(&self) -> bool {
        self.astray as f64 <= ASTRAY_MAX * self.requests as f64
    }

    fn per_s(&self, now: Nanos) -> f64 {
        self.requests as f64 / now.saturating_sub(self.began).as_secs_f64().max(1e-9)
    }
}

impl Throughput {
    /// Takes the end of a window.
    fn window_ended(&mut self, now: Nanos) {
        let window = std::mem::replace(&mut self.window, Window { began: now, ..Window::default() });
        let shares = match (&mut self.climb, window.is_settled()) {
            (_, false) => None,
            (Some(climb), true) => climb.batch(window.times / window.requests as f64),
            (None, true) => self.look_at_model(),
        };
        if let Some(shares) = shares {
            self.homes.shares = shares;
            self.homes.keep_probing(window.per_s(now));
        }
        if self.climb.is_none() {
            self.rates.forget(MEMORY);
        }
    }

    /// The shares that the model promises to be better. If there are none, trying begins.
    fn look_at_model(&mut self) -> Option<Vec<f64>> {
        self.looks += 1;
        let population = self.rates.population();
        let rates = self.rates.of_devices(population.ceil() as usize);
        let best = best_shares(&rates, population);
        let promise = throughput(&rates, &best, population) / throughput(&rates, &self.homes.shares, population);
        let is_better = promise > 1.0 + GAIN_MIN && self.looks < LOOKS_MAX;
        if !is_better {
            self.climb = Some(Climb::new(&self.homes.shares));
        }
        is_better.then_some(best)
    }
}

impl Placement for Throughput {
    fn place(&mut self, new: &NewExtent<'_>, _: &[DeviceView]) -> DeviceIndex {
        self.homes.home(new.extent)
    }

    fn targets(&self) -> Option<Vec<f64>> {
        Some(self.homes.shares.clone())
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
                    self.window.times += done.at.saturating_sub(done.sent).0 as f64;
                }
                if self.window.requests >= if self.climb.is_some() { BATCH } else { WINDOW } {
                    self.window_ended(now);
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
        self.rates = Rates::new(devices);
        (self.looks, self.climb) = (0, None);
    }
}
