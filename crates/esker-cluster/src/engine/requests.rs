//! Requests of the host: parts for the router, one for each object, and flushes of all devices.

use esker_core::{Bytes, DeviceError, Nanos, Request, RequestKind, Tag};
use esker_tier::parts::{FlushWait, NextFlush};
use esker_tier::{BufferPlace, BufferStep, DeviceIndex, Effect, IoId};

use super::ClusterEngine;
use super::task::{Io, Piece};
use crate::id::{ObjectId, ServerId};
use crate::route::{ObjectRange, ObjectRequest, ReplyKind, RequestError, RequestTag, RouterInput};

impl ClusterEngine {
    pub(super) fn host(&mut self, now: Nanos, tag: Tag, request: Request, effects: &mut Vec<Effect>) {
        self.wake_later(now, effects);
        self.hosts.begin(tag, request.kind);
        let capacity = esker_tier::Engine::capacity(self);
        if request.kind == RequestKind::Flush {
            self.flush(tag, request, effects);
        } else if request.end_byte() > capacity.0 {
            self.hosts.note(tag, 0, DeviceError::OutOfRange { end: request.end_byte(), capacity });
        } else {
            self.split(tag, request);
        }
        if !self.hosts.waits(tag) {
            let result = self.hosts.result(tag);
            self.hosts.reply(tag, result, effects);
        }
    }

    /// Hands the parts of a request to the router.
    fn split(&mut self, host: Tag, request: Request) {
        let object_size = self.router.map().shape().object.0;
        let (first, end) = (request.start.byte_offset(), request.end_byte());
        let mut at = first;
        while at < end {
            let object = ObjectId(at / object_size);
            let begin = at % object_size;
            let length = (object_size - begin).min(end - at);
            let range = ObjectRange { begin: begin as u32, end: (begin + length) as u32 };
            let whole = length == object_size;
            let what = match request.kind {
                RequestKind::Read => ObjectRequest::Read(range),
                RequestKind::Trim if whole => ObjectRequest::Delete,
                _ => ObjectRequest::Write(range),
            };
            if request.kind != RequestKind::Read {
                self.epochs.written(self.router.map().slice_of(object).0, object, Bytes(length));
            }
            let tag = RequestTag(self.next_piece);
            self.next_piece += 1;
            self.pieces.insert(tag, Piece { host, request, offset: Bytes(at - first), range, error: None });
            self.hosts.wait(host);
            self.inputs.push_back(RouterInput::Request { tag, object, request: what });
            at += length;
        }
    }

    /// The router's answer to a part of a request.
    pub(super) fn replied(
        &mut self,
        tag: RequestTag,
        result: Result<ReplyKind, RequestError>,
        effects: &mut Vec<Effect>,
    ) {
        let piece = self.pieces.remove(&tag).expect("a part is answered once");
        if matches!(result, Ok(ReplyKind::Changed(_))) && self.holds_back(piece.host, effects) {
            return;
        }
        if result == Ok(ReplyKind::Zeroes) {
            let into = BufferPlace::new(piece.buffer(), piece.offset);
            effects.push(Effect::Buffer(BufferStep::Zero { into, length: piece.length() }));
        }
        let result = result.map(|_| ()).map_err(|error| {
            piece.error.unwrap_or(match error {
                RequestError::Unavailable => DeviceError::NoSpace,
                RequestError::Lost => DeviceError::Failed,
                RequestError::Failed | RequestError::OutOfRange => DeviceError::Medium { at: piece.offset },
            })
        });
        self.host_part_ended(piece.host, piece.offset.0, result, effects);
    }

    /// Notes the end of something that a host's request waits for; `order` decides which of several errors is told.
    pub(super) fn host_part_ended(
        &mut self,
        host: Tag,
        order: u64,
        result: Result<(), DeviceError>,
        effects: &mut Vec<Effect>,
    ) {
        if self.hosts.child_ended(host, order, result) {
            let result = self.hosts.result(host);
            self.hosts.reply(host, result, effects);
        }
    }

    /// Changes of the map are durable before they are answered: only the devices are flushed. That a replica misses
    /// something may have to become durable.
    fn flush(&mut self, tag: Tag, request: Request, effects: &mut Vec<Effect>) {
        if self.holds_back(tag, effects) {
            self.hosts.wait(tag);
        }
        let request = Request { start: esker_core::Lba(0), length: Bytes::ZERO, ..request };
        for device in (0..self.stores.len() as u16).map(DeviceIndex) {
            if self.health.is_removed(device) {
                continue;
            }
            if self.health.has_failed(device) {
                // Other servers that have what was there are flushed themselves.
                if self.settings.replicas == 1 || self.health.journal_failed() || self.router.has_lost_objects() {
                    self.hosts.note(tag, device.0.into(), DeviceError::Failed);
                }
                continue;
            }
            match self.durability.wait_for_flush(device, Some(tag), request) {
                FlushWait::Nothing => {}
                FlushWait::UnderWay => self.hosts.wait(tag),
                FlushWait::NewFlush => {
                    self.hosts.wait(tag);
                    self.send_flush(device, vec![tag], request, effects);
                }
            }
        }
    }

    fn send_flush(&mut self, device: DeviceIndex, hosts: Vec<Tag>, request: Request, effects: &mut Vec<Effect>) {
        let io = IoId(self.ios.insert(Io::Flush(device)));
        let host = hosts.first().copied();
        self.durability.flush_begun(device, io, hosts);
        effects.push(Effect::Io { io, host, device, request, data: None });
    }

    pub(super) fn flush_ended(
        &mut self,
        io: IoId,
        device: DeviceIndex,
        result: Result<(), DeviceError>,
        effects: &mut Vec<Effect>,
    ) {
        let result = self.judge(ServerId(device.0), RequestKind::Flush, result);
        let outcome = self.durability.flush_ended(device, io, result.is_ok());
        if let Some(NextFlush { hosts, like }) = outcome.next {
            self.send_flush(device, hosts, like, effects);
        }
        if result.is_err() && self.settings.replicas > 1 {
            return self.failed_flushes.extend(outcome.hosts);
        }
        for host in outcome.hosts {
            self.host_part_ended(host, device.0.into(), result, effects);
        }
    }
}
