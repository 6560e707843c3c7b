//! What the cells hold. Every change passes through here and emits the operation that makes it, so that state,
//! counters and emitted operations cannot tell different stories.

use esker_core::{EraseCounts, PageOperations, PhysicalPage};

use crate::memory::{prefetch, zeroed};
use crate::nand::journal::Journal;
use crate::nand::{CAUSES, Cause, FlashOp, FlashOpKind, OpIndex, OpSink, Transfer};
use crate::{BlockIndex, Geometry};

/// Operations since the device was new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationCounts {
    reads: [u64; CAUSES],
    programs: [u64; CAUSES],
    erases_for: [u64; CAUSES],
    /// Block erases.
    pub erases: u64,
    /// Erased blocks whose pages had all been superseded.
    pub erases_without_copies: u64,
}

impl OperationCounts {
    /// Page reads by cause.
    pub fn reads(&self) -> PageOperations {
        by_cause(&self.reads)
    }
    /// Page programs by cause.
    pub fn programs(&self) -> PageOperations {
        by_cause(&self.programs)
    }
    /// Block erases by cause; together [`Self::erases`].
    pub fn erases_by_cause(&self) -> PageOperations {
        by_cause(&self.erases_for)
    }
    /// What was done since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        let difference =
            |now: &[u64; CAUSES], then: &[u64; CAUSES]| std::array::from_fn(|cause| now[cause] - then[cause]);
        Self {
            reads: difference(&self.reads, &earlier.reads),
            programs: difference(&self.programs, &earlier.programs),
            erases_for: difference(&self.erases_for, &earlier.erases_for),
            erases: self.erases - earlier.erases,
            erases_without_copies: self.erases_without_copies - earlier.erases_without_copies,
        }
    }
}

fn by_cause(counts: &[u64; CAUSES]) -> PageOperations {
    PageOperations {
        host: counts[Cause::Host as usize],
        cleaning: counts[Cause::Cleaning as usize],
        mapping: counts[Cause::Mapping as usize],
        wear_levelling: counts[Cause::WearLevelling as usize],
        recovery: counts[Cause::Recovery as usize],
    }
}

/// A block's counts in one word, so that they lie beside its bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Block {
    /// Pages that hold data that was not superseded.
    valid: u16,
    /// Pages that were programmed or skipped since the last erase: where the next program may go at the earliest. Pages
    /// are programmed in ascending order.
    written: u16,
    erases: u32,
}

impl Block {
    #[inline(always)]
    fn unpack(word: u64) -> Self {
        Self { valid: word as u16, written: (word >> 16) as u16, erases: (word >> 32) as u32 }
    }
    #[inline(always)]
    fn pack(self) -> u64 {
        u64::from(self.valid) | u64::from(self.written) << 16 | u64::from(self.erases) << 32
    }
}

/// One valid page more in a packed [`Block`].
const VALID: u64 = 1;
/// One programmed page more in a packed [`Block`].
const WRITTEN: u64 = 1 << 16;
/// One erase more in a packed [`Block`].
const ERASE: u64 = 1 << 32;

/// The cells of an array: which pages are programmed and valid, and what their spare areas say.
///
/// Pages of a block are programmed in ascending order (Kim 2009, section 2.3.2: the rule of large-block NAND). A program
/// may skip ahead; what it skipped stays unprogrammed, and cannot be used before the next erase.
#[derive(Clone, Debug)]
pub struct FlashState {
    geometry: Geometry,
    /// Per page, what the translation layer wrote into the spare area: whose data it is.
    owners: Vec<u32>,
    /// Per block its counts, then one bit per page: whether it is valid.
    records: Vec<u64>,
    words_per_record: usize,
    counts: OperationCounts,
    /// Whether the block under cleaning had pages to copy; see [`Self::erase`].
    copied_from: Option<BlockIndex>,
    /// Pages that were programmed or skipped, and erased or forgotten by [`Self::format`] since.
    freed: u64,
    /// Pages that were skipped.
    skipped: u64,
    /// Per die, for how long what it was given will keep it busy, ns; empty where nobody asks.
    pub(crate) backlog: Vec<u64>,
    /// What a power failure is worked out from, where that is wanted.
    pub(super) journal: Option<Box<Journal>>,
}

impl FlashState {
    /// Erased cells that were never worn.
    pub fn new(geometry: &Geometry) -> Self {
        let words_per_record = 1 + geometry.pages_per_block().div_ceil(64) as usize;
        Self {
            geometry: *geometry,
            owners: zeroed(geometry.pages() as usize),
            records: zeroed(geometry.blocks() as usize * words_per_record),
            words_per_record,
            counts: OperationCounts::default(),
            copied_from: None,
            freed: 0,
            skipped: 0,
            backlog: Vec::new(),
            journal: None,
        }
    }

    /// Makes every cell as new but for its wear and the counters.
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
    }

    /// Nothing is known to be valid any more.
    pub(super) fn forget_validity(&mut self) {
        for record in self.records.chunks_exact_mut(self.words_per_record) {
            let block = Block::unpack(record[0]);
            record.fill(0);
            record[0] = Block { valid: 0, ..block }.pack();
        }
        self.copied_from = None;
    }

    /// `page`, which is programmed, holds data that were not superseded.
    pub fn set_valid(&mut self, page: PhysicalPage) {
        let (block, offset) = self.geometry.split_page(page);
        let record = self.record(block);
        let word = &mut self.records[record + 1 + offset as usize / 64];
        assert!(*word >> (offset % 64) & 1 == 0, "{page} was found twice");
        *word |= 1 << (offset % 64);
        self.records[record] += VALID;
    }

    /// `page` was not programmed after all.
    pub(super) fn undo_program(&mut self, page: PhysicalPage, cause: Cause) {
        let record = self.record(self.geometry.block_of(page));
        self.records[record] -= WRITTEN;
        self.counts.programs[cause as usize] -= 1;
    }

    /// `block` was not erased after all, and holds pages of `owners`, of which some were written; or its erase was begun,
    /// and what it holds cannot be read.
    pub(super) fn undo_erase(&mut self, block: BlockIndex, cause: Cause, held: Option<(&[u32], u16)>) {
        let record = self.record(block);
        let state = Block::unpack(self.records[record]);
        let Some((owners, written)) = held else {
            // It has to be erased again before it can be programmed. What it held was freed.
            let written = self.geometry.pages_per_block() as u16;
            self.records[record] = Block { written, ..state }.pack();
            self.skipped += u64::from(written);
            return;
        };
        self.records[record] = Block { written, erases: state.erases - 1, ..state }.pack();
        self.freed -= u64::from(written);
        self.counts.erases -= 1;
        self.counts.erases_for[cause as usize] -= 1;
        self.counts.erases_without_copies = self.counts.erases_without_copies.min(self.counts.erases);
        let first = self.geometry.first_page(block).0 as usize;
        self.owners[first..first + owners.len()].copy_from_slice(owners);
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

    /// Fetches the counts and bits of `block` into the processor's caches.
    #[inline(always)]
    pub(crate) fn expect_block(&self, block: BlockIndex) {
        prefetch(&self.records, self.record(block));
    }

    /// Fetches the owners of the pages of `block` into the processor's caches.
    pub(crate) fn expect_owners(&self, block: BlockIndex) {
        let first = self.geometry.first_page(block).0 as usize;
        for page in (0..self.geometry.pages_per_block() as usize).step_by(16) {
            prefetch(&self.owners, first + page);
        }
    }

    /// The array's shape.
    #[inline(always)]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }
    /// For how long the die of `block` will be busy with what it was given, in nanoseconds; zero where that is not
    /// followed, or not in time (preconditioning).
    pub fn backlog(&self, block: BlockIndex) -> u64 {
        self.backlog.get(self.geometry.die_of(block).0 as usize).copied().unwrap_or(0)
    }
    /// Operations since the device was new.
    pub fn counts(&self) -> &OperationCounts {
        &self.counts
    }
    /// Valid pages of `block`.
    #[inline(always)]
    pub fn valid_in(&self, block: BlockIndex) -> u32 {
        u32::from(self.block(block).valid)
    }
    /// Pages of `block` that were programmed or skipped: the first offset that can still be programmed.
    #[inline(always)]
    pub fn written_in(&self, block: BlockIndex) -> u32 {
        u32::from(self.block(block).written)
    }
    /// Whether `page` holds data that was not superseded.
    pub fn is_valid(&self, page: PhysicalPage) -> bool {
        let (block, offset) = self.geometry.split_page(page);
        self.records[self.record(block) + 1 + offset as usize / 64] >> (offset % 64) & 1 == 1
    }
    /// What the spare area of `page` says.
    #[inline(always)]
    pub fn owner(&self, page: PhysicalPage) -> u32 {
        self.owners[page.0 as usize]
    }
    /// Pages that hold data that was not superseded, in the whole array.
    pub fn valid_pages(&self) -> u64 {
        self.blocks().map(|block| u64::from(block.valid)).sum()
    }
    /// The valid pages of `block` among its pages `64 * word..64 * word + 64`, as bits. `word` counts up to
    /// [`Self::words_per_block`].
    #[inline(always)]
    pub fn valid_word(&self, block: BlockIndex, word: usize) -> u64 {
        self.records[self.record(block) + 1 + word]
    }
    /// Words of [`Self::valid_word`].
    #[inline(always)]
    pub fn words_per_block(&self) -> usize {
        self.words_per_record - 1
    }

    /// Reads `page`.
    #[inline]
    pub fn read<S: OpSink>(&mut self, page: PhysicalPage, cause: Cause, sink: &mut S) -> OpIndex {
        self.read_after(page, cause, None, sink)
    }

    /// Reads `page` of the map. The request waits for it where it is `awaited`.
    #[inline]
    pub fn read_map<S: OpSink>(&mut self, page: PhysicalPage, awaited: bool, sink: &mut S) -> OpIndex {
        self.counts.reads[Cause::Mapping as usize] += 1;
        sink.emit(FlashOp { kind: FlashOpKind::Read { page }, cause: Cause::Mapping, after: None, awaited })
    }

    /// Programs the next page of `block` with a page of the map once `after` has ended. The request waits for it where it
    /// is `awaited`.
    #[inline]
    pub fn program_map<S: OpSink>(
        &mut self,
        block: BlockIndex,
        owner: u32,
        after: Option<OpIndex>,
        awaited: bool,
        sink: &mut S,
    ) -> PhysicalPage {
        let page = self.take_page(block, owner);
        self.counts.programs[Cause::Mapping as usize] += 1;
        let kind = FlashOpKind::Program { page, transfer: Transfer::Page };
        self.issued(page, Cause::Mapping, true);
        sink.emit(FlashOp { kind, cause: Cause::Mapping, after, awaited });
        page
    }

    /// Reads `page` once `after` has ended.
    pub fn read_after<S: OpSink>(
        &mut self,
        page: PhysicalPage,
        cause: Cause,
        after: Option<OpIndex>,
        sink: &mut S,
    ) -> OpIndex {
        self.counts.reads[cause as usize] += 1;
        sink.emit(FlashOp { kind: FlashOpKind::Read { page }, cause, after, awaited: cause == Cause::Host })
    }

    /// Reads the spare area of `page`.
    pub fn read_spare<S: OpSink>(&mut self, page: PhysicalPage, cause: Cause, sink: &mut S) -> OpIndex {
        self.counts.reads[cause as usize] += 1;
        sink.emit(FlashOp { kind: FlashOpKind::ReadSpare { page }, cause, after: None, awaited: cause == Cause::Host })
    }

    /// Programs the next page of `block` with data of `owner`.
    #[inline]
    pub fn program<S: OpSink>(
        &mut self,
        block: BlockIndex,
        owner: u32,
        cause: Cause,
        after: Option<OpIndex>,
        sink: &mut S,
    ) -> PhysicalPage {
        let page = self.take_page(block, owner);
        self.counts.programs[cause as usize] += 1;
        let kind = FlashOpKind::Program { page, transfer: Transfer::Page };
        self.issued(page, cause, false);
        sink.emit(FlashOp { kind, cause, after, awaited: cause == Cause::Host });
        page
    }

    /// Programs the page `offset` of `block` with data of `owner`, skipping those before it that are not programmed.
    /// `offset` is not below [`Self::written_in`].
    pub fn program_at<S: OpSink>(
        &mut self,
        block: BlockIndex,
        offset: u32,
        owner: u32,
        after: Option<OpIndex>,
        sink: &mut S,
    ) -> PhysicalPage {
        self.skip_to(block, offset);
        self.program(block, owner, Cause::Host, after, sink)
    }

    /// Programs the last page of `block` with the block's map.
    pub fn program_summary<S: OpSink>(&mut self, block: BlockIndex, sink: &mut S) {
        let written = self.written_in(block);
        debug_assert_eq!(written, self.geometry.data_pages_per_block(), "a summary closes a full block");
        let page = PhysicalPage(self.geometry.first_page(block).0 + written);
        let record = self.record(block);
        self.records[record] += WRITTEN;
        self.counts.programs[Cause::Mapping as usize] += 1;
        let kind = FlashOpKind::Program { page, transfer: Transfer::Sector };
        if let Some(journal) = &mut self.journal {
            journal.programmed(page);
        }
        self.issued(page, Cause::Mapping, false);
        sink.emit(FlashOp { kind, cause: Cause::Mapping, after: None, awaited: false });
    }

    /// Moves the data of `from`, which is valid, to the next page of `block`, and says whose data it is and where it is
    /// now.
    #[inline]
    pub fn copy<S: OpSink>(
        &mut self,
        from: PhysicalPage,
        block: BlockIndex,
        cause: Cause,
        sink: &mut S,
    ) -> (u32, PhysicalPage) {
        let owner = self.owner(from);
        let (source, _) = self.supersede(from);
        self.copied_from = Some(source);
        let to = self.take_page(block, owner);
        self.issued_copy(from, to, cause);
        self.counts.reads[cause as usize] += 1;
        self.counts.programs[cause as usize] += 1;
        sink.emit(FlashOp { kind: FlashOpKind::Copy { from, to }, cause, after: None, awaited: false });
        (owner, to)
    }

    /// Moves the data of `from`, which is valid, to the page `offset` of `block`, skipping those before it that are not
    /// programmed. `offset` is not below [`Self::written_in`].
    pub fn copy_at<S: OpSink>(
        &mut self,
        from: PhysicalPage,
        block: BlockIndex,
        offset: u32,
        cause: Cause,
        sink: &mut S,
    ) -> (OpIndex, PhysicalPage) {
        self.skip_to(block, offset);
        let owner = self.owner(from);
        let (source, _) = self.supersede(from);
        self.copied_from = Some(source);
        let to = self.take_page(block, owner);
        self.issued_copy(from, to, cause);
        self.counts.reads[cause as usize] += 1;
        self.counts.programs[cause as usize] += 1;
        (sink.emit(FlashOp { kind: FlashOpKind::Copy { from, to }, cause, after: None, awaited: false }), to)
    }

    /// Leaves the pages of `block` before `offset` that are not programmed as they are, until the next erase.
    #[inline(always)]
    fn skip_to(&mut self, block: BlockIndex, offset: u32) {
        let record = self.record(block);
        let written = u32::from(Block::unpack(self.records[record]).written);
        assert!(written <= offset, "page {offset} of a block was programmed after page {written}");
        let skipped = u64::from(offset - written);
        self.records[record] += skipped * WRITTEN;
        self.skipped += skipped;
    }

    #[inline(always)]
    fn take_page(&mut self, block: BlockIndex, owner: u32) -> PhysicalPage {
        let record = self.record(block);
        let offset = u32::from(Block::unpack(self.records[record]).written);
        assert!(offset < self.geometry.data_pages_per_block(), "a full block was programmed");
        self.records[record] += VALID + WRITTEN;
        self.records[record + 1 + offset as usize / 64] |= 1 << (offset % 64);
        let page = PhysicalPage(self.geometry.first_page(block).0 + offset);
        self.owners[page.0 as usize] = owner;
        if let Some(journal) = &mut self.journal {
            journal.programmed(page);
        }
        page
    }

    /// `page` was given to its die to be programmed; it is one of the map or not.
    #[inline(always)]
    fn issued(&mut self, page: PhysicalPage, cause: Cause, map: bool) {
        if let Some(journal) = &mut self.journal {
            journal.issued_program(page, cause, map);
        }
    }

    #[inline(always)]
    fn issued_copy(&mut self, from: PhysicalPage, to: PhysicalPage, cause: Cause) {
        if let Some(journal) = &mut self.journal {
            journal.copied(from, to);
            journal.issued_program(to, cause, cause == Cause::Mapping);
        }
    }

    /// The data of `page`, which is valid, are out of date. Says which block has how many valid pages left.
    #[inline]
    pub fn supersede(&mut self, page: PhysicalPage) -> (BlockIndex, u32) {
        let (block, offset) = self.geometry.split_page(page);
        let record = self.record(block);
        let word = &mut self.records[record + 1 + offset as usize / 64];
        assert!(*word >> (offset % 64) & 1 == 1, "{page} was superseded twice");
        *word &= !(1 << (offset % 64));
        self.records[record] -= VALID;
        (block, u32::from(Block::unpack(self.records[record]).valid))
    }

    /// Erases `block`, which holds no valid page.
    pub fn erase<S: OpSink>(&mut self, block: BlockIndex, cause: Cause, sink: &mut S) {
        self.erase_after(block, cause, None, sink);
    }

    /// Erases `block`, which holds no valid page, once `after` has ended: a copy to another die, without which the data
    /// would be lost.
    pub fn erase_after<S: OpSink>(&mut self, block: BlockIndex, cause: Cause, after: Option<OpIndex>, sink: &mut S) {
        let record = self.record(block);
        let state = Block::unpack(self.records[record]);
        assert_eq!(state.valid, 0, "a block with valid pages was erased");
        self.records[record] = Block { written: 0, ..state }.pack() + ERASE;
        self.freed += u64::from(state.written);
        if let Some(journal) = &mut self.journal {
            let first = self.geometry.first_page(block).0;
            let owners = &self.owners[first as usize..(first + self.geometry.pages_per_block()) as usize];
            journal.erased(block, cause, first, owners);
        }
        self.counts.erases += 1;
        self.counts.erases_for[cause as usize] += 1;
        if self.copied_from.take() != Some(block) {
            self.counts.erases_without_copies += 1;
        }
        sink.emit(FlashOp { kind: FlashOpKind::Erase { block }, cause, after, awaited: false });
    }

    /// Erases of `block` since new.
    pub fn erases_of(&self, block: BlockIndex) -> u32 {
        self.block(block).erases
    }
    /// Blocks that were erased at least `times` since new.
    pub fn blocks_erased(&self, times: u64) -> u64 {
        self.blocks().filter(|block| u64::from(block.erases) >= times).count() as u64
    }
    /// Makes every block as worn as after `erases`.
    pub fn set_wear(&mut self, erases: u32) {
        for record in self.records.chunks_exact_mut(self.words_per_record) {
            record[0] = Block { erases, ..Block::unpack(record[0]) }.pack();
        }
    }

    /// Erases per block since new.
    pub fn erase_counts(&self) -> EraseCounts {
        let count = f64::from(self.geometry.blocks());
        let mean = self.blocks().map(|block| u64::from(block.erases)).sum::<u64>() as f64 / count;
        let variance = self.blocks().map(|block| (f64::from(block.erases) - mean).powi(2)).sum::<f64>() / count;
        let max = self.blocks().map(|block| u64::from(block.erases)).max().unwrap_or(0);
        EraseCounts { mean, stddev: variance.sqrt(), max }
    }

    /// Bytes of memory that this takes.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.owners) + size_of_val(&*self.records)
    }

    /// Asserts what must hold at any time.
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
    use crate::nand::{OpList, Silent};

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
    #[should_panic(expected = "page 2 of a block was programmed after page 4")]
    fn no_program_goes_back() {
        let mut flash = flash();
        flash.program_at(BlockIndex(0), 3, 7, None, &mut Silent);
        flash.program_at(BlockIndex(0), 2, 7, None, &mut Silent);
    }
}
