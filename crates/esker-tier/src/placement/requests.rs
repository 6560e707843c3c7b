//! Requests of the host: they are split at extents and sent to devices, and new extents get places.

use std::ops::Range;

use esker_core::{Bytes, DeviceError, DeviceState, Lba, Nanos, Request, RequestKind, Tag};

use super::blocks::BLOCK;
use super::io::HostRange;
use super::map::ExtentWork;
use super::redirects::Redirected;
use super::{Event, HostPart, Io, NewExtent, PlacementEngine};
use crate::engine::{BufferId, BufferPlace, BufferStep, DataRef, Effect, Engine, IoId};
use crate::extent::{DeviceIndex, ExtentPlace, LogicalExtent};

/// Why a request of the host has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitReason {
    /// No place is free, but some will become free.
    Space,
    /// Its blocks are being written for the first time, or its extent is moving.
    Writes,
}

/// Extents that lie next to each other on one device.
#[derive(Clone, Copy, Debug)]
struct ExtentRun {
    first: LogicalExtent,
    place: ExtentPlace,
    count: u32,
    /// Whether it is a redirected write of one extent, whose place `place` will be when the write has ended.
    redirect: bool,
}

impl ExtentRun {
    fn continues_with(&self, next: &Self) -> bool {
        next.place == self.place.after(self.count) && !self.redirect && !next.redirect
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
        } else if let Some(reason) = self.reason_to_wait(&request) {
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

    /// Returns why `request` has to wait; `None` if it need not.
    #[inline]
    fn reason_to_wait(&self, request: &Request) -> Option<WaitReason> {
        let quiet = self.first_writes == 0 && self.redirects == 0 && self.leaving.is_empty() && self.copies.is_empty();
        if quiet || request.kind == RequestKind::Read || request.length == Bytes::ZERO || self.health.journal_failed() {
            return None;
        }
        if self.waits_for_writes(request) {
            return Some(WaitReason::Writes);
        }
        (matches!(request.kind, RequestKind::Write { .. }) && self.waits_for_space(request))
            .then_some(WaitReason::Space)
    }

    /// Returns true if a write to the same blocks, or a redirected write or a copy of the same extents, has to end
    /// first.
    fn waits_for_writes(&self, request: &Request) -> bool {
        #[cfg(test)]
        if self.has_fault(super::tests::Fault::OverlooksFirstWrites) {
            return false;
        }
        let is_write = matches!(request.kind, RequestKind::Write { .. });
        if is_write && self.first_writes > 0 && self.map.blocks.any_claimed(Self::request_blocks(request)) {
            return true;
        }
        let waits = |extent| match self.map.work(extent) {
            ExtentWork::Redirect => true,
            ExtentWork::Copy => self.copies.holds_writes(extent),
            ExtentWork::None => false,
        };
        let any_work = self.redirects > 0 || !self.copies.is_empty();
        any_work && self.extents_of_request(request).any(|extent| waits(LogicalExtent(extent as u32)))
    }

    /// Returns true if `request` writes more new extents than there are free places, while other places are about to
    /// become free.
    fn waits_for_space(&self, request: &Request) -> bool {
        if self.leaving.is_empty() && self.copies.is_empty() && self.redirects == 0 {
            return false;
        }
        let (new, free) = self.needed_and_free(request);
        let becomes_free = || {
            let usable = |place: ExtentPlace| self.takes_writes(place) && !self.is_drained(place.device);
            !self.copies.is_empty()
                || self.redirects > 0
                || self.leaving.soon_free().any(usable)
                || self.frees_by_flush()
        };
        new > free && becomes_free()
    }

    /// Returns how many extents that `request` touches have no place, and how many places are free for new extents.
    pub(super) fn needed_and_free(&self, request: &Request) -> (u64, u64) {
        let is_new = |extent: &u64| self.map.place(LogicalExtent(*extent as u32)).is_none();
        let new = self.extents_of_request(request).filter(is_new).count() as u64;
        let online =
            self.health.devices().iter().enumerate().filter(|(device, state)| {
                **state == DeviceState::Online && !self.is_drained(DeviceIndex(*device as u16))
            });
        (new, online.map(|(device, _)| u64::from(self.map.free_extents(device))).sum())
    }

    fn extents_of_request(&self, request: &Request) -> std::ops::RangeInclusive<u64> {
        request.start.byte_offset() / self.extent..=(request.end_byte() - 1) / self.extent
    }

    fn wait(&mut self, tag: Tag, request: Request, reason: WaitReason, effects: &mut Vec<Effect>) {
        match reason {
            WaitReason::Writes => self.waiting_for_writes.push_back((tag, request)),
            WaitReason::Space => {
                self.waiting_for_space.push_back((tag, request));
                self.flush_for_space(effects);
            }
        }
    }

    /// Serves the waiting requests that need not wait any longer.
    #[inline]
    pub(super) fn serve_waiting(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        let mut index = 0;
        while let Some(&(tag, request)) = self.waiting_for_writes.get(index) {
            match self.reason_to_wait(&request) {
                Some(WaitReason::Writes) => index += 1,
                reason => {
                    self.waiting_for_writes.remove(index);
                    self.serve(now, tag, request, reason, effects);
                }
            }
        }
        while let Some(&(tag, request)) = self.waiting_for_space.front() {
            let reason = self.reason_to_wait(&request);
            if reason == Some(WaitReason::Space) {
                return self.flush_for_space(effects);
            }
            self.waiting_for_space.pop_front();
            self.serve(now, tag, request, reason, effects);
        }
    }

    fn serve(&mut self, now: Nanos, tag: Tag, request: Request, waits: Option<WaitReason>, effects: &mut Vec<Effect>) {
        if let Some(reason) = waits {
            return self.wait(tag, request, reason, effects);
        }
        match self.health.journal_failed() {
            true => self.hosts.note(tag, 0, DeviceError::Failed),
            false => self.split(now, tag, &request, effects),
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

    /// Sends the parts of `request` to their devices.
    pub(super) fn split(&mut self, now: Nanos, tag: Tag, request: &Request, effects: &mut Vec<Effect>) {
        let (start, end) = (request.start.byte_offset(), request.end_byte());
        let blocks = Self::request_blocks(request);
        let only_written = matches!(request.kind, RequestKind::Read | RequestKind::WriteZeroes { .. });
        if !only_written || self.map.blocks.all_written(blocks.clone()) {
            let widened = self.promised.is_some();
            return self.split_range(
                HostRange { now, tag, request, range: start..end, refusals: 0, widened, merges: true },
                effects,
            );
        }
        // All other blocks are zeroes already, and are on no device.
        let mut done = start;
        let mut at = blocks.start;
        while let Some(run) = self.map.blocks.next_written(at..blocks.end) {
            let range = start.max(run.start as u64 * BLOCK)..end.min(run.end as u64 * BLOCK);
            self.read_zeroes(tag, request, done..range.start, effects);
            done = range.end;
            self.split_range(
                HostRange { now, tag, request, range, refusals: 0, widened: false, merges: true },
                effects,
            );
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
            let next = match self.map.place(extent) {
                Some(place) if is_write => match self.redirected_place(extent, place, &host) {
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
                Some(place) => Some(own(place)),
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
        let blocks = ((from - head) / BLOCK) as usize..(to + tail).div_ceil(BLOCK) as usize;
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
            padding: (head as u32, tail as u32),
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
        let (head, tail) = (from % BLOCK, to.next_multiple_of(BLOCK) - to);
        if head == 0 && tail == 0 {
            return (0, 0);
        }
        #[cfg(test)]
        if self.has_fault(super::tests::Fault::DoesNotPad) {
            return (0, 0);
        }
        let if_fresh = |padding, at: u64| if self.map.blocks.is_fresh((at / BLOCK) as usize) { padding } else { 0 };
        (if_fresh(head, from), if_fresh(tail, to - 1))
    }

    fn note_sent(&mut self, part: &HostPart) {
        let is_read = part.request.kind == RequestKind::Read;
        for (extent, _) in part.places() {
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
