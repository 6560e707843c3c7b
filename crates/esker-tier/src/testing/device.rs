//! A device of a test's world: its data, and the requests that fail on it.

use esker_core::{DeviceError, FaultPlan, Faults, Request, RequestKind, Rng};

use super::Store;
use super::buffers::Buffers;
use crate::engine::DataRef;

/// A device whose requests fail as a plan says.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) store: Store,
    faults: Faults,
    pub(crate) plan: FaultPlan,
    /// Whether a read has failed.
    pub(crate) reads_failed: bool,
    /// Whether a write, a trim or a flush has failed.
    pub(crate) writes_failed: bool,
}

impl Device {
    /// A device without faults.
    pub(crate) fn new(store: Store, seed: u64) -> Self {
        let plan = FaultPlan::default();
        Self { store, faults: Faults::new(plan, seed), plan, reads_failed: false, writes_failed: false }
    }

    /// Has requests fail as `plan` says from now on.
    pub(crate) fn set_plan(&mut self, plan: FaultPlan) {
        self.plan = plan;
        self.faults.set_plan(plan);
    }

    /// Takes writes again, if it had no room.
    pub(crate) fn make_room(&mut self) {
        self.faults.make_room();
    }

    /// Performs `request`, unless it fails. A write that fails may have changed the device or not; if it was to be
    /// durable, or the request was a flush, unflushed data of the device may be lost.
    pub(crate) fn perform(
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

    /// Loses power, and comes back without a memory of earlier errors.
    pub(crate) fn lose_power(&mut self, rng: &mut Rng) {
        self.store.lose_power(rng);
        self.faults.make_room();
        (self.reads_failed, self.writes_failed) = (false, false);
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
