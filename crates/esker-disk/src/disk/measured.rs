//! Counters of a disk.

use esker_core::Nanos;
use esker_results::DiskReport;

use crate::Access;

/// Sums since measuring started.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    since: Nanos,
    now: Nanos,
    requests: u64,
    accesses: u64,
    seeks: u64,
    cylinders: u64,
    seek: u64,
    rotation: u64,
    transfer: u64,
}

impl Measured {
    /// Counters at zero, from `now` on.
    pub(super) fn since(now: Nanos) -> Self {
        Self { since: now, now, ..Self::default() }
    }

    /// Advances the end of the measured time to `now`.
    #[inline]
    pub(super) fn clock(&mut self, now: Nanos) {
        self.now = now;
    }

    /// Counts a completed request.
    #[inline]
    pub(super) fn request(&mut self) {
        self.requests += 1;
    }

    /// Counts an access.
    #[inline]
    pub(super) fn access(&mut self, access: &Access) {
        self.accesses += 1;
        self.seeks += u64::from(access.cylinders > 0);
        self.cylinders += u64::from(access.cylinders);
        self.seek += access.seek.0;
        self.rotation += access.rotation.0;
        self.transfer += access.transfer.0;
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    /// Busy time of the arm.
    pub(super) fn busy(&self) -> Nanos {
        Nanos(self.seek + self.rotation + self.transfer)
    }

    /// Busy share of the arm.
    pub(super) fn utilisation(&self) -> f64 {
        let elapsed = self.now.saturating_sub(self.since).as_secs_f64();
        if elapsed > 0.0 { self.busy().as_secs_f64() / elapsed } else { 0.0 }
    }

    pub(super) fn report(&self) -> DiskReport {
        let per_access = |sum: u64| if self.accesses == 0 { 0.0 } else { sum as f64 / self.accesses as f64 };
        DiskReport {
            seeks: self.seeks,
            mean_seek_us: per_access(self.seek) / 1e3,
            mean_rotation_us: per_access(self.rotation) / 1e3,
            mean_transfer_us: per_access(self.transfer) / 1e3,
            mean_seek_cylinders: per_access(self.cylinders),
        }
    }
}
