//! Hits and misses of a cache.

use std::iter::Sum;

use crate::{Access, AccessKind};

/// Counts of one cache over a sequence of accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of accesses.
    pub accesses: u64,
    /// Accesses to objects that the cache did not hold.
    pub misses: u64,
    /// Misses of objects that were not taken in.
    pub refused: u64,
    /// Bytes of all accesses.
    pub bytes: u64,
    /// Bytes of the accesses that missed.
    pub missed_bytes: u64,
    /// Bytes written to the cache: misses that were taken in, and writes to objects that it held.
    pub written_bytes: u64,
}

impl Counts {
    /// Counts a hit.
    #[inline]
    pub fn hit(&mut self, access: &Access) {
        self.accesses += 1;
        self.bytes += u64::from(access.bytes);
        if access.kind == AccessKind::Write {
            self.written_bytes += u64::from(access.bytes);
        }
    }

    /// Counts a miss of an object that is then taken in.
    #[inline]
    pub fn miss(&mut self, access: &Access) {
        self.miss_any(access);
        self.written_bytes += u64::from(access.bytes);
    }

    /// Counts a miss of an object that is not taken in.
    #[inline]
    pub fn miss_refused(&mut self, access: &Access) {
        self.miss_any(access);
        self.refused += 1;
    }

    #[inline]
    fn miss_any(&mut self, access: &Access) {
        self.accesses += 1;
        self.misses += 1;
        self.bytes += u64::from(access.bytes);
        self.missed_bytes += u64::from(access.bytes);
    }

    /// Returns estimated counts for all `accesses` with `bytes`, if these are the counts of a sample: each counted
    /// access stands for 1/`rate` accesses.
    pub(crate) fn of_the_whole(&self, rate: f64, accesses: u64, bytes: u64) -> Self {
        let scaled = |count: u64| (count as f64 / rate).round() as u64;
        Self {
            accesses,
            misses: scaled(self.misses).min(accesses),
            refused: scaled(self.refused).min(accesses),
            bytes,
            missed_bytes: scaled(self.missed_bytes).min(bytes),
            written_bytes: scaled(self.written_bytes),
        }
    }

    /// Returns misses divided by accesses; zero without accesses.
    pub fn miss_ratio(&self) -> f64 {
        ratio(self.misses, self.accesses)
    }

    /// Returns missed bytes divided by all bytes; zero without bytes.
    pub fn byte_miss_ratio(&self) -> f64 {
        ratio(self.missed_bytes, self.bytes)
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            accesses: sum.accesses + one.accesses,
            misses: sum.misses + one.misses,
            refused: sum.refused + one.refused,
            bytes: sum.bytes + one.bytes,
            missed_bytes: sum.missed_bytes + one.missed_bytes,
            written_bytes: sum.written_bytes + one.written_bytes,
        })
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
