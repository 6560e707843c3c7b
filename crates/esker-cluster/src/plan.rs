//! What a balancer wants moved.

use esker_core::Bytes;

use crate::id::{ServerId, SliceId};

/// A replica of a slice that should be on another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceMove {
    /// The slice.
    pub slice: SliceId,
    /// Where the replica is.
    pub from: ServerId,
    /// Where it should be.
    pub to: ServerId,
    /// What has to be copied for it, as the balancer expects: the objects that no write moves.
    pub copied: Bytes,
}

/// The plan of one balancing round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The moves, in the order in which they should begin.
    pub moves: Vec<SliceMove>,
    /// True if objects are to be copied as soon as possible (data migration). Otherwise writes move what they can, and
    /// only the cold remainder is copied.
    pub copy_at_once: bool,
}

impl Plan {
    /// What all moves copy, as the balancer expects.
    pub fn copied(&self) -> Bytes {
        Bytes(self.moves.iter().map(|wanted| wanted.copied.0).sum())
    }
}
