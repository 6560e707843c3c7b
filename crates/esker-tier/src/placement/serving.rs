//! How the engine serves a host's request: it splits the request at extents, and finds places for new extents.

use esker_core::{Bytes, DeviceError, Lba, Nanos, Request, RequestKind, Tag};

use super::map::Recorded;
use super::{DeviceView, Event, HostPart, Io, NewExtent, PlacementEngine};
use crate::engine::{DataRef, Effect, Engine, IoId};
use crate::extent::{ExtentPlace, LogicalExtent};

impl PlacementEngine {
    pub(super) fn host(&mut self, now: Nanos, tag: Tag, request: Request, effects: &mut Vec<Effect>) {
        let capacity = self.capacity();
        self.notify_of_request(now, &request, capacity);
        self.hosts.begin(tag, request.kind);
        if self.health.journal_failed() && request.kind != RequestKind::Read {
            self.hosts.note(tag, 0, DeviceError::Failed);
        } else if request.kind == RequestKind::Flush {
            self.flush(tag, request, effects);
        } else if request.end_byte() > capacity.0 {
            self.hosts.note(tag, 0, DeviceError::OutOfRange { end: request.end_byte(), capacity });
        } else if self.has_to_wait(request) {
            self.waiting.push_back((tag, request));
            return;
        } else if request.length > Bytes::ZERO {
            self.split(now, tag, request, effects);
        }
        if !self.hosts.waits(tag) {
            self.children_ended(tag, effects);
        }
    }

    fn notify_of_request(&mut self, now: Nanos, request: &Request, capacity: Bytes) {
        if !self.policy.observes() {
            return;
        }
        let first = request.start.byte_offset() / self.extent;
        let touches = request.length > Bytes::ZERO && request.end_byte() <= capacity.0;
        let extents = if touches { (request.end_byte() - 1) / self.extent - first + 1 } else { 0 };
        let first = if touches { LogicalExtent(first as u32) } else { LogicalExtent(0) };
        self.notify_policy(now, Event::Request { request, first, extents: extents as u32 });
    }

    /// Sends one request to a device for each run of extents that lie next to each other there.
    pub(super) fn split(&mut self, now: Nanos, tag: Tag, request: Request, effects: &mut Vec<Effect>) {
        let (start, end) = (request.start.byte_offset(), request.end_byte());
        let (first, last) = (start / self.extent, (end - 1) / self.extent);
        let mut run: Option<(ExtentPlace, u32, LogicalExtent)> = None;
        for number in first..=last {
            let extent = LogicalExtent(number as u32);
            let place = match (self.map.place(extent), request.kind) {
                (Some(place), _) => Some(place),
                // Extents without a place read as zeroes; there is nothing to trim or to overwrite with zeroes.
                (None, RequestKind::Read | RequestKind::Trim | RequestKind::WriteZeroes { .. }) => None,
                (None, _) => match self.choose(extent, Some(&request)) {
                    Some(device) => Some(self.map.map(extent, device, Recorded::No)),
                    None => {
                        let offset = (number * self.extent).max(start) - start;
                        self.hosts.note(tag, offset, DeviceError::NoSpace);
                        break;
                    }
                },
            };
            run = match (run, place) {
                (Some((head, count, from)), Some(place))
                    if head.device == place.device && head.extent.0 + count == place.extent.0 =>
                {
                    Some((head, count + 1, from))
                }
                (run, place) => {
                    run.into_iter().for_each(|run| self.send_part(now, tag, request, run, effects));
                    place.map(|place| (place, 1, extent))
                }
            };
        }
        run.into_iter().for_each(|run| self.send_part(now, tag, request, run, effects));
    }

    fn send_part(
        &mut self,
        now: Nanos,
        tag: Tag,
        request: Request,
        (place, count, first): (ExtentPlace, u32, LogicalExtent),
        effects: &mut Vec<Effect>,
    ) {
        let begin = u64::from(first.0) * self.extent;
        let (start, end) = (request.start.byte_offset(), request.end_byte());
        let from = start.max(begin);
        let length = end.min(begin + u64::from(count) * self.extent) - from;
        let child = Request {
            start: Lba::containing(u64::from(place.extent.0) * self.extent + (from - begin)),
            length: Bytes(length),
            ..request
        };
        let offset = from - start;
        if request.kind != RequestKind::Read && self.health.has_failed(place.device) {
            return self.hosts.note(tag, offset, DeviceError::Failed);
        }
        let part = HostPart { host: tag, offset, first, place, count, request: child, sent: now };
        if !self.copies.is_empty() && request.kind != RequestKind::Read {
            part.extents().for_each(|extent| self.copies.host_write(extent, true));
        }
        let data = match request.kind.has_data() {
            true => DataRef::Host { tag, offset: Bytes(offset) },
            false => DataRef::None,
        };
        let io = IoId(self.ios.insert(Io::Part(part)));
        self.hosts.wait(tag);
        effects.push(Effect::Io { io, host: Some(tag), device: place.device, request: child, data });
    }

    /// The policy's device for a new extent, or the next one that has room and takes writes.
    pub(super) fn choose(&mut self, extent: LogicalExtent, write: Option<&Request>) -> Option<usize> {
        self.update_views();
        let new = NewExtent { extent, start: Bytes(u64::from(extent.0) * self.extent), write };
        let wanted = self.policy.place(&new, &self.views).0 as usize;
        let count = self.views.len();
        assert!(wanted < count, "the policy named a device that is not there");
        (wanted..wanted + count).map(|device| device % count).find(|&device| self.views[device].has_room())
    }

    pub(super) fn update_views(&mut self) {
        self.views.clear();
        let view = |(device, &state)| DeviceView { free_extents: self.map.free_extents(device), state };
        self.views.extend(self.health.devices().iter().enumerate().map(view));
    }
}
