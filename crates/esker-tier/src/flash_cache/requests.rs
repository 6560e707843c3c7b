//! The host's requests: split at lines, begun some at a time, and answered.

use esker_core::{Bytes, DeviceError, Request, RequestKind, Tag};

use super::FlashCacheEngine;
use super::part::{Part, Task};
use crate::engine::Engine;

/// Most bytes of one request that are worked on at a time: a discard of a whole volume must not take a part per line.
const CHUNK: u64 = 1 << 20;

/// How far a host's request has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) request: Request,
    /// The first byte that no part has been made for.
    pub(super) next: u64,
    /// Whether it waits for flushes, or has done so.
    pub(super) flushing: bool,
}

/// The lines of a request that are begun together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
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
        self.progress.insert(tag, Progress { request, next, flushing: false });
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

    /// Begins the next lines of a request.
    pub(super) fn begin_chunk(&mut self, tag: Tag) {
        let Progress { request, next, .. } = *self.progress.get(tag);
        let end = request.end_byte().min(((next / CHUNK + 1) * CHUNK).next_multiple_of(self.line));
        let (first, last) = ((next / self.line) as u32, ((end - 1) / self.line) as u32);
        self.progress.get_mut(tag).next = end;
        self.end_group();
        self.group = Some(Group { host: tag, first, lines: last - first + 1, buffer: None });
        for line in first..=last {
            let begin = next.max(u64::from(line) * self.line);
            let length = end.min(u64::from(line + 1) * self.line) - begin;
            let task = if request.kind == RequestKind::Read { Task::Read } else { Task::Write(request.kind) };
            self.hosts.wait(tag);
            self.begin_part(Part {
                from: begin % self.line,
                host: Some(tag),
                offset: begin - request.start.byte_offset(),
                priority: request.priority,
                stream: request.stream,
                shared: task == Task::Read && (self.slots.of(line).is_some() || !self.fills_reads()),
                ..Part::own(line, task, length)
            });
        }
    }

    pub(super) fn begin_part(&mut self, part: Part) {
        let tag = self.parts.insert(part);
        self.touched(part.line);
        if self.locks.enter(part.line, tag, part.shared) {
            self.ready.push_back(tag);
        }
    }

    /// Answers the host for a part, which may have more to do for the cache.
    pub(super) fn answer(&mut self, tag: Tag, result: Result<(), DeviceError>) {
        let part = self.part(tag);
        let offset = part.offset;
        if let Some(host) = part.host.take()
            && self.hosts.child_ended(host, offset, result)
        {
            self.end_host(host);
        }
    }

    /// All that a host's request waited for has ended: goes on with it, or answers.
    pub(super) fn end_host(&mut self, tag: Tag) {
        let Progress { request, next, flushing } = *self.progress.get(tag);
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
        self.hosts.reply(tag, result, &mut self.effects);
    }
}
