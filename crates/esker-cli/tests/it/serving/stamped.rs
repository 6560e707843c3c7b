//! Blocks that say which write is in them, so that what a kill or a power cut leaves can be checked.

use std::sync::atomic::{AtomicBool, Ordering};

use super::client::{Client, Failed};
use esker_core::Rng;

pub(super) const BLOCKS: usize = 64;
const BLOCK: usize = 4096;
/// Blocks lie in different extents, and some share one.
const APART: u64 = 24 << 10;

/// What may be in a block: any write from the last one before a flush that was answered, to the last one that was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    answered: u64,
    pub(super) flushed: u64,
    sent: u64,
}

/// The bytes of a block: in each sector the number of the write, and that of the block.
fn stamped(block: usize, write: u64) -> Vec<u8> {
    let stamp = [write.to_le_bytes(), (block as u64).to_le_bytes()].concat();
    stamp.repeat(BLOCK / stamp.len())
}

/// What was written, and what has to be there.
pub(super) struct Written {
    pub(super) blocks: [Block; BLOCKS],
    pub(super) writes: u64,
    pub(super) rng: Rng,
}

impl Written {
    pub(super) fn new(seed: u64) -> Self {
        Self { blocks: [Block::default(); BLOCKS], writes: 0, rng: Rng::new(seed) }
    }

    /// Writes one block at random, and flushes now and then. Returns whether it flushed.
    fn write(&mut self, client: &mut Client) -> Result<bool, Failed> {
        self.writes += 1;
        let at = self.rng.below(BLOCKS as u64) as usize;
        self.blocks[at].sent = self.writes;
        client.write(at as u64 * APART, &stamped(at, self.writes))?;
        self.blocks[at].answered = self.writes;
        let flushes = self.rng.chance(1, 8);
        if flushes {
            client.flush()?;
            self.blocks.iter_mut().for_each(|block| block.flushed = block.answered);
        }
        Ok(flushes)
    }

    /// Writes until the server is gone. `has_flushed` tells when it is worth being killed.
    pub(super) fn write_until_killed(&mut self, client: &mut Client, has_flushed: &AtomicBool) {
        let failed = loop {
            match self.write(client) {
                Ok(flushed) => has_flushed.fetch_or(flushed, Ordering::SeqCst),
                Err(failed) => break failed,
            };
        };
        // Also if something else has gone wrong, the other thread goes on.
        has_flushed.store(true, Ordering::SeqCst);
        assert_eq!(failed, Failed::Gone);
    }

    /// Checks what is there after this number of kills or power cuts.
    pub(super) fn check(&mut self, client: &mut Client, ends: u64) {
        for (index, block) in self.blocks.iter_mut().enumerate() {
            let found = client.read(index as u64 * APART, BLOCK).unwrap();
            for (sector, bytes) in found.chunks(512).enumerate() {
                let write = u64::from_le_bytes(bytes[..8].try_into().unwrap());
                let place = format!("after {ends} ends, block {index}, sector {sector}");
                let may_be = block.flushed..=block.sent;
                assert!(may_be.contains(&write), "{place}: write {write} is there, of {block:?}");
                let stamp = if write == 0 { vec![0; 512] } else { stamped(index, write)[..512].to_vec() };
                assert!(bytes == stamp, "{place}");
            }
            // What was not flushed may be there in part, so that a flush makes nothing more of it.
            block.answered = block.flushed;
        }
    }
}
