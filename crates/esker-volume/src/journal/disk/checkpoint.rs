//! The checkpoint that is being written.

use super::{Asked, DiskJournal};
use crate::format::{JournalPlace, PieceWriter, SealedBy};

/// Pieces under way at once.
const PIECES: usize = 2;

/// A checkpoint that is being written, piece by piece.
pub(super) struct CheckpointUnderWay {
    pub(super) pieces: PieceWriter,
    /// Whether the engine has given all records.
    pub(super) is_whole: bool,
    /// Whether the last piece was sent.
    was_sent: bool,
    /// Bytes sent.
    sent: u64,
    /// Number of operations under way.
    left: usize,
    is_flushing: bool,
}

impl CheckpointUnderWay {
    pub(super) fn new(number: u64, after: JournalPlace) -> Self {
        Self {
            pieces: PieceWriter::new(number, after),
            is_whole: false,
            was_sent: false,
            sent: 0,
            left: 0,
            is_flushing: false,
        }
    }

    /// Returns true if the engine may give more records now.
    pub(super) fn takes_more(&self) -> bool {
        !self.is_whole && self.pieces.len() < PieceWriter::RECORDS_MAX
    }

    /// Notes that an operation has ended.
    pub(super) fn ended(&mut self) {
        self.left -= 1;
    }
}

impl DiskJournal {
    /// Sends pieces that are full, and the last one; then flushes; then the checkpoint counts.
    pub(super) fn continue_checkpoint(&mut self) {
        let Some(checkpoint) = &mut self.checkpoint else { return };
        // Once the journal has all records that the checkpoint includes, their numbers are never given to others. So a
        // checkpoint that a crash has cut off and one that begins anew at the same record have the same pieces.
        if self.durable < checkpoint.pieces.after.through && !self.is_ring_full {
            return;
        }
        let copies = self.devices.copies();
        let limit = PIECES * copies.len();
        while !checkpoint.was_sent && checkpoint.left < limit {
            let has_piece = checkpoint.is_whole || checkpoint.pieces.len() >= PieceWriter::RECORDS_MAX;
            let length = checkpoint.pieces.bytes();
            if !has_piece {
                return;
            }
            let superblock = &self.devices.all[copies[0]].superblock;
            let layout = superblock.layout;
            if checkpoint.sent + length as u64 > layout.checkpoint {
                // The area was planned for all extents.
                unreachable!("a checkpoint area is too small");
            }
            let address = layout.checkpoint_start(checkpoint.pieces.checkpoint % 2) + checkpoint.sent;
            let mut buffer = self.pool.take(length);
            let bytes = buffer.get_mut().expect("what a pool gives has one owner");
            let by = SealedBy { volume: superblock.volume, address };
            checkpoint.pieces.write(by, self.devices.generation, checkpoint.is_whole, bytes);
            checkpoint.was_sent = checkpoint.is_whole && checkpoint.pieces.len() == 0;
            checkpoint.sent += length as u64;
            checkpoint.left += copies.len();
            for &device in &copies {
                self.devices.send(device, Asked::Piece, address, Some(buffer.clone()));
            }
        }
        if !checkpoint.was_sent || checkpoint.left > 0 {
            return;
        }
        if !checkpoint.is_flushing {
            (checkpoint.is_flushing, checkpoint.left) = (true, copies.len());
            copies.into_iter().for_each(|device| self.devices.send(device, Asked::PieceFlush, 0, None));
            return;
        }
        let after = checkpoint.pieces.after;
        self.checkpoints = checkpoint.pieces.checkpoint;
        self.checkpoint = None;
        self.ring.free(after);
        self.devices.believe_copies();
        // A batch may have waited for the room.
        if !self.devices.are_changing() {
            self.begin_batch();
        }
    }
}
