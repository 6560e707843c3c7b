//! Contents in memory.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use super::Contents;

/// Bytes of a block, which is kept or not kept as a whole.
const BLOCK: u64 = 4096;

type Block = [u8; BLOCK as usize];

/// Contents in memory, in blocks of 4 KiB that are there once something was written to them.
#[derive(Debug, Default)]
pub struct MemoryContents {
    /// By the number of the block.
    blocks: BTreeMap<u64, Box<Block>>,
}

/// A part of a range that lies within one block.
struct Part {
    block: u64,
    /// The bytes of the block.
    within: Range<usize>,
    /// Where these bytes are in the range, from its start.
    of_range: Range<usize>,
}

/// The bytes of `block` that are between `at` and `end`.
fn within(block: u64, at: u64, end: u64) -> Range<usize> {
    let begin = block * BLOCK;
    (at.max(begin) - begin) as usize..(end.min(begin + BLOCK) - begin) as usize
}

fn parts(at: u64, length: u64) -> impl Iterator<Item = Part> {
    let end = at + length;
    (at / BLOCK..end.div_ceil(BLOCK)).map(move |block| {
        let within = within(block, at, end);
        let from = (block * BLOCK + within.start as u64 - at) as usize;
        Part { block, of_range: from..from + within.len(), within }
    })
}

impl MemoryContents {
    /// Returns how many bytes of memory the blocks take.
    pub fn bytes_kept(&self) -> u64 {
        self.blocks.len() as u64 * BLOCK
    }
}

impl Contents for MemoryContents {
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        for Part { block, within, of_range } in parts(at, into.len() as u64) {
            match self.blocks.get(&block) {
                Some(bytes) => into[of_range].copy_from_slice(&bytes[within]),
                None => into[of_range].fill(0),
            }
        }
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        for Part { block, within, of_range } in parts(at, bytes.len() as u64) {
            let kept = self.blocks.entry(block).or_insert_with(|| Box::new([0; BLOCK as usize]));
            kept[within].copy_from_slice(&bytes[of_range]);
        }
        Ok(())
    }

    fn clear(&mut self, at: u64, length: u64) -> io::Result<()> {
        let end = at + length;
        let kept: Vec<u64> = self.blocks.range(at / BLOCK..end.div_ceil(BLOCK)).map(|(&block, _)| block).collect();
        for block in kept {
            let within = within(block, at, end);
            if within.len() as u64 == BLOCK {
                self.blocks.remove(&block);
            } else if let Some(bytes) = self.blocks.get_mut(&block) {
                bytes[within].fill(0);
            }
        }
        Ok(())
    }

    fn written_run(&self, at: u64, length: u64) -> (u64, bool) {
        let (first, end) = (at / BLOCK, at + length);
        let mut kept = self.blocks.range(first..end.div_ceil(BLOCK)).map(|(&block, _)| block);
        let run_end = match kept.next() {
            None => return (length, false),
            Some(next) if next > first => return (next * BLOCK - at, false),
            Some(_) => {
                let last = kept.zip(first + 1..).take_while(|(block, expected)| block == expected).last();
                (last.map_or(first, |(block, _)| block) + 1) * BLOCK
            }
        };
        (run_end.min(end) - at, true)
    }
}
