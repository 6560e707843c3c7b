//! Estimates in a few bits how often objects were used recently.

use esker_core::mix64;

/// A count-min sketch with counters of four bits (Cormode and Muthukrishnan 2005), aged as in Caffeine. A use
/// increments all four counters of its object that are not full. When enough uses have changed a counter, all counters
/// are halved, so that the past is forgotten. Until then, the sketch never counts too little. It counts too much if all
/// four counters of an object are shared.
///
/// All counters of an object lie in one block, which is one line of a processor's cache.
#[derive(Debug)]
pub(super) struct Sketch {
    blocks: Vec<Block>,
    salt: u64,
    /// Uses that changed a counter, as far as the halvings have left them.
    additions: u64,
    /// Number of such uses after which all counters are halved.
    additions_most: u64,
    /// Number of additions before a halving, per object of the cache.
    sample: u64,
}

/// Four rows of two words with sixteen counters each.
#[repr(align(64))]
#[derive(Clone, Copy, Debug, Default)]
struct Block([u64; 8]);

const ROWS: usize = 4;
const COUNT_MOST: u64 = 15;

impl Sketch {
    /// Creates a sketch with 16 counters for each of the `objects` that a cache of `capacity` can hold, or up to twice
    /// as many. All counters are halved after `sample` additions for each object of the capacity.
    pub(super) fn new(capacity: u32, objects: u32, sample: u64, seed: u64) -> Self {
        let blocks = (capacity.min(objects) as usize).next_power_of_two().div_ceil(8);
        let mut sketch =
            Self { blocks: vec![Block::default(); blocks], salt: mix64(seed), additions: 0, additions_most: 0, sample };
        sketch.set_capacity(capacity);
        sketch
    }

    /// Sets the number of objects that the cache has room for. The number of counters stays the same.
    pub(super) fn set_capacity(&mut self, capacity: u32) {
        self.additions_most = self.sample * u64::from(capacity.max(1));
    }

    /// Returns how often `object` was used recently, at most 15.
    #[inline]
    pub(super) fn count(&self, object: u32) -> u64 {
        let hash = self.hash(object);
        let block = &self.blocks[self.block(hash)].0;
        (0..ROWS).map(|row| place(hash, row)).map(|(word, shift)| block[word] >> shift & COUNT_MOST).min().unwrap_or(0)
    }

    /// Records a use of `object`.
    #[inline]
    pub(super) fn add(&mut self, object: u32) {
        let hash = self.hash(object);
        let at = self.block(hash);
        let block = &mut self.blocks[at].0;
        let mut added = false;
        for (word, shift) in (0..ROWS).map(|row| place(hash, row)) {
            if block[word] >> shift & COUNT_MOST < COUNT_MOST {
                block[word] += 1 << shift;
                added = true;
            }
        }
        self.additions += u64::from(added);
        if self.additions >= self.additions_most {
            self.halve();
        }
    }

    /// Halves all counters. An odd counter loses an extra half, and four counters make one use.
    #[cold]
    fn halve(&mut self) {
        let mut odd = 0;
        for word in self.blocks.iter_mut().flat_map(|block| &mut block.0) {
            odd += u64::from((*word & 0x1111_1111_1111_1111).count_ones());
            // A bit that a counter loses must not enter its neighbour.
            *word = *word >> 1 & 0x7777_7777_7777_7777;
        }
        self.additions = self.additions.saturating_sub(odd / ROWS as u64) / 2;
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

/// Returns the word of an object's counter in a row, and the shift of its bits in that word.
#[inline]
fn place(hash: u64, row: usize) -> (usize, u64) {
    let five_bits = hash >> (5 * row) & 31;
    (2 * row + (five_bits >> 4) as usize, 4 * (five_bits & 15))
}
