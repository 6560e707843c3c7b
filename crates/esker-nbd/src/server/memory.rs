//! How much memory a connection can take.

use esker_core::Bytes;

use super::handshake::Handshake;
use super::replies::{EXTENTS_MAX, PendingRequest, RUNS_MAX};
use super::transmission::Transmission;
use super::{ServerSession, ServerSettings, receive_buffer};
use crate::export::Exports;
use crate::outbox::{MESSAGE_BYTES, SENT_HEADERS_MAX, Slices};
use crate::protocol::numbers::{CHUNK_HEADER, OPTION_REPLY_HEADER, STRING_MAX};

/// Lists grow to twice what they hold, and keep the old memory until the new is filled.
const GROWTH: usize = 3;

/// The longest headers of the reply to one request: extents, or a chunk for each run.
const REPLY_HEADERS: usize = {
    let (extents, runs) = (CHUNK_HEADER + 4 + 8 * EXTENTS_MAX, RUNS_MAX * (CHUNK_HEADER + 12));
    if extents > runs { extents } else { runs }
};

impl<B: AsMut<[u8]>, D: Slices> ServerSession<B, D> {
    /// The most memory that a connection takes, whatever its client does: the session's own, payloads that were taken
    /// from [`super::Memory`], and data of reads that are not sent yet. Memory that the embedder needs for the work is
    /// not counted.
    pub fn memory_bound(settings: &ServerSettings, exports: &Exports) -> Bytes {
        let requests = settings.requests_max.max(1) as usize;
        let transferred = settings.bytes_max.0.max(u64::from(exports.payload_max()));
        // A tag of the slab with its generation, and one of the list of those that are free.
        let request = size_of::<(u32, Option<PendingRequest>)>() + size_of::<u32>();
        let reply = REPLY_HEADERS + RUNS_MAX * MESSAGE_BYTES + size_of::<D>();
        // One list of all exports, or what is told of one of them, and the sentences of errors.
        let listed = exports.len() * (OPTION_REPLY_HEADER + 4) + exports.text_bytes();
        let options = listed.max(2 * STRING_MAX) + 16 * OPTION_REPLY_HEADER;
        let session = size_of::<Self>() + size_of::<Handshake>() + size_of::<Transmission<B>>();
        let lists = requests * (request + reply) + options + SENT_HEADERS_MAX;
        let own = session + receive_buffer(settings) + GROWTH * lists;
        Bytes(transferred + own as u64)
    }
}
