//! Stand-ins for the volumes of Xia's table 8.
//!
//! The table has each volume's address space, count of requests, share of reads and mean size; the text has what share
//! of the pages is both read and written for four of them (section 5.3.1, and 5.4.2.2 for src0). All else is assumed:
//!
//! - a quarter of the address space is ever touched, and all requests of a volume have one size, in whole pages;
//! - of the touched pages that are not both, as large a share is only written as of the requests are writes;
//! - within each part, pages are drawn by Zipf's law with exponent 0.8;
//! - time goes in 64 periods. In each, half of the pages of the overlapping part are read and the others are written,
//!   and they change roles with the next period ("the overlapping of read and write logical pages happens merely within
//!   a limited timing period"); one access in twenty ignores that;
//! - requests come at random (Poisson).
//!
//! Pages that are meant to be both may be only read, or only written, in the end. The overlap that the generator is
//! given was therefore fitted, so that the requests have the published one.

use esker_core::Rng;
use esker_trace::Zipf;

/// What the claims were measured on.
pub(super) const STAND_IN: &str = "made-up requests with the size, the share of reads and the overlap of each volume, \
                                   on a 32nd of its address space (sweeps of m and n: a 64th)";

/// How far a run is scaled down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct VolumeScale {
    /// Address spaces and counts of requests are divided by this.
    pub(super) part: u32,
    /// Counts of requests are divided by this, too. More than one is for tests.
    pub(super) fewer: u32,
}

impl VolumeScale {
    /// Of the comparison.
    pub(super) const COMPARED: Self = Self { part: 32, fewer: 1 };
    /// Of the sweeps, which have more runs.
    pub(super) const SWEPT: Self = Self { part: 64, fewer: 1 };
}

/// A row of table 8.
#[derive(Clone, Copy, Debug)]
pub(super) struct Volume {
    pub(super) name: &'static str,
    /// Address space, GB of 2^30 bytes.
    pub(super) gigabytes: f64,
    pub(super) requests: f64,
    /// Share of reads, percent.
    pub(super) reads: f64,
    /// Mean size of a request, KB.
    pub(super) mean_kb: f64,
    /// Share of the pages that are meant to be both read and written, percent: fitted to the published share, or 5
    /// (assumed; the text says "below 10 % or even 5 %").
    pub(super) overlap: f64,
}

const fn volume(name: &'static str, gigabytes: f64, requests: f64, reads: f64, mean_kb: f64, overlap: f64) -> Volume {
    Volume { name, gigabytes, requests, reads, mean_kb, overlap }
}

/// Table 8, in its order.
pub(super) const VOLUMES: [Volume; 15] = [
    volume("Financial1", 16.67, 5_334_857.0, 23.16, 15.15, 43.0),
    volume("hm0", 13.94, 3_993_316.0, 35.5, 7.99, 48.5),
    volume("hm1", 25.44, 609_311.0, 95.34, 15.16, 28.3),
    volume("mds0", 33.92, 1_211_034.0, 11.89, 9.20, 5.0),
    volume("proj0", 16.24, 4_224_524.0, 12.48, 38.04, 5.0),
    volume("rsrch0", 16.89, 1_433_655.0, 9.32, 8.93, 5.0),
    volume("rsrch2", 81.65, 207_587.0, 65.69, 4.09, 5.0),
    volume("src0", 15.63, 1_557_814.0, 11.34, 7.21, 13.5),
    volume("stg0", 10.82, 2_030_915.0, 15.19, 11.58, 5.0),
    volume("ts0", 21.97, 1_801_734.0, 17.58, 9.01, 5.0),
    volume("wdev0", 16.96, 1_143_261.0, 20.08, 9.08, 5.0),
    volume("wdev2", 33.92, 181_266.0, 0.1, 8.15, 5.0),
    volume("web0", 33.91, 2_029_945.0, 29.88, 14.99, 5.0),
    volume("web1", 67.83, 160_891.0, 54.11, 29.07, 5.0),
    volume("web3", 169.58, 31_380.0, 32.03, 38.14, 5.0),
];

/// The volumes whose overlap is high, as places in [`VOLUMES`].
pub(super) const OVERLAPPING: [usize; 3] = [0, 1, 2];

/// Share of the address space that is touched (assumed).
const TOUCHED: f64 = 0.25;
const EXPONENT: f64 = 0.8;
const PERIODS: u64 = 64;
/// One in this many accesses ignores the period.
const STRAYS: u64 = 20;
/// Size of a page, KB.
pub(super) const PAGE_KB: f64 = 8.0;

/// A request of a stand-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    /// Its first page.
    pub(super) page: u32,
    pub(super) is_write: bool,
}

impl Volume {
    /// Returns the pages of each request of the stand-in.
    pub(super) fn pages_per_request(&self) -> u32 {
        (self.mean_kb / PAGE_KB).round().max(1.0) as u32
    }

    /// Returns the pages of the address space.
    pub(super) fn pages(&self, scale: VolumeScale) -> u32 {
        let extents = self.gigabytes * 1_048_576.0 / PAGE_KB / f64::from(self.pages_per_request());
        (extents / f64::from(scale.part)) as u32 * self.pages_per_request()
    }

    /// Returns the number of requests: those of the table or, if these write less, as many as it takes to write as many
    /// pages as the address space has.
    pub(super) fn count(&self, scale: VolumeScale) -> u64 {
        let listed = self.requests / f64::from(scale.part);
        let writes = f64::from(self.pages(scale)) / f64::from(self.pages_per_request());
        let once = (writes / (1.0 - self.reads / 100.0)).ceil();
        (listed.max(once) / f64::from(scale.fewer)) as u64
    }

    /// Returns the requests of the stand-in, drawn with `seed`.
    pub(super) fn accesses(&self, scale: VolumeScale, seed: u64) -> impl Iterator<Item = Access> + use<> {
        let pages = self.pages_per_request();
        let extents = u64::from(self.pages(scale) / pages);
        let touched = (extents as f64 * TOUCHED).max(4.0);
        let (overlap, writes) = (self.overlap / 100.0, 1.0 - self.reads / 100.0);
        let both = ((touched * overlap) as u64).max(2);
        let written = ((touched * (1.0 - overlap) * writes) as u64).max(1);
        let read = ((touched * (1.0 - overlap) * (1.0 - writes)) as u64).max(1);
        let [of_both, of_written, of_read] = [both, written, read].map(|extents| Zipf::new(extents, EXPONENT));
        let mut rng = Rng::derive(seed, self.name);
        let count = self.count(scale);
        let share = (writes * 1e9) as u64;
        // Scattered over the volume: a prime that does not divide the number of extents.
        let scattered = move |extent: u64| (extent * 1_000_003 % extents) as u32 * pages;
        (0..count).map(move |index| {
            let is_write = rng.chance(share, 1_000_000_000);
            let (alone, first) = if is_write { (written, both) } else { (read, both + written) };
            if !rng.chance(both, both + alone) {
                let own = if is_write { &of_written } else { &of_read };
                return Access { page: scattered(first + own.draw(&mut rng)), is_write };
            }
            let (period, strays) = (index * PERIODS / count, rng.chance(1, STRAYS));
            loop {
                let extent = of_both.draw(&mut rng);
                if strays || ((extent + period) % 2 == 0) == is_write {
                    return Access { page: scattered(extent), is_write };
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_have_the_rows_of_the_table() {
        for volume in VOLUMES {
            let scale = VolumeScale::SWEPT;
            let bytes = f64::from(volume.pages(scale)) * 8192.0 * 64.0;
            assert!((bytes / (volume.gigabytes * f64::from(1 << 30)) - 1.0).abs() < 0.001, "{}", volume.name);
            let accesses: Vec<Access> = volume.accesses(scale, 1).collect();
            let pages = volume.pages_per_request();
            assert!(accesses.iter().all(|one| one.page % pages == 0 && one.page + pages <= volume.pages(scale)));
            let reads = accesses.iter().filter(|one| !one.is_write).count() as f64 / accesses.len() as f64;
            assert!((reads * 100.0 - volume.reads).abs() < 0.5, "{}: {reads}", volume.name);
            let written = (accesses.len() as f64 * (1.0 - reads)) * f64::from(pages);
            assert!(written > 0.98 * f64::from(volume.pages(scale)), "{}: {written}", volume.name);
        }
    }
}
