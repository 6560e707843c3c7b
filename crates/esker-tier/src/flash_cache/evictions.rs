//! Lines that leave the cache, and dirty lines that are copied back.

use esker_cache::ObjectId;
use esker_core::{Bytes, DeviceError, DeviceState, RequestKind, Tag};

use super::job::{Job, JobStep, JobTask};
use super::{BACKING, FLASH, FlashCacheEngine, modes};
use crate::engine::ReshapeError;

/// At most this many lines are evicted, and this many are cleaned, at a time. Assumed.
const EVICTED_AT_ONCE: u32 = 32;
const CLEANED_AT_ONCE: u32 = 4;

impl FlashCacheEngine {
    /// Starts one job of the cache's own. Returns false if there is none to start now.
    pub(super) fn begin_background(&mut self) -> bool {
        if self.evicting < EVICTED_AT_ONCE
            && let Some(line) = self.to_evict.pop_front()
        {
            self.evicting += 1;
            self.begin_job(Job::own(line, JobTask::Evict, self.line));
            return true;
        }
        if let Some(line) = self.line_to_clean() {
            self.cleaning += 1;
            self.clean_next = line + 1;
            self.begin_job(Job::own(line, JobTask::Clean, self.line));
            return true;
        }
        self.harden_leaving();
        self.harden_clean();
        self.sync_if_due();
        false
    }

    /// Hardens the records of lines that have left, so that their slots are free before the cache runs out of slots.
    fn harden_leaving(&mut self) {
        if self.slots.are_leaving() && !self.health.journal_failed() && self.free_slots() <= self.few() {
            self.durability.harden(&mut self.effects);
        }
    }

    /// Returns the number of free slots at or below which slots are scarce.
    pub(super) fn few(&self) -> usize {
        modes::reserve(self.most_valid()) as usize / 2
    }

    /// Returns the dirty line that the cleaner takes next, in the order of addresses, if it should work now.
    fn line_to_clean(&mut self) -> Option<u32> {
        let dirty = self.slots.dirty();
        let [low, high] = if self.is_short_of_room() { [0; 2] } else { [self.dirty_low, self.dirty_high] };
        self.must_clean = dirty > high || (self.must_clean && dirty > low);
        let wants = self.must_clean || (dirty > low && self.hosts.is_empty());
        let can = self.cleaning < CLEANED_AT_ONCE && !self.flash_failed() && self.backing_takes_writes();
        if !wants || !can || dirty <= low + self.cleaning {
            return None;
        }
        self.slots.next_dirty(self.clean_next).filter(|&line| !self.locks.is_in_use(line))
    }

    fn backing_takes_writes(&self) -> bool {
        !self.health.has_failed(BACKING) && self.health.device(BACKING) == DeviceState::Online
    }

    /// Has lines leave that could not be copied back, if that may go well now.
    pub(super) fn evict_again(&mut self) {
        if self.backing_takes_writes() {
            self.to_evict.extend(std::mem::take(&mut self.stranded));
        }
    }

    pub(super) fn start_eviction(&mut self, tag: Tag) {
        let line = self.job(tag).line;
        if self.slots.of(line).is_none() || self.policy.holds(ObjectId(line)) || self.is_suspect(line) {
            return self.end_job(tag, Ok(()));
        }
        if self.slots.is_dirty(line) && self.health.device(BACKING) == DeviceState::ReadOnly {
            self.stranded.insert(line);
            return self.end_job(tag, Ok(()));
        }
        self.counts.evictions += 1;
        if self.slots.is_dirty(line) {
            self.counts.dirty_evictions += 1;
            return self.copy_out(tag);
        }
        self.let_go(line);
        self.end_job(tag, Ok(()));
    }

    pub(super) fn start_cleaning(&mut self, tag: Tag) {
        let line = self.job(tag).line;
        if !self.slots.is_dirty(line) {
            return self.end_job(tag, Ok(()));
        }
        self.copy_out(tag);
    }

    /// Reads a dirty line from the flash. Not after the flash has failed: it might return old data.
    pub(super) fn copy_out(&mut self, tag: Tag) {
        let line = self.job(tag).line;
        if self.flash_failed() || self.health.has_failed(BACKING) {
            return self.copy_failed(tag, DeviceError::Failed);
        }
        self.take_buffer(tag);
        self.job(tag).step = JobStep::CopyOut;
        self.send_line(tag, self.slots.of(line), RequestKind::Read);
    }

    pub(super) fn copied_out(&mut self, tag: Tag, error: Option<DeviceError>) {
        let line = self.job(tag).line;
        if let Some(error) = error {
            self.slots.lose(line);
            self.counts.lost += 1;
            return self.copy_failed(tag, error);
        }
        // If the flash has failed in the meantime, it may have returned old data, even those of another line: they must
        // not replace what the backing device has.
        #[cfg(test)]
        let trusts = self.fault == Some(super::Fault::TrustsFailedFlash);
        #[cfg(not(test))]
        let trusts = false;
        if self.flash_failed() && !trusts {
            return self.copy_failed(tag, DeviceError::Failed);
        }
        self.job(tag).step = JobStep::CopyBack;
        #[cfg(test)]
        let fua = self.fault != Some(super::Fault::ForgetsDirty);
        #[cfg(not(test))]
        let fua = true;
        self.send_line(tag, None, RequestKind::Write { fua });
    }

    /// Handles the end of copying back: the data of the dirty line are durable on the backing device, or the copy has
    /// failed and the line stays dirty.
    pub(super) fn copied_back(&mut self, tag: Tag, error: Option<DeviceError>) {
        let job = *self.job(tag);
        if let Some(error) = error {
            // The policy knows nothing of it any more.
            if job.task == JobTask::Evict {
                self.stranded.insert(job.line);
            }
            return self.copy_failed(tag, error);
        }
        self.counts.copied_back_bytes += self.line;
        self.slots.set_dirty(job.line, false);
        if matches!(job.task, JobTask::Write(_)) {
            return self.go_around(tag);
        }
        if !self.policy.holds(ObjectId(job.line)) {
            self.let_go(job.line);
        } else {
            self.counts.cleaned += 1;
            self.durability.record_after_flush_of(FLASH, self.slots.version(job.line));
        }
        self.end_job(tag, Ok(()));
    }

    /// Lets go of a clean line that the policy has evicted: it leaves, or stays as a suspect.
    fn let_go(&mut self, line: u32) {
        if !self.suspect(line) {
            self.drop_line(line);
        }
    }

    /// Takes a clean line out of the cache. Its slot is reused once the record that the line has left is durable.
    pub(super) fn drop_line(&mut self, line: u32) {
        self.policy.remove(ObjectId(line));
        self.end_suspicion(line);
        let record = match self.slots.is_known(line) {
            false => None,
            // No record can become durable after a failure of the journal, so the slot is never reused.
            true if self.health.journal_failed() => Some(self.durability.issued()),
            true => Some(self.record_left(line)),
        };
        #[cfg(test)]
        let record = record.filter(|_| self.fault != Some(super::Fault::HurriesSlots));
        self.slots.unmap(line, record);
        if let Some(budget) = &mut self.budget {
            budget.line_left();
        }
    }

    /// Takes all clean lines out of the cache once the flash has failed. Lines that a job holds alone leave when that
    /// job ends.
    pub(super) fn leave_failed_flash(&mut self) {
        if !self.flash_failed() || std::mem::replace(&mut self.flash_left, true) {
            return;
        }
        let clean: Vec<u32> = self.slots.held().filter(|(.., dirty)| !dirty).map(|(line, ..)| line).collect();
        for line in clean {
            if !self.locks.is_held_alone(line) {
                self.drop_line(line);
            }
        }
    }

    /// Returns an error if the cache cannot use only `capacity` of its flash.
    pub(super) fn check_shrink(&self, capacity: Bytes) -> Result<(), ReshapeError> {
        let slots = self.slots_of(capacity);
        let used = Bytes(u64::from(self.slots.limit()) * self.line);
        let reason = if self.owned.is_some() {
            "the cache owns its flash and uses all that is left of it; only wear makes that less".to_string()
        } else if slots < 2 {
            format!("a cache needs two lines of {}, more than {capacity}", Bytes(self.line))
        } else if slots > self.slots.limit() {
            format!("the cache uses {used} of its flash, and does not grow to {capacity}")
        } else {
            return Ok(());
        };
        Err(ReshapeError::Limit(reason))
    }

    fn slots_of(&self, capacity: Bytes) -> u32 {
        u32::try_from(capacity.0 / self.line).unwrap_or(u32::MAX)
    }

    /// Uses only the first `capacity` bytes of the flash from now on. The lines beyond leave, and so do those that the
    /// policy evicts to fit the new size.
    pub(super) fn shrink(&mut self, capacity: Bytes) {
        let slots = self.slots_of(capacity);
        for line in self.slots.shrink(slots) {
            self.policy.remove(ObjectId(line));
            self.to_evict.push_back(line);
        }
        self.limit_slots(slots);
    }
}
