//! The host's requests: they are split into jobs, started chunk by chunk, and answered.

use esker_core::{Bytes, DeviceError, Nanos, Request, RequestKind, Tag};

use super::FlashCacheEngine;
use super::job::{Job, JobTask};
use crate::engine::Engine;

/// Most bytes of one request whose jobs are under way at a time: a discard of a whole volume must not take a job for
/// each of its lines at once.
const CHUNK: u64 = 1 << 20;

/// Progress of a host's request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) request: Request,
    /// The first byte for which no job has been created yet.
    pub(super) next: u64,
    /// Whether it has reached its flushes, if it needs any.
    pub(super) flushing: bool,
    /// When it came.
    pub(super) began: Nanos,
    /// Whether the backing device serves what it reads of clean lines, once that is decided.
    pub(super) routed: Option<bool>,
}

/// The lines of a request whose jobs are started together.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineGroup {
    pub(super) host: Tag,
    pub(super) first: u32,
    pub(super) lines: u32,
    pub(super) buffer: Option<u32>,
}

impl FlashCacheEngine {
    pub(super) fn begin_host(&mut self, tag: Tag, request: Request) {
        self.hosts.begin(tag, request.kind);
        let capacity = self.capacity();
        let next = request.start.byte_offset();
        self.progress.insert(tag, Progress { request, next, flushing: false, began: self.now, routed: None });
        if request.kind == RequestKind::Flush {
            self.flush(tag);
        } else if request.end_byte() > capacity.0 {
            self.hosts.note(tag, 0, DeviceError::OutOfRange { end: request.end_byte(), capacity });
            self.end_host(tag);
        } else if request.length == Bytes::ZERO {
            self.end_host(tag);
        } else {
            self.begin_chunk(tag);
        }
    }

    /// Creates the jobs for the next chunk of a request.
    pub(super) fn begin_chunk(&mut self, tag: Tag) {
        let Progress { request, next, .. } = *self.progress.get(tag);
        let end = request.end_byte().min(((next / CHUNK + 1) * CHUNK).next_multiple_of(self.line));
        let (first, last) = ((next / self.line) as u32, ((end - 1) / self.line) as u32);
        self.progress.get_mut(tag).next = end;
        self.end_group();
        self.group = Some(LineGroup { host: tag, first, lines: last - first + 1, buffer: None });
        for line in first..=last {
            let begin = next.max(u64::from(line) * self.line);
            let length = end.min(u64::from(line + 1) * self.line) - begin;
            let task = if request.kind == RequestKind::Read { JobTask::Read } else { JobTask::Write(request.kind) };
            self.hosts.wait(tag);
            self.begin_job(Job {
                from: begin % self.line,
                host: Some(tag),
                offset: begin - request.start.byte_offset(),
                priority: request.priority,
                stream: request.stream,
                shared: task == JobTask::Read && (self.slots.of(line).is_some() || !self.fills_reads()),
                ..Job::own(line, task, length)
            });
        }
    }

    pub(super) fn begin_job(&mut self, job: Job) {
        let tag = self.jobs.insert(job);
        self.touched(job.line);
        if self.locks.enter(job.line, tag, job.shared) {
            self.ready.push_back(tag);
        }
    }

    /// Reports the result of a job to the host's request. The job may still have work to do for the cache.
    pub(super) fn answer(&mut self, tag: Tag, result: Result<(), DeviceError>) {
        let job = self.job(tag);
        let offset = job.offset;
        let Some(host) = job.host.take() else { return };
        if self.hosts.child_ended(host, offset, result) {
            self.end_host(host);
        }
    }

    /// Continues a request of the host when everything that it waited for has ended: with the next chunk, its flushes,
    /// or the answer.
    pub(super) fn end_host(&mut self, tag: Tag) {
        let Progress { request, next, flushing, began, .. } = *self.progress.get(tag);
        let result = self.hosts.result(tag);
        let has_more = request.kind != RequestKind::Flush && result.is_ok() && next < request.end_byte();
        if has_more {
            return self.begin_chunk(tag);
        }
        if result.is_ok() && request.kind.is_fua() && !flushing {
            return self.flush(tag);
        }
        if result.is_ok() && flushing && self.waits_for_records(tag) {
            return;
        }
        self.progress.remove(tag);
        let result = self.hosts.result(tag);
        if result.is_ok() {
            self.note_end(&request, began);
        }
        self.hosts.reply(tag, result, &mut self.effects);
    }
}
