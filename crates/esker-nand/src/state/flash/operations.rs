//! Reads, programs, copies and erases: each changes the cells and emits the operation that does so.

use esker_core::PhysicalPage;

use super::{Block, COPIED, ERASE, FlashState, VALID, WRITTEN};
use crate::BlockIndex;
use crate::state::{Cause, FlashOp, FlashOpKind, OpIndex, OpModes, OpSink, Transfer};

impl FlashState {
    /// Reads `page`.
    #[inline]
    pub fn read<S: OpSink>(&mut self, page: PhysicalPage, cause: Cause, sink: &mut S) -> OpIndex {
        self.read_after(page, cause, None, sink)
    }

    /// Reads map page `page`. If `awaited`, the request waits for it.
    #[inline]
    pub fn read_map<S: OpSink>(&mut self, page: PhysicalPage, awaited: bool, sink: &mut S) -> OpIndex {
        self.counts.reads[Cause::Mapping as usize] += 1;
        let (kind, modes) = (FlashOpKind::Read { page }, self.modes_of_read(page, Cause::Mapping));
        sink.emit(FlashOp { kind, cause: Cause::Mapping, after: None, awaited, modes })
    }

    /// Programs the next page of `block` with a map page, once `after` has ended. If `awaited`, the request waits for
    /// it.
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
        let modes = self.modes_of_map_program(page);
        sink.emit(FlashOp { kind, cause: Cause::Mapping, after, awaited, modes });
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
        let (kind, modes) = (FlashOpKind::Read { page }, self.modes_of_read(page, cause));
        let read = sink.emit(FlashOp { kind, cause, after, awaited: cause == Cause::Host, modes });
        if let (Some(modes), Cause::Host) = (&mut self.modes, cause) {
            modes.emitted(read);
        }
        read
    }

    /// Reads the spare area of `page`.
    pub fn read_spare<S: OpSink>(&mut self, page: PhysicalPage, cause: Cause, sink: &mut S) -> OpIndex {
        self.counts.reads[cause as usize] += 1;
        let (kind, modes) = (FlashOpKind::ReadSpare { page }, OpModes::default());
        sink.emit(FlashOp { kind, cause, after: None, awaited: cause == Cause::Host, modes })
    }

    /// Emits a recovery read.
    pub(in crate::state) fn scan<S: OpSink>(&mut self, kind: FlashOpKind, sink: &mut S) {
        self.counts.reads[Cause::Recovery as usize] += 1;
        let modes = OpModes::default();
        sink.scan(FlashOp { kind, cause: Cause::Recovery, after: None, awaited: false, modes });
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
        let modes = match &mut self.modes {
            Some(modes) => OpModes::programming(modes.program(page, owner, cause)),
            None => OpModes::default(),
        };
        sink.emit(FlashOp { kind, cause, after, awaited: cause == Cause::Host, modes });
        page
    }

    /// Programs page `offset` of `block` with data of `owner`, and skips unprogrammed pages before it. `offset` must be
    /// at least [`Self::written_in`].
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
        let modes = self.modes_of_map_program(page);
        sink.emit(FlashOp { kind, cause: Cause::Mapping, after: None, awaited: false, modes });
    }

    /// Records a read of `page`. Returns its mode.
    #[inline(always)]
    fn modes_of_read(&mut self, page: PhysicalPage, cause: Cause) -> OpModes {
        match &mut self.modes {
            Some(modes) => OpModes::reading(modes.read(page, self.owners[page.0 as usize], cause)),
            None => OpModes::default(),
        }
    }

    /// Records that `page` is programmed with a map page. Returns its mode.
    #[inline(always)]
    fn modes_of_map_program(&mut self, page: PhysicalPage) -> OpModes {
        match &mut self.modes {
            Some(modes) => OpModes::programming(modes.program_map(page)),
            None => OpModes::default(),
        }
    }

    /// Moves the data of `from`, which is valid, to the next page of `block`. Returns the owner and the new page.
    #[inline]
    pub fn copy<S: OpSink>(
        &mut self,
        from: PhysicalPage,
        block: BlockIndex,
        cause: Cause,
        sink: &mut S,
    ) -> (u32, PhysicalPage) {
        let (owner, to, _) = self.move_page(from, block, cause, sink);
        (owner, to)
    }

    /// Moves the data of `from`, which is valid, to page `offset` of `block`, and skips unprogrammed pages before it.
    /// `offset` must be at least [`Self::written_in`].
    pub fn copy_at<S: OpSink>(
        &mut self,
        from: PhysicalPage,
        block: BlockIndex,
        offset: u32,
        cause: Cause,
        sink: &mut S,
    ) -> (OpIndex, PhysicalPage) {
        self.skip_to(block, offset);
        let (_, to, copy) = self.move_page(from, block, cause, sink);
        (copy, to)
    }

    /// Moves the data of `count` pages of one block from `from` on, all of them valid, to `count` pages of `block` from
    /// `offset` on, like [`Self::copy_at`] for each. Returns the last copy, and the new location of the first page.
    pub fn copy_run<S: OpSink>(
        &mut self,
        from: PhysicalPage,
        count: u32,
        block: BlockIndex,
        offset: u32,
        cause: Cause,
        sink: &mut S,
    ) -> (OpIndex, PhysicalPage) {
        let to = PhysicalPage(self.geometry.first_page(block).0 + offset);
        if self.journal.is_some() || self.modes.is_some() {
            // The journal records single pages, and modes are chosen for each.
            let copies =
                (0..count).map(|page| self.copy_at(PhysicalPage(from.0 + page), block, offset + page, cause, sink).0);
            return (copies.last().expect("a run has a page"), to);
        }
        self.skip_to(block, offset);
        assert!(offset + count <= self.geometry.data_pages_per_block(), "a full block was programmed");
        let (source, first) = self.geometry.split_page(from);
        let (source_record, record) = (self.record(source), self.record(block));
        for (word, mask) in words_of(first, count) {
            let valid = &mut self.records[source_record + 1 + word];
            assert!(*valid & mask == mask, "a page of {count} from {from} on was superseded twice");
            *valid &= !mask;
        }
        for (word, mask) in words_of(offset, count) {
            self.records[record + 1 + word] |= mask;
        }
        self.records[source_record] = (self.records[source_record] - u64::from(count) * VALID) | COPIED;
        self.records[record] += u64::from(count) * (VALID + WRITTEN);
        self.owners.copy_within(from.0 as usize..(from.0 + count) as usize, to.0 as usize);
        self.counts.reads[cause as usize] += u64::from(count);
        self.counts.programs[cause as usize] += u64::from(count);
        (sink.emit_copies(from, to, count, cause), to)
    }

    #[inline(always)]
    fn move_page<S: OpSink>(
        &mut self,
        from: PhysicalPage,
        block: BlockIndex,
        cause: Cause,
        sink: &mut S,
    ) -> (u32, PhysicalPage, OpIndex) {
        let owner = self.owner(from);
        let (source, _) = self.supersede(from);
        let record = self.record(source);
        self.records[record] |= COPIED;
        let to = self.take_page(block, owner);
        self.issued_copy(from, to, cause);
        self.counts.reads[cause as usize] += 1;
        self.counts.programs[cause as usize] += 1;
        let modes = match &mut self.modes {
            Some(modes) => modes.copy([from, to], owner, cause),
            None => OpModes::default(),
        };
        let kind = FlashOpKind::Copy { from, to };
        let copy = sink.emit(FlashOp { kind, cause, after: None, awaited: false, modes });
        (owner, to, copy)
    }

    /// Leaves the unprogrammed pages of `block` before `offset` unused until the next erase.
    #[inline(always)]
    fn skip_to(&mut self, block: BlockIndex, offset: u32) {
        let record = self.record(block);
        let written = u32::from(Block::unpack(self.records[record]).written);
        assert!(written <= offset, "page {offset} of a block was programmed after page {written}");
        if written == 0
            && let Some(journal) = &mut self.journal
        {
            journal.begin_block();
        }
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

    /// Records that a program of `page` was issued, with data or with a map page.
    #[inline(always)]
    fn issued(&mut self, page: PhysicalPage, cause: Cause, map: bool) {
        if let Some(journal) = &mut self.journal {
            journal.issued_program(page, cause, map);
        }
    }

    #[inline(always)]
    fn issued_copy(&mut self, from: PhysicalPage, to: PhysicalPage, cause: Cause) {
        if let Some(journal) = &mut self.journal {
            journal.issued_copy(from, to, cause, cause == Cause::Mapping);
        }
    }

    /// Marks the data of `page`, which is valid, as out of date. Returns its block, and the number of valid pages left
    /// there.
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

    /// Erases `block`, which holds no valid page, once `after` has ended. `after` is a copy to another die: if the
    /// erase came first, the data would be lost.
    pub fn erase_after<S: OpSink>(&mut self, block: BlockIndex, cause: Cause, after: Option<OpIndex>, sink: &mut S) {
        let record = self.record(block);
        let state = Block::unpack(self.records[record]);
        assert_eq!(state.valid, 0, "a block with valid pages was erased");
        self.records[record] = Block { written: 0, copied: false, ..state }.pack() + ERASE;
        self.freed += u64::from(state.written);
        if let Some(journal) = &mut self.journal {
            let first = self.geometry.first_page(block).0;
            let owners = &self.owners[first as usize..(first + self.geometry.pages_per_block()) as usize];
            let tags = match &self.modes {
                Some(modes) => modes.tags_of(first, owners.len() as u32),
                None => &[],
            };
            journal.record_erase(block, cause, (first, u32::from(state.written), state.copied), owners, tags);
        }
        self.counts.erases += 1;
        self.counts.erases_for[cause as usize] += 1;
        self.counts.erases_without_copies += u64::from(!state.copied);
        let modes = OpModes::default();
        sink.emit(FlashOp { kind: FlashOpKind::Erase { block }, cause, after, awaited: false, modes });
    }
}

/// Returns the words that contain bits `first..first + count` of a sequence of words, each with a mask of those bits.
#[inline]
fn words_of(first: u32, count: u32) -> impl Iterator<Item = (usize, u64)> {
    let end = first + count;
    (first / 64..end.div_ceil(64)).map(move |word| {
        let (from, to) = (first.max(64 * word) - 64 * word, end.min(64 * word + 64) - 64 * word);
        (word as usize, (u64::MAX >> (64 - (to - from))) << from)
    })
}
