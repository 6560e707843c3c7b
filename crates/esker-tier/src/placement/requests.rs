//! Requests of the host: they are split at extents and sent to devices, and new extents get places.

use std::ops::Range;

use esker_core::{Bytes, DeviceError, Lba, Nanos, Request, RequestKind, Tag};

use super::io::HostRange;
use super::map::ExtentWork;
use super::redirects::Redirected;
use super::{Event, HostPart, Io, NewExtent, PlacementEngine};
use crate::engine::{BufferId, BufferPlace, BufferStep, DataRef, Effect, Engine, IoId};
use crate::extent::{DeviceIndex, ExtentPlace, LogicalExtent};

/// Extents that lie next to each other on one device.
#[derive(Clone, Copy, Debug)]
struct ExtentRun {
    first: LogicalExtent,
    place: ExtentPlace,
    count: u32,
    /// Whether it is a redirected write: these will be the places of the extents when it has ended.
    redirect: bool,
}

impl ExtentRun {
    fn continues_with(&self, next: &Self) -> bool {
        next.place == self.place.after(self.count) && self.redirect == next.redirect
    }

    /// The place that would continue it, if it is a redirected write.
    fn continued_by(&self) -> Option<ExtentPlace> {
        self.redirect.then(|| self.place.after(self.count))
    }
}

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
        } else if let Some(reason) = self.reason_to_wait_beside_mirrors(&request) {
            // Other writes may replace what a widened write has, while it waits.
            if self.promised.is_none() {
                return self.wait(tag, request, reason, effects);
            }
            self.hosts.note(tag, 0, DeviceError::NoSpace);
        } else if request.length > Bytes::ZERO {
            self.split(now, tag, &request, effects);
        }
        self.promised = None;
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

    /// Sends the parts of `request` to their devices.
    pub(super) fn split(&mut self, now: Nanos, tag: Tag, request: &Request, effects: &mut Vec<Effect>) {
        let range = request.start.byte_offset()..request.end_byte();
        let widened = self.promised.is_some();
        let host = HostRange { now, tag, request, range, refusals: 0, widened, merges: true };
        match request.kind {
            RequestKind::Read | RequestKind::WriteZeroes { .. } => self.split_written(host, effects),
            _ => self.split_range(host, effects),
        }
    }

    /// Sends the parts that touch blocks which were written. All other blocks are zeroes already, and are on no device.
    pub(super) fn split_written(&mut self, host: HostRange<'_>, effects: &mut Vec<Effect>) {
        let HostRange { tag, request, range: Range { start, end }, .. } = host;
        let size = self.map.blocks.size;
        let blocks = size.touched_by(start..end);
        if self.map.blocks.all_written(blocks.clone()) {
            return self.split_range(host, effects);
        }
        let mut done = start;
        let mut at = blocks.start;
        while let Some(run) = self.map.blocks.next_written(at..blocks.end) {
            let bytes = size.bytes_of(&run);
            let range = start.max(bytes.start)..end.min(bytes.end);
            self.read_zeroes(tag, request, done..range.start, effects);
            done = range.end;
            self.split_range(HostRange { range, ..host }, effects);
            at = run.end;
        }
        self.read_zeroes(tag, request, done..end, effects);
    }

    /// Serves the bytes `range` of the volume, which were never written, to `request` if it is a read.
    fn read_zeroes(&self, tag: Tag, request: &Request, range: Range<u64>, effects: &mut Vec<Effect>) {
        #[cfg(test)]
        if self.has_fault(super::tests::Fault::LeavesUnwritten) {
            return;
        }
        if request.kind == RequestKind::Read && !range.is_empty() {
            let offset = Bytes(range.start - request.start.byte_offset());
            let into = BufferPlace::new(BufferId::Host(tag), offset);
            effects.push(Effect::Buffer(BufferStep::Zero { into, length: Bytes(range.end - range.start) }));
        }
    }

    /// Sends one request to a device for each run of extents of the range that lie next to each other there.
    pub(super) fn split_range(&mut self, host: HostRange<'_>, effects: &mut Vec<Effect>) {
        let HostRange { tag, request, ref range, .. } = host;
        let (first, last) = (range.start / self.extent, (range.end - 1) / self.extent);
        let is_write = matches!(request.kind, RequestKind::Write { .. });
        let mut run: Option<ExtentRun> = None;
        for number in first..=last {
            let extent = LogicalExtent(number as u32);
            let own = |place| ExtentRun { first: extent, place, count: 1, redirect: false };
            let wanted = run.as_ref().and_then(ExtentRun::continued_by);
            let place = self.map.place(extent);
            let place = match place {
                Some(home) if is_write => Some(self.write_place(extent, home, &host, effects)),
                place => place,
            };
            let next = match place {
                Some(place) if is_write => match self.redirected_place(extent, place, &host, wanted) {
                    Some(Redirected::Whole(place)) => Some(ExtentRun { redirect: true, ..own(place) }),
                    Some(Redirected::Merged(to, rest)) => {
                        self.begin_merge(&host, extent, (place, to), rest, effects);
                        None
                    }
                    // At the old place it could undo other writes.
                    None if host.widened => {
                        self.hosts.note(tag, 0, DeviceError::NoSpace);
                        break;
                    }
                    None => Some(own(place)),
                },
                Some(place) => Some(own(self.read_place(extent, place, &host))),
                None if is_write => match self.choose(extent, Some(request)) {
                    Some(device) => {
                        let place = self.map.map(extent, device);
                        self.tell_place(extent);
                        Some(own(place))
                    }
                    None => {
                        let offset = (number * self.extent).max(host.range.start) - request.start.byte_offset();
                        self.hosts.note(tag, offset, DeviceError::NoSpace);
                        break;
                    }
                },
                // Extents without a place read as zeroes; there is nothing to trim.
                None => None,
            };
            run = match (run, next) {
                (Some(run), Some(next)) if run.continues_with(&next) => Some(ExtentRun { count: run.count + 1, ..run }),
                (run, next) => {
                    run.into_iter().for_each(|run| self.send_part(&host, run, effects));
                    next
                }
            };
        }
        run.into_iter().for_each(|run| self.send_part(&host, run, effects));
    }

    fn send_part(&mut self, host: &HostRange<'_>, run: ExtentRun, effects: &mut Vec<Effect>) {
        let HostRange { now, tag, request, ref range, refusals, widened, .. } = *host;
        let ExtentRun { first, place, count, redirect } = run;
        let begin = u64::from(first.0) * self.extent;
        let from = range.start.max(begin);
        let to = range.end.min(begin + u64::from(count) * self.extent);
        let offset = from - request.start.byte_offset();
        let takes = match request.kind {
            RequestKind::Read => self.can_read(first, place, count, from..to),
            _ => !self.health.has_failed(place.device),
        };
        if !takes {
            return self.hosts.note(tag, offset, DeviceError::Failed);
        }
        let is_write = matches!(request.kind, RequestKind::Write { .. });
        let (head, tail) = if is_write { self.padding(from, to) } else { (0, 0) };
        let start = Lba::containing(u64::from(place.extent.0) * self.extent + (from - head - begin));
        let child = Request { start, length: Bytes(to - from + head + tail), ..*request };
        let blocks = self.map.blocks.size.touched_by(from - head..to + tail);
        let first_write = is_write && !self.map.blocks.all_written(blocks.clone());
        if first_write {
            self.first_writes += 1;
            self.map.blocks.claim(blocks);
        }
        let part = HostPart {
            host: tag,
            offset,
            first,
            place,
            count,
            first_write,
            redirect,
            merge: None,
            request: child,
            padding: (head, tail),
            refusals,
            widened,
            sent: now,
        };
        if !redirect {
            self.note_sent(&part);
        }
        let data = request.kind.has_data().then(|| {
            let host = DataRef::new(BufferId::Host(tag), Bytes(offset));
            DataRef { head: Bytes(head), tail: Bytes(tail), ..host }
        });
        self.hosts.wait(tag);
        self.send_host_part(part, data, effects);
    }

    /// Sends `part` to its device. Its host's request waits for it already.
    pub(super) fn send_host_part(&mut self, part: HostPart, data: Option<DataRef>, effects: &mut Vec<Effect>) {
        let HostPart { host, place: ExtentPlace { device, .. }, request, sent, .. } = part;
        let io = IoId(self.ios.insert(Io::Part(part)));
        self.under_way[usize::from(device.0)] += 1;
        if self.policy.follows_requests() {
            self.notify_policy(sent, Event::Sent { device, request: &request });
        }
        effects.push(Effect::Io { io, host: Some(host), device, request, data });
    }

    /// Returns the number of zero bytes that a write of the bytes from `from` to `to` needs before and after its data,
    /// to fill blocks that were never written.
    #[inline]
    pub(super) fn padding(&self, from: u64, to: u64) -> (u64, u64) {
        let size = self.map.blocks.size;
        let touched = size.bytes_of(&size.touched_by(from..to));
        let (head, tail) = (from - touched.start, touched.end - to);
        if head == 0 && tail == 0 {
            return (0, 0);
        }
        #[cfg(test)]
        if self.has_fault(super::tests::Fault::DoesNotPad) {
            return (0, 0);
        }
        let if_fresh = |padding, at: u64| if self.map.blocks.is_fresh(size.containing(at)) { padding } else { 0 };
        (if_fresh(head, from), if_fresh(tail, to - 1))
    }

    fn note_sent(&mut self, part: &HostPart) {
        let is_read = part.request.kind == RequestKind::Read;
        for (extent, place) in part.places() {
            if !self.mirrors.is_empty() && self.note_mirrored(part, (extent, place)) {
                continue;
            }
            self.map.sent(extent, is_read);
            if !is_read && self.map.work(extent) == ExtentWork::Copy {
                self.copies.host_wrote(extent);
            }
        }
    }

    /// Tells the policy where `extent` is.
    #[inline]
    pub(super) fn tell_place(&mut self, extent: LogicalExtent) {
        let device = self.map.place(extent).map(|place| place.device);
        self.policy.placed(extent, Bytes(u64::from(extent.0) * self.extent), device);
    }

    /// Returns the policy's device for an extent, or the next one by index that has room and takes writes; `None` if
    /// there is none.
    pub(super) fn choose(&mut self, extent: LogicalExtent, write: Option<&Request>) -> Option<usize> {
        self.update_views_for_new();
        self.choose_among_views(extent, write)
    }

    /// Returns the device to which `extent` goes from one that is being drained; `None` if there is none.
    pub(super) fn choose_for_drain(&mut self, now: Nanos, extent: LogicalExtent) -> Option<DeviceIndex> {
        self.update_views_for_new();
        self.hold_refusing_views(now);
        self.choose_among_views(extent, None).map(|device| DeviceIndex(device as u16))
    }

    fn choose_among_views(&mut self, extent: LogicalExtent, write: Option<&Request>) -> Option<usize> {
        let new = NewExtent { extent, start: Bytes(u64::from(extent.0) * self.extent), write };
        let wanted = self.policy.place(&new, &self.views).0 as usize;
        let count = self.views.len();
        assert!(wanted < count, "the policy named a device that is not there");
        let chosen =
            (wanted..wanted + count).map(|device| device % count).find(|&device| self.views[device].has_room());
        if chosen.is_some_and(|chosen| chosen != wanted) && self.map.place(extent).is_none() {
            self.moved.displaced_extents += 1;
        }
        chosen
    }
}
