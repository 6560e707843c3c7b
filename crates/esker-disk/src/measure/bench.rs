//! Reads of a disk under measurement, arranged so that its buffer answers none of them.

use std::cell::Cell;
use std::rc::Rc;

use esker_core::{Bytes, Lba, Nanos};

use super::desk::{Desk, ProbeRead};

/// Two samples of an angle that differ by less than this share of a turn count as equal. Response times of idle
/// computers scatter by 10 us; a turn of the fastest disks is 4 ms.
const AGREE: f64 = 0.006;
/// Number of samples after which an angle is given up if no two of them agree.
const SAMPLES_MAX: usize = 8;

/// A disk under measurement.
pub(super) struct Bench {
    desk: Rc<Desk>,
    /// Size in sectors of 512 bytes.
    pub(super) sectors: u64,
    /// Number of sectors of a block, the least that can be read.
    pub(super) block: u64,
    /// Number of reads elsewhere after which the buffer has surely forgotten a sector.
    pub(super) forgets_after: Cell<usize>,
    /// Time of a read of one block that the buffer answers, in nanoseconds; zero if there is no buffer.
    pub(super) hit_ns: Cell<f64>,
    /// One turn in nanoseconds, once it is known.
    pub(super) turn_ns: Cell<f64>,
    places: Cell<u64>,
}

/// A sector that is read right after another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Bench {
    pub(super) fn new(desk: Rc<Desk>, sectors: u64, block: u64) -> Self {
        let (forgets_after, hit_ns, turn_ns) = (Cell::new(0), Cell::new(0.0), Cell::new(f64::NAN));
        Self { desk, sectors, block, forgets_after, hit_ns, turn_ns, places: Cell::new(0) }
    }

    /// Begins another stage of the work, which takes about `reads` reads. The stages after it take about `then`.
    pub(super) fn begin(&self, stage: &'static str, reads: usize, then: usize) {
        self.desk.begin(stage, reads, then);
    }

    /// Returns `sector` rounded down to the start of its block.
    pub(super) fn whole(&self, sector: u64) -> u64 {
        sector / self.block * self.block
    }

    /// Reads `sectors` from `start` after a pause. Returns when the read began and ended, in nanoseconds.
    pub(super) async fn read(&self, pause: Nanos, start: u64, sectors: u64) -> (f64, f64) {
        let length = Bytes(sectors * Bytes::SECTOR.0);
        let times = self.desk.read(ProbeRead { pause, start: Lba(start), length }).await;
        (times.began.0 as f64, times.ended.0 as f64)
    }

    /// Reads one block. Returns its response time in nanoseconds.
    pub(super) async fn response(&self, start: u64) -> f64 {
        let (began, ended) = self.read(Nanos::ZERO, start, self.block).await;
        ended - began
    }

    /// Returns a place that was not read before, far from the last ones: multiples of the golden ratio never come near
    /// each other.
    pub(super) fn fresh(&self) -> u64 {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let count = self.places.get() + 1;
        self.places.set(count);
        let share = u128::from(count.wrapping_mul(GOLDEN));
        // The last part of the disk is left alone, so that longer reads fit after any place.
        let most = u128::from(self.sectors - self.sectors / 64);
        self.whole(((share * most) >> 64) as u64)
    }

    /// Reads `count` places that are far apart.
    pub(super) async fn read_elsewhere(&self, count: usize) {
        for _ in 0..count {
            self.response(self.fresh()).await;
        }
    }

    /// Reads each pair, and as many other places as it takes for the buffer to forget them. Returns, for each pair, the
    /// time from the end of the first read to the end of the second, in nanoseconds.
    pub(super) async fn intervals(&self, pairs: &[Pair]) -> Vec<f64> {
        let mut intervals = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let (_, from) = self.read(Nanos::ZERO, pair.from, self.block).await;
            let (_, to) = self.read(Nanos::ZERO, pair.to, self.block).await;
            intervals.push(to - from);
        }
        self.read_elsewhere(self.forgets_after.get().saturating_sub(2 * pairs.len())).await;
        intervals
    }

    /// Returns, for each pair, the angle from the end of the first sector to the end of the second, in turns from 0 to
    /// 1: the mean of two samples that agree, or `None` if no two do.
    ///
    /// If the computer is late with a second read, read-ahead may have brought its sector meanwhile. All such times are
    /// alike. So if samples are as short as those of the buffer, three of them have to agree.
    pub(super) async fn angles(&self, pairs: &[Pair]) -> Vec<Option<f64>> {
        let mut samples: Vec<Vec<f64>> = vec![Vec::new(); pairs.len()];
        let mut found: Vec<Option<f64>> = vec![None; pairs.len()];
        for _ in 0..SAMPLES_MAX {
            let open: Vec<usize> = (0..pairs.len()).filter(|&index| found[index].is_none()).collect();
            if open.is_empty() {
                break;
            }
            let asked: Vec<Pair> = open.iter().map(|&index| pairs[index]).collect();
            for (index, interval) in open.into_iter().zip(self.intervals(&asked).await) {
                let angle = (interval / self.turn_ns.get()).rem_euclid(1.0);
                let offs = samples[index].iter().map(|&before| centred(angle - before));
                let near: Vec<f64> = offs.filter(|off| off.abs() < AGREE).collect();
                let enough = if interval < 1.5 * self.hit_ns.get() { 2 } else { 1 };
                found[index] = (near.len() >= enough).then(|| (angle - near[0] / 2.0).rem_euclid(1.0));
                samples[index].push(angle);
            }
        }
        found
    }
}

/// Returns an angle in turns, from -0.5 to 0.5.
pub(super) fn centred(angle: f64) -> f64 {
    angle - angle.round()
}

/// Returns the middle one of `values`, or zero if there are none.
pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
