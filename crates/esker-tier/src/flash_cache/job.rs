//! Jobs: the work on one line, for a request of the host or for the cache itself.

use esker_cache::ObjectId;
use esker_core::{DeviceError, Priority, RequestKind, StreamId, Tag};

use super::FlashCacheEngine;

/// The purpose of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobTask {
    /// Serve a read of the host.
    Read,
    /// Serve a write, a write of zeroes, or a trim of the host.
    Write(RequestKind),
    /// Evict the line.
    Evict,
    /// Copy the dirty line back and keep it.
    Clean,
}

/// The step that a job is in: what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobStep {
    /// Its lock, and the record that its line has left an earlier slot.
    Lock,
    /// The host's read on the flash.
    ReadFlash,
    /// The host's read on the backing device, of a line that the flash holds.
    ReadRouted,
    /// The host's read on the backing device, of any other line.
    ReadBacking,
    /// Reading the whole line from the backing device.
    Fetch,
    /// Writing the whole line to its new slot; with write-through also the host's write to the backing device.
    Fill,
    /// The record after which the line may be changed in place.
    Announce,
    /// The host's write to the line in place; with write-through also its write to the backing device.
    Change,
    /// Reading the line, of which the host changes a part, before it is written to another slot.
    Merge,
    /// Writing the changed line to another slot.
    Append,
    /// The record that the line has left, after which the host's write goes around the cache.
    Leave,
    /// The host's write to the backing device only.
    Around,
    /// Reading a dirty line from the flash.
    CopyOut,
    /// Writing that line durably to the backing device.
    CopyBack,
}

/// The work on one line, for a request of the host or for the cache itself. A job holds its line's lock from its first
/// step to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) line: u32,
    /// First byte within the line, and length in bytes.
    pub(super) from: u64,
    pub(super) length: u64,
    pub(super) task: JobTask,
    /// The host's request, until this job has reported to it; `None` for the cache's own jobs.
    pub(super) host: Option<Tag>,
    /// Offset in the host's buffer at which the bytes of this job begin.
    pub(super) offset: u64,
    pub(super) priority: Priority,
    pub(super) stream: StreamId,
    /// Whether it shares its line's lock with other reads.
    pub(super) shared: bool,
    pub(super) step: JobStep,
    /// Number of its requests to devices that are under way.
    pub(super) open: u8,
    /// Errors in this step: of the flash, of the backing device.
    pub(super) errors: [Option<DeviceError>; 2],
    /// The buffer for the line: its number, and the offset of the line in it.
    pub(super) buffer: Option<(u32, u64)>,
    /// A slot that was reserved for the line and does not hold it yet.
    pub(super) slot: Option<u32>,
}

impl Job {
    /// A job of the cache itself on `length` bytes of a line.
    pub(super) fn own(line: u32, task: JobTask, length: u64) -> Self {
        Self {
            line,
            from: 0,
            length,
            task,
            host: None,
            offset: 0,
            priority: Priority::BACKGROUND,
            stream: StreamId::default(),
            shared: false,
            step: JobStep::Lock,
            open: 0,
            errors: [None; 2],
            buffer: None,
            slot: None,
        }
    }
}

impl FlashCacheEngine {
    pub(super) fn job(&mut self, tag: Tag) -> &mut Job {
        self.jobs.get_mut(tag)
    }

    /// Starts a job that holds its lock. If the line has left a slot, the record of that has to be durable before the
    /// backing device is changed. Otherwise a restart could find older data in that slot and take them for clean.
    pub(super) fn start(&mut self, tag: Tag) {
        let job = *self.job(tag);
        if job.host.is_some() {
            self.claim(job.line);
        }
        let record = self.slots.leaves_with(job.line);
        #[cfg(test)]
        let record = record.filter(|_| self.fault != Some(super::Fault::ForgetsLeaving));
        if let Some(record) = record.filter(|_| job.task != JobTask::Read) {
            if self.health.journal_failed() {
                return self.end_job(tag, Err(DeviceError::Failed));
            }
            self.announced.push_back((self.durability.issued().max(record), tag));
            return self.durability.harden(&mut self.effects);
        }
        self.start_task(tag);
    }

    /// Ends a job: releases its lock, its buffer and its unused slot.
    pub(super) fn end_job(&mut self, tag: Tag, result: Result<(), DeviceError>) {
        self.answer(tag, result);
        let job = self.jobs.remove(tag);
        self.touched(job.line);
        assert!(job.open == 0, "it still waits for a device");
        if let Some((buffer, _)) = job.buffer {
            self.buffers.release(buffer);
        }
        if let Some(slot) = job.slot {
            self.slots.put_back(slot);
            self.policy.remove(ObjectId(job.line));
        }
        match job.task {
            JobTask::Evict => self.evicting -= 1,
            JobTask::Clean => self.cleaning -= 1,
            JobTask::Read | JobTask::Write(_) => {}
        }
        if self.flash_failed() && !job.shared && self.slots.of(job.line).is_some() && !self.slots.is_dirty(job.line) {
            self.drop_line(job.line);
        }
        self.locks.leave(job.line, job.shared, &mut self.ready);
    }

    pub(super) fn start_task(&mut self, tag: Tag) {
        let job = *self.job(tag);
        self.control(&job);
        match job.task {
            JobTask::Read => self.start_read(tag),
            JobTask::Write(_) => self.start_write(tag),
            JobTask::Evict => self.start_eviction(tag),
            JobTask::Clean => self.start_cleaning(tag),
        }
    }

    /// Continues a job after all requests of its current step have ended.
    pub(super) fn step_ended(&mut self, tag: Tag) {
        let job = self.job(tag);
        let errors = std::mem::take(&mut job.errors);
        match job.step {
            JobStep::ReadFlash => self.read_from_flash(tag, errors[0]),
            JobStep::ReadRouted => self.routed_ended(tag, errors[1]),
            JobStep::ReadBacking => self.end_job(tag, errors[1].map_or(Ok(()), Err)),
            JobStep::Fetch => self.fetched(tag, errors[1]),
            JobStep::Fill => self.filled(tag, errors),
            JobStep::Change => self.changed(tag, errors),
            JobStep::Merge => self.merged(tag, errors[0]),
            JobStep::Append => self.appended(tag, errors[0]),
            JobStep::Around => self.went_around(tag, errors[1]),
            JobStep::CopyOut => self.copied_out(tag, errors[0]),
            JobStep::CopyBack => self.copied_back(tag, errors[1]),
            JobStep::Lock | JobStep::Announce | JobStep::Leave => unreachable!("these wait for no device"),
        }
    }
}
