//! Compares the response times of devices over windows that grow until a difference between devices is no longer noise.

use std::collections::VecDeque;

use esker_core::Nanos;

use crate::extent::DeviceIndex;

/// Least number of requests of each device in a batch.
const BATCH_DEVICE_MIN: u64 = 8;
/// Least number of requests of all devices in a batch.
const BATCH_MIN: u64 = 256;
/// When a window has this many batches, they are merged in pairs.
const BATCHES_MAX: usize = 64;
/// A window without a difference ends after this many batches of the first size, so that a long past does not hide a
/// change.
const WINDOW_MAX: u64 = 1 << 14;
/// How many times its standard error a difference has to be to count: while few batches make the error itself
/// uncertain, in windows of medium length, and in long windows of at least `MANY` batches of the first size.
const SIGNIFICANT_OF_FEW: f64 = 8.0;
const SIGNIFICANT: f64 = 4.0;
const SIGNIFICANT_OF_MANY: f64 = 3.0;
const MANY: u64 = 1024;
/// A difference below this share of the mean response time does not matter.
const TOLERANCE: f64 = 0.01;
/// Batches in which more than this share of the requests go to extents that are not at home do not count.
const ASTRAY_MAX: f64 = 0.002;

/// The last `RECENT` batches of the first size show a change of response times if the mean of a device differs from its
/// earlier mean by more than `CHANGED` standard errors and by more than the share `CHANGED_BY`.
const RECENT: usize = 16;
const CHANGED: f64 = 8.0;
const CHANGED_BY: f64 = 0.5;

/// Number of requests of one device, the sum of their response times, and how long the device was busy; both times in
/// nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct DeviceSum {
    requests: u64,
    times: f64,
    busy: f64,
}

impl DeviceSum {
    fn mean(&self) -> f64 {
        self.times / self.requests as f64
    }

    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.times += other.times;
        self.busy += other.busy;
    }
}

/// Adds the sums of each device.
fn add_all(to: &mut [DeviceSum], from: &[DeviceSum]) {
    to.iter_mut().zip(from).for_each(|(sum, other)| sum.add(other));
}

/// The measurements of one device in a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceMeasurement {
    /// Its share of the requests.
    pub(super) share: f64,
    /// Its mean response time, in nanoseconds.
    pub(super) mean: f64,
    /// Requests per nanosecond that it completes while it is busy.
    pub(super) rate: f64,
    /// Variance of that mean.
    variance: f64,
}

/// A difference between devices that is not noise.
#[derive(Clone, Debug)]
pub(super) struct ResponseDifference {
    /// The measurements of each device.
    pub(super) devices: Vec<DeviceMeasurement>,
    /// The share of the largest difference that remains after one standard error is subtracted.
    pub(super) certain: f64,
}

/// Measures response times in batches of requests. Single requests wait for each other, so their response times
/// understate the noise; the means of long batches are nearly independent. Batches become longer as the window grows.
#[derive(Clone, Debug)]
pub(super) struct ResponseWindows {
    /// The batch that is being filled, and the complete ones: each has one sum per device.
    open: Vec<DeviceSum>,
    closed: Vec<Vec<DeviceSum>>,
    /// The last [`RECENT`] batches of the first size.
    recent: VecDeque<Vec<DeviceSum>>,
    /// Number of batches of the first size in each of `closed`; the last one may still be growing.
    per_batch: u64,
    /// Number of batches of the first size in the window, and the number at which the window is next examined. That
    /// number doubles each time, because each examination may mistake noise for a difference.
    batches: u64,
    look_at: u64,
    /// Number of requests of the open batch that went to extents which were not at home.
    astray: u64,
    /// Number of requests since the window began, including those of batches that did not count.
    seen: u64,
    since: Nanos,
    now: Nanos,
    /// Time at which the last request of each device ended.
    last_ends: Vec<Nanos>,
}

impl ResponseWindows {
    pub(super) fn new(devices: usize) -> Self {
        Self {
            open: vec![DeviceSum::default(); devices],
            closed: Vec::with_capacity(BATCHES_MAX),
            recent: VecDeque::with_capacity(RECENT),
            per_batch: 1,
            batches: 0,
            look_at: 8,
            astray: 0,
            seen: 0,
            since: Nanos::ZERO,
            now: Nanos::ZERO,
            last_ends: vec![Nanos::ZERO; devices],
        }
    }

    /// Forgets everything.
    pub(super) fn restart(&mut self) {
        let last_ends = std::mem::take(&mut self.last_ends);
        *self = Self { since: self.now, now: self.now, last_ends, ..Self::new(self.open.len()) };
    }

    /// Takes the end of a request. Returns true if the window should be examined now.
    pub(super) fn record(&mut self, now: Nanos, device: DeviceIndex, response: Nanos, astray: bool) -> bool {
        self.now = now;
        self.seen += 1;
        let device = usize::from(device.0);
        // Requests end roughly in the order in which they were sent.
        let since_last_end = now.saturating_sub(std::mem::replace(&mut self.last_ends[device], now));
        let busy = response.min(since_last_end).0 as f64;
        self.open[device].add(&DeviceSum { requests: 1, times: response.0 as f64, busy });
        self.astray += u64::from(astray);
        let total: u64 = self.open.iter().map(|sum| sum.requests).sum();
        if total < BATCH_MIN || self.open.iter().any(|sum| sum.requests < BATCH_DEVICE_MIN) {
            return false;
        }
        let astray = std::mem::take(&mut self.astray) as f64 / total as f64;
        if astray <= ASTRAY_MAX {
            self.close_batch();
            self.forget_the_past();
        }
        self.open.fill(DeviceSum::default());
        let look = astray <= ASTRAY_MAX && self.batches == self.look_at;
        self.look_at <<= u32::from(look);
        look
    }

    fn close_batch(&mut self) {
        let last_grows = self.batches < self.closed.len() as u64 * self.per_batch;
        match self.closed.last_mut().filter(|_| last_grows) {
            Some(last) => add_all(last, &self.open),
            None => self.closed.push(self.open.clone()),
        }
        self.batches += 1;
        if self.batches == BATCHES_MAX as u64 * self.per_batch {
            for pair in 0..BATCHES_MAX / 2 {
                let mut both = self.closed[2 * pair].clone();
                add_all(&mut both, &self.closed[2 * pair + 1]);
                self.closed[pair] = both;
            }
            self.closed.truncate(BATCHES_MAX / 2);
            self.per_batch *= 2;
        }
    }

    /// Starts a new window with the last batches if the response time of a device has changed, because a long past
    /// would hide that.
    fn forget_the_past(&mut self) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(self.open.clone());
        if self.recent.len() < RECENT || self.batches < 2 * RECENT as u64 {
            return;
        }
        let changed = (0..self.open.len()).any(|device| {
            let (past, now) = (measurement(&self.closed, device), measurement(&self.recent, device));
            let difference = (now.mean - past.mean).abs();
            difference > CHANGED * (past.variance + now.variance).sqrt() && difference > CHANGED_BY * past.mean
        });
        if changed {
            let recent = std::mem::take(&mut self.recent);
            self.restart();
            self.batches = recent.len() as u64;
            self.look_at = self.batches;
            self.closed.extend(recent);
        }
    }

    /// Returns the measurements if two devices differ by more than noise and by enough to matter. A device for which
    /// `is_least` is true has the least share already, so it makes no difference if it is the slower one.
    pub(super) fn difference(&mut self, is_least: impl Fn(usize) -> bool) -> Option<ResponseDifference> {
        let devices: Vec<DeviceMeasurement> =
            (0..self.open.len()).map(|device| measurement(&self.closed, device)).collect();
        let mean: f64 = devices.iter().map(|device| device.share * device.mean).sum();
        let by_mean = |one: &usize, other: &usize| devices[*one].mean.total_cmp(&devices[*other].mean);
        let slowest = (0..devices.len()).filter(|&device| !is_least(device)).max_by(by_mean)?;
        let (slow, fast) = (&devices[slowest], &devices[(0..devices.len()).min_by(by_mean)?]);
        let (difference, noise) = (slow.mean - fast.mean, (slow.variance + fast.variance).sqrt());
        let significant = match self.closed.len() < BATCHES_MAX / 2 {
            true => SIGNIFICANT_OF_FEW,
            false if self.batches < MANY => SIGNIFICANT,
            false => SIGNIFICANT_OF_MANY,
        };
        if difference > significant * noise && difference > TOLERANCE * mean {
            let certain = (difference - noise) / difference;
            return Some(ResponseDifference { devices, certain });
        }
        if self.batches >= WINDOW_MAX {
            self.restart();
        }
        None
    }

    /// Returns the number of requests in the window, of all devices.
    pub(super) fn requests(&self) -> u64 {
        self.closed.iter().flatten().map(|sum| sum.requests).sum()
    }

    /// Returns the host's requests per second over the window.
    pub(super) fn rate_per_s(&self) -> f64 {
        self.seen as f64 / self.now.saturating_sub(self.since).as_secs_f64().max(1e-9)
    }
}

/// Returns the measurements of a device in `batches`.
fn measurement<'a>(batches: impl IntoIterator<Item = &'a Vec<DeviceSum>> + Copy, device: usize) -> DeviceMeasurement {
    let (mut own, mut all, mut count) = (DeviceSum::default(), 0, 0.0);
    for batch in batches {
        own.add(&batch[device]);
        all += batch.iter().map(|sum| sum.requests).sum::<u64>();
        count += 1.0;
    }
    let mean = own.mean();
    let deviation = |batch: &Vec<DeviceSum>| {
        let weight = batch[device].requests as f64 * count / own.requests as f64;
        weight * (batch[device].mean() - mean).powi(2)
    };
    let variance = batches.into_iter().map(deviation).sum::<f64>() / (count * (count - 1.0));
    let rate = own.requests as f64 / own.busy.max(1.0);
    DeviceMeasurement { share: own.requests as f64 / all as f64, mean, rate, variance }
}

#[cfg(test)]
mod tests {
    use esker_core::Rng;

    use super::*;

    /// Returns after how many requests, of at most 500,000, a difference between two devices with these mean response
    /// times is reported. Each response time is half of the previous one plus half of an exponential one.
    fn told_after(means: [f64; 2], seed: u64) -> Option<u64> {
        let (mut windows, mut rng, mut last) = (ResponseWindows::new(2), Rng::new(seed), means);
        (1..500_000).find(|&request| {
            let device = rng.below(2) as usize;
            last[device] = (last[device] + rng.exponential(means[device])) / 2.0;
            let (device, response) = (DeviceIndex(device as u16), Nanos(last[device] as u64));
            windows.record(Nanos(request * 1000), device, response, false) && windows.difference(|_| false).is_some()
        })
    }

    #[test]
    fn a_difference_is_told_and_noise_is_not() {
        for seed in 0..10 {
            let large = told_after([1e6, 1.5e6], seed).unwrap();
            let small = told_after([1e6, 1.05e6], seed).unwrap();
            assert!(large < small && large < 20_000, "{large} {small}");
            assert_eq!(told_after([1e6, 1e6], seed), None);
        }
    }

    /// After half a million requests a device becomes three times slower. If the past were not forgotten, noticing that
    /// would take as many requests again.
    #[test]
    fn a_long_past_does_not_hide_a_change() {
        let (mut windows, mut rng) = (ResponseWindows::new(2), Rng::new(3));
        let mut told = None;
        for request in 0..600_000u64 {
            let device = rng.below(2) as u16;
            let mean = if device == 1 && request > 500_000 { 3e6 } else { 1e6 };
            let response = Nanos(rng.exponential(mean) as u64);
            let look = windows.record(Nanos(request * 1000), DeviceIndex(device), response, false);
            if look && windows.difference(|_| false).is_some() {
                told = told.or(Some(request));
            }
        }
        assert!((500_000..506_000).contains(&told.unwrap()), "{told:?}");
    }

    #[test]
    fn batches_with_extents_that_are_not_at_home_do_not_count() {
        let mut windows = ResponseWindows::new(2);
        let mut record =
            |request: u64, astray| windows.record(Nanos(request), DeviceIndex((request % 2) as u16), Nanos(1), astray);
        assert!((0..100_000).all(|request| !record(request, request % 50 == 0)));
        assert!((0..100_000).any(|request| record(request, request % 1000 == 0)));
    }

    /// A device that gets a request every 2 us and takes 1 us for it is busy half of the time; one with a queue is busy
    /// all the time.
    #[test]
    fn the_rate_is_that_of_a_busy_device() {
        for (response, rate) in [(1_000, 1e-3), (2_000, 5e-4), (50_000, 5e-4)] {
            let mut windows = ResponseWindows::new(1);
            for request in 1..100_000u64 {
                windows.record(Nanos(request * 2_000), DeviceIndex(0), Nanos(response), false);
            }
            let found = measurement(&windows.closed, 0).rate;
            assert!((found / rate - 1.0).abs() < 1e-3, "{response} ns: {found}");
        }
    }

    #[test]
    fn means_and_shares_are_those_of_all_batches() {
        let mut windows = ResponseWindows::new(2);
        for request in 0..300_000u64 {
            let device = DeviceIndex(u16::from(request % 4 == 0));
            windows.record(Nanos(request * 1_000), device, Nanos(1000 + request % 7), false);
        }
        assert!(windows.closed.len() < BATCHES_MAX && windows.batches > 1000);
        let found = measurement(&windows.closed, 1);
        assert!((found.share - 0.25).abs() < 1e-3 && (found.mean - 1003.0).abs() < 0.1, "{found:?}");
        assert!((windows.rate_per_s() / 1e6 - 1.0).abs() < 1e-3);
    }
}
