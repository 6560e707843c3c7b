//! Stand-ins for the volumes of Xia's table 6, whose writes chapter 4 caches.
//!
//! The table has each volume's working set, mean size of a request and bytes requested; the text has the best fixed
//! over-provisioning of each (section 4.5.1) and no hit ratio. All else is assumed:
//!
//! - all requests are writes of one size, in whole pages, one at a time: chapter 4 is about a cache of writes;
//! - requests go on for as many windows as are asked for: the bytes requested are 1.9 to 8.4 windows;
//! - their LRU curve is that of [`ByDistance`]. As many of them are first uses as it takes to use all of the working
//!   set. One shape for all volumes; and the size at which most hits are reached is one number for each volume, which
//!   was fitted so that its best fixed over-provisioning is the published one.

use esker_cache::{ByDistance, ObjectId};

/// What the claims were measured on.
pub(super) const STAND_IN: &str = "writes with a made-up LRU curve, of which one number was fitted to the best fixed \
                                   over-provisioning, on a 64th (Exchange, MSNFS: a 256th) of the sizes";

/// A row of table 6.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteVolume {
    pub(super) name: &'static str,
    /// The cache, GB of 2^30 bytes, and its window (section 4.4).
    pub(super) flash_gb: f64,
    pub(super) window_gb: f64,
    /// Working set, GB.
    pub(super) working_set_gb: f64,
    /// Mean size of a request, KB, and all requests together, GB.
    pub(super) mean_kb: f64,
    pub(super) amount_gb: f64,
    /// The best fixed over-provisioning, percent (section 4.5.1).
    pub(super) best: u32,
    /// s of [`ByDistance`], GB: fitted to `best`.
    pub(super) most_hits_gb: f64,
    /// Another one, to which the writes change, together with their places, and back.
    shifts_to_gb: Option<f64>,
}

/// Windows between two such changes.
pub(super) const SHIFT_WINDOWS: f64 = 6.0;

const SMALL: WriteVolume = WriteVolume {
    name: "",
    flash_gb: 4.0,
    window_gb: 8.0,
    working_set_gb: 0.0,
    mean_kb: 0.0,
    amount_gb: 0.0,
    best: 0,
    most_hits_gb: 0.0,
    shifts_to_gb: None,
};
const LARGE: WriteVolume = WriteVolume { flash_gb: 16.0, window_gb: 40.0, ..SMALL };

/// Table 6, in its order; then a volume whose locality shifts between that of the first two, which the paper has not.
pub(super) const WRITE_VOLUMES: [WriteVolume; 5] = [
    WriteVolume {
        name: "Financial1",
        working_set_gb: 3.6,
        mean_kb: 7.2,
        amount_gb: 28.8,
        best: 85,
        most_hits_gb: 0.2,
        ..SMALL
    },
    WriteVolume {
        name: "Homes",
        working_set_gb: 5.0,
        mean_kb: 3.9,
        amount_gb: 66.8,
        best: 35,
        most_hits_gb: 1.2,
        ..SMALL
    },
    WriteVolume {
        name: "Exchange",
        working_set_gb: 23.29,
        mean_kb: 12.4,
        amount_gb: 131.69,
        best: 45,
        most_hits_gb: 4.0,
        ..LARGE
    },
    WriteVolume {
        name: "MSNFS",
        working_set_gb: 23.03,
        mean_kb: 11.12,
        amount_gb: 74.01,
        best: 25,
        most_hits_gb: 7.2,
        ..LARGE
    },
    WriteVolume {
        name: "shifting",
        working_set_gb: 5.0,
        mean_kb: 3.9,
        amount_gb: 66.8,
        best: 0,
        most_hits_gb: 0.2,
        shifts_to_gb: Some(1.2),
        ..SMALL
    },
];
/// How many of them are of the paper.
pub(super) const PUBLISHED: usize = 4;
pub(super) const SHIFTING: usize = 4;

/// k of [`ByDistance`], of all volumes (assumed).
const SHAPE: f64 = 1.5;
const PAGE_KB: f64 = 4.0;
/// Pages of a GB.
pub(super) const PAGES_A_GB: f64 = 262_144.0;

impl WriteVolume {
    /// Pages of a request.
    pub(super) fn pages_per_request(&self) -> u32 {
        (self.mean_kb / PAGE_KB).round().max(1.0) as u32
    }

    /// Requests that the working set has, at a `part`th.
    fn objects(&self, part: u32) -> u32 {
        (self.working_set_gb * PAGES_A_GB / f64::from(self.pages_per_request()) / f64::from(part)) as u32
    }

    /// Pages of the volume, at a `part`th.
    pub(super) fn pages(&self, part: u32) -> u32 {
        self.objects(part) * self.pages_per_request()
    }

    /// Requests in `gigabytes`, at a `part`th.
    pub(super) fn requests(&self, gigabytes: f64, part: u32) -> usize {
        (gigabytes * PAGES_A_GB / f64::from(self.pages_per_request()) / f64::from(part)) as usize
    }

    /// The first page of each of `count` writes of the stand-in at a `part`th, drawn with `seed`.
    pub(super) fn writes(&self, count: usize, part: u32, seed: u64) -> Vec<u32> {
        let (objects, pages) = (self.objects(part), self.pages_per_request());
        let hit_ratio_max = 1.0 - f64::from(objects) / count.max(1) as f64;
        let phase = self.shifts_to_gb.map_or(count, |_| self.requests(SHIFT_WINDOWS * self.window_gb, part));
        let mut writes = Vec::with_capacity(count);
        for number in 0..count.div_ceil(phase.max(1)) as u64 {
            let gigabytes = self.shifts_to_gb.filter(|_| number % 2 == 1).unwrap_or(self.most_hits_gb);
            let scale = gigabytes * PAGES_A_GB / f64::from(pages) / f64::from(part);
            let curve = ByDistance { objects, hit_ratio_max, scale, shape: SHAPE };
            // Scattered over the volume: a prime that does not divide the number of objects.
            let scattered = |ObjectId(object)| {
                ((u64::from(object) + number * 7_919) * 1_000_003 % u64::from(objects)) as u32 * pages
            };
            let accesses = curve.accesses(phase.min(count - writes.len()), seed ^ number);
            writes.extend(accesses.into_iter().map(scattered));
        }
        writes
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn stand_ins_have_the_rows_of_table_6() {
        for volume in WRITE_VOLUMES {
            let part = 256;
            let count = volume.requests(volume.amount_gb, part);
            let writes = volume.writes(count, part, 1);
            let gigabytes = |pages: f64| pages * f64::from(part) / PAGES_A_GB;
            let pages = f64::from(volume.pages_per_request());
            assert!((gigabytes(writes.len() as f64 * pages) / volume.amount_gb - 1.0).abs() < 0.001);
            let distinct: BTreeSet<u32> = writes.iter().copied().collect();
            let used = gigabytes(distinct.len() as f64 * pages) / volume.working_set_gb;
            assert!((0.9..=1.0).contains(&used), "{}: {used}", volume.name);
            let within = |first: &u32| first.is_multiple_of(volume.pages_per_request()) && *first < volume.pages(part);
            assert!(writes.iter().all(within), "{}", volume.name);
        }
    }
}
