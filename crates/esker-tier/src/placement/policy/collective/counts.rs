//! How often each extent is read and written, and how much of that goes on.

use esker_core::{Bytes, RequestKind};

use crate::extent::LogicalExtent;

/// A period has at least this many requests, and one for this many extents.
const REQUESTS_MIN: u64 = 256;
const EXTENTS_PER_REQUEST: u64 = 32;
/// Each period counts this much less than the one after it.
const MEMORY: f32 = 0.9;
/// A new length counts one part of these in the mean.
const LENGTHS: i32 = 4;

/// Requests to one extent: reads, then writes.
#[derive(Clone, Copy, Debug, Default)]
struct ExtentCounts {
    /// In this period.
    recent: [u16; 2],
    /// In all earlier periods.
    past: [f32; 2],
    /// Mean length of a request, in sectors.
    sectors: [u16; 2],
}

impl ExtentCounts {
    fn past(&self) -> f64 {
        f64::from(self.past[0]) + f64::from(self.past[1])
    }
}

/// What is expected of an extent in the next period. Reads, then writes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Forecast {
    pub(super) requests: [f64; 2],
    pub(super) bytes: [f64; 2],
}

/// Sums over extents of their past `x` and their count `y` in the period after it.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
    reads: f64,
    /// The past, this period included.
    new_past: f64,
}

/// Requests to all extents. How many an extent will have is told by a straight line from its past, the one that would
/// have told this period best. So hot extents count for little where the hot set changes, or where they have been hot
/// by chance.
#[derive(Debug, Default)]
pub(super) struct Counts {
    extents: Vec<ExtentCounts>,
    /// Requests in this period.
    requests: u64,
    sums: Sums,
    /// How the mean past and the present vary together, and how the mean past does; of all periods, each by how much it
    /// counts.
    covariance: f64,
    variance: f64,
    /// Number of periods in the past, each by how much it counts.
    periods: f64,
    /// Requests that are expected of an extent without a past, and how many more for each request in the past.
    base: f64,
    slope: f64,
    /// Share of reads.
    reads: f64,
}

impl Counts {
    /// Counts a request to `extent`, of `length` bytes there.
    pub(super) fn count(&mut self, LogicalExtent(extent): LogicalExtent, kind: RequestKind, length: Bytes) {
        let index = extent as usize;
        if self.extents.len() <= index {
            self.extents.resize(index + 1, ExtentCounts::default());
        }
        let counts = &mut self.extents[index];
        let kind = usize::from(kind != RequestKind::Read);
        counts.recent[kind] = counts.recent[kind].saturating_add(1);
        let (mean, sectors) = (&mut counts.sectors[kind], length.0.div_ceil(Bytes::SECTOR.0).min(u64::from(u16::MAX)));
        *mean = match i32::from(*mean) {
            0 => sectors as u16,
            before => (before + (sectors as i32 - before) / LENGTHS) as u16,
        };
    }

    /// Counts a request, whatever its extents.
    pub(super) fn requested(&mut self) {
        self.requests += 1;
    }

    /// Returns true once the period has had enough requests.
    pub(super) fn is_period_over(&self) -> bool {
        self.requests >= REQUESTS_MIN.max(self.extents.len() as u64 / EXTENTS_PER_REQUEST)
    }

    /// Forgets an extent, which has lost its data.
    pub(super) fn forget(&mut self, LogicalExtent(extent): LogicalExtent) {
        if let Some(counts) = self.extents.get_mut(extent as usize) {
            *counts = ExtentCounts::default();
        }
    }

    /// Number of extents.
    pub(super) fn len(&self) -> u32 {
        self.extents.len() as u32
    }

    /// Ends the period of `most` extents, from `first` on. Returns the next one; after the last extent, `None`, and the
    /// line is known.
    pub(super) fn fold(&mut self, first: u32, most: u32) -> Option<u32> {
        let end = (first + most).min(self.len());
        let sums = &mut self.sums;
        for counts in &mut self.extents[first as usize..end as usize] {
            let [reads, writes] = counts.recent.map(f64::from);
            let (x, y) = (counts.past(), reads + writes);
            (sums.x, sums.y, sums.reads) = (sums.x + x, sums.y + y, sums.reads + reads);
            (sums.xx, sums.xy, sums.yy) = (sums.xx + x * x, sums.xy + x * y, sums.yy + y * y);
            counts.past = [0, 1].map(|kind| MEMORY * counts.past[kind] + f32::from(counts.recent[kind]));
            counts.recent = [0, 0];
            sums.new_past += counts.past();
        }
        if end < self.len() {
            return Some(end);
        }
        self.end_period();
        None
    }

    fn end_period(&mut self) {
        let Sums { x, y, xx, xy, yy, reads, new_past } = std::mem::take(&mut self.sums);
        let extents = f64::from(self.len().max(1));
        let (mean_x, mean_y) = (x / extents, y / extents);
        let [variance_x, variance_y] = [xx / extents - mean_x * mean_x, yy / extents - mean_y * mean_y];
        let (before, memory) = (self.periods, f64::from(MEMORY));
        self.periods = memory * before + 1.0;
        if before > 0.0 {
            self.covariance = memory * self.covariance + (xy / extents - mean_x * mean_y) / before;
            self.variance = memory * self.variance + variance_x / (before * before);
        }
        self.slope = if self.variance > 0.0 {
            self.covariance / self.variance / self.periods
        } else if variance_y > 0.0 {
            // Chance alone makes a variance as large as the mean: what is beyond it goes on.
            (variance_y - mean_y) / variance_y
        } else {
            0.0
        };
        self.slope = self.slope.max(0.0);
        self.base = (mean_y - self.slope * new_past / extents).max(0.0);
        self.reads = reads / y.max(1.0);
        self.requests = 0;
    }

    /// Returns what is expected of an extent.
    pub(super) fn forecast(&self, LogicalExtent(extent): LogicalExtent) -> Forecast {
        let Some(counts) = self.extents.get(extent as usize) else { return Forecast::default() };
        let past = counts.past();
        let all = self.base + self.slope * past;
        // One request more, of the mean kind.
        let reads = (f64::from(counts.past[0]) + self.reads) / (past + 1.0);
        let requests = [all * reads, all * (1.0 - reads)];
        let bytes = [0, 1].map(|kind| requests[kind] * f64::from(counts.sectors[kind]) * Bytes::SECTOR.0 as f64);
        Forecast { requests, bytes }
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Rng;

    use super::*;

    const LENGTH: Bytes = Bytes(8 << 10);

    fn read(counts: &mut Counts, extent: u32) {
        counts.count(LogicalExtent(extent), RequestKind::Read, LENGTH);
        counts.requested();
    }

    /// Plays a period of these reads.
    fn period(counts: &mut Counts, reads: impl IntoIterator<Item = u32>) {
        reads.into_iter().for_each(|extent| read(counts, extent));
        assert!(counts.is_period_over());
        let mut next = Some(0);
        while let Some(first) = next {
            next = counts.fold(first, 7);
        }
    }

    fn reads_of(counts: &Counts, extent: u32) -> f64 {
        counts.forecast(LogicalExtent(extent)).requests[0]
    }

    /// Of 100 extents, ten have 30 reads in each period. The past knows nothing else, so that is what is expected.
    #[test]
    fn what_has_always_been_so_goes_on() {
        let mut counts = Counts::default();
        read(&mut counts, 99);
        for _ in 0..40 {
            period(&mut counts, (0..300).map(|index| index % 10));
        }
        assert!((reads_of(&counts, 3) - 30.0).abs() < 0.01, "{}", reads_of(&counts, 3));
        assert!(reads_of(&counts, 50) < 0.01, "{}", reads_of(&counts, 50));
        let Forecast { requests, bytes } = counts.forecast(LogicalExtent(3));
        assert!((bytes[0] - requests[0] * 8192.0).abs() < 1.0 && bytes[1] < 1.0);
    }

    /// In each period another ten of 100 extents are hot. None has more than its share of what comes.
    #[test]
    fn what_always_changes_tells_nothing() {
        let mut counts = Counts::default();
        let mut rng = Rng::new(3);
        for _ in 0..300 {
            let first = 10 * rng.below(10) as u32;
            period(&mut counts, (0..300).map(|index| first + index % 10));
        }
        let expected: Vec<f64> = (0..100).map(|extent| reads_of(&counts, extent)).collect();
        let most = expected.iter().copied().fold(0.0, f64::max);
        assert!(most < 9.0, "at most three times the mean of 3: {most}");
    }

    /// Equally hot extents differ by chance. After the first period already, that is not taken for heat.
    #[test]
    fn chance_is_not_heat() {
        let mut counts = Counts::default();
        let mut rng = Rng::new(4);
        for _ in 0..3 {
            period(&mut counts, (0..5_000).map(|_| rng.below(500) as u32));
            let expected = (0..500).map(|extent| reads_of(&counts, extent));
            let (least, most) = expected.fold((f64::MAX, 0.0), |(a, b), one| (one.min(a), one.max(b)));
            assert!(least > 7.0 && most < 13.0, "{least} to {most} of 10");
        }
    }

    #[test]
    fn a_period_is_longer_where_there_are_many_extents() {
        let mut counts = Counts::default();
        (0..255).for_each(|_| read(&mut counts, 0));
        assert!(!counts.is_period_over());
        read(&mut counts, 0);
        assert!(counts.is_period_over());
        counts.count(LogicalExtent(32 * 300), RequestKind::Read, LENGTH);
        assert!(!counts.is_period_over());
    }
}
