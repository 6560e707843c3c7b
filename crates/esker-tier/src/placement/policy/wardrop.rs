//! Balances response times: the Wardrop equilibrium, in which no extent would be answered faster elsewhere.

use esker_core::Nanos;
use esker_core::registry::ParameterSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::homes::Homes;
use super::measured_windows::{Difference, Windows};
use super::static_split::checked_weights;
use super::{
    DeviceView, Event, NewExtent, Placement, PlacementEntry, PlacementError, PolicySettings, Rewrite, Wishes, schema_of,
};
use crate::extent::DeviceIndex;

/// The entry of [`super::PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "wardrop",
    summary: "Shifts extents between devices until all of them answer equally fast, or only the fastest is used",
    source: "Wu 2011, section III.B: equation 3.1, with differences relative to the mean and told from noise",
    parameters: ParameterSource::Schema(schema_of::<WardropSettings>),
    capabilities: &[],
    build,
};

/// Settings of [`Wardrop`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct WardropSettings {
    /// Shares of the requests to begin with, one weight per device. With an empty list they are equal.
    weights: Vec<u32>,
    /// Each device gets a request about this often, so that it is noticed when it becomes the faster one; but never
    /// more than half of an equal share.
    #[schemars(extend("least" = "1ns"))]
    probe: Nanos,
    /// The least time from one move to the next.
    interval: Nanos,
}

impl Default for WardropSettings {
    fn default() -> Self {
        Self { weights: Vec::new(), probe: Nanos::from_millis(100), interval: Nanos::from_millis(1) }
    }
}

/// The first step goes this part of the way that equation 3.1 would go with an alpha of one over the mean.
const GAIN_FIRST: f64 = 0.5;
const GAIN_MIN: f64 = 0.02;
/// In one step a share becomes at most this many times larger or smaller.
const STEP_MAX: f64 = 3.0;
/// A measured share that differs by more than this from the one asked for differs for a reason: a device is full, or
/// some extents are far hotter than others.
const SHARE_NOISE: f64 = 0.25;

fn build(settings: &PolicySettings, devices: usize) -> Result<Box<dyn Placement>, PlacementError> {
    let WardropSettings { weights, probe, interval } = settings.options()?;
    if probe == Nanos::ZERO {
        return Err(PlacementError::new("probe", "`probe` is 0; a device gets a request once in some time"));
    }
    let weights = checked_weights(&weights, devices)?;
    Ok(Box::new(Wardrop::new(Homes::new(&weights, 1.0 / probe.as_secs_f64(), interval))))
}

/// Shifts the shares of [`Homes`] by equation 3.1, P = Q + alpha (R - R_i) Q for each device i, but only when the
/// difference of the response times is no noise, and when the last change of the shares has arrived in the requests.
#[derive(Debug)]
struct Wardrop {
    homes: Homes,
    windows: Windows,
    gain: f64,
    /// The slowest device at the last change of the shares.
    slowest: Option<usize>,
}

impl Wardrop {
    fn new(homes: Homes) -> Self {
        Self { windows: Windows::new(homes.shares.len()), homes, gain: GAIN_FIRST, slowest: None }
    }

    /// Changes the shares by what the devices took to answer, if that can be told from noise.
    fn balance(&mut self) {
        let least = self.homes.least * 1.01;
        let is_least = |device: usize| self.homes.shares[device] <= least;
        let Some(Difference { devices: found, slowest, certain }) = self.windows.difference(is_least) else { return };
        let mean: f64 = found.iter().map(|device| device.share * device.mean).sum();
        // Whoever was too slow and is now too fast was changed by too much.
        self.gain = match self.slowest.replace(slowest) {
            Some(before) if before != slowest => (self.gain / 2.0).max(GAIN_MIN),
            Some(_) => (self.gain * 1.2).min(1.0),
            None => self.gain,
        };
        // What may be noise moves nothing.
        let gain = self.gain * certain;
        for (share, device) in self.homes.shares.iter_mut().zip(&found) {
            let factor = 1.0 + gain * (mean - device.mean) / mean;
            // A share that was asked for is known better than the measured one, unless it could not be had.
            let had = if (device.share / *share - 1.0).abs() < SHARE_NOISE { *share } else { device.share };
            *share = had * factor.clamp(1.0 / STEP_MAX, STEP_MAX);
        }
        self.homes.keep_probing(self.windows.rate_per_s());
        self.windows.restart();
    }
}

impl Placement for Wardrop {
    fn place(&mut self, new: &NewExtent<'_>, _: &[DeviceView]) -> DeviceIndex {
        self.homes.home(new.extent)
    }

    fn targets(&self) -> Option<Vec<f64>> {
        Some(self.homes.shares.clone())
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        match *event {
            Event::Completed(done) if done.for_host && done.ok && done.kind.has_data() => {
                let astray = self.homes.move_home(now, &done, devices, wishes);
                if self.windows.record(now, done.device, done.at.saturating_sub(done.sent), astray) {
                    self.balance();
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

    /// A new device begins with its probes.
    fn devices_joined(&mut self, devices: usize) {
        self.homes.devices_joined(devices);
        self.windows = Windows::new(devices);
        (self.gain, self.slowest) = (GAIN_FIRST, None);
    }
}
