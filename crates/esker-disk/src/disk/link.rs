//! The link to the host, and the controller in front of it.

use esker_core::{ByteRate, Bytes, Nanos};

use crate::Access;

/// Serves one transfer after another in each direction; both directions run at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    rate: Option<ByteRate>,
    in_free: Nanos,
    out_free: Nanos,
}

impl Link {
    pub(super) fn new(rate: Option<ByteRate>) -> Self {
        Self { rate, in_free: Nanos::ZERO, out_free: Nanos::ZERO }
    }

    #[inline]
    fn time(&self, bytes: u64) -> Nanos {
        self.rate.map_or(Nanos::ZERO, |rate| rate.time(Bytes(bytes)))
    }

    /// When the data of a write that can begin its transfer at `ready` have been received.
    #[inline]
    pub(super) fn data_in(&mut self, ready: Nanos, bytes: u64) -> Nanos {
        if self.rate.is_none() || bytes == 0 {
            return ready;
        }
        self.in_free = ready.max(self.in_free) + self.time(bytes);
        self.in_free
    }

    /// When data that are in the buffer at `now` have been sent.
    pub(super) fn data_out(&mut self, now: Nanos, bytes: u64) -> Nanos {
        if self.rate.is_none() {
            return now;
        }
        self.out_free = now.max(self.out_free) + self.time(bytes);
        self.out_free
    }

    /// When the data of a read whose access ends at `end` have been sent: right after the last sector, or later if the
    /// link is slower than the medium or still busy.
    #[inline]
    pub(super) fn data_out_behind(&mut self, access: &Access, end: Nanos, bytes: u64) -> Nanos {
        if self.rate.is_none() {
            return end;
        }
        let last_sector = end + self.time(bytes.min(Bytes::SECTOR.0));
        let first_read = end.saturating_sub(access.transfer) + access.sector;
        self.out_free = last_sector.max(first_read.max(self.out_free) + self.time(bytes));
        self.out_free
    }
}
