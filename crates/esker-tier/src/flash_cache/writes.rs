//! Writes and trims of the host.

use esker_cache::ObjectId;
use esker_core::{DeviceError, RequestKind, Tag};

use super::FlashCacheRecord;
use super::job::{JobStep, JobTask};
use super::slots::RecordedState;
use super::{BACKING, CacheRole, FLASH, FlashCacheEngine, WriteHandling};
use crate::engine::{Effect, RecordNumber};
use crate::extent::{LogicalExtent, PhysicalExtent};

type Errors = [Option<DeviceError>; 2];

impl FlashCacheEngine {
    /// Returns the write that the cache sends for a write of the host. A durable write becomes an ordinary one: flushes
    /// make it durable after all of its jobs.
    pub(super) fn in_cache(kind: RequestKind) -> RequestKind {
        match kind {
            RequestKind::Write { .. } => RequestKind::Write { fua: false },
            RequestKind::WriteZeroes { .. } => RequestKind::WriteZeroes { fua: false },
            kind => kind,
        }
    }

    pub(super) fn start_write(&mut self, tag: Tag) {
        let job = *self.job(tag);
        let JobTask::Write(kind) = job.task else { unreachable!("it is a write") };
        let is_trim = kind == RequestKind::Trim;
        let is_held = self.slots.of(job.line).is_some();
        if !is_trim {
            let count = if is_held { &mut self.counts.hits } else { &mut self.counts.misses };
            *count += 1;
        }
        #[cfg(test)]
        if self.fault == Some(super::Fault::RefusesHeld)
            && is_held
            && !self.admission.admits(self.now, &Self::access(&job))
        {
            return self.send_around(tag);
        }
        let changes = self.slots.is_dirty(job.line) || (!is_trim && self.write != WriteHandling::WriteAround);
        if is_held && changes {
            self.touch(&job);
            return if !is_trim && self.appends { self.append(tag) } else { self.change(tag) };
        }
        // A write of zeroes brings no data that could be merged into a line.
        let is_whole = job.length == self.line;
        let can_enter = !is_held && changes && (is_whole || kind.has_data());
        if !can_enter || self.role == CacheRole::Read || !self.admit(tag) {
            return self.go_around(tag);
        }
        if !is_whole {
            return self.fetch(tag);
        }
        let slot = self.job(tag).slot;
        self.job(tag).step = JobStep::Fill;
        self.send_host(tag, slot, Self::in_cache(kind));
        if self.write == WriteHandling::WriteThrough {
            self.send_host(tag, None, Self::in_cache(kind));
        }
    }

    /// Changes a line in place, once a record allows it.
    pub(super) fn change(&mut self, tag: Tag) {
        let line = self.job(tag).line;
        let is_dirty = self.slots.is_dirty(line);
        if self.flash_failed() {
            if is_dirty {
                self.counts.lost += 1;
                return self.end_job(tag, Err(DeviceError::Failed));
            }
            return self.go_around(tag);
        }
        self.slots.change(line);
        let stays_dirty = is_dirty || self.write == WriteHandling::WriteBack;
        let record = match (stays_dirty, self.slots.recorded(line)) {
            (true, RecordedState::Clean) => Some(self.record_line(line, true)),
            (false, RecordedState::Clean | RecordedState::Dirty) => Some(self.record_left(line)),
            _ => None,
        };
        if stays_dirty {
            self.slots.set_dirty(line, true);
        }
        #[cfg(test)]
        let record = record.filter(|_| self.fault != Some(super::Fault::ChangesUnannounced));
        match record {
            Some(record) => {
                self.job(tag).step = JobStep::Announce;
                self.announced.push_back((record, tag));
                self.durability.harden(&mut self.effects);
            }
            None => self.send_change(tag),
        }
    }

    /// Continues a job whose record is durable, or never will be.
    pub(super) fn announced(&mut self, tag: Tag, durable: bool) {
        let job = *self.job(tag);
        match job.step {
            _ if !durable => return self.end_job(tag, Err(DeviceError::Failed)),
            // The line may have left once more in the meantime.
            JobStep::Lock => return self.start(tag),
            JobStep::Leave => return self.send_around(tag),
            _ => {}
        }
        if self.flash_failed() {
            // Nothing has been written yet: the backing device has what the flash had.
            self.slots.set_dirty(job.line, false);
            return self.go_around(tag);
        }
        self.send_change(tag);
    }

    fn send_change(&mut self, tag: Tag) {
        let job = *self.job(tag);
        let JobTask::Write(kind) = job.task else { unreachable!("it is a write") };
        let is_dirty = self.slots.is_dirty(job.line);
        self.job(tag).step = JobStep::Change;
        // Trimming a line that only the flash has writes zeroes there: the backing device may hold older data.
        let on_flash = if kind == RequestKind::Trim { RequestKind::WriteZeroes { fua: false } } else { kind };
        self.send_host(tag, self.slots.of(job.line), Self::in_cache(on_flash));
        if !is_dirty {
            self.send_host(tag, None, Self::in_cache(kind));
        }
    }

    pub(super) fn changed(&mut self, tag: Tag, errors: Errors) {
        let line = self.job(tag).line;
        let is_dirty = self.slots.is_dirty(line);
        match errors {
            [None, None] if is_dirty => {
                if self.slots.recorded(line) != RecordedState::Dirty {
                    self.durability.record_after_flush_of(FLASH, self.slots.version(line));
                }
                self.end_job(tag, Ok(()));
            }
            [None, None] => {
                self.record_when_durable(line);
                self.end_job(tag, Ok(()));
            }
            [flash, _] if is_dirty && self.is_refusal(flash) => self.change_refused(tag),
            [flash, _] if is_dirty => {
                self.counts.lost += 1;
                self.end_job(tag, flash.map_or(Ok(()), Err));
            }
            [_, backing] => {
                self.drop_line(line);
                self.end_job(tag, backing.map_or(Ok(()), Err));
            }
        }
    }

    /// Sends the host's write to the backing device only, after the line has left the cache.
    pub(super) fn go_around(&mut self, tag: Tag) {
        let line = self.job(tag).line;
        #[cfg(test)]
        if self.fault == Some(super::Fault::KeepsStale) {
            return self.send_around(tag);
        }
        let was_recorded = self.slots.is_known(line);
        if self.slots.of(line).is_some() {
            self.drop_line(line);
        }
        if !was_recorded {
            return self.send_around(tag);
        }
        self.job(tag).step = JobStep::Leave;
        if self.health.journal_failed() {
            return self.end_job(tag, Err(DeviceError::Failed));
        }
        self.announced.push_back((self.durability.issued(), tag));
        self.durability.harden(&mut self.effects);
    }

    fn send_around(&mut self, tag: Tag) {
        let JobTask::Write(kind) = self.job(tag).task else { unreachable!("it is a write") };
        self.job(tag).step = JobStep::Around;
        self.send_host(tag, None, Self::in_cache(kind));
    }

    pub(super) fn went_around(&mut self, tag: Tag, error: Option<DeviceError>) {
        self.end_job(tag, error.map_or(Ok(()), Err));
    }

    /// Puts a new line into `slot`, and ends the job.
    pub(super) fn settle_line(&mut self, tag: Tag, slot: Option<u32>, dirty: bool) {
        let line = self.job(tag).line;
        self.slots.map(line, slot.expect("it was taken"), dirty);
        self.warm(line);
        if dirty {
            self.durability.record_after_flush_of(FLASH, self.slots.version(line));
        } else {
            self.record_when_durable(line);
        }
        if self.has_to_leave(line) {
            self.policy.remove(ObjectId(line));
            self.to_evict.push_back(line);
        }
        self.end_job(tag, Ok(()));
    }

    /// Has a clean line recorded once its data are durable on the backing device, and then on the flash.
    fn record_when_durable(&mut self, line: u32) {
        self.unrecorded += 1;
        let version = self.slots.version(line);
        let trusts = self.durability.is_durable(BACKING);
        #[cfg(test)]
        let trusts = trusts || self.fault == Some(super::Fault::TrustsBacking);
        self.durability.record_after_flush_of(if trusts { FLASH } else { BACKING }, version);
    }

    /// Issues the record that says in which slot `line` is.
    pub(super) fn record_line(&mut self, line: u32, dirty: bool) -> RecordNumber {
        self.keep_for_snapshot(line);
        self.slots.set_recorded(line, if dirty { RecordedState::Dirty } else { RecordedState::Clean });
        let slot = PhysicalExtent(self.slots.of(line).expect("it is held"));
        let record = self.issue(FlashCacheRecord::Cached { line: LogicalExtent(line), slot, dirty });
        if !dirty {
            self.await_clean(line, record);
        }
        self.slots.former_leave(line, Some(record));
        record
    }

    /// Issues the record that `line` has left.
    pub(super) fn record_left(&mut self, line: u32) -> RecordNumber {
        self.keep_for_snapshot(line);
        self.slots.set_recorded(line, RecordedState::No);
        self.issue(FlashCacheRecord::Uncached { line: LogicalExtent(line) })
    }

    pub(super) fn issue(&mut self, record: FlashCacheRecord) -> RecordNumber {
        let number = self.durability.issue();
        self.effects.push(Effect::Record { number, record: record.into() });
        number
    }
}
