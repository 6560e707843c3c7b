//! Admission and use of lines: what the cache asks and tells its replacement and admission policies.

use esker_cache::{Access, AccessKind, NEVER, ObjectId};
use esker_core::Tag;

use super::FlashCacheEngine;
use super::job::{Job, JobTask};

impl FlashCacheEngine {
    /// Tells the policies about an access to a cached line. A line that was about to leave stays.
    pub(super) fn touch(&mut self, job: &Job) {
        let access = Self::access(job);
        self.admission.hit(self.now, &access);
        if !self.policy.hit(&access) && !self.has_to_leave(job.line) && !self.flash_failed() {
            if self.end_suspicion(job.line) {
                self.counts.revived_suspects += 1;
            } else {
                self.counts.revived += 1;
            }
            let left = self.policy.insert(&access);
            self.to_evict.extend(left.map(|object| object.0));
        }
        self.warm(job.line);
    }

    /// Asks the policies whether a line may enter the cache. Returns true if the job has a slot for it now.
    pub(super) fn admit(&mut self, tag: Tag) -> bool {
        let job = *self.job(tag);
        if job.shared || self.flash_failed() || self.health.journal_failed() || self.is_used_up() {
            return false;
        }
        if self.keeps_out(job.task) {
            return false;
        }
        let access = Self::access(&job);
        let is_held = self.policy.hit(&access);
        assert!(!is_held, "the policy holds what has no slot");
        // The whole line would be written.
        if !self.admission.admits(self.now, &Access { bytes: self.line as u32, ..access }) {
            self.counts.refused += 1;
            return false;
        }
        let is_full = (self.budget.is_some() || self.owned.is_some()) && self.free_slots() == 0;
        if self.slots.free() == 0 || is_full {
            self.counts.without_slot += 1;
            return false;
        }
        let mut reached = Vec::new();
        let slot = self.slots.take(&mut reached);
        for line in reached {
            self.policy.remove(ObjectId(line));
            self.to_evict.push_back(line);
        }
        let left = self.policy.insert(&access).map(|object| object.0);
        if left == Some(job.line) {
            slot.into_iter().for_each(|slot| self.slots.put_back(slot));
            return false;
        }
        self.to_evict.extend(left);
        self.job(tag).slot = slot;
        true
    }

    pub(super) fn access(job: &Job) -> Access {
        let kind = if job.task == JobTask::Read { AccessKind::Read } else { AccessKind::Write };
        Access { object: ObjectId(job.line), bytes: job.length as u32, kind, next_use: NEVER }
    }
}
