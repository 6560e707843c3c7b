//! Errors of devices, drawn at random for tests and simulated failures.

use crate::{Bytes, DeviceError, Request, RequestKind, Rng};

/// How often the requests to a device fail: one in this many of each kind; none if 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// Reads that fail with a medium error.
    pub reads: u64,
    /// Writes that need not be durable and fail with a medium error.
    pub writes: u64,
    /// Trims that fail with a medium error.
    pub trims: u64,
    /// Flushes and durable writes that fail with a medium error: what was written before may be lost.
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

    /// Returns the error of the next request, if it fails. A medium error is in any of the request's sectors.
    pub fn strike(&mut self, request: &Request) -> Option<DeviceError> {
        let (plan, kind) = (self.plan, request.kind);
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
        self.one_in(one_in).then(|| DeviceError::Medium { at: self.sector_of(request) })
    }

    /// Returns where one of the request's sectors begins.
    fn sector_of(&mut self, request: &Request) -> Bytes {
        let sectors = request.length.0 / Bytes::SECTOR.0;
        Bytes(self.rng.below(sectors.max(1)) * Bytes::SECTOR.0)
    }

    fn one_in(&mut self, count: u64) -> bool {
        count > 0 && self.rng.chance(1, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lba;

    const WRITE: RequestKind = RequestKind::Write { fua: false };

    const fn request(kind: RequestKind) -> Request {
        Request::new(kind, Lba(8), Bytes::kib(4))
    }

    #[test]
    fn a_medium_error_is_in_one_of_the_sectors() {
        let mut faults = Faults::new(FaultPlan { reads: 1, ..FaultPlan::flushes(1) }, 1);
        let mut places = [false; 8];
        for _ in 0..200 {
            let Some(DeviceError::Medium { at }) = faults.strike(&request(RequestKind::Read)) else {
                panic!("it fails")
            };
            places[(at.0 / 512) as usize] = true;
        }
        assert_eq!(places, [true; 8]);
        let flush = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);
        assert_eq!(faults.strike(&flush), Some(DeviceError::MEDIUM));
    }

    #[test]
    fn requests_fail_as_often_as_the_plan_says_and_no_others_do() {
        let mut faults = Faults::new(FaultPlan { writes: 4, ..FaultPlan::flushes(10) }, 1);
        let mut count = |kind| (0..10_000).filter(|_| faults.strike(&request(kind)).is_some()).count();
        let durable = RequestKind::Write { fua: true };
        let found = [RequestKind::Read, RequestKind::Trim, WRITE, durable, RequestKind::Flush].map(&mut count);
        assert_eq!(found[..2], [0, 0]);
        assert!((2_300..2_700).contains(&found[2]), "{found:?}");
        assert!(found[3..].iter().all(|flushes| (900..1_100).contains(flushes)), "{found:?}");
    }

    #[test]
    fn a_full_device_refuses_writes_until_there_is_room() {
        let mut faults = Faults::new(FaultPlan { refusals: 50, ..FaultPlan::default() }, 1);
        while faults.strike(&request(WRITE)).is_none() {}
        assert!(faults.is_full() && (0..100).all(|_| faults.strike(&request(WRITE)) == Some(DeviceError::NoSpace)));
        let others = [RequestKind::Read, RequestKind::Trim, RequestKind::Flush];
        assert_eq!(others.map(|kind| faults.strike(&request(kind))), [None; 3]);
        faults.set_plan(FaultPlan::default());
        faults.make_room();
        assert_eq!(faults.strike(&request(WRITE)), None);
    }
}
