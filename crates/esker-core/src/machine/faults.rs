//! Errors of devices, drawn at random for tests and simulated failures.

use crate::{DeviceError, RequestKind, Rng};

/// How often the requests to a device fail: one in this many of each kind; none if 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// Reads that fail with [`DeviceError::Medium`].
    pub reads: u64,
    /// Writes that need not be durable and fail with [`DeviceError::Medium`].
    pub writes: u64,
    /// Trims that fail with [`DeviceError::Medium`].
    pub trims: u64,
    /// Flushes and durable writes that fail with [`DeviceError::Medium`]: what was written before may be lost.
    pub flushes: u64,
    /// Writes that find the device full ([`DeviceError::NoSpace`]). From then on it refuses all writes.
    pub refusals: u64,
}

impl FaultPlan {
    /// Only flushes and durable writes fail, one in this many.
    pub const fn flushes(one_in: u64) -> Self {
        Self { reads: 0, writes: 0, trims: 0, flushes: one_in, refusals: 0 }
    }
}

/// Draws the errors of a device.
#[derive(Clone, Debug)]
pub struct Faults {
    plan: FaultPlan,
    is_full: bool,
    rng: Rng,
}

impl Faults {
    /// The faults of a device, which follow from `seed`.
    pub fn new(plan: FaultPlan, seed: u64) -> Self {
        Self { plan, is_full: false, rng: Rng::derive(seed, "faults of a device") }
    }

    /// Changes how often requests fail from now on.
    pub fn set_plan(&mut self, plan: FaultPlan) {
        self.plan = plan;
    }

    /// Returns true once the device refuses writes.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Makes room: the device takes writes again until it is found full the next time.
    pub fn make_room(&mut self) {
        self.is_full = false;
    }

    /// Returns the error of the next request, which is of `kind`, if it fails.
    pub fn strike(&mut self, kind: RequestKind) -> Option<DeviceError> {
        let plan = self.plan;
        if kind.is_write() && (self.is_full || self.one_in(plan.refusals)) {
            self.is_full = true;
            return Some(DeviceError::NoSpace);
        }
        let one_in = match kind {
            RequestKind::Read => plan.reads,
            RequestKind::Trim => plan.trims,
            RequestKind::Flush => plan.flushes,
            RequestKind::Write { fua: true } | RequestKind::WriteZeroes { fua: true } => plan.flushes,
            RequestKind::Write { fua: false } | RequestKind::WriteZeroes { fua: false } => plan.writes,
        };
        self.one_in(one_in).then_some(DeviceError::Medium)
    }

    fn one_in(&mut self, count: u64) -> bool {
        count > 0 && self.rng.chance(1, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: RequestKind = RequestKind::Write { fua: false };

    #[test]
    fn requests_fail_as_often_as_the_plan_says_and_no_others_do() {
        let mut faults = Faults::new(FaultPlan { writes: 4, ..FaultPlan::flushes(10) }, 1);
        let mut count = |kind| (0..10_000).filter(|_| faults.strike(kind).is_some()).count();
        let durable = RequestKind::Write { fua: true };
        let found = [RequestKind::Read, RequestKind::Trim, WRITE, durable, RequestKind::Flush].map(&mut count);
        assert_eq!(found[..2], [0, 0]);
        assert!((2_300..2_700).contains(&found[2]), "{found:?}");
        assert!(found[3..].iter().all(|flushes| (900..1_100).contains(flushes)), "{found:?}");
    }

    #[test]
    fn a_full_device_refuses_writes_until_there_is_room() {
        let mut faults = Faults::new(FaultPlan { refusals: 50, ..FaultPlan::default() }, 1);
        while faults.strike(WRITE).is_none() {}
        assert!(faults.is_full() && (0..100).all(|_| faults.strike(WRITE) == Some(DeviceError::NoSpace)));
        let others = [RequestKind::Read, RequestKind::Trim, RequestKind::Flush];
        assert_eq!(others.map(|kind| faults.strike(kind)), [None; 3]);
        faults.set_plan(FaultPlan::default());
        faults.make_room();
        assert_eq!(faults.strike(WRITE), None);
    }
}
