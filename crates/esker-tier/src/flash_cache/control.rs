//! The link between the cache and its controller: what the controller hears, and how its decisions are carried out.

use esker_cache::ObjectId;
use esker_core::RequestKind;

use super::controller::{CacheDecision, LineAccess};
use super::job::{Job, JobTask};
use super::policy::CachePolicy;
use super::slot_budget::SlotBudget;
use super::{CacheRole, FlashCacheEngine, FlashCacheError, FlashCacheSettings};

impl FlashCacheEngine {
    /// Tells the controller about the access of a job of the host, carries out its decision, and assigns the line to a
    /// part of the cache.
    pub(super) fn control(&mut self, job: &Job) {
        if self.controller.is_none() {
            return;
        }
        let (is_write, is_zeroes) = match job.task {
            JobTask::Write(RequestKind::Trim) => return,
            JobTask::Write(kind) => (true, !kind.has_data()),
            JobTask::Read => (false, false),
            JobTask::Evict | JobTask::Clean => return,
        };
        let counts = match self.role {
            CacheRole::Read => !is_write,
            CacheRole::Write => is_write,
            CacheRole::Unified => true,
        };
        if !counts {
            return;
        }
        let access = LineAccess {
            line: job.line,
            volume: job.stream.0,
            is_write,
            is_zeroes,
            is_whole: job.length == self.line,
            is_held: self.slots.of(job.line).is_some(),
            is_dirty: self.slots.is_dirty(job.line),
        };
        let decision = self.controller.as_mut().and_then(|controller| controller.access(self.now, &access));
        match decision {
            Some(CacheDecision::LeaveToCleaning(over_provisioning)) => self.leave_to_cleaning(over_provisioning),
            Some(CacheDecision::Divide(weights)) => {
                self.policy.parts_mut().expect("the cache is divided").divide(&weights);
            }
            None => {}
        }
        if let (Some(controller), Some(parts)) = (&self.controller, self.policy.parts_mut()) {
            parts.assign(ObjectId(access.line), controller.part_of(&access));
        }
    }

    /// Assigns a restored line to a part of the cache.
    pub(super) fn assign_restored(&mut self, line: u32) {
        let is_dirty = self.slots.is_dirty(line);
        if let (Some(controller), Some(parts)) = (&self.controller, self.policy.parts_mut()) {
            parts.assign(ObjectId(line), controller.part_of_restored(is_dirty));
        }
    }

    /// Begins with the first decision of the controller. Its weights are those of the policy already.
    pub(super) fn begin_control(&mut self, first: Option<CacheDecision>) {
        if let Some(CacheDecision::LeaveToCleaning(over_provisioning)) = first {
            self.budget = Some(SlotBudget::of(self.slots.limit()));
            self.leave_to_cleaning(over_provisioning);
        }
    }
}

impl FlashCacheSettings {
    /// The replacement policy of a cache that may hold `room` of the volume's `lines` lines, and that begins with the
    /// decision `first`.
    pub(super) fn policy(
        &self,
        room: u32,
        lines: u32,
        first: Option<&CacheDecision>,
    ) -> Result<CachePolicy, FlashCacheError> {
        Ok(match first {
            Some(CacheDecision::Divide(weights)) => CachePolicy::divided(room, lines, weights),
            Some(CacheDecision::LeaveToCleaning(_)) | None => CachePolicy::Whole(self.build_policy(room, lines)?),
        })
    }
}
