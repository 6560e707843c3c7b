//! Changes in an append-only log: a changed line goes to the next slot.

use esker_cache::ObjectId;
use esker_core::{DeviceError, RequestKind, Tag};

use super::job::{JobStep, JobTask};
use super::slots::RecordedState;
use super::{FLASH, FlashCacheEngine};

impl FlashCacheEngine {
    /// Writes a line that the host changes to the next slot. If no slot is free, the line is changed in place.
    pub(super) fn append(&mut self, tag: Tag) {
        let job = *self.job(tag);
        let is_whole = job.length == self.line;
        let JobTask::Write(kind) = job.task else { unreachable!("it is a write") };
        // A write of zeroes brings no data that could be merged into a line.
        let can_move = is_whole || kind.has_data();
        if !can_move || self.flash_failed() || self.health.journal_failed() || self.slots.free() == 0 {
            return self.change(tag);
        }
        let mut reached = Vec::new();
        let slot = self.slots.take(&mut reached);
        // The line's own slot may be among those that the log has reached.
        for line in reached.into_iter().filter(|&line| line != job.line) {
            self.policy.remove(ObjectId(line));
            self.to_evict.push_back(line);
        }
        self.renew(tag);
        self.job(tag).slot = slot;
        if is_whole {
            self.job(tag).step = JobStep::Append;
            self.send_host(tag, slot, Self::in_cache(kind));
        } else {
            self.take_buffer(tag);
            self.job(tag).step = JobStep::Merge;
            self.send_line(tag, self.slots.of(job.line), RequestKind::Read);
        }
    }

    /// Makes the line the newest one of the log, and therefore of the policy.
    fn renew(&mut self, tag: Tag) {
        let access = Self::access(self.job(tag));
        self.policy.remove(access.object);
        self.policy.hit(&access);
        let left = self.policy.insert(&access);
        self.to_evict.extend(left.map(|object| object.0));
    }

    /// Handles the end of reading the line that the host changes in part: writes it to its new slot with the host's
    /// changes.
    pub(super) fn merged(&mut self, tag: Tag, error: Option<DeviceError>) {
        if error.is_some() {
            self.give_back(tag);
            return self.change(tag);
        }
        let job = *self.job(tag);
        self.copy_host(&job, false);
        self.job(tag).step = JobStep::Append;
        self.send_line(tag, job.slot, RequestKind::Write { fua: false });
    }

    /// Handles the end of writing a changed line to its new slot.
    pub(super) fn appended(&mut self, tag: Tag, error: Option<DeviceError>) {
        let line = self.job(tag).line;
        if let Some(error) = error {
            self.give_back(tag);
            if !self.slots.is_dirty(line) {
                // The backing device has everything that the flash had of this line.
                return self.go_around(tag);
            }
            self.counts.lost += 1;
            return self.end_job(tag, Err(error));
        }
        let slot = self.job(tag).slot.take().expect("it was taken");
        if self.slots.recorded(line) == RecordedState::Clean {
            // The backing device has the data that the journal names: the line leaves there and enters again here.
            let record = self.record_left(line);
            self.slots.unmap(line, Some(record));
            self.slots.map(line, slot, true);
        } else {
            #[cfg(test)]
            if self.fault == Some(super::Fault::HurriesOutdated) {
                self.slots.set_recorded(line, RecordedState::No);
            }
            let is_flushing = self.durability.is_flushing(FLASH);
            #[cfg(test)]
            let is_flushing = is_flushing && self.fault != Some(super::Fault::ForgetsPromises);
            self.slots.remap(line, slot, is_flushing);
        }
        self.unrecorded += 1;
        self.durability.record_after_flush_of(FLASH, self.slots.version(line));
        if self.slots.has_to_leave(line) {
            self.policy.remove(ObjectId(line));
            self.to_evict.push_back(line);
        }
        self.end_job(tag, Ok(()));
    }

    /// Gives back the new slot: the line stays in its old one.
    fn give_back(&mut self, tag: Tag) {
        let slot = self.job(tag).slot.take();
        slot.into_iter().for_each(|slot| self.slots.put_back(slot));
    }
}
