//! A volatile write cache, seen from the other side: the contents have what was written, and this keeps what a loss of
//! power would bring back. So reads cost nothing, and a flush only forgets.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use esker_core::Rng;

use super::{QUARTERS, SECTOR};
use crate::contents::Contents;

/// Sectors of a block.
const SECTORS: usize = 8;
const BLOCK: u64 = SECTOR * SECTORS as u64;

/// Blocks that may be volatile at a time: 64 MiB, as in many drives. Beyond that the drive writes some back by itself.
const BLOCKS_MAX: usize = (64 << 20) / BLOCK as usize;

/// Sectors that were changed and are not durable.
#[derive(Default)]
pub(super) struct WriteCache {
    /// By the number of the block.
    blocks: BTreeMap<u64, VolatileBlock>,
    /// Changes that a flush covers, which may be under way.
    covered: u64,
}

/// A block with sectors that are not durable.
struct VolatileBlock {
    /// The durable bytes of these sectors.
    durable: Box<[u8; BLOCK as usize]>,
    /// The number of the last change of each sector; zero if that is durable.
    changes: [u64; SECTORS],
}

impl VolatileBlock {
    fn is_durable(&self) -> bool {
        self.changes == [0; SECTORS]
    }
}

/// The sectors of `block` that are between the bytes `at` and `end`, and the place of their bytes in the block.
fn sectors(block: u64, at: u64, end: u64) -> (Range<usize>, Range<usize>) {
    let begin = block * BLOCK;
    let bytes = (at.max(begin) - begin) as usize..(end.min(begin + BLOCK) - begin) as usize;
    (bytes.start / SECTOR as usize..bytes.end / SECTOR as usize, bytes)
}

fn bytes_of(sector: usize) -> Range<usize> {
    sector * SECTOR as usize..(sector + 1) * SECTOR as usize
}

impl WriteCache {
    pub(super) fn volatile_bytes(&self) -> u64 {
        self.blocks.len() as u64 * BLOCK
    }

    /// Notes that the change `number` is about to replace `length` bytes from `at` on, and is not durable. Of a sector
    /// that was volatile before, the drive may or may not have written that version back by now; it has if a flush
    /// covers it, because that may end while the new version is volatile.
    pub(super) fn keep(
        &mut self,
        contents: &dyn Contents,
        at: u64,
        length: u64,
        number: u64,
        rng: &mut Rng,
    ) -> io::Result<()> {
        let end = at + length;
        for block in at / BLOCK..end.div_ceil(BLOCK) {
            let (sectors, bytes) = sectors(block, at, end);
            let mut before = [0; BLOCK as usize];
            contents.read(block * BLOCK + bytes.start as u64, &mut before[bytes])?;
            let entry = self
                .blocks
                .entry(block)
                .or_insert_with(|| VolatileBlock { durable: Box::new([0; BLOCK as usize]), changes: [0; SECTORS] });
            for sector in sectors {
                if entry.changes[sector] <= self.covered || rng.chance(1, 2) {
                    entry.durable[bytes_of(sector)].copy_from_slice(&before[bytes_of(sector)]);
                }
                entry.changes[sector] = number;
            }
            if self.blocks.len() > BLOCKS_MAX {
                self.write_one_back(rng);
            }
        }
        Ok(())
    }

    /// Makes any one block durable.
    fn write_one_back(&mut self, rng: &mut Rng) {
        let last = self.blocks.last_key_value().map_or(0, |(&block, _)| block);
        let chosen = self.blocks.range(rng.below(last + 1)..).next().map(|(&block, _)| block);
        if let Some(block) = chosen {
            self.blocks.remove(&block);
        }
    }

    /// Notes that `length` bytes from `at` on are about to be replaced durably.
    pub(super) fn forget(&mut self, at: u64, length: u64) {
        let end = at + length;
        let found: Vec<u64> = self.blocks.range(at / BLOCK..end.div_ceil(BLOCK)).map(|(&block, _)| block).collect();
        for block in found {
            let (sectors, _) = sectors(block, at, end);
            let entry = self.blocks.get_mut(&block).expect("it was found");
            entry.changes[sectors].fill(0);
            if entry.is_durable() {
                self.blocks.remove(&block);
            }
        }
    }

    pub(super) fn begin_flush(&mut self, covers: u64) {
        self.covered = covers;
    }

    /// Makes the changes up to the number `through` durable.
    pub(super) fn flush(&mut self, through: u64) {
        self.blocks.retain(|_, block| {
            for change in &mut block.changes {
                *change = if *change <= through { 0 } else { *change };
            }
            !block.is_durable()
        });
    }

    /// Has an arbitrary part of the sectors that are not durable be as they were.
    pub(super) fn lose(&mut self, contents: &mut dyn Contents, rng: &mut Rng) -> io::Result<()> {
        let share = rng.below(QUARTERS + 1);
        for (block, entry) in std::mem::take(&mut self.blocks) {
            let volatile = (0..SECTORS).filter(|&sector| entry.changes[sector] != 0);
            for sector in volatile {
                if rng.chance(share, QUARTERS) {
                    contents.write(block * BLOCK + sector as u64 * SECTOR, &entry.durable[bytes_of(sector)])?;
                }
            }
        }
        Ok(())
    }
}
