//! What was asked of one record.

/// Requests for a record, in the order of their times.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordCounts {
    pub(super) requests: u64,
    pub(super) reads: u64,
    /// Bytes that they transferred here.
    pub(super) bytes: u64,
    /// The second of the last request, and how many of that second there were.
    second: u32,
    in_second: u32,
    /// The most requests in one second.
    pub(super) busiest: u32,
}

impl RecordCounts {
    pub(super) fn count(&mut self, second: u32, is_read: bool, bytes: u64) {
        self.requests += 1;
        self.reads += u64::from(is_read);
        self.bytes += bytes;
        if second != self.second {
            (self.second, self.in_second) = (second, 0);
        }
        self.in_second = self.in_second.saturating_add(1);
        self.busiest = self.busiest.max(self.in_second);
    }
}
