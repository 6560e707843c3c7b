//! A set of points in time that quickly counts its members after a given time.

use esker_core::bits;

/// A set of points in time that quickly counts its members after a given time.
///
/// It has one bit per time, and above the bits three layers of counts, where each entry covers at most 64 entries of
/// the layer below. A change touches one entry per layer. A count adds at most 64 neighbors per layer, several at once
/// with vector instructions. A Fenwick tree would touch a new cache line on each level of a binary tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveTimes {
    words: Vec<u64>,
    /// Number of set bits in 8 words.
    lines: Vec<u16>,
    /// Sum over 64 lines.
    blocks: Vec<u32>,
    /// Sum over 64 blocks. There are as many as needed.
    regions: Vec<u64>,
    live: u64,
}

const WORDS_PER_LINE: usize = 8;
const FAN_OUT: usize = 64;
const LINE_BITS: usize = WORDS_PER_LINE * 64;
const BLOCK_BITS: usize = LINE_BITS * FAN_OUT;
const REGION_BITS: usize = BLOCK_BITS * FAN_OUT;

impl LiveTimes {
    /// Creates a set with room for `capacity` times, of which the first `live` are set.
    pub(crate) fn new(capacity: usize, live: usize) -> Self {
        assert!(live <= capacity, "{live} live times do not fit into {capacity}");
        let lines = capacity.div_ceil(LINE_BITS);
        let full = |unit_bits: usize, index: usize| live.saturating_sub(index * unit_bits).min(unit_bits);
        let word = |index: usize| match full(64, index) {
            64 => u64::MAX,
            bits => (1 << bits) - 1,
        };
        Self {
            words: (0..lines * WORDS_PER_LINE).map(word).collect(),
            lines: (0..lines).map(|index| full(LINE_BITS, index) as u16).collect(),
            blocks: (0..capacity.div_ceil(BLOCK_BITS)).map(|index| full(BLOCK_BITS, index) as u32).collect(),
            regions: (0..capacity.div_ceil(REGION_BITS)).map(|index| full(REGION_BITS, index) as u64).collect(),
            live: live as u64,
        }
    }

    /// Returns how many times fit into the set.
    pub(crate) fn capacity(&self) -> u64 {
        (self.words.len() * 64) as u64
    }

    /// Returns how many times are set.
    pub(crate) fn live(&self) -> u64 {
        self.live
    }

    /// Sets a time, which must not be set.
    #[inline]
    pub(crate) fn set(&mut self, time: u64) {
        let time = time as usize;
        debug_assert!(!bits::is_set(&self.words, time), "time {time} is set twice");
        bits::set(&mut self.words, time);
        self.lines[time / LINE_BITS] += 1;
        self.blocks[time / BLOCK_BITS] += 1;
        self.regions[time / REGION_BITS] += 1;
        self.live += 1;
    }

    /// Clears a time, which must be set.
    #[inline]
    pub(crate) fn clear(&mut self, time: u64) {
        let time = time as usize;
        debug_assert!(bits::is_set(&self.words, time), "time {time} is not set");
        bits::clear(&mut self.words, time);
        self.lines[time / LINE_BITS] -= 1;
        self.blocks[time / BLOCK_BITS] -= 1;
        self.regions[time / REGION_BITS] -= 1;
        self.live -= 1;
    }

    /// Returns how many set times come after `time`.
    #[inline]
    pub(crate) fn after(&self, time: u64) -> u64 {
        let time = time as usize;
        let (word, line, block, region) = (time / 64, time / LINE_BITS, time / BLOCK_BITS, time / REGION_BITS);
        // Two shifts, because a shift by 64 would not shift at all.
        let mut count = (self.words[word] >> (time % 64) >> 1).count_ones();
        for word in &self.words[word + 1..(line + 1) * WORDS_PER_LINE] {
            count += word.count_ones();
        }
        let lines = &self.lines[line + 1..((block + 1) * FAN_OUT).min(self.lines.len())];
        count += lines.iter().map(|&count| u32::from(count)).sum::<u32>();
        let blocks = &self.blocks[block + 1..((region + 1) * FAN_OUT).min(self.blocks.len())];
        count += blocks.iter().sum::<u32>();
        u64::from(count) + self.regions[region + 1..].iter().sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_are_those_of_a_set(
            capacity in 1usize..5_000_000, live_share in 0usize..=100,
            flips in prop::collection::vec(any::<u64>(), 0..200),
        ) {
            let live = (capacity * live_share / 100).min(50_000);
            let mut times = LiveTimes::new(capacity, live);
            let mut naive: BTreeSet<u64> = (0..live as u64).collect();
            for flip in flips {
                let time = flip % capacity as u64;
                if naive.remove(&time) {
                    times.clear(time);
                } else {
                    times.set(time);
                    naive.insert(time);
                }
                let probe = flip.rotate_left(32) % capacity as u64;
                prop_assert_eq!(times.after(probe), naive.range(probe + 1..).count() as u64);
                prop_assert_eq!(times.live(), naive.len() as u64);
            }
        }
    }
}
