//! How often each extent is read and written, and how much of that goes on.

use esker_core::{Bytes, RequestKind};

use crate::extent::LogicalExtent;

/// A period has at least this many requests, and one for this many extents.
const REQUESTS_MIN: u64 = 256;
const EXTENTS_PER_REQUEST: u64 = 32;
/// Each period counts this much less than the one after it.
const MEMORY: f32 = 0.9;
/// A new length counts one part of these in the mean.
const LENGTHS: u16 = 4;
/// A past of fewer requests is no past.
pub(super) const PAST_MIN: f32 = 1.0 / 256.0;
/// No past has more requests.
pub(super) const PAST_MAX: f32 = u16::MAX as f32 / (1.0 - MEMORY);

/// Requests to one extent: reads, then writes.
#[derive(Clone, Copy, Debug, Default)]
struct ExtentCounts {
    /// In this period.
    recent: [u16; 2],
    /// Mean length of a request, in sectors.
    sectors: [u16; 2],
    /// In all earlier periods.
    past: [f32; 2],
}

impl ExtentCounts {
    fn past(&self) -> Past {
        Past { requests: self.past, sectors: [0, 1].map(|kind| self.past[kind] * f32::from(self.sectors[kind])) }
    }
}

/// Requests to an extent in all earlier periods: reads, then writes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Past {
    pub(super) requests: [f32; 2],
    /// What these requests read and wrote.
    pub(super) sectors: [f32; 2],
}

/// Sums of the pasts of several extents.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PastSum {
    pub(super) extents: u32,
    requests: [f64; 2],
    sectors: [f64; 2],
}

impl PastSum {
    pub(super) fn add(&mut self, past: &Past) {
        self.extents += 1;
        for kind in 0..2 {
            self.requests[kind] += f64::from(past.requests[kind]);
            self.sectors[kind] += f64::from(past.sectors[kind]);
        }
    }
}

/// What is expected of an extent, or of several, in the next period. Reads, then writes.
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

impl Sums {
    fn add(&mut self, counts: &ExtentCounts) {
        let [reads, writes] = counts.recent.map(f64::from);
        let (x, y) = (f64::from(counts.past[0]) + f64::from(counts.past[1]), reads + writes);
        (self.x, self.y, self.reads) = (self.x + x, self.y + y, self.reads + reads);
        (self.xx, self.xy, self.yy) = (self.xx + x * x, self.xy + x * y, self.yy + y * y);
    }
}

/// The mean length after one more request, in sectors; zero before the first one. It reaches a length that stays the
/// same: steps are rounded up.
fn nearer(mean: u16, sectors: u16) -> u16 {
    match mean.abs_diff(sectors).div_ceil(LENGTHS) {
        _ if mean == 0 => sectors,
        step if mean < sectors => mean + step,
        step => mean - step,
    }
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
            if self.extents.capacity() <= index {
                // A table that doubles may be twice as large as it has to be.
                self.extents.reserve_exact(index + 1 + index / 8 - self.extents.len());
            }
            self.extents.resize(index + 1, ExtentCounts::default());
        }
        let counts = &mut self.extents[index];
        let kind = usize::from(kind != RequestKind::Read);
        counts.recent[kind] = counts.recent[kind].saturating_add(1);
        let (mean, sectors) = (&mut counts.sectors[kind], length.0.div_ceil(Bytes::SECTOR.0).min(u64::from(u16::MAX)));
        *mean = nearer(*mean, sectors as u16);
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

    /// Returns how often `extent` was requested in all earlier periods: reads, then writes.
    pub(super) fn past(&self, LogicalExtent(extent): LogicalExtent) -> [f32; 2] {
        self.extents.get(extent as usize).map_or([0.0; 2], |counts| counts.past)
    }

    /// Number of extents.
    pub(super) fn len(&self) -> u32 {
        self.extents.len() as u32
    }

    /// Ends the period of `most` extents, from `first` on, and shows each. Returns the next one; after the last extent,
    /// `None`, and the line is known.
    pub(super) fn fold(&mut self, first: u32, most: u32, mut see: impl FnMut(LogicalExtent, &Past)) -> Option<u32> {
        let end = (first + most).min(self.len());
        // A copy, which stays in registers.
        let mut sums = self.sums;
        for (number, counts) in (first..end).zip(&mut self.extents[first as usize..end as usize]) {
            if counts.recent != [0; 2] || counts.past != [0.0; 2] {
                sums.add(counts);
                let past = [0, 1].map(|kind| MEMORY * counts.past[kind] + f32::from(counts.recent[kind]));
                counts.past = past.map(|past| if past < PAST_MIN { 0.0 } else { past });
                counts.recent = [0, 0];
                sums.new_past += f64::from(counts.past[0]) + f64::from(counts.past[1]);
            }
            see(LogicalExtent(number), &counts.past());
        }
        self.sums = sums;
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

    /// Returns how many requests are expected of an extent that had `past` in all earlier periods.
    pub(super) fn expected(&self, past: f64) -> f64 {
        self.base + self.slope * past
    }

    /// Returns what is expected of extents that are alike.
    pub(super) fn forecast(&self, past: &PastSum) -> Forecast {
        let count = f64::from(past.extents);
        let all = past.requests[0] + past.requests[1];
        let expected = count * self.expected(all / count);
        // One request more for each, of the mean kind.
        let reads = (past.requests[0] + count * self.reads) / (all + count);
        let requests = [expected * reads, expected * (1.0 - reads)];
        let bytes = |kind: usize| match past.requests[kind] {
            0.0 => 0.0,
            before => requests[kind] * past.sectors[kind] / before * Bytes::SECTOR.0 as f64,
        };
        Forecast { requests, bytes: [bytes(0), bytes(1)] }
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
            next = counts.fold(first, 7, |_, _| ());
        }
    }

    fn forecast(counts: &Counts, extent: usize) -> Forecast {
        let mut sum = PastSum::default();
        sum.add(&counts.extents[extent].past());
        counts.forecast(&sum)
    }

    fn reads_of(counts: &Counts, extent: usize) -> f64 {
        forecast(counts, extent).requests[0]
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
        let Forecast { requests, bytes } = forecast(&counts, 3);
        assert!((bytes[0] - requests[0] * 8192.0).abs() < 1.0 && bytes[1] < 1.0);
    }

    /// A few requests of another length at first are forgotten: what is long the same is met exactly, from below and
    /// from above. Lengths that take turns are told by their mean.
    #[test]
    fn the_mean_length_is_met() {
        let after = |lengths: &[u64]| {
            let mut counts = Counts::default();
            for sectors in lengths {
                counts.count(LogicalExtent(0), RequestKind::Write { fua: false }, Bytes(sectors * Bytes::SECTOR.0));
            }
            counts.extents[0].sectors[1]
        };
        for (first, long_after) in [(1, 8), (8, 1), (256, 255), (1, 2_048), (2_048, 1)] {
            let lengths = std::iter::once(first).chain(std::iter::repeat_n(long_after, 40));
            assert_eq!(after(&lengths.collect::<Vec<_>>()), long_after as u16, "after {first}");
        }
        let in_turn = [8, 16].repeat(40);
        assert!((10..=14).contains(&after(&in_turn)), "{}", after(&in_turn));
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

    /// What is expected of extents that are alike is the sum of what is expected of each.
    #[test]
    fn extents_that_are_alike_are_expected_to_have_the_sum() {
        let mut counts = Counts::default();
        read(&mut counts, 99);
        for _ in 0..10 {
            period(&mut counts, (0..300).map(|index| index % 10));
        }
        let mut sum = PastSum::default();
        (0..10).for_each(|extent| sum.add(&counts.extents[extent].past()));
        let (all, one) = (counts.forecast(&sum), forecast(&counts, 4));
        for kind in 0..2 {
            assert!((all.requests[kind] - 10.0 * one.requests[kind]).abs() < 1e-6, "{all:?} {one:?}");
            assert!((all.bytes[kind] - 10.0 * one.bytes[kind]).abs() < 1e-2, "{all:?} {one:?}");
        }
    }

    /// 100 requests are less than one in 256 after 97 periods: 0.9^97 is 3.6e-5.
    #[test]
    fn what_is_long_past_is_forgotten() {
        let mut counts = Counts::default();
        (0..100).for_each(|_| read(&mut counts, 7));
        for (periods, is_known) in [(90, true), (10, false)] {
            (0..periods).for_each(|_| period(&mut counts, (0..300).map(|_| 3)));
            assert_eq!(counts.past(LogicalExtent(7)) != [0.0; 2], is_known, "{:?}", counts.past(LogicalExtent(7)));
        }
    }

    #[test]
    fn the_table_is_hardly_larger_than_it_has_to_be() {
        let mut counts = Counts::default();
        let mut rng = Rng::new(5);
        for most in [1_000, 2_000, 100_000] {
            (0..20_000).for_each(|_| read(&mut counts, rng.below(most) as u32));
            assert!(counts.extents.capacity() <= counts.extents.len() * 9 / 8 + 1, "{}", counts.extents.capacity());
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
