//! A device of a test's world: its data, and the requests that fail on it.

use esker_core::{DeviceError, FaultPlan, Faults, Request, RequestKind, Rng};

use super::Store;
use super::buffers::Buffers;
use crate::engine::{DataRef, Input};

/// A device whose requests fail as a plan says.
#[derive(Debug)]
pub struct Device {
    pub store: Store,
    faults: Faults,
    pub plan: FaultPlan,
    /// Whether a read has failed.
    pub reads_failed: bool,
    /// Whether a write, a trim or a flush has failed.
    pub writes_failed: bool,
    /// Requests that were performed and have yet to be reported, in the order in which they were performed.
    pub ends: Vec<UnreportedEnd>,
    /// Whether its failure was reported.
    pub told_failed: bool,
}

/// The end of a request that has yet to be reported.
#[derive(Debug)]
pub struct UnreportedEnd {
    kind: RequestKind,
    end: Input,
    /// Whether unflushed data of the device were lost by then.
    has_lost_data: bool,
}

impl UnreportedEnd {
    /// Whether it is a flush or a durable write.
    fn is_durable(&self) -> bool {
        self.kind == RequestKind::Flush || self.kind.is_fua()
    }
}

impl Device {
    /// A device without faults.
    pub fn new(store: Store, seed: u64) -> Self {
        let plan = FaultPlan::default();
        Self {
            store,
            faults: Faults::new(plan, seed),
            plan,
            reads_failed: false,
            writes_failed: false,
            ends: Vec::new(),
            told_failed: false,
        }
    }

    /// Has requests fail as `plan` says from now on.
    pub fn set_plan(&mut self, plan: FaultPlan) {
        self.plan = plan;
        self.faults.set_plan(plan);
    }

    /// Takes writes again, if it had no room.
    pub fn make_room(&mut self) {
        self.faults.make_room();
    }

    /// Performs `request`, unless it fails. A write that fails may have changed the device or not; if it was to be
    /// durable, or the request was a flush, unflushed data of the device may be lost.
    pub fn perform(
        &mut self,
        request: &Request,
        data: Option<DataRef>,
        buffers: &mut Buffers,
        rng: &mut Rng,
    ) -> Result<(), DeviceError> {
        let Some(error) = self.faults.strike(request) else {
            buffers.perform(&mut self.store, request, data);
            return Ok(());
        };
        if request.kind == RequestKind::Read {
            self.reads_failed = true;
            return Err(error);
        }
        self.writes_failed = true;
        // A device without room, or that takes no writes, has done nothing.
        if error == DeviceError::NoSpace {
            return Err(error);
        }
        if request.kind != RequestKind::Flush && rng.chance(1, 2) {
            buffers.perform(&mut self.store, &Request { kind: volatile(request.kind), ..*request }, data);
        }
        if request.kind == RequestKind::Flush || request.kind.is_fua() {
            self.store.fail_to_flush(rng);
        }
        Err(error)
    }

    /// Notes the end of a request of `kind`, which was performed now.
    pub fn performed(&mut self, kind: RequestKind, end: Input) {
        self.ends.push(UnreportedEnd { kind, end, has_lost_data: self.store.failed });
    }

    /// Reports one of the ends, of which there are some. Flushes and durable writes are reported in their order, a read
    /// after the failed ones of these that were performed before it, and all else in any order.
    pub fn report(&mut self, rng: &mut Rng) -> Input {
        let may_go = |&index: &usize| {
            let (before, end) = (&self.ends[..index], &self.ends[index]);
            let waits_for = |earlier: &UnreportedEnd| match end.kind {
                RequestKind::Read => earlier.is_durable() && earlier.has_lost_data,
                _ => earlier.is_durable() && end.is_durable(),
            };
            !before.iter().any(waits_for)
        };
        let may_go: Vec<usize> = (0..self.ends.len()).filter(may_go).collect();
        let UnreportedEnd { kind, end, has_lost_data } =
            self.ends.remove(may_go[rng.below(may_go.len() as u64) as usize]);
        self.told_failed |= has_lost_data && (kind == RequestKind::Flush || kind.is_fua());
        end
    }

    /// Loses power, and comes back without a memory of earlier errors.
    pub fn lose_power(&mut self, rng: &mut Rng) {
        self.store.lose_power(rng);
        self.faults.make_room();
        (self.reads_failed, self.writes_failed, self.told_failed) = (false, false, false);
        self.ends.clear();
    }
}

/// The same kind of request without a promise that its data are durable.
fn volatile(kind: RequestKind) -> RequestKind {
    match kind {
        RequestKind::Write { .. } => RequestKind::Write { fua: false },
        RequestKind::WriteZeroes { .. } => RequestKind::WriteZeroes { fua: false },
        kind => kind,
    }
}
