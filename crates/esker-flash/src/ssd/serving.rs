//! A request on its way to flash: split into pages, asked of the translation layer, handed to the array.

use esker_core::{Bytes, DeviceError, LogicalPage, Nanos, Request, RequestKind};
use esker_ftl::{Cells, FtlError, Part};
use esker_nand::array::Waiter;
use esker_nand::state::{Cause, Cover};

use super::Ssd;
use super::buffer::Rounding;
use super::buffering::covered;

impl Ssd {
    /// Hands a request on to flash.
    #[inline]
    pub(super) fn dispatch(&mut self, now: Nanos, slot: u32) {
        if self.power.as_mut().is_some_and(|power| power.holds(slot)) {
            return self.look_at_power(now);
        }
        let request = self.slots.get(slot).request;
        let mut ops = 0;
        if request.end_byte() > self.capacity.0 {
            let error = DeviceError::OutOfRange { end: request.end_byte(), capacity: self.capacity };
            self.slots.get_mut(slot).result = Err(error);
        } else if self.read_only && request.kind.is_write() {
            self.slots.get_mut(slot).result = Err(DeviceError::ReadOnly);
        } else if self.buffer.as_ref().is_some_and(|buffer| buffer.takes(request.kind)) && request.length > Bytes::ZERO
        {
            return self.admit_in_turn(now, slot);
        } else if request.length > Bytes::ZERO {
            match self.serve(now, slot, &request) {
                Ok(count) => ops = count,
                Err((count, error)) => {
                    self.slots.get_mut(slot).result = Err(error);
                    ops = count;
                }
            }
        }
        self.slots.get_mut(slot).remaining = ops;
        if ops == 0 {
            match &mut self.buffer {
                Some(buffer) if request.kind == RequestKind::Read => {
                    self.slots.get_mut(slot).start = now;
                    buffer.serve(now, slot);
                }
                _ => self.served(now, slot),
            }
        }
    }

    /// How much of `page` a request covers.
    #[inline(always)]
    pub(super) fn part(&self, request: &Request, page: u64) -> Part {
        let (first, size) = (page << self.page_shift, 1u64 << self.page_shift);
        match request.start.byte_offset() <= first && first + size <= request.end_byte() {
            true => Part::Whole,
            false => Part::Some,
        }
    }

    /// Performs a request within the capacity, page by page. Says how many flash operations it waits for.
    #[inline]
    fn serve(&mut self, now: Nanos, slot: u32, request: &Request) -> Result<u32, (u32, DeviceError)> {
        let (start, end) = (request.start.byte_offset(), request.end_byte());
        let mut count = 0;
        let pages = start >> self.page_shift..=(end - 1) >> self.page_shift;
        if matches!(request.kind, RequestKind::Write { .. }) {
            self.ftl.begin_request((pages.end() - pages.start() + 1) as u32);
        }
        if self.settings.streams > 1 && request.kind.is_write() {
            self.ftl.begin_stream(request.stream);
        }
        if request.kind == RequestKind::Read {
            self.host_page_reads += pages.end() - pages.start() + 1;
        }
        for page in pages {
            let part = self.part(request, page);
            if self.buffer.is_some() && self.beside_flash(request, page, part) {
                continue;
            }
            let page = LogicalPage(page as u32);
            self.ops.clear();
            #[cfg(test)]
            self.shadow.took(page, self.slots.get(slot));
            let written = match request.kind {
                RequestKind::Read => {
                    self.ftl.read(page, &mut Cells::new(&mut self.flash, &mut self.ops));
                    let has_data = self.ops.as_slice().iter().any(|op| op.cause == Cause::Host);
                    self.unwritten_page_reads += u64::from(!has_data);
                    Ok(())
                }
                RequestKind::Write { .. } => self.write(now, page, part),
                RequestKind::WriteZeroes { .. } if part == Part::Some => match self.ftl.find(page) {
                    Some(_) => self.write(now, page, part),
                    None => Ok(()),
                },
                RequestKind::Trim if part == Part::Some => Ok(()),
                RequestKind::WriteZeroes { .. } | RequestKind::Trim => {
                    self.ftl.trim(page, &mut Cells::new(&mut self.flash, &mut self.ops));
                    Ok(())
                }
                RequestKind::Flush => Ok(()),
            };
            // What was emitted before an error was done to the cells, too.
            if !self.ops.as_slice().is_empty() {
                let first_byte = u64::from(page.0) << self.page_shift;
                let cover = (self.part_shift < self.page_shift)
                    .then(|| self.cover(request.kind, start.saturating_sub(first_byte), end - first_byte));
                let read = (request.kind == RequestKind::Read).then_some(page);
                count += self.issue_for(now, Waiter::request(slot), cover.as_ref(), read);
            }
            if let Err(error) = written {
                return Err((count, self.refused(error)));
            }
        }
        self.ops.clear();
        self.ftl.end_request(&mut Cells::new(&mut self.flash, &mut self.ops));
        if !self.ops.as_slice().is_empty() {
            count += self.issue(now, Waiter::request(slot), None);
        }
        Ok(count)
    }

    /// Hands on to the array what the translation layer emitted, which is at least one operation. Says how many of them
    /// `waiter` is told the end of.
    #[inline]
    pub(super) fn issue(&mut self, now: Nanos, waiter: Waiter, cover: Option<&Cover>) -> u32 {
        self.issue_for(now, waiter, cover, None)
    }

    /// The same where the operations bring the data of the page `read`, which may then be written again.
    #[inline]
    fn issue_for(&mut self, now: Nanos, waiter: Waiter, cover: Option<&Cover>, read: Option<LogicalPage>) -> u32 {
        if let Some(ecc) = &mut self.ecc {
            // What leaves the buffer was acknowledged before: no request hears that a part of it is lost.
            if let (true, Some(slot)) = (ecc.judge(now, self.ops.as_slice(), cover), waiter.slot()) {
                self.slots.get_mut(slot).result = Err(DeviceError::Medium);
            }
            if let (Some(page), Some(index)) = (read, ecc.stale()) {
                // Where there is no room for them the data stay, and the host has them all the same.
                let _ = self.ftl.refresh(page, index, &mut Cells::new(&mut self.flash, &mut self.ops));
                ecc.judge_more(now, self.ops.as_slice(), cover);
            }
        }
        if self.power.is_some() {
            self.tell_of_changes();
        }
        let more_steps = self.ecc.as_ref().map_or(&[][..], |ecc| ecc.more_steps());
        self.array.get_mut().push(now, self.ops.as_slice(), more_steps, waiter, cover)
    }

    /// What the host is told of an error. A drive that is worn out says so at once from then on.
    #[cold]
    pub(super) fn refused(&mut self, error: FtlError) -> DeviceError {
        match error {
            FtlError::NoSpace => DeviceError::NoSpace,
            FtlError::CannotRecover => DeviceError::Failed,
            FtlError::WornOut => {
                self.read_only = true;
                DeviceError::ReadOnly
            }
        }
    }

    /// What a request that goes to flash has to do with the buffer. Says whether that is all, and no flash is needed.
    fn beside_flash(&mut self, request: &Request, page: u64, part: Part) -> bool {
        let Some(buffer) = &mut self.buffer else { return false };
        let logical = LogicalPage(page as u32);
        match request.kind {
            RequestKind::Read => {
                let has_data = self.ftl.find(logical).is_some();
                return buffer.read(logical, covered(request, page, &self.geometry, Rounding::Outward), has_data);
            }
            RequestKind::Write { .. } => {
                buffer.written_through(logical, covered(request, page, &self.geometry, Rounding::Inward));
            }
            RequestKind::WriteZeroes { .. } | RequestKind::Trim if part == Part::Whole => buffer.forget(logical),
            RequestKind::WriteZeroes { .. } | RequestKind::Trim | RequestKind::Flush => {}
        }
        false
    }

    /// Which flash pages of a logical page have to be read for the bytes from `start` to `end` of it: those to read, or
    /// those of which something stays.
    #[cold]
    fn cover(&self, kind: RequestKind, start: u64, end: u64) -> Cover {
        let end = end.min(1 << self.page_shift);
        let part = 1 << self.part_shift;
        let all = 1 << (self.page_shift - self.part_shift);
        if kind == RequestKind::Read {
            if self.settings.array.whole_page_reads {
                return Cover { needed: [0..all, 0..0] };
            }
            return Cover { needed: [(start / part) as u32..end.div_ceil(part) as u32, 0..0] };
        }
        let (first, last) = (start.div_ceil(part) as u32, (end / part) as u32);
        Cover { needed: if first < last { [0..first, last..all] } else { [0..all, 0..0] } }
    }

    /// Tells the translation layer how much work waits on each die, where it has to know.
    #[inline]
    fn look_at_backlog(&mut self, now: Nanos) {
        if self.least_loaded {
            self.array.get_mut().backlog(now, &mut self.flash.backlog);
        }
    }

    #[inline]
    fn write(&mut self, now: Nanos, page: LogicalPage, part: Part) -> Result<(), FtlError> {
        self.write_to_flash(now, page, part)?;
        self.host_page_writes += 1;
        Ok(())
    }

    /// Has the translation layer write `page`.
    #[inline]
    pub(super) fn write_to_flash(&mut self, now: Nanos, page: LogicalPage, part: Part) -> Result<(), FtlError> {
        self.look_at_backlog(now);
        #[cfg(test)]
        let first = self.flash.next_sequence();
        self.ftl.write(page, part, &mut Cells::new(&mut self.flash, &mut self.ops))?;
        #[cfg(test)]
        self.shadow.programmed(page, first, self.ops.as_slice());
        Ok(())
    }
}
