//! How much memory a connection can take.

use esker_core::Bytes;

use super::coverage::PIECES_MAX;
use super::handshake::{Handshake, REPLY_DATA_MAX};
use super::replies::{EXTENTS_KEPT_MAX, Replies};
use super::requests::Slot;
use super::{ClientSession, ClientSettings, RECEIVE_BUFFER};
use crate::outbox::{MESSAGE_BYTES, SENT_HEADERS_MAX, Slices};
use crate::protocol::Extent;
use crate::protocol::numbers::REQUEST_HEADER;

/// Lists grow to twice what they hold, and keep the old memory until the new is filled.
const GROWTH: usize = 3;

impl<B: Slices + AsMut<[u8]>, I> ClientSession<B, I> {
    /// The most memory that a connection takes, whatever its server does, without the buffers of reads and writes.
    pub fn memory_bound(settings: &ClientSettings) -> Bytes {
        let requests = settings.requests_max.max(1) as usize;
        let read = PIECES_MAX * size_of::<(u32, u32)>();
        let request = size_of::<Slot<B, I>>() + read + REQUEST_HEADER + MESSAGE_BYTES + size_of::<B>() + 8;
        let extents = EXTENTS_KEPT_MAX * size_of::<Extent>();
        let session = size_of::<Self>() + size_of::<Handshake>() + size_of::<Replies<B>>();
        let lists = requests * request + extents + SENT_HEADERS_MAX + 4 * REPLY_DATA_MAX;
        Bytes((session + RECEIVE_BUFFER + GROWTH * lists) as u64)
    }
}
