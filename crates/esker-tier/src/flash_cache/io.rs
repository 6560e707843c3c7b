//! Requests to devices. Adjacent requests that are sent together are joined.

use std::ops::Range;

use esker_core::{Bytes, DeviceError, DeviceState, Lba, Request, RequestKind, Tag};

use super::job::Job;
use super::requests::LineGroup;
use super::{BACKING, FLASH, FlashCacheEngine};
use crate::engine::{BufferId, BufferPlace, BufferStep, DataRef, Effect, IoId};
use crate::extent::DeviceIndex;

/// A request to a device under way.
#[derive(Debug)]
pub(super) enum Io {
    Jobs {
        device: DeviceIndex,
        kind: RequestKind,
        first: Tag,
        others: Vec<Tag>,
        /// How many bytes it begins before the part of the first job: a whole line is read or written.
        before: u64,
    },
    Flush {
        device: DeviceIndex,
    },
    Trim {
        slots: Range<u32>,
    },
}

/// A request to a device that has not been sent yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutgoingIo {
    job: Tag,
    host: Option<Tag>,
    device: DeviceIndex,
    request: Request,
    data: Option<DataRef>,
    /// How many bytes it begins before the job's part.
    before: u64,
}

impl OutgoingIo {
    /// Joins `next` to this request if it continues it. Returns true if it was joined.
    fn join(&mut self, next: &Self) -> bool {
        let length = self.request.length;
        let goes_on = self.data.map(|data| data.moved(data.place.buffer, length)) == next.data;
        let start = next.request.start;
        let like = Request { start, length: next.request.length, ..self.request };
        let joins = goes_on
            && (self.device, self.host, like) == (next.device, next.host, next.request)
            && self.request.end_byte() == start.byte_offset();
        if joins {
            self.request.length = length + next.request.length;
        }
        joins
    }
}

impl FlashCacheEngine {
    /// Sends a request for the bytes `from` to `from + length` of the part's line on the backing device, or of `slot`.
    pub(super) fn send(
        &mut self,
        tag: Tag,
        slot: Option<u32>,
        kind: RequestKind,
        range: (u64, u64),
        data: Option<DataRef>,
    ) {
        let job = *self.job(tag);
        self.job(tag).open += 1;
        let device = if slot.is_some() { FLASH } else { BACKING };
        if kind != RequestKind::Read && self.health.has_failed(device) {
            return self.refused.push_back((tag, device));
        }
        let (from, length) = range;
        let start = Lba::containing(u64::from(slot.unwrap_or(job.line)) * self.line + from);
        let stream = self.stream_of(&job, device, kind);
        let request = Request { kind, start, length: Bytes(length), priority: job.priority, stream };
        if device == FLASH && kind.is_write() {
            self.counts.flash_written_bytes += length;
        }
        let before = job.from.saturating_sub(from);
        self.outgoing.push(OutgoingIo { job: tag, host: job.host, device, request, data, before });
    }

    /// Sends the job's part of the host's request to `slot` on the flash, or to the backing device if `slot` is `None`.
    pub(super) fn send_host(&mut self, tag: Tag, slot: Option<u32>, kind: RequestKind) {
        let job = *self.job(tag);
        let host = job.host.expect("it is the host's");
        let data = kind.has_data().then(|| DataRef::new(BufferId::Host(host), Bytes(job.offset)));
        self.send(tag, slot, kind, (job.from, job.length), data);
    }

    /// Sends a request that moves the whole line from or to the job's buffer.
    pub(super) fn send_line(&mut self, tag: Tag, slot: Option<u32>, kind: RequestKind) {
        let (buffer, at) = self.job(tag).buffer.expect("it has a buffer");
        let data = DataRef::new(BufferId::Cache(buffer), Bytes(at));
        self.send(tag, slot, kind, (0, self.line), Some(data));
    }

    /// Gives the job a buffer for its line.
    pub(super) fn take_buffer(&mut self, tag: Tag) {
        let job = *self.job(tag);
        let line = self.line;
        let group = self.group.as_mut().filter(|group| {
            let lines = group.first..group.first + group.lines;
            job.host == Some(group.host) && lines.contains(&job.line)
        });
        let clear = |buffer, lines: u32| {
            let into = BufferPlace::new(BufferId::Cache(buffer), Bytes::ZERO);
            Effect::Buffer(BufferStep::Zero { into, length: Bytes(u64::from(lines) * line) })
        };
        let buffer = match group {
            Some(LineGroup { first, lines, buffer, .. }) => {
                let number = *buffer.get_or_insert_with(|| {
                    let number = self.buffers.take();
                    self.effects.push(clear(number, *lines));
                    number
                });
                self.buffers.share(number);
                (number, u64::from(job.line - *first) * line)
            }
            None => {
                let number = self.buffers.take();
                self.effects.push(clear(number, 1));
                (number, 0)
            }
        };
        self.job(tag).buffer = Some(buffer);
    }

    /// Ends the group: no more jobs share the buffer of the request that was started last.
    pub(super) fn end_group(&mut self) {
        if let Some(LineGroup { buffer: Some(buffer), .. }) = self.group.take() {
            self.buffers.release(buffer);
        }
    }

    /// Moves the host's data between its buffer and that of the line.
    pub(super) fn copy_host(&mut self, job: &Job, serves: bool) {
        let (Some((buffer, at)), Some(tag)) = (job.buffer, job.host) else { return };
        let line = BufferPlace::new(BufferId::Cache(buffer), Bytes(at + job.from));
        let host = BufferPlace::new(BufferId::Host(tag), Bytes(job.offset));
        let (from, into) = if serves { (line, host) } else { (host, line) };
        self.effects.push(Effect::Buffer(BufferStep::Copy { from, into, length: Bytes(job.length) }));
    }

    pub(super) fn send_outgoing(&mut self) {
        let mut outgoing = std::mem::take(&mut self.outgoing);
        outgoing.sort_by_key(|outgoing| outgoing.device);
        let mut rest = outgoing.drain(..).peekable();
        while let Some(mut next) = rest.next() {
            let mut others = Vec::new();
            while let Some(joined) = rest.next_if(|other| next.join(other)) {
                others.push(joined.job);
            }
            let OutgoingIo { job: first, host, device, request, data, before } = next;
            let io = IoId(self.ios.insert(Io::Jobs { device, kind: request.kind, first, others, before }));
            self.effects.push(Effect::Io { io, host, device, request, data });
        }
        drop(rest);
        self.outgoing = outgoing;
    }

    pub(super) fn io_ended(&mut self, io: IoId, result: Result<(), DeviceError>) {
        match self.ios.remove(io.0) {
            Io::Trim { slots } => self.trim_ended(slots),
            Io::Flush { device } => {
                let result = self.health.judge(device, RequestKind::Flush, result);
                self.leave_failed_flash();
                self.flush_ended(device, io, result);
            }
            Io::Jobs { device, kind, first, others, before } => {
                // A worn flash that the cache owns may refuse a write and still be healthy.
                let refuses = device == FLASH && self.is_refusal(result.err());
                let has_failed = result.is_err();
                let result = if refuses { result } else { self.health.judge(device, kind, result) };
                let was_refused = self.was_refused(device, kind, result);
                // A failed journal makes no success count, but the flash still has what it had.
                if device == FLASH && kind != RequestKind::Read && has_failed && !was_refused {
                    self.health.learn(FLASH, DeviceState::Failed);
                }
                self.leave_failed_flash();
                // The parts of the jobs lie behind each other in the host's request.
                let Job { host, offset, length, .. } = *self.job(first);
                let length = host.map_or(length, |host| self.progress.get(host).request.length.0 - offset);
                let result = result.map_err(|error| error.of_whole(Bytes(offset), Bytes(length), Bytes(before)));
                for job in std::iter::once(first).chain(others) {
                    // A failed write may have reached the device all the same, where it is not durable.
                    if kind != RequestKind::Read && !kind.is_fua() {
                        self.durability.written(device);
                    }
                    self.job_io_ended(job, device, result);
                }
            }
        }
    }

    pub(super) fn job_io_ended(&mut self, tag: Tag, device: DeviceIndex, result: Result<(), DeviceError>) {
        let job = self.job(tag);
        job.errors[usize::from(device.0)] = result.err();
        job.open -= 1;
        if job.open == 0 {
            self.step_ended(tag);
        }
    }
}
