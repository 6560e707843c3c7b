//! Shifts shares until all devices answer equally fast.

use esker_core::Nanos;

use super::Completed;
use super::homes::Homes;
use super::measured_windows::{Difference, Found, Windows};

/// The first step goes this part of the way that equation 3.1 would go with an alpha of one over the mean.
const GAIN_FIRST: f64 = 0.5;
const GAIN_MIN: f64 = 0.02;
/// From one step to the next this part becomes at most so many times larger or smaller.
const GAIN_CHANGE_MAX: f64 = 2.0;
/// In one step a share becomes at most this many times larger or smaller.
const STEP_MAX: f64 = 3.0;
/// A measured share that differs by more than this from the one asked for differs for a reason: a device is full, or
/// some extents are far hotter than others.
const SHARE_NOISE: f64 = 0.25;

/// Shifts the shares of [`Homes`] by equation 3.1, P = Q + alpha (R - R_i) Q for each device i, but only when the
/// difference of the response times is no noise, and when the last change of the shares has arrived in the requests.
#[derive(Debug)]
pub(super) struct Balance {
    windows: Windows,
    gain: f64,
    last: Option<Step>,
}

/// The last change of the shares.
#[derive(Debug)]
struct Step {
    /// By how much each device was slower than the mean then, as a part of it.
    slower: Vec<f64>,
    /// The part of the way that was gone.
    gain: f64,
}

impl Step {
    /// The part of the way that would have made all devices alike, if response times follow the shares along a straight
    /// line (the secant method, along the last step): the differences of then are known, and what the step has left
    /// of them. `None` if it has left all of them, or more.
    fn right_gain(&self, now: &[Found], slower: &[f64]) -> Option<f64> {
        let along = |one: &[f64]| -> f64 {
            let products = one.iter().zip(&self.slower).map(|(one, other)| one * other);
            now.iter().zip(products).map(|(device, product)| device.share * product).sum()
        };
        let left = along(slower) / along(&self.slower);
        (left < 1.0).then(|| self.gain / (1.0 - left))
    }
}

/// What a request has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// Nothing yet.
    Nothing,
    /// That the shares had to change.
    Difference,
    /// That so many requests tell no difference between the devices, or that only one of them is worth its while.
    NoDifference(u64),
}

impl Balance {
    pub(super) fn new(devices: usize) -> Self {
        Self { windows: Windows::new(devices), gain: GAIN_FIRST, last: None }
    }

    /// Takes the end of a request, `astray` if its extents were not at home. Changes the shares by what the devices
    /// took to answer, if that can be told from noise.
    pub(super) fn record(&mut self, now: Nanos, done: &Completed, astray: bool, homes: &mut Homes) -> Shown {
        if !self.windows.record(now, done.device, done.at.saturating_sub(done.sent), astray) {
            return Shown::Nothing;
        }
        let least = homes.least * 1.01;
        let is_least = |device: usize| homes.shares[device] <= least;
        let requests = self.windows.requests();
        let Some(Difference { devices: found, certain }) = self.windows.difference(is_least) else {
            return Shown::NoDifference(requests);
        };
        let mean: f64 = found.iter().map(|device| device.share * device.mean).sum();
        let slower: Vec<f64> = found.iter().map(|device| device.mean / mean - 1.0).collect();
        if let Some(last) = &self.last {
            let right = last.right_gain(&found, &slower).unwrap_or(f64::INFINITY);
            let right = right.clamp(self.gain / GAIN_CHANGE_MAX, self.gain * GAIN_CHANGE_MAX);
            self.gain = right.clamp(GAIN_MIN, 1.0);
        }
        // What may be noise moves nothing.
        let gain = self.gain * certain;
        self.last = Some(Step { slower, gain });
        let far_slower = homes.far_slower();
        let all_serve: f64 = found.iter().map(|device| device.rate).sum();
        for ((share, device), far_slower) in homes.shares.iter_mut().zip(&found).zip(far_slower) {
            let factor = 1.0 + gain * (mean - device.mean) / mean;
            // A share that was asked for is known better than the measured one, unless it could not be had.
            let had = if (device.share / *share - 1.0).abs() < SHARE_NOISE { *share } else { device.share };
            *share = had * factor.clamp(1.0 / STEP_MAX, STEP_MAX);
            // Steps would take long to get there. In an equilibrium it would get less.
            let serves = device.rate / all_serve;
            if far_slower && serves < *share {
                *share = serves;
                // That was no step from which the next one could learn.
                self.last = None;
            }
        }
        homes.keep_probing(self.windows.rate_per_s());
        self.windows.restart();
        Shown::Difference
    }
}
