//! Measures the rate of each device at each number of requests under way, and computes the throughput of a closed
//! queueing network from that.

use esker_core::Nanos;

use super::DeviceView;
use crate::extent::DeviceIndex;

/// Larger numbers of requests under way are counted as this many.
const DEPTH_MAX: usize = 256;

/// Number of completed requests from which a rate is known.
const ENDS_MIN: f64 = 64.0;

/// Time spent, and requests completed, by one device at each number of requests under way.
#[derive(Clone, Debug)]
struct DepthCounts {
    seconds: Vec<f64>,
    ends: Vec<f64>,
}

/// Measured rates of all devices.
#[derive(Debug)]
pub(super) struct Rates {
    devices: Vec<DepthCounts>,
    last: Nanos,
    /// Integral of the number of requests under way over time.
    population_seconds: f64,
    busy_seconds: f64,
}

impl Rates {
    pub(super) fn new(devices: usize) -> Self {
        let mut rates = Self { devices: Vec::new(), last: Nanos::ZERO, population_seconds: 0.0, busy_seconds: 0.0 };
        rates.resize(devices);
        rates
    }

    pub(super) fn resize(&mut self, devices: usize) {
        let none = DepthCounts { seconds: vec![0.0; DEPTH_MAX + 1], ends: vec![0.0; DEPTH_MAX + 1] };
        self.devices.resize(devices, none);
    }

    /// Counts the time since the last event, with the requests under way that `views` show. If `ended` is given, a
    /// request of that device ends now.
    pub(super) fn time_passes(&mut self, now: Nanos, views: &[DeviceView], ended: Option<DeviceIndex>) {
        let seconds = now.saturating_sub(self.last).as_secs_f64();
        self.last = now;
        let mut population = 0;
        for (depths, view) in self.devices.iter_mut().zip(views) {
            depths.seconds[(view.under_way as usize).min(DEPTH_MAX)] += seconds;
            population += view.under_way;
        }
        if population > 0 {
            self.population_seconds += f64::from(population) * seconds;
            self.busy_seconds += seconds;
        }
        if let Some(device) = ended {
            let device = usize::from(device.0);
            self.devices[device].ends[(views[device].under_way as usize).min(DEPTH_MAX)] += 1.0;
        }
    }

    /// Multiplies all counts by `memory`, so that they count less.
    pub(super) fn forget(&mut self, memory: f64) {
        for depths in &mut self.devices {
            depths.seconds.iter_mut().chain(&mut depths.ends).for_each(|sum| *sum *= memory);
        }
        self.population_seconds *= memory;
        self.busy_seconds *= memory;
    }

    /// Returns the mean number of requests under way while there are any; at least 1.
    pub(super) fn population(&self) -> f64 {
        if self.busy_seconds == 0.0 { 1.0 } else { (self.population_seconds / self.busy_seconds).clamp(1.0, 256.0) }
    }

    /// Returns for each device its requests per second with 1, 2, ... `most` under way. Depths that were seen too
    /// seldom are extrapolated: each further request adds as much as the last known one did, or if only one rate is
    /// known, in proportion. So a device is tried rather than given up.
    pub(super) fn of_devices(&self, most: usize) -> Vec<Vec<f64>> {
        self.devices.iter().map(|depths| depths.rates(most)).collect()
    }
}

/// A known rate at a number of requests under way, and its standard deviation.
#[derive(Clone, Copy, Debug)]
struct KnownRate {
    depth: f64,
    rate: f64,
    error: f64,
}

impl DepthCounts {
    fn rates(&self, most: usize) -> Vec<f64> {
        let points = self.known();
        (1..=most).map(|depth| rate_at(&points, depth as f64).max(f64::MIN_POSITIVE)).collect()
    }

    /// Returns the rates at 1, 2, 3 to 4, 5 to 8, ... requests under way, where they were seen often enough. Single
    /// depths would be too noisy.
    fn known(&self) -> Vec<KnownRate> {
        let mut points = Vec::new();
        let (mut first, mut last) = (1, 1);
        while first <= DEPTH_MAX {
            let depths = first..=last.min(DEPTH_MAX);
            let seconds: f64 = self.seconds[depths.clone()].iter().sum();
            let ends: f64 = self.ends[depths.clone()].iter().sum();
            if ends >= ENDS_MIN && seconds > 0.0 {
                let depth = depths.map(|depth| depth as f64 * self.seconds[depth]).sum::<f64>() / seconds;
                points.push(KnownRate { depth, rate: ends / seconds, error: ends.sqrt() / seconds });
            }
            (first, last) = (last + 1, last * 2);
        }
        points
    }
}

/// Returns the rate at `depth`, from known rates at rising depths.
fn rate_at(points: &[KnownRate], depth: f64) -> f64 {
    const ORIGIN: KnownRate = KnownRate { depth: 0.0, rate: 0.0, error: 0.0 };
    let after = points.partition_point(|known| known.depth < depth);
    let before = after.checked_sub(1).map(|index| points[index]);
    let rise = |from: KnownRate, to: KnownRate| (to.rate - from.rate) / (to.depth - from.depth);
    match (before, points.get(after)) {
        (None, None) => 1.0,
        (from, Some(&to)) => {
            let from = from.unwrap_or(ORIGIN);
            from.rate + rise(from, to) * (depth - from.depth)
        }
        // The rate goes on rising by as much as is certain in spite of noise. It never falls: a device that thrashes
        // shows that when it gets there.
        (Some(last), None) => {
            let earlier = after.checked_sub(2).map_or(ORIGIN, |index| points[index]);
            let noise = 2.0 * earlier.error.hypot(last.error) / (last.depth - earlier.depth);
            last.rate + (rise(earlier, last) - noise).max(0.0) * (depth - last.depth)
        }
    }
}

/// Returns the requests per second of a closed network with `population` requests, each of which goes to a device by
/// `shares`: G(n - 1) / G(n) of Buzen's convolution, interpolated between whole numbers.
pub(super) fn throughput(rates: &[Vec<f64>], shares: &[f64], population: f64) -> f64 {
    let most = population.ceil() as usize;
    // All rates are scaled by the largest one, so that nothing overflows.
    let scale = rates.iter().flatten().fold(0.0, |largest: f64, &rate| largest.max(rate));
    let mut sums = vec![0.0; most + 1];
    sums[0] = 1.0;
    for (rates, share) in rates.iter().zip(shares) {
        let mut weights = vec![1.0; most + 1];
        for depth in 1..=most {
            weights[depth] = weights[depth - 1] * share * scale / rates[depth - 1];
        }
        sums = (0..=most).map(|total| (0..=total).map(|own| sums[total - own] * weights[own]).sum()).collect();
    }
    let at = |population: usize| sums[population - 1] / sums[population] * scale;
    let below = population.floor() as usize;
    let part = population - below as f64;
    if part == 0.0 { at(below) } else { at(below) * (1.0 - part) + at(below + 1) * part }
}

/// Returns the shares with the largest throughput: for each pair of devices in turn, what both have is divided in the
/// best way.
pub(super) fn best_shares(rates: &[Vec<f64>], population: f64) -> Vec<f64> {
    let devices = rates.len();
    let mut shares = vec![1.0 / devices as f64; devices];
    let rounds = if devices > 2 { 8 } else { 1 };
    for _ in 0..rounds {
        for one in 0..devices {
            for other in one + 1..devices {
                share_between(rates, population, &mut shares, (one, other));
            }
        }
    }
    shares
}

/// Divides what `one` and `other` have so that the throughput is largest: takes the best of 33 divisions, and then of
/// finer ones around it.
fn share_between(rates: &[Vec<f64>], population: f64, shares: &mut [f64], (one, other): (usize, usize)) {
    let both = shares[one] + shares[other];
    let (mut middle, mut width) = (0.5, 0.5);
    for _ in 0..3 {
        let tries = (0..=32).map(|step| (middle + width * (f64::from(step) / 16.0 - 1.0)).clamp(0.0, 1.0));
        let value = |part: f64, shares: &mut [f64]| {
            (shares[one], shares[other]) = (both * part, both * (1.0 - part));
            throughput(rates, shares, population)
        };
        let best = tries.map(|part| (value(part, shares), part)).max_by(|a, b| a.0.total_cmp(&b.0));
        middle = best.expect("there are ways").1;
        width /= 16.0;
    }
    (shares[one], shares[other]) = (both * middle, both * (1.0 - middle));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rates of a device with `servers` servers, each with `rate` requests per second.
    fn servers(rate: f64, servers: usize, most: usize) -> Vec<f64> {
        (1..=most).map(|depth| rate * depth.min(servers) as f64).collect()
    }

    /// Two single servers with rates 2 and 1 get half of the requests each: with weights (share / rate)^n, G(n) is a
    /// geometric sum.
    #[test]
    fn the_throughput_is_that_of_a_closed_network() {
        let rates = [servers(2.0, 1, 4), servers(1.0, 1, 4)];
        let sum = |n: i32| (0..=n).map(|own| 0.25f64.powi(own) * 0.5f64.powi(n - own)).sum::<f64>();
        for population in 1..=4 {
            let expected = sum(population - 1) / sum(population);
            assert!((throughput(&rates, &[0.5, 0.5], f64::from(population)) - expected).abs() < 1e-12);
        }
        let between = (throughput(&rates, &[0.5, 0.5], 2.0) + throughput(&rates, &[0.5, 0.5], 3.0)) / 2.0;
        assert!((throughput(&rates, &[0.5, 0.5], 2.5) - between).abs() < 1e-12);
    }

    #[test]
    fn alone_a_request_goes_to_the_fastest_and_many_share_by_the_rates() {
        let rates = [servers(2.0, 1, 200), servers(1.0, 1, 200)];
        assert!(best_shares(&rates, 1.0)[0] > 0.999);
        assert!((best_shares(&rates, 200.0)[0] - 2.0 / 3.0).abs() < 0.01);
        let three = [servers(3.0, 1, 200), servers(1.0, 2, 200), servers(1.0, 1, 200)];
        let shares = best_shares(&three, 200.0);
        assert!((shares[0] - 0.5).abs() < 0.02 && (shares[1] - 1.0 / 3.0).abs() < 0.02, "{shares:?}");
    }

    #[test]
    fn rates_that_were_not_seen_go_on_as_before() {
        let known = |depth, rate| KnownRate { depth, rate, error: 5.0 };
        let points = [known(1.0, 100.0), known(3.0, 160.0)];
        let at = |depth| rate_at(&points, depth);
        assert_eq!((at(0.5), at(1.0), at(2.0), at(3.0)), (50.0, 100.0, 130.0, 160.0));
        // The rise of 30 per request is known to within 7 (two standard deviations).
        assert!((at(4.0) - 190.0 + 2.0 * 50f64.sqrt() / 2.0).abs() < 1e-9);
        assert_eq!((rate_at(&points[..1], 2.0), rate_at(&[], 5.0)), (190.0, 1.0));
        assert_eq!(rate_at(&[known(1.0, 100.0), known(2.0, 102.0)], 5.0), 102.0);
    }
}
