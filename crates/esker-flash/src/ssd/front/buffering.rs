//! How requests go through the write buffer.

use std::collections::VecDeque;

use esker_core::{Bytes, DeviceError, LogicalPage, Nanos, Ratio, Request, RequestKind, StreamId, WaitingLine};
use esker_ftl::WriteExtent;
use esker_nand::ValueError;
use esker_nand::array::Waiter;
use esker_results::BufferReport;

use super::buffer::{Admission, Buffer, BufferShape};
use super::coverage::{Coverage, Rounding, covered};
use super::{Back, Front, Pace, Slots, refusal};
use crate::{BufferMode, ControllerSettings, SsdError, WriteBufferSettings};

/// Longer latencies are refused, so that sums of many stay far from the end of `u64` nanoseconds.
const LATENCY_MAX: Nanos = Nanos::from_secs(60);
/// Most pages of a buffer. The array stores their numbers in 32-bit waiters.
const PAGES_MAX: u64 = 1 << 30;

/// The buffer and the requests that wait for it.
#[derive(Debug)]
pub(in crate::ssd) struct Buffering {
    pub(in crate::ssd) memory: Buffer,
    pub(super) settings: WriteBufferSettings,
    /// The water marks, in pages.
    high_water: u32,
    low_water: u32,
    shape: BufferShape,
    /// How fast the controller lets pages leave.
    pace: Pace,
    /// Whether pages are being written out, from the high-water mark down to the low one.
    draining: bool,
    /// Writes that wait for room. While a flush is under way, which waits for all writes before it, they are admitted
    /// in order of arrival.
    blocked: WaitingLine<Blocked>,
    /// The write that is partly in memory. It goes on before all others. They do not wait long for it, and since
    /// writes are admitted one after another, it is clear what a power failure loses.
    begun: Option<Blocked>,
    /// Number of pages that the waiting writes still bring.
    blocked_pages: u64,
    /// Requests that need only the memory: when each of them ends, and its slot.
    timers: VecDeque<(Nanos, u32)>,
    /// Slot of the flush that waits for the buffer's content to reach flash.
    pub(super) flush: Option<u32>,
    /// Number of writes that were admitted so far, wholly or in part.
    admitted: u64,
    /// Once flash takes no more writes: the error with which they end.
    pub(super) failed: Option<DeviceError>,
    pub(in crate::ssd) counts: BufferReport,
    /// `counts` when measuring began.
    pub(in crate::ssd) earlier: BufferReport,
}

/// A write that waits for room.
#[derive(Clone, Copy, Debug)]
struct Blocked {
    slot: u32,
    /// The page at which the write goes on.
    page: u64,
    /// Number of pages from there to its end.
    pages: u64,
}

impl Buffering {
    pub(in crate::ssd) fn new(
        settings: &WriteBufferSettings,
        controller: &ControllerSettings,
        back: &Back,
    ) -> Result<Self, SsdError> {
        let (geometry, space) = (&back.geometry, &back.space);
        let WriteBufferSettings { size, latency, high_water, low_water, .. } = *settings;
        if low_water > high_water || high_water > Ratio::ONE {
            return Err(SsdError::WaterMarks { low: low_water, high: high_water });
        }
        if latency > LATENCY_MAX {
            return Err(ValueError::TooLong { key: "write_buffer.latency", found: latency, limit: LATENCY_MAX }.into());
        }
        let pages = size.0 / geometry.page_size().0;
        if pages == 0 {
            return Err(SsdError::BufferTooSmall { found: size, page_size: geometry.page_size() });
        }
        if pages > PAGES_MAX {
            let limit = PAGES_MAX.saturating_mul(geometry.page_size().0);
            return Err(ValueError::TooLarge { key: "write_buffer.size", found: size.0, limit }.into());
        }
        let shape = BufferShape {
            pages: pages as u32,
            sectors_per_page: geometry.sectors_per_page(),
            pools: space.pools,
            leaving_per_pool: (geometry.dies() / space.pools).max(1),
        };
        Ok(Self {
            memory: Buffer::new(&shape),
            settings: *settings,
            high_water: high_water.of(pages) as u32,
            low_water: low_water.of(pages) as u32,
            shape,
            pace: Pace::new(controller, geometry.page_size()),
            draining: false,
            blocked: WaitingLine::default(),
            begun: None,
            blocked_pages: 0,
            timers: VecDeque::new(),
            flush: None,
            admitted: 0,
            failed: None,
            counts: BufferReport { pages_max: pages, ..BufferReport::default() },
            earlier: BufferReport::default(),
        })
    }

    /// Returns true if any write waits for room.
    fn any_blocked(&self) -> bool {
        self.begun.is_some() || !self.blocked.is_empty()
    }

    pub(in crate::ssd) fn next_event(&self) -> Nanos {
        self.timers.front().map_or(Nanos::NEVER, |(at, _)| *at).min(self.pace.next_event())
    }

    /// Returns true if pages that waited for the controller may leave at `now`, and ends their wait.
    #[inline]
    pub(in crate::ssd) fn may_go_on(&mut self, now: Nanos) -> bool {
        self.pace.next_event() == now && self.pace.allows(now)
    }

    /// Returns the slot of a request whose time in memory is over at `now`.
    pub(in crate::ssd) fn pop_due(&mut self, now: Nanos) -> Option<u32> {
        self.timers.pop_front_if(|(at, _)| *at == now).map(|(_, slot)| slot)
    }

    /// Returns true if any page is on its way to flash, or waits for the controller to send it.
    pub(in crate::ssd) fn is_leaving(&self) -> bool {
        self.memory.leaving() > 0 || self.pace.next_event() < Nanos::NEVER
    }

    /// Returns true if a request of this kind ends in memory instead of flash. Reads and flushes do not.
    pub(in crate::ssd) fn ends_in_memory(&self, kind: RequestKind) -> bool {
        let forced = match kind {
            RequestKind::Write { fua } | RequestKind::WriteZeroes { fua } => fua && !self.settings.power_protected,
            RequestKind::Trim => false,
            RequestKind::Read | RequestKind::Flush => return false,
        };
        self.settings.mode == BufferMode::WriteBack && !forced
    }

    /// Begins to serve a request from memory; it ends after the buffer's latency.
    pub(in crate::ssd) fn serve(&mut self, now: Nanos, slot: u32) {
        self.timers.push_back((now + self.settings.latency, slot));
    }

    /// Returns true if a read of the sectors `covered` of `page` needs no flash.
    pub(in crate::ssd) fn read(&mut self, page: LogicalPage, covered: Coverage) -> bool {
        self.counts.pages_read += 1;
        let held = self.memory.read(page, covered);
        self.counts.pages_read_from_buffer += u64::from(held);
        held
    }

    /// Keeps the pages of a read that has ended, whose data have come from flash, if that is wanted.
    fn keep_what_was_read(&mut self, request: &Request, back: &Back) {
        if !self.settings.keep_reads || request.length == Bytes::ZERO {
            return;
        }
        for page in back.page_of(request.start.byte_offset())..=back.page_of(request.end_byte() - 1) {
            let logical = LogicalPage(page as u32);
            let covered = covered(request, page, &back.geometry, Rounding::Outward);
            if !self.memory.has(logical, covered) && back.ftl.find(logical).is_some() {
                self.memory.keep_whole(logical);
            }
        }
    }

    /// Keeps a copy of the data that a request writes to flash directly.
    pub(in crate::ssd) fn write_through(&mut self, page: LogicalPage, covered: Coverage, stream: StreamId) {
        self.counts.pages_written += 1;
        self.memory.keep(page, covered);
        self.memory.set_stream(page, stream);
    }

    /// Loses power. The writes in memory with number `oldest` and above are still under way. Returns the number of
    /// pages that lost acknowledged data, and the number of pages that the protection saved.
    pub(in crate::ssd) fn lose_power(&mut self, now: Nanos, oldest: u64) -> (u64, u64) {
        self.pace.lose_power(now);
        self.blocked.clear();
        (self.begun, self.blocked_pages) = (None, 0);
        self.timers.clear();
        (self.draining, self.flush) = (false, None);
        if self.settings.power_protected {
            self.memory.return_leaving_pages();
            return (0, u64::from(self.memory.unwritten()));
        }
        let lost = self.memory.unwritten_before(oldest);
        self.memory = Buffer::new(&self.shape);
        (lost, 0)
    }

    /// Asserts the invariants that hold between events. Slow. `slots` are the requests under way.
    pub(in crate::ssd) fn check(&self, slots: &Slots) {
        self.memory.check();
        let waiting = || self.begun.iter().chain(self.blocked.iter());
        if self.failed.is_none() {
            assert_eq!(self.blocked_pages, waiting().map(|blocked| blocked.pages).sum::<u64>());
        }
        for Blocked { slot, .. } in waiting() {
            assert!(slots.get(*slot).start == Nanos::NEVER, "slot {slot} waits for room and is served");
        }
        assert!(self.flush.is_none() || self.memory.is_awaited(), "a flush waits for nothing");
        assert!(self.timers.iter().is_sorted_by_key(|(at, _)| *at), "requests in memory end out of order");
    }

    /// Returns true if the content survives a power failure.
    pub(in crate::ssd) fn is_protected(&self) -> bool {
        self.settings.power_protected
    }

    pub(in crate::ssd) fn forget(&mut self, page: LogicalPage) {
        self.memory.forget(page);
    }
}

impl Front {
    /// Admits a write, trim or write of zeroes to the buffer, starting at page `from`. Returns the remaining part if
    /// there is no room for all of it.
    fn admit(&mut self, now: Nanos, slot: u32, from: u64, back: &mut Back) -> Option<Blocked> {
        let state = self.slots.get_mut(slot);
        if state.admitted == 0 {
            let buffering = self.buffer.as_mut().expect("it is in use");
            buffering.admitted += 1;
            state.admitted = buffering.admitted;
        }
        let (request, number) = (state.request, state.admitted);
        let end = back.page_of(request.end_byte() - 1);
        for page in from..=end {
            let covered = covered(&request, page, &back.geometry, Rounding::Inward);
            let logical = LogicalPage(page as u32);
            match (request.kind, back.write_extent(request.start.byte_offset(), request.end_byte(), page)) {
                (RequestKind::Trim | RequestKind::WriteZeroes { .. }, WriteExtent::Whole) => {
                    // The request ends in memory. Nothing waits for operations that the map may need.
                    self.buffering().forget(logical);
                    back.forget(now, logical);
                    // A flush may have waited for this page alone.
                    self.end_flush(now);
                }
                (RequestKind::Trim, WriteExtent::Partial) => {}
                _ => {
                    let buffering = self.buffering();
                    match buffering.memory.write(logical, back.ftl.pool_of(logical), covered, request.stream, number) {
                        Admission::Full => return Some(Blocked { slot, page, pages: end - page + 1 }),
                        Admission::Coalesced => buffering.counts.pages_overwritten_in_buffer += 1,
                        Admission::Taken => {}
                    }
                    buffering.counts.pages_written += 1;
                    back.counts.writes += 1;
                    self.write_out(now, back);
                }
            }
        }
        self.slots.get_mut(slot).start = now;
        self.buffering().serve(now, slot);
        None
    }

    /// Makes a write that was tried and did not fit wait for room. It has been waiting since `since`.
    fn wait_for_room(&mut self, now: Nanos, since: Nanos, blocked: Blocked, back: &mut Back) {
        let state = self.slots.get_mut(blocked.slot);
        let priority = state.request.priority;
        let nothing_taken = blocked.page == back.page_of(state.request.start.byte_offset());
        if nothing_taken {
            state.admitted = 0;
        }
        let buffering = self.buffering();
        if let Some(error) = buffering.failed {
            self.slots.get_mut(blocked.slot).result = Err(error);
            return self.end_service(now, blocked.slot, back);
        }
        buffering.blocked_pages += blocked.pages;
        if nothing_taken {
            buffering.admitted -= 1;
            buffering.blocked.put_back(since, priority, blocked);
        } else {
            buffering.begun = Some(blocked);
        }
        self.write_out(now, back);
    }

    /// Returns the waiting write to admit next, and since when it has been waiting.
    fn next_blocked(&mut self, now: Nanos) -> Option<(Nanos, Blocked)> {
        let in_order = self.slots.any_flush();
        let buffering = self.buffering();
        let next = match buffering.begun.take() {
            Some(begun) => Some((now, begun)),
            None if in_order => buffering.blocked.pop_oldest(),
            None => buffering.blocked.pop(now),
        };
        buffering.blocked_pages -= next.map_or(0, |(_, blocked)| blocked.pages);
        next
    }

    /// Admits a write to the buffer, or queues it behind others that wait for room.
    pub(super) fn admit_or_queue(&mut self, now: Nanos, slot: u32, back: &mut Back) {
        let request = self.slots.get(slot).request;
        let first = back.page_of(request.start.byte_offset());
        let pages = back.page_of(request.end_byte() - 1) - first + 1;
        let buffering = self.buffering();
        if let Some(error) = buffering.failed {
            self.slots.get_mut(slot).result = Err(error);
            self.end_service(now, slot, back);
        } else if !buffering.any_blocked() {
            if let Some(blocked) = self.admit(now, slot, first, back) {
                self.buffering().counts.writes_that_waited += 1;
                self.wait_for_room(now, now, blocked, back);
            }
        } else {
            buffering.counts.writes_that_waited += 1;
            buffering.blocked.push(now, request.priority, Blocked { slot, page: first, pages });
            buffering.blocked_pages += pages;
            self.write_out(now, back);
        }
    }

    /// Writes pages to flash while flash lacks too many, or while a flush or a write waits. Each pool may have its own
    /// number of pages on their way; beyond that, as many pages may leave as the waiting writes bring.
    pub(in crate::ssd) fn write_out(&mut self, now: Nanos, back: &mut Back) {
        loop {
            let buffering = self.buffer.as_mut().expect("it is in use");
            let unwritten = buffering.memory.unwritten();
            if unwritten > buffering.high_water || buffering.any_blocked() {
                buffering.draining = true;
            } else if unwritten <= buffering.low_water {
                buffering.draining = false;
            }
            let wanted = buffering.draining || buffering.memory.is_awaited();
            if !wanted || buffering.failed.is_some() {
                return;
            }
            if !buffering.pace.allows(now) {
                return;
            }
            let Some((entry, page, extent, stream)) = buffering.memory.leave(buffering.blocked_pages) else { return };
            buffering.counts.pages_to_flash += 1;
            let (issued, written) = back.write_out(now, Waiter::entry(entry), page, extent, stream);
            if let Err(error) = written {
                return self.fail(now, refusal(error, back));
            }
            let buffering = self.buffering();
            buffering.pace.began(now, issued.copies);
            buffering.memory.set_operations(entry, issued.awaited);
        }
    }

    /// Ends all requests that wait for flash with `error`, since flash takes no more writes.
    fn fail(&mut self, now: Nanos, error: DeviceError) {
        let buffering = self.buffering();
        buffering.failed = Some(error);
        buffering.blocked_pages = 0;
        let begun = buffering.begun.take().into_iter();
        let waiting = begun.chain(buffering.blocked.drain()).map(|blocked| blocked.slot).chain(buffering.flush.take());
        for slot in waiting.collect::<Vec<_>>() {
            self.slots.get_mut(slot).result = Err(error);
            if self.slots.get(slot).start == Nanos::NEVER {
                self.slots.get_mut(slot).start = now;
            }
            self.ready.push_back((now, slot));
        }
    }

    /// Handles the end of a flash operation that writes out the page of `entry`. After the last operation of the page,
    /// writes that wait for room go on.
    pub(in crate::ssd) fn write_out_operation_ended(&mut self, now: Nanos, entry: u32, back: &mut Back) {
        let buffering = self.buffering();
        if buffering.failed.is_some() || !buffering.memory.end_operation(entry) {
            return;
        }
        self.end_flush(now);
        while let Some((since, Blocked { slot, page, .. })) = self.next_blocked(now) {
            if let Some(blocked) = self.admit(now, slot, page, back) {
                self.wait_for_room(now, since, blocked, back);
                break;
            }
        }
        self.write_out(now, back);
    }

    /// Takes note of a read that has ended in `slot`.
    pub(super) fn read_ended(&mut self, slot: u32, back: &Back) {
        if let Some(buffer) = &mut self.buffer {
            buffer.keep_what_was_read(&self.slots.get(slot).request, back);
        }
    }

    pub(super) fn buffering(&mut self) -> &mut Buffering {
        self.buffer.as_mut().expect("it is in use")
    }
}
