//! Shifts shares between devices until all devices answer equally fast.

use esker_core::Nanos;

use super::Completed;
use super::homes::Homes;
use super::measured_windows::{DeviceMeasurement, ResponseDifference, ResponseWindows};

/// The first step goes this share of the way that equation 3.1 would go with an alpha of 1 / (mean response time).
const GAIN_FIRST: f64 = 0.5;
const GAIN_MIN: f64 = 0.02;
/// From one step to the next, the gain changes by at most this factor.
const GAIN_CHANGE_MAX: f64 = 2.0;
/// In one step, a share changes by at most this factor.
const STEP_MAX: f64 = 3.0;
/// If a measured share differs by more than this from the share that was asked for, there is a reason: a device is
/// full, or some extents are far hotter than others.
const SHARE_NOISE: f64 = 0.25;

/// Shifts the shares of [`Homes`] by equation 3.1, P = Q + alpha (R - R_i) Q for each device i, but only if the
/// difference of response times is not noise, and if requests already follow the last change of the shares.
#[derive(Debug)]
pub(super) struct Balance {
    windows: ResponseWindows,
    gain: f64,
    last: Option<ShareStep>,
}

/// The last change of the shares.
#[derive(Debug)]
struct ShareStep {
    /// By how much each device was slower than the mean, as a share of the mean.
    slower: Vec<f64>,
    /// The gain of the step: the share of the way that it went.
    gain: f64,
}

impl ShareStep {
    /// Returns the gain that would have made all devices equally fast, if response times depend on the shares along a
    /// straight line (the secant method along the last step): the differences before the step are known, and so is what
    /// the step has left of them. `None` if the step has not made them smaller.
    fn right_gain(&self, now: &[DeviceMeasurement], slower: &[f64]) -> Option<f64> {
        let along = |one: &[f64]| -> f64 {
            let products = one.iter().zip(&self.slower).map(|(one, other)| one * other);
            now.iter().zip(products).map(|(device, product)| device.share * product).sum()
        };
        let left = along(slower) / along(&self.slower);
        (left < 1.0).then(|| self.gain / (1.0 - left))
    }
}

/// What the end of a request has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BalanceOutcome {
    /// Nothing yet.
    Nothing,
    /// The shares had to change.
    Changed,
    /// This many requests show no difference between the devices, or only one device is worth using.
    NoDifference(u64),
}

impl Balance {
    pub(super) fn new(devices: usize) -> Self {
        Self { windows: ResponseWindows::new(devices), gain: GAIN_FIRST, last: None }
    }

    /// Takes the end of a request; `astray` if some of its extents were not at home. Changes the shares if the devices'
    /// response times differ by more than noise.
    pub(super) fn record(&mut self, now: Nanos, done: &Completed, astray: bool, homes: &mut Homes) -> BalanceOutcome {
        if !self.windows.record(now, done.device, done.at.saturating_sub(done.sent), astray) {
            return BalanceOutcome::Nothing;
        }
        let least = homes.least * 1.01;
        let is_least = |device: usize| homes.shares[device] <= least;
        let requests = self.windows.requests();
        let Some(ResponseDifference { devices: found, certain }) = self.windows.difference(is_least) else {
            return BalanceOutcome::NoDifference(requests);
        };
        let mean: f64 = found.iter().map(|device| device.share * device.mean).sum();
        let slower: Vec<f64> = found.iter().map(|device| device.mean / mean - 1.0).collect();
        if let Some(last) = &self.last {
            let right = last.right_gain(&found, &slower).unwrap_or(f64::INFINITY);
            let right = right.clamp(self.gain / GAIN_CHANGE_MAX, self.gain * GAIN_CHANGE_MAX);
            self.gain = right.clamp(GAIN_MIN, 1.0);
        }
        // The uncertain part of the difference moves nothing.
        let gain = self.gain * certain;
        self.last = Some(ShareStep { slower, gain });
        let far_slower = homes.far_slower();
        let all_serve: f64 = found.iter().map(|device| device.rate).sum();
        for ((share, device), far_slower) in homes.shares.iter_mut().zip(&found).zip(far_slower) {
            let factor = 1.0 + gain * (mean - device.mean) / mean;
            // The share that was asked for is more accurate than the measured one, unless it could not be reached.
            let had = if (device.share / *share - 1.0).abs() < SHARE_NOISE { *share } else { device.share };
            *share = had * factor.clamp(1.0 / STEP_MAX, STEP_MAX);
            // Steps would take long to get there, and in equilibrium the device would get even less.
            let serves = device.rate / all_serve;
            if far_slower && serves < *share {
                *share = serves;
                // The next step cannot learn from this change.
                self.last = None;
            }
        }
        homes.keep_probing(self.windows.rate_per_s());
        self.windows.restart();
        BalanceOutcome::Changed
    }
}
