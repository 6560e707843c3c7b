//! Tracks which blocks of the host's address space have been written. The place that an extent gets still holds data of
//! another extent: blocks that the host has not written since are not read from the device, but read as zeroes.

use std::ops::Range;

use esker_core::{Bytes, bits};

/// Bytes of the largest block.
const BLOCK_MAX: u64 = 4096;

/// The size of a block: 4 KiB, or that of an extent if it is smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockSize {
    /// The power of two that it is.
    shift: u32,
}

impl BlockSize {
    /// Returns the size of the blocks of which extents of `extent` bytes consist; `None` if none does.
    pub(super) fn of_extent(extent: Bytes) -> Option<Self> {
        let size = extent.0.min(BLOCK_MAX);
        let fits = size >= Bytes::SECTOR.0 && size.is_power_of_two() && extent.0.is_multiple_of(size);
        fits.then_some(Self { shift: size.trailing_zeros() })
    }

    /// Bytes of a block.
    #[inline]
    pub(super) fn bytes(self) -> u64 {
        1 << self.shift
    }

    /// The block that contains the byte `at`.
    #[inline]
    pub(super) fn containing(self, at: u64) -> usize {
        (at >> self.shift) as usize
    }

    /// The first block that begins at the byte `at` or after it.
    #[inline]
    pub(super) fn at_or_after(self, at: u64) -> usize {
        self.containing(at + self.bytes() - 1)
    }

    /// The blocks that a range of bytes touches.
    #[inline]
    pub(super) fn touched_by(self, bytes: Range<u64>) -> Range<usize> {
        self.containing(bytes.start)..self.at_or_after(bytes.end)
    }

    /// The bytes of a range of blocks.
    #[inline]
    pub(super) fn bytes_of(self, blocks: &Range<usize>) -> Range<u64> {
        (blocks.start as u64) << self.shift..(blocks.end as u64) << self.shift
    }

    /// How many bytes `blocks` have.
    pub(super) fn length_of(self, blocks: &Range<usize>) -> Bytes {
        Bytes((blocks.len() as u64) << self.shift)
    }
}

/// The state of each block in two bits: `written` and `recorded`. Blocks count from the start of the address space.
///
/// | written | recorded | |
/// |---|---|---|
/// | 0 | 0 | Never written: reads as zeroes. |
/// | 0 | 1 | Its first write is under way. Other writes to it wait: the first one may fill it up with zeroes. |
/// | 1 | 0 | Written. Its record waits until the data are durable. |
/// | 1 | 1 | Written and recorded. |
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    pub(super) size: BlockSize,
    written: Vec<u64>,
    recorded: Vec<u64>,
    count: usize,
}

impl Blocks {
    /// Creates an empty map of blocks of this size.
    pub(super) fn new(size: BlockSize) -> Self {
        Self { size, written: Vec::new(), recorded: Vec::new(), count: 0 }
    }

    /// Changes the number of blocks. New blocks are unwritten.
    pub(super) fn resize(&mut self, count: usize) {
        if count < self.count {
            self.clear(count..self.count);
        }
        self.count = count;
        self.written.resize(bits::words(count), 0);
        self.recorded.resize(bits::words(count), 0);
        self.written.shrink_to_fit();
        self.recorded.shrink_to_fit();
    }

    /// Returns true if all blocks of `range` are written.
    #[inline]
    pub(super) fn all_written(&self, range: Range<usize>) -> bool {
        bits::all_set(&self.written, range)
    }

    /// Returns true if no block of `range` is written, or being written for the first time.
    pub(super) fn all_fresh(&self, range: Range<usize>) -> bool {
        bits::none_set(&self.written, range.clone()) && bits::none_set(&self.recorded, range)
    }

    pub(super) fn is_fresh(&self, block: usize) -> bool {
        self.all_fresh(block..block + 1)
    }

    /// Returns how many of `length` bytes from `start` on are in blocks like the first one, and whether these are
    /// written, or being written for the first time.
    pub(super) fn written_run(&self, start: Bytes, length: Bytes) -> (Bytes, bool) {
        let blocks = self.size.touched_by(start.0..(start + length).0);
        let is_written = !self.is_fresh(blocks.start);
        let differs = |word: usize| {
            let fresh = !self.written[word] & !self.recorded[word];
            if is_written { fresh } else { !fresh }
        };
        let end = bits::first_of(blocks.clone(), differs).unwrap_or(blocks.end);
        (Bytes(self.size.bytes_of(&(0..end)).end).min(start + length) - start, is_written)
    }

    /// Returns true if the first write of any block of `range` is under way.
    pub(super) fn any_claimed(&self, range: Range<usize>) -> bool {
        bits::first_of(range, |word| !self.written[word] & self.recorded[word]).is_some()
    }

    /// Returns true if any block of `range` is written but not recorded.
    pub(super) fn any_unrecorded(&self, range: Range<usize>) -> bool {
        bits::first_of(range, |word| self.written[word] & !self.recorded[word]).is_some()
    }

    /// Notes that the first write of the unwritten blocks of `range` is under way. No other first write of them may be
    /// (asserted).
    pub(super) fn claim(&mut self, range: Range<usize>) {
        assert!(!self.any_claimed(range.clone()), "a block has two first writes");
        for run in self.runs(range, |written, _| !written) {
            bits::set_all(&mut self.recorded, run);
        }
    }

    /// Notes that the first write of the claimed blocks of `range` has succeeded: they are written, and also recorded
    /// if `recorded`. Returns these blocks.
    pub(super) fn write(&mut self, range: Range<usize>, recorded: bool) -> Vec<Range<usize>> {
        let runs = self.claimed(range);
        for run in runs.iter().cloned() {
            bits::set_all(&mut self.written, run.clone());
            if !recorded {
                bits::clear_all(&mut self.recorded, run);
            }
        }
        runs
    }

    /// Notes that the first write of the claimed blocks of `range` has failed.
    pub(super) fn unclaim(&mut self, range: Range<usize>) {
        for run in self.claimed(range) {
            bits::clear_all(&mut self.recorded, run);
        }
    }

    /// Marks all blocks of `range` as written and recorded.
    pub(super) fn record(&mut self, range: Range<usize>) {
        bits::set_all(&mut self.written, range.clone());
        bits::set_all(&mut self.recorded, range);
    }

    /// Makes all blocks of `range` unwritten.
    pub(super) fn clear(&mut self, range: Range<usize>) {
        bits::clear_all(&mut self.written, range.clone());
        bits::clear_all(&mut self.recorded, range);
    }

    fn claimed(&self, range: Range<usize>) -> Vec<Range<usize>> {
        self.runs(range, |written, recorded| !written & recorded)
    }

    /// Runs of written blocks in `range`.
    #[cfg(test)]
    fn written(&self, range: Range<usize>) -> Vec<Range<usize>> {
        self.runs(range, |written, _| written)
    }

    /// Returns the runs of blocks in `range` that are written but not recorded.
    pub(super) fn unrecorded(&self, range: Range<usize>) -> Vec<Range<usize>> {
        self.runs(range, |written, recorded| written & !recorded)
    }

    /// Returns the runs of blocks in `range` that are written and recorded.
    pub(super) fn recorded(&self, range: Range<usize>) -> Vec<Range<usize>> {
        self.runs(range, |written, recorded| written & recorded)
    }

    /// Returns the blocks from the first written one of `range` to the last; `None` if none is written.
    pub(super) fn span(&self, range: Range<usize>) -> Option<Range<usize>> {
        let first = self.next_written(range.clone())?;
        let mut end = first.end;
        while let Some(run) = self.next_written(end..range.end) {
            end = run.end;
        }
        Some(first.start..end)
    }

    /// Returns the first run of written blocks in `range`.
    pub(super) fn next_written(&self, range: Range<usize>) -> Option<Range<usize>> {
        self.next_run(range, |written, _| written)
    }

    /// Returns the first run of blocks in `range` that are written and recorded.
    pub(super) fn next_recorded(&self, range: Range<usize>) -> Option<Range<usize>> {
        self.next_run(range, |written, recorded| written & recorded)
    }

    fn runs(&self, range: Range<usize>, choose: impl Fn(u64, u64) -> u64) -> Vec<Range<usize>> {
        let (mut runs, mut at) = (Vec::new(), range.start);
        while let Some(run) = self.next_run(at..range.end, &choose) {
            at = run.end;
            runs.push(run);
        }
        runs
    }

    /// Returns the first run of blocks that `choose` selects. It gets 64 bits of `written` and of `recorded`, and
    /// returns a one for each block to select.
    fn next_run(&self, range: Range<usize>, choose: impl Fn(u64, u64) -> u64) -> Option<Range<usize>> {
        let word = |index: usize| choose(self.written[index], self.recorded[index]);
        let start = bits::first_of(range.clone(), word)?;
        let end = bits::first_of(start..range.end, |index| !word(index)).unwrap_or(range.end);
        Some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: u64 = BLOCK_MAX;

    /// Returns the first and last block of each run.
    fn ends(runs: Vec<Range<usize>>) -> Vec<(usize, usize)> {
        runs.into_iter().map(|run| (run.start, run.end - 1)).collect()
    }

    #[test]
    fn a_block_goes_from_fresh_by_its_first_write_to_recorded() {
        let mut blocks = Blocks::new(BlockSize::of_extent(Bytes::kib(64)).unwrap());
        blocks.resize(300);
        assert!(blocks.all_fresh(0..300) && !blocks.any_claimed(0..300));
        blocks.claim(60..70);
        assert!(blocks.any_claimed(69..300) && !blocks.any_claimed(70..300) && !blocks.is_fresh(60));
        assert_eq!(ends(blocks.written(0..300)), []);
        assert_eq!(ends(blocks.write(0..65, false)), [(60, 64)]);
        blocks.unclaim(0..300);
        assert_eq!(ends(blocks.written(0..300)), [(60, 64)]);
        assert_eq!(ends(blocks.unrecorded(61..300)), [(61, 64)]);
        assert!(blocks.is_fresh(65));
        blocks.claim(62..68);
        assert_eq!(ends(blocks.write(0..300, true)), [(65, 67)]);
        assert_eq!(ends(blocks.recorded(0..300)), [(65, 67)]);
        assert_eq!(ends(blocks.unrecorded(0..300)), [(60, 64)]);
        blocks.record(62..64);
        assert_eq!(ends(blocks.recorded(0..300)), [(62, 63), (65, 67)]);
        let run = |from: u64, bytes| {
            let (length, is_written) = blocks.written_run(Bytes(from), Bytes(bytes));
            (length.0, is_written)
        };
        assert_eq!(run(512, 300 * BLOCK - 512), (60 * BLOCK - 512, false));
        assert_eq!(run(60 * BLOCK, 240 * BLOCK), (8 * BLOCK, true));
        assert_eq!([run(68 * BLOCK, 1024), run(62 * BLOCK + 512, 512)], [(1024, false), (512, true)]);
        assert_eq!((blocks.span(0..300), blocks.span(100..300)), (Some(60..68), None));
        blocks.clear(61..66);
        assert_eq!(ends(blocks.written(0..300)), [(60, 60), (66, 67)]);
        blocks.resize(67);
        blocks.resize(300);
        assert_eq!(ends(blocks.written(0..300)), [(60, 60), (66, 66)]);
    }

    #[test]
    fn a_small_extent_is_one_block() {
        let size = |extent| BlockSize::of_extent(Bytes(extent)).map(BlockSize::bytes);
        assert_eq!([512, 1024, 2048, 4096, 12_288].map(size), [512, 1024, 2048, 4096, 4096].map(Some));
        assert_eq!([0, 256, 1000, 1536, 4608, 6144].map(size), [None; 6]);
        let small = BlockSize::of_extent(Bytes(1024)).unwrap();
        assert_eq!(
            (small.containing(1023), small.containing(1024), small.at_or_after(1), small.at_or_after(1024)),
            (0, 1, 1, 1)
        );
        assert_eq!(
            (small.touched_by(512..2049), small.bytes_of(&(1..3)), small.length_of(&(1..3)).0),
            (0..3, 1024..3072, 2048)
        );
    }
}
