//! Balances response times: the Wardrop equilibrium, in which no extent would be answered faster elsewhere.

use esker_core::Nanos;
use esker_core::registry::ParameterSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measured_windows::{Difference, Windows};
use super::static_split::checked_weights;
use super::{
    Completed, DeviceView, Event, MoveOutcome, NewExtent, Placement, PlacementEntry, PlacementError, PolicySettings,
    Rewrite, WishedMove, Wishes, schema_of,
};
use crate::extent::{DeviceIndex, LogicalExtent};

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

/// Extents that are moved at a time.
const MOVES_MAX: usize = 4;
/// The first step goes this part of the way that equation 3.1 would go with an alpha of one over the mean.
const GAIN_FIRST: f64 = 0.5;
const GAIN_MIN: f64 = 0.02;
/// The least share at first, so that a device with the weight 0 is measured.
const LEAST_FIRST: f64 = 0.001;
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
    Ok(Box::new(Wardrop::new(&weights, 1.0 / probe.as_secs_f64(), interval)))
}

/// Gives each device a share of the extents, drawn by the extent's number: an extent belongs to the device with the
/// lowest score, and a device whose share grows takes extents from all others alike (rendezvous hashing). So the shares
/// are those of the requests, whatever is hot, and nothing has to be remembered of an extent. An extent that is not
/// where it belongs moves when it is used.
///
/// The shares follow equation 3.1, P = Q + alpha (R - R_i) Q for each device i, but only when the difference of the
/// response times is no noise, and when the last change of the shares has arrived in the requests.
#[derive(Debug)]
struct Wardrop {
    shares: Vec<f64>,
    /// The least of them, at the last change.
    least: f64,
    probe_per_s: f64,
    interval: Nanos,
    windows: Windows,
    gain: f64,
    /// The slowest device at the last change of the shares.
    slowest: Option<usize>,
    moving: Vec<LogicalExtent>,
    next_move: Nanos,
}

impl Wardrop {
    fn new(weights: &[u32], probe_per_s: f64, interval: Nanos) -> Self {
        let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
        let mut policy = Self {
            shares: weights.iter().map(|&weight| f64::from(weight) / total).collect(),
            least: 0.0,
            probe_per_s,
            interval,
            windows: Windows::new(weights.len()),
            gain: GAIN_FIRST,
            slowest: None,
            moving: Vec::new(),
            next_move: Nanos::ZERO,
        };
        // The rate of the host is not known yet.
        policy.give_least(LEAST_FIRST);
        policy
    }

    /// The device that `extent` belongs to.
    fn home(&self, extent: LogicalExtent) -> DeviceIndex {
        let score = |device: usize| -draw(extent, device).ln() / self.shares[device];
        let scores = (0..self.shares.len()).map(|device| (score(device), device));
        let (_, device) = scores.min_by(|one, other| one.0.total_cmp(&other.0)).expect("there are devices");
        DeviceIndex(device as u16)
    }

    /// Moves the extents of `done` that are not at home, as far as moves are allowed now. Returns whether any was not.
    fn move_home(&mut self, now: Nanos, done: &Completed, devices: &[DeviceView], wishes: &mut Wishes) -> bool {
        let mut astray = false;
        for extent in (done.first.0..done.first.0 + done.extents).map(LogicalExtent) {
            let home = self.home(extent);
            if home == done.device || !devices[home.0 as usize].has_room() {
                continue;
            }
            astray = true;
            if now >= self.next_move && self.moving.len() < MOVES_MAX && !self.moving.contains(&extent) {
                self.moving.push(extent);
                self.next_move = now + self.interval;
                wishes.moves.push(WishedMove::among_requests(extent, home));
            }
        }
        astray
    }

    /// Changes the shares by what the devices took to answer, if that can be told from noise.
    fn balance(&mut self) {
        let least = self.least * 1.01;
        let is_least = |device: usize| self.shares[device] <= least;
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
        for (share, device) in self.shares.iter_mut().zip(&found) {
            let factor = 1.0 + gain * (mean - device.mean) / mean;
            // A share that was asked for is known better than the measured one, unless it could not be had.
            let had = if (device.share / *share - 1.0).abs() < SHARE_NOISE { *share } else { device.share };
            *share = had * factor.clamp(1.0 / STEP_MAX, STEP_MAX);
        }
        self.keep_probing(self.windows.rate_per_s());
        self.windows.restart();
    }

    /// Gives each device its probes.
    fn keep_probing(&mut self, rate_per_s: f64) {
        self.give_least(self.probe_per_s / rate_per_s);
    }

    /// Makes the shares add up to one. None is less than `least`, or half of an equal share if that is less.
    fn give_least(&mut self, least: f64) {
        let least = least.min(0.5 / self.shares.len() as f64);
        self.least = least;
        let total: f64 = self.shares.iter().sum();
        self.shares.iter_mut().for_each(|share| *share = (*share / total).max(least));
        let total: f64 = self.shares.iter().sum();
        self.shares.iter_mut().for_each(|share| *share /= total);
    }
}

/// A number above 0 and up to 1, always the same for this extent and device.
fn draw(extent: LogicalExtent, device: usize) -> f64 {
    // SplitMix64.
    let mut bits = (u64::from(extent.0) << 16 | device as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^= bits >> 31;
    ((bits >> 11) + 1) as f64 / (1u64 << 53) as f64
}

impl Placement for Wardrop {
    fn place(&mut self, new: &NewExtent<'_>, _: &[DeviceView]) -> DeviceIndex {
        self.home(new.extent)
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        match *event {
            Event::Completed(done) if done.for_host && done.ok && done.kind.has_data() => {
                let astray = self.move_home(now, &done, devices, wishes);
                if self.windows.record(now, done.device, done.at.saturating_sub(done.sent), astray) {
                    self.balance();
                }
            }
            Event::Moved { extent, outcome } => {
                self.moving.retain(|&moving| moving != extent);
                if outcome == MoveOutcome::NoRoom {
                    // What is full now is not asked again at once.
                    self.next_move = now + Nanos(self.interval.0.saturating_mul(100));
                }
            }
            _ => {}
        }
    }

    fn observes(&self) -> bool {
        true
    }

    /// A write that replaces an extent takes it home.
    fn redirect(&mut self, write: &Rewrite<'_>, _: &[DeviceView]) -> Option<DeviceIndex> {
        Some(self.home(write.extent))
    }

    fn redirects(&self) -> bool {
        true
    }

    /// A new device begins with its probes.
    fn devices_joined(&mut self, devices: usize) {
        self.shares.resize(devices, 0.0);
        self.give_least(self.least.max(LEAST_FIRST));
        self.windows = Windows::new(devices);
        (self.gain, self.slowest) = (GAIN_FIRST, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn homes(shares: &[f64]) -> Vec<u16> {
        let mut policy = Wardrop::new(&vec![1; shares.len()], 10.0, Nanos::from_millis(1));
        policy.shares = shares.to_vec();
        (0..100_000).map(|extent| policy.home(LogicalExtent(extent)).0).collect()
    }

    #[test]
    fn extents_are_shared_out_by_the_shares() {
        let homes = homes(&[0.7, 0.25, 0.05]);
        let share = |device: u16| homes.iter().filter(|&&home| home == device).count() as f64 / 1e5;
        assert!((share(0) - 0.7).abs() < 0.005 && (share(2) - 0.05).abs() < 0.003, "{} {}", share(0), share(2));
    }

    #[test]
    fn a_device_without_weight_is_measured_all_the_same() {
        let policy = Wardrop::new(&[1, 0], 10.0, Nanos::from_millis(1));
        assert!((policy.shares[1] - LEAST_FIRST).abs() < 1e-5 && policy.shares.iter().all(|share| *share > 0.0));
    }

    /// A change of the shares moves no extent that need not move.
    #[test]
    fn a_share_that_grows_takes_extents_and_nothing_else_moves() {
        let (before, after) = (homes(&[0.5, 0.3, 0.2]), homes(&[0.6, 0.24, 0.16]));
        let moved: Vec<(&u16, &u16)> = before.iter().zip(&after).filter(|(one, other)| one != other).collect();
        assert!(moved.iter().all(|(_, to)| **to == 0));
        assert!((moved.len() as f64 / 1e5 - 0.1).abs() < 0.005, "{}", moved.len());
    }
}
