//! Requests that need flash. They are split into pages, which the back serves one by one.

use esker_core::{Bytes, DeviceError, LogicalPage, Nanos, Request, RequestKind};
use esker_ftl::WriteExtent;
use esker_nand::array::Waiter;

use super::coverage::{Rounding, covered};
use super::{Back, Front, refusal};

impl Front {
    /// Returns the slot of a request that has arrived over the link at `now`.
    #[inline]
    pub(in crate::ssd) fn pop_received(&mut self, now: Nanos) -> Option<u32> {
        self.link.as_mut().and_then(|link| link.pop_received(now))
    }

    /// Passes a request to the buffer or to flash.
    #[inline]
    pub(in crate::ssd) fn dispatch(&mut self, now: Nanos, slot: u32, back: &mut Back) {
        let request = self.slots.get(slot).request;
        let mut ops = 0;
        if request.end_byte() > self.capacity.0 {
            let error = DeviceError::OutOfRange { end: request.end_byte(), capacity: self.capacity };
            self.slots.get_mut(slot).result = Err(error);
        } else if back.read_only && request.kind.is_write() {
            self.slots.get_mut(slot).result = Err(DeviceError::ReadOnly);
        } else if self.buffer.as_ref().is_some_and(|buffer| buffer.ends_in_memory(request.kind))
            && request.length > Bytes::ZERO
        {
            return self.admit_or_queue(now, slot, back);
        } else if request.length > Bytes::ZERO {
            ops = self.serve(now, slot, &request, back);
        }
        self.slots.get_mut(slot).remaining = ops;
        if ops == 0 {
            match &mut self.buffer {
                Some(buffer) if request.kind == RequestKind::Read => {
                    self.slots.get_mut(slot).start = now;
                    buffer.serve(now, slot);
                }
                _ => self.end_service(now, slot, back),
            }
        }
    }

    /// Performs a request within the capacity, page by page. Returns the number of flash operations that it waits for.
    #[inline]
    fn serve(&mut self, now: Nanos, slot: u32, request: &Request, back: &mut Back) -> u32 {
        let (start, end) = (request.start.byte_offset(), request.end_byte());
        let mut awaited = 0;
        let pages = back.page_of(start)..=back.page_of(end - 1);
        let count = pages.end() - pages.start() + 1;
        match request.kind {
            RequestKind::Write { .. } => back.begin_request(count as u32),
            RequestKind::Read => back.counts.reads += count,
            _ => {}
        }
        if request.kind.is_write() {
            back.begin_stream(request.stream);
        }
        let waiter = Waiter::request(slot);
        for page in pages {
            if self.buffer.is_some() && self.consult_buffer(request, page, back) {
                continue;
            }
            let (issued, result) = back.serve(now, waiter, request.kind, LogicalPage(page as u32), (start, end));
            awaited += issued.awaited;
            if issued.uncorrectable && self.slots.get(slot).result.is_ok() {
                let at = Bytes((page * back.geometry.page_size().0).saturating_sub(start));
                self.slots.get_mut(slot).result = Err(DeviceError::Medium { at });
            }
            if let Err(error) = result {
                self.slots.get_mut(slot).result = Err(refusal(error, back));
                return awaited;
            }
        }
        if self.buffer.is_some() {
            self.end_flush(now);
        }
        let issued = back.end_request(now, waiter);
        if issued.uncorrectable && self.slots.get(slot).result.is_ok() {
            self.slots.get_mut(slot).result = Err(DeviceError::MEDIUM);
        }
        awaited + issued.awaited
    }

    /// Lets the buffer answer or record its part of a request that goes to flash. Returns true if `page` needs no
    /// flash.
    fn consult_buffer(&mut self, request: &Request, page: u64, back: &Back) -> bool {
        let Some(buffer) = &mut self.buffer else { return false };
        let logical = LogicalPage(page as u32);
        let extent = back.write_extent(request.start.byte_offset(), request.end_byte(), page);
        match request.kind {
            RequestKind::Read => {
                return buffer.read(logical, covered(request, page, &back.geometry, Rounding::Outward));
            }
            RequestKind::Write { .. } => {
                let covered = covered(request, page, &back.geometry, Rounding::Inward);
                buffer.write_through(logical, covered, request.stream);
            }
            RequestKind::WriteZeroes { .. } | RequestKind::Trim if extent == WriteExtent::Whole => {
                buffer.forget(logical)
            }
            RequestKind::WriteZeroes { .. } | RequestKind::Trim | RequestKind::Flush => {}
        }
        false
    }
}
