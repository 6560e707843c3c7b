//! The host side of the drive: requests under way, the link and the write buffer. It calls the [`Back`] for flash.

mod buffer;
mod buffering;
mod coverage;
mod departures;
mod flushing;
mod link;
mod pace;
mod serving;
mod slots;

use std::collections::VecDeque;

use esker_core::{Bytes, Completion, DeviceError, Nanos, Request, RequestKind, Tag};
use esker_ftl::FtlError;
use esker_nand::ValueError;

use super::back::Back;
use crate::{SsdError, SsdSettings};
#[cfg(test)]
pub(super) use buffer::{Admission, Buffer, BufferShape};
pub(super) use buffering::Buffering;
pub(super) use link::Link;
use pace::{Pace, command_time};
pub(super) use slots::Slots;

/// Largest queue depth of a drive.
const QUEUE_DEPTH_MAX: u32 = 1 << 20;

/// The state of a drive's requests, its link and its write buffer.
#[derive(Debug)]
pub(super) struct Front {
    capacity: Bytes,
    pub(super) slots: Slots,
    pub(super) link: Option<Link>,
    pub(super) buffer: Option<Buffering>,
    /// Requests that end at this instant: the time and slot of each.
    ready: VecDeque<(Nanos, u32)>,
    /// Requests completed since the drive was new.
    pub(super) completed: u64,
}

impl Front {
    /// Builds the front of a drive over `back`.
    pub(super) fn new(settings: &SsdSettings, back: &Back) -> Result<Self, SsdError> {
        for (key, value) in [
            ("queue_depth", u64::from(settings.queue_depth)),
            ("link.rate", settings.link.map_or(1, |link| link.rate.0)),
        ] {
            if value == 0 {
                return Err(ValueError::Zero { key }.into());
            }
        }
        if settings.queue_depth > QUEUE_DEPTH_MAX {
            let (found, limit) = (u64::from(settings.queue_depth), u64::from(QUEUE_DEPTH_MAX));
            return Err(ValueError::TooLarge { key: "queue_depth", found, limit }.into());
        }
        settings.check_controller()?;
        let controller = settings.controller.unwrap_or_default();
        let buffer = settings.write_buffer.as_ref();
        Ok(Self {
            capacity: back.capacity(),
            slots: Slots::new(settings.queue_depth),
            link: settings.link.as_ref().map(|link| Link::new(link, command_time(&controller))).transpose()?,
            buffer: buffer.map(|buffer| Buffering::new(buffer, &controller, back)).transpose()?,
            ready: VecDeque::new(),
            completed: 0,
        })
    }

    /// Accepts a request from the host. Returns its slot, and whether it has reached the drive already, as it has
    /// without a link.
    #[inline]
    pub(super) fn take(&mut self, now: Nanos, tag: Tag, request: Request) -> (u32, bool) {
        let slot = self.slots.take(tag, request);
        match &mut self.link {
            None => (slot, true),
            Some(link) => {
                link.receive(now, slot, &request);
                (slot, false)
            }
        }
    }

    /// Returns when the next request arrives over the link, ends, or has spent its time in the buffer.
    #[inline]
    pub(super) fn next_event(&self) -> Nanos {
        let mut next = self.ready.front().map_or(Nanos::NEVER, |(at, _)| *at);
        if let Some(link) = &self.link {
            next = next.min(link.next_event());
        }
        if let Some(buffer) = &self.buffer {
            next = next.min(buffer.next_event());
        }
        next
    }

    /// Handles the end of a flash operation of the request in `slot`, which began at `start`.
    #[inline]
    pub(super) fn operation_ended(&mut self, now: Nanos, slot: u32, start: Nanos, back: &mut Back) {
        let state = self.slots.get_mut(slot);
        state.start = state.start.min(start);
        state.remaining -= 1;
        if state.remaining == 0 {
            self.end_service(now, slot, back);
        }
    }

    /// Continues the requests that the buffer or the link has finished with at `now`.
    #[inline]
    pub(super) fn advance(&mut self, now: Nanos, back: &mut Back) {
        while let Some(slot) = self.buffer.as_mut().and_then(|buffer| buffer.pop_due(now)) {
            self.end_service(now, slot, back);
        }
        if self.buffer.as_mut().is_some_and(|buffer| buffer.may_go_on(now)) {
            self.write_out(now, back);
        }
        while let Some(slot) = self.link.as_mut().and_then(|link| link.pop_sent(now)) {
            self.ready.push_back((now, slot));
        }
    }

    /// Ends the service of a request whose flash operations have all ended: sends its data to the host, or completes
    /// it.
    #[inline]
    fn end_service(&mut self, now: Nanos, slot: u32, back: &mut Back) {
        let state = self.slots.get_mut(slot);
        if state.start == Nanos::NEVER {
            state.start = now;
        }
        if state.request.kind == RequestKind::Read && state.result.is_ok() {
            self.read_ended(slot, back);
        }
        let state = self.slots.get_mut(slot);
        match &mut self.link {
            Some(link) if state.request.kind == RequestKind::Read && state.result.is_ok() => {
                link.send(now, slot, state.request.length);
            }
            _ if state.request.kind == RequestKind::Flush => self.flush_if_first(now, back),
            _ => self.ready.push_back((now, slot)),
        }
    }

    /// If a flush is the oldest of all writes and flushes under way, completes it, or writes the buffer to flash for
    /// it.
    fn flush_if_first(&mut self, now: Nanos, back: &mut Back) {
        let Some(first) = self.slots.first_in_order() else { return };
        let state = self.slots.get_mut(first);
        let served = state.start != Nanos::NEVER;
        if state.request.kind == RequestKind::Flush && served && !state.flushed {
            state.flushed = true;
            if let Some(error) = self.buffer.as_ref().and_then(Buffering::flush_error) {
                state.result = Err(error);
            }
            if self.buffer.as_mut().is_some_and(|buffer| buffer.delay_flush(first)) {
                self.write_out(now, back);
            } else {
                self.ready.push_back((now, first));
            }
        }
    }

    /// Returns the slot of the next request that ends at `now`. The slot still holds the request.
    #[inline]
    pub(super) fn pop_ready(&mut self, now: Nanos) -> Option<u32> {
        let (at, slot) = self.ready.pop_front()?;
        debug_assert_eq!(at, now, "a request should have ended before");
        Some(slot)
    }

    /// Completes the request in `slot` and frees the slot.
    #[inline]
    pub(super) fn complete(&mut self, now: Nanos, slot: u32, back: &mut Back) -> Completion {
        self.completed += 1;
        let state = self.slots.get(slot);
        let completion = Completion { tag: state.tag, at: now, service_start: state.start, result: state.result };
        let ordered = state.ordered;
        debug_assert_eq!(state.remaining, 0, "a request ends before its flash operations");
        self.slots.release(slot);
        if ordered {
            self.flush_if_first(now, back);
        }
        completion
    }

    /// Returns true if no request is under way and no page of the buffer is on its way to flash.
    pub(super) fn is_idle(&self) -> bool {
        self.slots.in_use() == 0 && !self.buffer.as_ref().is_some_and(Buffering::is_leaving)
    }

    /// Asserts the invariants that hold between events. Slow.
    pub(super) fn check(&self) {
        self.slots.check();
        if let Some(buffer) = &self.buffer {
            buffer.check(&self.slots);
        }
    }

    /// Loses power: all requests under way end with an error, except those in the slots `held`. The link loses its
    /// transfers, and the buffer its content unless it is protected.
    pub(super) fn lose_power(&mut self, now: Nanos, held: &VecDeque<u32>) -> FrontLosses {
        let mut slots = self.slots.all_in_use();
        let mut waits = vec![false; slots.last().map_or(0, |last| *last as usize + 1)];
        held.iter().for_each(|slot| waits[*slot as usize] = true);
        slots.retain(|slot| !waits[*slot as usize]);
        let oldest = slots.iter().map(|slot| self.slots.get(*slot).admitted).filter(|admitted| *admitted > 0).min();
        let mut losses = FrontLosses { requests: slots.len() as u64, ..FrontLosses::default() };
        for slot in slots {
            let state = self.slots.get_mut(slot);
            state.result = Err(DeviceError::Interrupted);
            state.start = state.start.min(now);
            state.remaining = 0;
            state.flushed = true;
            losses.writes += u64::from(state.request.kind.is_write());
            self.ready.push_back((now, slot));
        }
        if let Some(buffer) = &mut self.buffer {
            (losses.lost_pages, losses.saved_pages) = buffer.lose_power(now, oldest.unwrap_or(u64::MAX));
        }
        if let Some(link) = &mut self.link {
            link.lose_power(now);
        }
        losses
    }
}

/// What the front loses in a power failure.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FrontLosses {
    /// Requests that ended with an error.
    pub(super) requests: u64,
    /// Writes among these requests.
    pub(super) writes: u64,
    /// Pages of the buffer that lost acknowledged data.
    pub(super) lost_pages: u64,
    /// Pages that a protected buffer kept.
    pub(super) saved_pages: u64,
}

/// Returns the error that the host receives. A drive that is worn out becomes read-only, unless it has an owner that
/// can free space by dropping data.
#[cold]
fn refusal(error: FtlError, back: &mut Back) -> DeviceError {
    match error {
        FtlError::NoSpace => DeviceError::NoSpace,
        FtlError::WornOut if back.keeper.is_some() => DeviceError::NoSpace,
        FtlError::CannotRecover => DeviceError::Failed,
        FtlError::WornOut => {
            back.read_only = true;
            DeviceError::ReadOnly
        }
    }
}
