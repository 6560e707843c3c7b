//! Reads of the host, and fetching lines for requests.

use esker_core::{DeviceError, DeviceState, RequestKind, Tag};

use super::job::{JobStep, JobTask};
use super::slots::RecordedState;
use super::{CacheRole, FLASH, FlashCacheEngine, WriteHandling};

type Errors = [Option<DeviceError>; 2];

impl FlashCacheEngine {
    /// Returns true if reads bring lines into the cache.
    pub(super) fn fills_reads(&self) -> bool {
        self.role != CacheRole::Write
    }

    pub(super) fn start_read(&mut self, tag: Tag) {
        let job = *self.job(tag);
        let slot = self.slots.of(job.line);
        self.note_lookup(slot.is_some());
        if slot.is_some() {
            self.counts.hits += 1;
            self.counts.read_hits += 1;
            self.touch(&job);
        } else {
            self.counts.misses += 1;
            self.counts.read_misses += 1;
        }
        if self.has_lost(job.line) {
            self.counts.lost += 1;
            return self.end_job(tag, Err(DeviceError::Failed));
        }
        // A failed flash is asked only for dirty lines, whose data no other device has.
        match slot.filter(|_| self.slots.is_dirty(job.line) || !self.flash_failed()) {
            Some(_) if self.is_routed(tag) => self.read_routed(tag),
            Some(slot) => self.read_flash(tag, slot),
            None if slot.is_none() && self.fills_reads() && self.admit(tag) => self.fetch(tag),
            None => self.read_backing(tag),
        }
    }

    /// Returns true if the flash has failed before the data of the dirty `line` were durable in its slot: the slot may
    /// hold what another line has left there.
    fn has_lost(&self, line: u32) -> bool {
        #[cfg(test)]
        if self.fault == Some(super::Fault::TrustsFailedFlash) {
            return false;
        }
        self.health.device(FLASH) == DeviceState::Failed
            && self.slots.is_dirty(line)
            && self.slots.recorded(line) == RecordedState::No
    }

    pub(super) fn read_flash(&mut self, tag: Tag, slot: u32) {
        self.job(tag).step = JobStep::ReadFlash;
        self.send_host(tag, Some(slot), RequestKind::Read);
    }

    fn read_backing(&mut self, tag: Tag) {
        self.job(tag).step = JobStep::ReadBacking;
        self.send_host(tag, None, RequestKind::Read);
    }

    /// Handles the flash's answer to a read of the host. If the flash cannot read a clean line, the line leaves and the
    /// backing device serves the read.
    pub(super) fn read_from_flash(&mut self, tag: Tag, error: Option<DeviceError>) {
        let line = self.job(tag).line;
        let is_dirty = self.slots.is_dirty(line);
        // The flash may have failed while it was read: what it returned counts only if it was durable there.
        let error = error.or_else(|| {
            let clean = !is_dirty && self.health.device(FLASH) == DeviceState::Failed;
            (clean || self.has_lost(line)).then_some(DeviceError::Failed)
        });
        let Some(error) = error else { return self.end_job(tag, Ok(())) };
        if is_dirty {
            self.counts.lost += 1;
            return self.end_job(tag, Err(error));
        }
        self.counts.flash_errors += 1;
        if self.slots.of(line).is_some() {
            self.policy.remove(esker_cache::ObjectId(line));
            self.to_evict.push_back(line);
        }
        self.read_backing(tag);
    }

    /// Reads the job's line from the backing device into a buffer.
    pub(super) fn fetch(&mut self, tag: Tag) {
        self.counts.filled_bytes += self.line;
        self.take_buffer(tag);
        self.job(tag).step = JobStep::Fetch;
        self.send_line(tag, None, RequestKind::Read);
    }

    /// Handles the end of a fetch: the line is in its buffer, and is written to its slot with the host's changes.
    pub(super) fn fetched(&mut self, tag: Tag, error: Option<DeviceError>) {
        let job = *self.job(tag);
        if error.is_some() {
            // The bytes that the host asked for may be readable all the same.
            self.give_up_slot(tag);
            return if job.task == JobTask::Read { self.read_backing(tag) } else { self.go_around(tag) };
        }
        let is_read = job.task == JobTask::Read;
        self.copy_host(&job, is_read);
        if is_read {
            self.answer(tag, Ok(()));
        }
        self.job(tag).step = JobStep::Fill;
        self.send_line(tag, job.slot, RequestKind::Write { fua: false });
        if let (JobTask::Write(kind), WriteHandling::WriteThrough) = (job.task, self.write) {
            self.send_host(tag, None, Self::in_cache(kind));
        }
    }

    /// Handles the end of writing a new line to its slot.
    pub(super) fn filled(&mut self, tag: Tag, errors: Errors) {
        let job = *self.job(tag);
        let through = self.write == WriteHandling::WriteThrough;
        match (errors, job.task) {
            ([None, None], task) => {
                self.job(tag).slot = None;
                self.settle_line(tag, job.slot, matches!(task, JobTask::Write(_)) && !through);
            }
            (_, JobTask::Read) => {
                self.give_up_slot(tag);
                self.end_job(tag, Ok(()));
            }
            ([_, backing], _) => {
                self.give_up_slot(tag);
                if through {
                    return self.end_job(tag, backing.map_or(Ok(()), Err));
                }
                self.go_around(tag);
            }
        }
    }

    /// Gives back the slot: the line does not enter the cache.
    pub(super) fn give_up_slot(&mut self, tag: Tag) {
        let job = self.job(tag);
        let (line, slot) = (job.line, job.slot.take());
        if let Some(slot) = slot {
            self.slots.put_back(slot);
            self.policy.remove(esker_cache::ObjectId(line));
        }
    }
}
