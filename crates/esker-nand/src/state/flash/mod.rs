//! The state of the cells. Every change is made here together with the operation that performs it, so that state,
//! counters and emitted operations always agree.

mod direct;
mod modes;
mod operations;
mod undo;

use esker_core::PhysicalPage;
use esker_results::EraseCounts;

use crate::memory::{prefetch, zeroed};
use crate::state::OperationCounts;
use crate::state::journal::Journal;
use crate::state::page_modes::PageModes;
use crate::{BlockIndex, Geometry};

/// The counts of a block in one word, so that they lie next to its bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Block {
    /// Pages with data that have not been superseded.
    valid: u16,
    /// Pages that were programmed or skipped since the last erase: the lowest offset for the next program. Pages are
    /// programmed in ascending order.
    written: u16,
    /// Less than 2^31.
    erases: u32,
    /// Whether pages were copied from it since its last erase.
    copied: bool,
}

impl Block {
    #[inline(always)]
    fn unpack(word: u64) -> Self {
        let (valid, written, erases) = (word as u16, (word >> 16) as u16, (word >> 32) as u32 & ERASES_MAX);
        Self { valid, written, erases, copied: word & COPIED != 0 }
    }
    #[inline(always)]
    fn pack(self) -> u64 {
        let copied = if self.copied { COPIED } else { 0 };
        u64::from(self.valid) | u64::from(self.written) << 16 | u64::from(self.erases) << 32 | copied
    }
}

/// Adds a valid page to a packed [`Block`].
const VALID: u64 = 1;
/// Adds a programmed page to a packed [`Block`].
const WRITTEN: u64 = 1 << 16;
/// Adds an erase to a packed [`Block`].
const ERASE: u64 = 1 << 32;
/// Marks in a packed [`Block`] that pages were copied from it.
const COPIED: u64 = 1 << 63;
/// The most erases of a block that can be counted.
pub const ERASES_MAX: u32 = u32::MAX >> 1;

/// The cells of an array: which pages are programmed and valid, and the content of their spare areas.
///
/// Pages of a block are programmed in ascending order (Kim 2009, section 2.3.2: the rule of large-block NAND). A
/// program may skip pages; these stay unprogrammed, and cannot be used before the next erase.
#[derive(Clone, Debug)]
pub struct FlashState {
    geometry: Geometry,
    /// Per page, the owner of its data, as the translation layer wrote it into the spare area.
    owners: Vec<u32>,
    /// Per block its counts, followed by a bit per page that marks valid pages.
    records: Vec<u64>,
    words_per_record: usize,
    counts: OperationCounts,
    /// Pages that were used (programmed or skipped), and then erased or removed by [`Self::format`].
    freed: u64,
    /// Pages that were skipped.
    skipped: u64,
    /// Per die, how long the operations it was given will keep it busy, in nanoseconds. Empty if not in use.
    pub backlog: Vec<u64>,
    /// The journal for power failures, if one is kept.
    pub(super) journal: Option<Box<Journal>>,
    /// The write modes of pages, if there are several.
    pub(super) modes: Option<Box<PageModes>>,
}

impl FlashState {
    /// Creates cells that are erased and not worn.
    pub fn new(geometry: &Geometry) -> Self {
        let words_per_record = 1 + geometry.pages_per_block().div_ceil(64) as usize;
        Self {
            geometry: *geometry,
            owners: zeroed(geometry.pages() as usize),
            records: zeroed(geometry.blocks() as usize * words_per_record),
            words_per_record,
            counts: OperationCounts::default(),
            freed: 0,
            skipped: 0,
            backlog: Vec::new(),
            journal: None,
            modes: None,
        }
    }

    /// Resets all cells to new, except for wear and counters.
    pub fn format(&mut self) {
        for record in self.records.chunks_exact_mut(self.words_per_record) {
            let block = Block::unpack(record[0]);
            self.freed += u64::from(block.written);
            record.fill(0);
            record[0] = Block { erases: block.erases, ..Block::default() }.pack();
        }
        if let Some(journal) = &mut self.journal {
            journal.format();
        }
        if let Some(modes) = &mut self.modes {
            modes.format();
        }
    }

    #[inline(always)]
    fn record(&self, block: BlockIndex) -> usize {
        block.0 as usize * self.words_per_record
    }
    #[inline(always)]
    fn block(&self, block: BlockIndex) -> Block {
        Block::unpack(self.records[self.record(block)])
    }
    fn blocks(&self) -> impl Iterator<Item = Block> {
        self.records.iter().step_by(self.words_per_record).map(|word| Block::unpack(*word))
    }

    /// Prefetches the counts and bits of `block` into the processor's caches.
    #[inline(always)]
    pub fn prefetch_block(&self, block: BlockIndex) {
        prefetch(&self.records, self.record(block));
    }

    /// Prefetches the owners of the pages of `block` into the processor's caches.
    #[inline]
    pub fn prefetch_owners(&self, block: BlockIndex) {
        let first = self.geometry.first_page(block).0 as usize;
        for page in (0..self.geometry.pages_per_block() as usize).step_by(16) {
            prefetch(&self.owners, first + page);
        }
    }

    /// Returns the shape of the array.
    #[inline(always)]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }
    /// Returns how long the operations given to the die of `block` will keep it busy, in nanoseconds. Zero if this is
    /// not in use, or outside of simulated time (preconditioning).
    #[inline]
    pub fn backlog(&self, block: BlockIndex) -> u64 {
        self.backlog.get(self.geometry.die_of(block).0 as usize).copied().unwrap_or(0)
    }
    /// Returns the counts of operations since the device was new.
    #[inline]
    pub fn counts(&self) -> &OperationCounts {
        &self.counts
    }
    /// Returns the number of valid pages of `block`.
    #[inline(always)]
    pub fn valid_in(&self, block: BlockIndex) -> u32 {
        u32::from(self.block(block).valid)
    }
    /// Returns the number of pages of `block` that were programmed or skipped: the lowest offset that can still be
    /// programmed.
    #[inline(always)]
    pub fn written_in(&self, block: BlockIndex) -> u32 {
        u32::from(self.block(block).written)
    }
    /// Returns true if `page` holds data that have not been superseded.
    #[inline]
    pub fn is_valid(&self, page: PhysicalPage) -> bool {
        let (block, offset) = self.geometry.split_page(page);
        self.records[self.record(block) + 1 + offset as usize / 64] >> (offset % 64) & 1 == 1
    }
    /// Returns the owner in the spare area of `page`.
    #[inline(always)]
    pub fn owner(&self, page: PhysicalPage) -> u32 {
        self.owners[page.0 as usize]
    }
    /// Returns the number of valid pages of the whole array.
    pub fn valid_pages(&self) -> u64 {
        self.blocks().map(|block| u64::from(block.valid)).sum()
    }
    /// Returns the valid pages of `block` among its pages `64 * word..64 * word + 64`, as bits. `word` is below
    /// [`Self::words_per_block`].
    #[inline(always)]
    pub fn valid_word(&self, block: BlockIndex, word: usize) -> u64 {
        self.records[self.record(block) + 1 + word]
    }
    /// Returns the number of words for [`Self::valid_word`].
    #[inline(always)]
    pub fn words_per_block(&self) -> usize {
        self.words_per_record - 1
    }

    /// Returns how many times `block` was erased since it was new.
    #[inline]
    pub fn erases_of(&self, block: BlockIndex) -> u32 {
        self.block(block).erases
    }
    /// Returns the number of blocks for each erase count, from zero up to the highest count.
    pub fn blocks_by_erases(&self) -> Vec<u64> {
        let mut blocks = Vec::new();
        for block in self.blocks() {
            let erases = block.erases as usize;
            if blocks.len() <= erases {
                blocks.resize(erases + 1, 0);
            }
            blocks[erases] += 1;
        }
        blocks
    }
    /// Sets the wear of every block to `erases`, at most [`ERASES_MAX`].
    pub fn set_wear(&mut self, erases: u32) {
        assert!(erases <= ERASES_MAX, "{erases} erases of each block");
        for record in self.records.chunks_exact_mut(self.words_per_record) {
            record[0] = Block { erases, ..Block::unpack(record[0]) }.pack();
        }
    }

    /// Returns the mean, standard deviation and maximum of the erases per block since the device was new, without
    /// `unused` blocks, which stay as they are set with [`Self::set_wear`]: with `erases` each.
    pub fn erase_counts(&self, unused: u32, erases: u32) -> EraseCounts {
        let (count, unused) = (f64::from(self.geometry.blocks() - unused), u64::from(unused));
        let all = self.blocks().map(|block| u64::from(block.erases)).sum::<u64>();
        let mean = (all - unused * u64::from(erases)) as f64 / count;
        let squares = self.blocks().map(|block| (f64::from(block.erases) - mean).powi(2)).sum::<f64>();
        let of_unused = unused as f64 * (f64::from(erases) - mean).powi(2);
        let variance = (squares - of_unused).max(0.0) / count;
        let max = self.blocks().map(|block| u64::from(block.erases)).max().unwrap_or(0);
        EraseCounts { mean, stddev: variance.sqrt(), max }
    }

    /// Returns the bytes of memory in use.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.owners) + size_of_val(&*self.records) + self.mode_bytes()
    }

    /// Asserts the invariants that hold at any time.
    pub fn check(&self) {
        let mut written = 0;
        for (index, record) in self.records.chunks_exact(self.words_per_record).enumerate() {
            let block = Block::unpack(record[0]);
            let valid: u32 = record[1..].iter().map(|word| word.count_ones()).sum();
            assert_eq!(valid, u32::from(block.valid), "block {index} counts its valid pages wrongly");
            assert!(valid <= u32::from(block.written), "block {index} has more valid pages than programmed ones");
            assert!(u32::from(block.written) <= self.geometry.pages_per_block());
            written += u64::from(block.written);
        }
        let programs = self.counts.programs().total();
        assert_eq!(programs + self.skipped, written + self.freed, "pages were programmed that nobody counted");
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Bytes;

    use super::*;
    use crate::GeometrySettings;
    use crate::state::{Cause, FlashOpKind, OpList, OpSink, Silent};

    fn flash() -> FlashState {
        let settings = GeometrySettings {
            channels: 1,
            packages_per_channel: 1,
            dies_per_package: 1,
            planes_per_die: 1,
            blocks_per_plane: 2,
            pages_per_block: 8,
            page_size: Bytes::kib(4),
            spare_size: Bytes(0),
            units_per_page: 1,
        };
        FlashState::new(&Geometry::new(&settings, false).unwrap())
    }

    #[test]
    fn a_program_may_skip_ahead_and_what_it_skipped_is_gone_until_the_erase() {
        let mut flash = flash();
        let block = BlockIndex(0);
        assert_eq!(flash.program_at(block, 3, 7, None, &mut Silent), PhysicalPage(3));
        assert_eq!((flash.written_in(block), flash.valid_in(block)), (4, 1));
        assert!((0..3).all(|page| !flash.is_valid(PhysicalPage(page))));
        assert_eq!(flash.program(block, 8, Cause::Host, None, &mut Silent), PhysicalPage(4));
        let mut ops = OpList::default();
        let (_, to) = flash.copy_at(PhysicalPage(3), BlockIndex(1), 5, Cause::Cleaning, &mut ops);
        assert_eq!((to, flash.owner(to)), (PhysicalPage(13), 7));
        assert_eq!(ops.as_slice()[0].kind, FlashOpKind::Copy { from: PhysicalPage(3), to });
        flash.check();
        flash.supersede(PhysicalPage(4));
        flash.erase(block, Cause::Cleaning, &mut Silent);
        assert_eq!(flash.program(block, 8, Cause::Host, None, &mut Silent), PhysicalPage(0));
        flash.check();
        flash.format();
        flash.check();
        assert_eq!((flash.skipped, flash.counts().programs().total()), (8, 4));
    }

    #[test]
    fn a_run_of_copies_does_what_single_ones_do() {
        let settings = GeometrySettings { pages_per_block: 200, ..*flash().geometry().settings() };
        for (first, count, offset) in
            [(0, 200, 0), (0, 64, 0), (63, 2, 70), (5, 130, 60), (128, 1, 199), (100, 100, 100)]
        {
            let mut single = FlashState::new(&Geometry::new(&settings, false).unwrap());
            (0..200).for_each(|owner| _ = single.program(BlockIndex(0), owner + 9, Cause::Host, None, &mut Silent));
            single.program(BlockIndex(1), 7, Cause::Host, None, &mut Silent);
            single.supersede(PhysicalPage(200));
            let offset = if count == 200 { 0 } else { offset.max(1) };
            if count == 200 {
                single.erase(BlockIndex(1), Cause::Cleaning, &mut Silent);
            }
            let mut run = single.clone();
            let (mut ops, mut ops_of_run) = (OpList::default(), OpList::default());
            let mut last = None;
            for page in 0..count {
                let from = PhysicalPage(first + page);
                last = Some(single.copy_at(from, BlockIndex(1), offset + page, Cause::Cleaning, &mut ops).0);
            }
            let from = PhysicalPage(first);
            let (op, to) = run.copy_run(from, count, BlockIndex(1), offset, Cause::Cleaning, &mut ops_of_run);
            assert_eq!((Some(op), to), (last, PhysicalPage(200 + offset)));
            assert_eq!(ops.as_slice(), ops_of_run.as_slice());
            assert_eq!(format!("{single:?}"), format!("{run:?}"));
            run.check();
            ops_of_run.clear();
            ops_of_run.take_runs(true);
            assert_eq!(ops_of_run.emit_copies(from, to, 3, Cause::Cleaning), crate::state::OpIndex(0));
            let kind = FlashOpKind::CopyRun { from, to, count: 3 };
            assert_eq!(ops_of_run.as_slice()[0].kind, kind);
        }
    }

    /// Two pools may clean a block each at the same time.
    #[test]
    fn erases_of_blocks_that_were_copied_from_are_told_from_others() {
        let mut flash = flash();
        let settings = GeometrySettings { blocks_per_plane: 4, ..*flash.geometry().settings() };
        flash = FlashState::new(&Geometry::new(&settings, false).unwrap());
        for block in [0, 1] {
            (0..2).for_each(|_| _ = flash.program(BlockIndex(block), 7, Cause::Host, None, &mut Silent));
        }
        for page in [0, 8, 1, 9] {
            flash.copy_at(
                PhysicalPage(page),
                BlockIndex(2),
                flash.written_in(BlockIndex(2)),
                Cause::Cleaning,
                &mut Silent,
            );
        }
        for (block, without) in [(0, 0), (1, 0), (0, 1), (3, 2)] {
            flash.erase(BlockIndex(block), Cause::Cleaning, &mut Silent);
            assert_eq!(flash.counts().erases_without_copies, without);
        }
        flash.set_wear(ERASES_MAX);
        flash.check();
        assert_eq!(flash.erase_counts(0, 0).max, u64::from(ERASES_MAX));
    }

    #[test]
    #[should_panic(expected = "page 2 of a block was programmed after page 4")]
    fn no_program_goes_back() {
        let mut flash = flash();
        flash.program_at(BlockIndex(0), 3, 7, None, &mut Silent);
        flash.program_at(BlockIndex(0), 2, 7, None, &mut Silent);
    }
}
