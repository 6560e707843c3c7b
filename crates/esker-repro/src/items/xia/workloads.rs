//! Stand-ins for the workloads of Xia's table 3.
//!
//! The table has each workload's address space, count of requests and mean size. It does not say how often pages are
//! read again. The text has two hit ratios of one workload (section 2.5.2: WebSearch2 on 3 GB with 15 %
//! over-provisioning; LRU 41.87 %, ARC 50.4 %), and [`esker_cache::ByInterval`] has two parameters, which were fitted
//! to them. The other four workloads are given the same two. Also assumed is which share of the address space is ever
//! read: 1.7 million pages of the web searches. Of the other two workloads it is all; with the same share, caches of 5
//! and 6 GB would have held all that is read, and would have erased nothing.

use esker_cache::{ByDistance, ByInterval};

/// What the claims were measured on.
pub(super) const STAND_IN: &str = "reads of a made-up population of pages, fitted to two hit ratios of WebSearch2, on \
                                   a 16th of the sizes, in time on a 32nd";

/// How far a run is scaled down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Scale {
    /// Address spaces, caches and counts of requests are divided by this.
    pub(super) part: u32,
    /// Counts of requests are divided by this, too. More than one is for tests.
    pub(super) fewer: u32,
}

impl Scale {
    /// The scales of items whose caches only count, and of items whose caches serve requests in time.
    pub(super) const COUNTED: Self = Self { part: 16, fewer: 1 };
    pub(super) const TIMED: Self = Self { part: 32, fewer: 1 };
}

/// A row of table 3.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workload {
    pub(super) name: &'static str,
    /// Address space, GB of 2^30 bytes.
    pub(super) gigabytes: f64,
    pub(super) requests: f64,
    /// Mean size of a request, KB.
    pub(super) mean_kb: f64,
    /// Pages of 4 KB that a request of the stand-in has: the mean, rounded.
    pub(super) pages: u32,
    /// Share of the address space that is ever read (assumed).
    touched: f64,
}

/// Table 3, in its order. Writes, 0.03 % of the requests at most, are left out, as in section 2.4.
pub(super) const WORKLOADS: [Workload; 5] = [
    Workload { name: "WebSearch1", gigabytes: 16.67, requests: 1_055_236.0, mean_kb: 15.15, pages: 4, touched: 0.389 },
    Workload { name: "WebSearch2", gigabytes: 16.67, requests: 4_578_819.0, mean_kb: 15.07, pages: 4, touched: 0.389 },
    Workload { name: "WebSearch3", gigabytes: 16.67, requests: 4_260_446.0, mean_kb: 15.40, pages: 4, touched: 0.389 },
    Workload { name: "DevDivRelease", gigabytes: 9.54, requests: 1_608_449.0, mean_kb: 18.45, pages: 5, touched: 1.0 },
    Workload { name: "MSNFS", gigabytes: 9.54, requests: 1_340_894.0, mean_kb: 14.88, pages: 4, touched: 1.0 },
];

/// The workload of [`WORKLOADS`] whose hit ratios are known.
pub(super) const WEB_SEARCH_2: usize = 1;

/// Fitted to hit ratios alone, see above. Flash-aware caches had been run on neighbouring pairs before.
const SPREAD: f64 = 0.81;
const REGULARITY: f64 = 2.4;

/// How a stand-in chooses the next page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Population {
    /// Pages come again at intervals of their own.
    ByInterval,
    /// Stack distances are drawn, so that nothing but recency tells pages apart. The curve goes through LRU's hit
    /// ratio of section 2.5.2 and two assumed figures: 25.9 % at 2 GB, and 90.2 % of reads that are not the first.
    ByDistance,
}

/// Reads of a workload: aligned, all of one size.
#[derive(Debug)]
pub(super) struct Reads {
    /// The first page of each.
    pub(super) first: Vec<u32>,
    /// How many pages each has.
    pub(super) pages: u32,
    /// How many pages the volume has.
    pub(super) volume_pages: u32,
}

impl Workload {
    /// The reads of the stand-in, drawn with `seed`.
    pub(super) fn reads(&self, population: Population, scale: Scale, seed: u64) -> Reads {
        let extents = (self.gigabytes * 262_144.0 / f64::from(self.pages) / f64::from(scale.part)) as u32;
        let objects = (f64::from(extents) * self.touched) as u32;
        let accesses = |count| match population {
            Population::ByInterval => {
                ByInterval { objects, spread: SPREAD, regularity: REGULARITY }.accesses(count, seed)
            }
            Population::ByDistance => {
                let scale = 3.076 * 262_144.0 / f64::from(self.pages) / f64::from(scale.part);
                ByDistance { objects, hit_ratio_max: 0.902, scale, shape: 2.516 }.accesses(count, seed)
            }
        };
        let count = (self.requests / f64::from(scale.part) / f64::from(scale.fewer)) as usize;
        // Scattered over the volume: a prime that does not divide the number of extents.
        let scattered = |object: u32| (u64::from(object) * 1_000_003 % u64::from(extents)) as u32 * self.pages;
        Reads {
            first: accesses(count).into_iter().map(|object| scattered(object.0)).collect(),
            pages: self.pages,
            volume_pages: extents * self.pages,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn reads_have_the_volume_and_the_count_of_table_3() {
        for workload in WORKLOADS {
            let reads = workload.reads(Population::ByInterval, Scale { part: 64, fewer: 1 }, 1);
            let bytes = f64::from(reads.volume_pages) * 4096.0 * 64.0;
            assert!((bytes / (workload.gigabytes * f64::from(1 << 30)) - 1.0).abs() < 0.001, "{}", workload.name);
            assert_eq!(reads.first.len(), (workload.requests / 64.0) as usize);
            assert!(
                reads.first.iter().all(|first| first % reads.pages == 0 && first + reads.pages <= reads.volume_pages)
            );
            let distinct: BTreeSet<u32> = reads.first.iter().copied().collect();
            let share = distinct.len() as f64 * f64::from(reads.pages) / f64::from(reads.volume_pages);
            assert!((0.5 * workload.touched..workload.touched).contains(&share), "{}: {share}", workload.name);
        }
    }
}
