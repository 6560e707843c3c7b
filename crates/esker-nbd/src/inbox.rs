//! Bytes received, in the session's own buffer or straight in that of a request.

/// A payload that misses at least this many bytes takes them straight from the connection. Otherwise they come through
/// the receive buffer, together with other messages.
const STRAIGHT_MIN: usize = 16 << 10;

/// The receive buffer: what has come and is not parsed yet.
#[derive(Debug)]
pub(crate) struct Inbox {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Bytes that are still to come and that nobody wants. Nothing is in the buffer as long as there are any.
    unwanted: u64,
}

impl Inbox {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { buffer: vec![0; bytes].into_boxed_slice(), start: 0, end: 0, unwanted: 0 }
    }

    /// An inbox of `bytes` bytes that goes on with what another one had. `None` if that does not fit.
    pub(crate) fn restored(bytes: usize, unwanted: u64, pending: &[u8]) -> Option<Self> {
        let mut inbox = Self::new(bytes);
        if pending.len() > bytes || (unwanted > 0 && !pending.is_empty()) {
            return None;
        }
        inbox.buffer[..pending.len()].copy_from_slice(pending);
        inbox.end = pending.len();
        inbox.unwanted = unwanted;
        Some(inbox)
    }

    pub(crate) fn pending(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub(crate) fn unwanted(&self) -> u64 {
        self.unwanted
    }

    /// The first `N` pending bytes, once they are there.
    pub(crate) fn first<const N: usize>(&self) -> Option<&[u8; N]> {
        self.pending().first_chunk()
    }

    /// Takes `count` bytes that are pending.
    pub(crate) fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end);
    }

    /// Drops the next `count` bytes, whenever they come.
    pub(crate) fn drop_next(&mut self, count: u64) {
        let here = count.min(self.pending().len() as u64);
        self.consume(here as usize);
        self.unwanted += count - here;
    }

    /// Where the next bytes go; empty if there is no room.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        &mut self.buffer[self.end..]
    }

    /// `count` bytes have come to where [`Self::space`] said.
    pub(crate) fn received(&mut self, count: usize) {
        assert!(count <= self.buffer.len() - self.end, "more bytes were received than there was room for");
        self.end += count;
        let dropped = self.unwanted.min(count as u64);
        self.start += dropped as usize;
        self.unwanted -= dropped;
    }
}

/// A request's buffer that is being filled with the bytes of a message.
#[derive(Debug)]
pub(crate) struct Filling<B> {
    pub(crate) buffer: B,
    at: usize,
    end: usize,
}

impl<B: AsMut<[u8]>> Filling<B> {
    /// Fills `buffer` from `at` to `end`, beginning with what is pending.
    pub(crate) fn begin(mut buffer: B, at: usize, end: usize, inbox: &mut Inbox) -> Self {
        assert!(buffer.as_mut().len() >= end, "a payload's buffer is shorter than the payload");
        let mut filling = Self { buffer, at, end };
        filling.take_pending(inbox);
        filling
    }

    pub(crate) fn is_full(&self) -> bool {
        self.at == self.end
    }

    /// Bytes that are missing.
    pub(crate) fn missing(&self) -> usize {
        self.end - self.at
    }

    /// Copies what is pending.
    pub(crate) fn take_pending(&mut self, inbox: &mut Inbox) {
        let count = inbox.pending().len().min(self.missing());
        self.buffer.as_mut()[self.at..self.at + count].copy_from_slice(&inbox.pending()[..count]);
        inbox.consume(count);
        self.at += count;
    }

    /// Returns true if the next bytes go straight into the buffer.
    pub(crate) fn is_straight(&self, inbox: &Inbox) -> bool {
        self.missing() >= STRAIGHT_MIN && inbox.pending().is_empty()
    }

    /// The rest of the buffer.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        &mut self.buffer.as_mut()[self.at..self.end]
    }

    /// `count` bytes have come to where [`Self::space`] said.
    pub(crate) fn received(&mut self, count: usize) {
        assert!(count <= self.missing(), "more bytes were received than there was room for");
        self.at += count;
    }
}
