//! The link to the host, and the controller in front of it.

use std::ops::Range;

use esker_core::{ByteRate, Bytes, Nanos};

use crate::Access;

/// Serves one transfer after another in each direction. Both directions run at the same time.
#[derive(Clone, Debug)]
pub(super) struct Link {
    rate: Option<ByteRate>,
    in_rate: Option<ByteRate>,
    in_free: Nanos,
    /// From when on data of the buffer can be sent, before what the arm is reading or behind it.
    out_free: Nanos,
    /// When the data of the latest access are sent. Until then they come off the medium, and the link is free.
    reserved: Range<Nanos>,
}

impl Link {
    pub(super) fn new(rate: Option<ByteRate>, in_rate: Option<ByteRate>) -> Self {
        Self { rate, in_rate, in_free: Nanos::ZERO, out_free: Nanos::ZERO, reserved: Nanos::ZERO..Nanos::ZERO }
    }

    #[inline]
    fn time(&self, bytes: u64) -> Nanos {
        self.rate.map_or(Nanos::ZERO, |rate| rate.time(Bytes(bytes)))
    }

    /// Returns when the data of a write that can begin its transfer at `ready` have been received.
    #[inline]
    pub(super) fn data_in(&mut self, ready: Nanos, bytes: u64) -> Nanos {
        let Some(rate) = self.in_rate.filter(|_| bytes > 0) else { return ready };
        self.in_free = ready.max(self.in_free) + rate.time(Bytes(bytes));
        self.in_free
    }

    /// Returns the transfer time of a sector from the host.
    pub(super) fn sector_in(&self) -> Nanos {
        self.in_rate.map_or(Nanos::ZERO, |rate| rate.time(Bytes::SECTOR))
    }

    /// Returns when the data of a read have been sent, if the drive takes the bus at `taken`. The first sector came off
    /// the medium at `first`, the last at `last`; `fresh` bytes came from there, and the rest of `bytes` was in the
    /// buffer.
    pub(super) fn data_out_from(
        &mut self,
        taken: Nanos,
        (first, last): (Nanos, Nanos),
        fresh: u64,
        bytes: u64,
    ) -> Nanos {
        let begin = taken.max(self.all_sent());
        let sector = self.time(fresh.min(Bytes::SECTOR.0));
        let end = (begin + self.time(bytes)).max(first + self.time(fresh)).max(last + sector);
        self.reserve(begin..end)
    }

    fn all_sent(&self) -> Nanos {
        self.out_free.max(self.reserved.end)
    }

    /// Sends the data of an access at `times`. Returns when they have been sent.
    fn reserve(&mut self, times: Range<Nanos>) -> Nanos {
        self.out_free = self.all_sent();
        self.reserved = times;
        self.reserved.end
    }

    /// Returns when data that are in the buffer at `now` have been sent: while the arm is still on its way to others,
    /// if there is time.
    pub(super) fn data_out(&mut self, now: Nanos, bytes: u64) -> Nanos {
        if self.rate.is_none() {
            return now;
        }
        let (time, begin) = (self.time(bytes), now.max(self.out_free));
        let goes_before = begin + time <= self.reserved.start;
        self.out_free = if goes_before { begin } else { begin.max(self.reserved.end) } + time;
        self.out_free
    }

    /// Returns when the data of a read whose access ends at `end` have been sent: right after the last sector, or later
    /// if the link is slower than the medium or still busy.
    #[inline]
    pub(super) fn data_out_behind(&mut self, access: &Access, end: Nanos, bytes: u64) -> Nanos {
        if self.rate.is_none() {
            return end;
        }
        let last_sector = end + self.time(bytes.min(Bytes::SECTOR.0));
        let first_read = end.saturating_sub(access.transfer) + access.sector;
        let time = self.time(bytes);
        let end = last_sector.max(first_read.max(self.all_sent()) + time);
        self.reserve(end.saturating_sub(time)..end)
    }
}
