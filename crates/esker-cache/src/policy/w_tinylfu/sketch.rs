//! How often objects were used lately, in a few bits.

use esker_core::mix64;

/// A count-min sketch with counters of four bits (Cormode and Muthukrishnan 2005). As in Einziger et al. 2017, a use
/// increments only the smallest counters of its object, and from time to time all counters are halved, so that the past
/// is forgotten. It never counts too little before that, and too much if all four counters of an object are shared.
///
/// All counters of an object lie in one block, which is one line of a processor's cache.
#[derive(Debug)]
pub(super) struct Sketch {
    blocks: Vec<Block>,
    salt: u64,
    /// How often it has aged since it was halved.
    aged: u64,
    aged_most: u64,
}

/// Four rows of two words with sixteen counters each.
#[repr(align(64))]
#[derive(Clone, Copy, Debug, Default)]
struct Block([u64; 8]);

const ROWS: usize = 4;
const COUNT_MOST: u64 = 15;

impl Sketch {
    /// A sketch with 32 counters for each of `objects`, or up to twice as many. All counters are halved when it has
    /// aged `sample` times for each of them.
    pub(super) fn new(objects: u32, sample: u64, seed: u64) -> Self {
        let blocks = (objects as usize).next_power_of_two().div_ceil(4);
        let aged_most = sample * u64::from(objects.max(1));
        Self { blocks: vec![Block::default(); blocks], salt: mix64(seed), aged: 0, aged_most }
    }

    /// How often `object` was used lately, at most 15.
    #[inline]
    pub(super) fn count(&self, object: u32) -> u64 {
        let hash = self.hash(object);
        let block = &self.blocks[self.block(hash)].0;
        (0..ROWS).map(|row| place(hash, row)).map(|(word, shift)| block[word] >> shift & COUNT_MOST).min().unwrap_or(0)
    }

    /// A use of `object`.
    #[inline]
    pub(super) fn add(&mut self, object: u32) {
        let least = self.count(object);
        let hash = self.hash(object);
        let at = self.block(hash);
        let block = &mut self.blocks[at].0;
        for (word, shift) in (0..ROWS).map(|row| place(hash, row)) {
            if block[word] >> shift & COUNT_MOST == least && least < COUNT_MOST {
                block[word] += 1 << shift;
            }
        }
    }

    /// A hit that lets counts age.
    #[inline]
    pub(super) fn age(&mut self) {
        self.aged += 1;
        if self.aged == self.aged_most {
            self.aged = 0;
            let words = self.blocks.iter_mut().flat_map(|block| &mut block.0);
            // What a counter loses must not enter its neighbour.
            words.for_each(|word| *word = *word >> 1 & 0x7777_7777_7777_7777);
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<Block>()
    }

    #[inline]
    fn hash(&self, object: u32) -> u64 {
        mix64(u64::from(object) ^ self.salt)
    }

    #[inline]
    fn block(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.blocks.len() - 1)
    }
}

/// The word of an object's counter in a row, and how far its bits are shifted in it.
#[inline]
fn place(hash: u64, row: usize) -> (usize, u64) {
    let five_bits = hash >> (5 * row) & 31;
    (2 * row + (five_bits >> 4) as usize, 4 * (five_bits & 15))
}
