//! The flash state and the sink of its operations, passed through a translation layer together.

use esker_core::PhysicalPage;
use esker_nand::BlockIndex;
use esker_nand::state::{Cause, FlashState, MapPage, OpIndex, OpSink, SpareArea};

use crate::PageOwner;

/// The flash state, the sink of the operations that change it, and the owner that is asked before pages are copied.
/// They are passed through a layer down to where a block is programmed.
#[derive(Debug)]
pub struct Cells<'a, S> {
    /// Content of all cells.
    pub flash: &'a mut FlashState,
    /// Receives the operations, in order.
    pub sink: &'a mut S,
    /// Decides which pages are still needed. `None` keeps all pages.
    pub owner: Option<&'a mut dyn PageOwner>,
}

impl<'a, S: OpSink> Cells<'a, S> {
    /// Makes cells whose operations go to `sink`, without an owner: all pages are kept.
    #[inline(always)]
    pub fn new(flash: &'a mut FlashState, sink: &'a mut S) -> Self {
        Self { flash, sink, owner: None }
    }

    /// Sets the owner that cleaning asks before it copies a page.
    #[inline]
    pub fn owned_by(self, owner: &'a mut dyn PageOwner) -> Self {
        Self { owner: Some(owner), ..self }
    }

    /// See [`FlashState::read`].
    #[inline(always)]
    pub fn read(&mut self, page: PhysicalPage, cause: Cause) -> OpIndex {
        self.flash.read(page, cause, self.sink)
    }

    /// See [`FlashState::read_after`].
    #[inline(always)]
    pub fn read_after(&mut self, page: PhysicalPage, cause: Cause, after: Option<OpIndex>) -> OpIndex {
        self.flash.read_after(page, cause, after, self.sink)
    }

    /// See [`FlashState::read_spare`].
    #[inline(always)]
    pub fn read_spare(&mut self, page: PhysicalPage, cause: Cause) -> OpIndex {
        self.flash.read_spare(page, cause, self.sink)
    }

    /// See [`FlashState::read_map`].
    #[inline(always)]
    pub fn read_map(&mut self, page: PhysicalPage, awaited: bool) -> OpIndex {
        self.flash.read_map(page, awaited, self.sink)
    }

    /// See [`FlashState::program`].
    #[inline(always)]
    pub fn program(&mut self, block: BlockIndex, owner: u32, cause: Cause, after: Option<OpIndex>) -> PhysicalPage {
        self.flash.program(block, owner, cause, after, self.sink)
    }

    /// See [`FlashState::program_at`].
    #[inline(always)]
    pub fn program_at(&mut self, block: BlockIndex, offset: u32, owner: u32, after: Option<OpIndex>) -> PhysicalPage {
        self.flash.program_at(block, offset, owner, after, self.sink)
    }

    /// See [`FlashState::program_map`].
    #[inline(always)]
    pub fn program_map(
        &mut self,
        block: BlockIndex,
        owner: u32,
        after: Option<OpIndex>,
        awaited: bool,
    ) -> PhysicalPage {
        self.flash.program_map(block, owner, after, awaited, self.sink)
    }

    /// See [`FlashState::program_summary`].
    #[inline(always)]
    pub fn program_summary(&mut self, block: BlockIndex) {
        self.flash.program_summary(block, self.sink);
    }

    /// See [`FlashState::copy`].
    #[inline(always)]
    pub fn copy(&mut self, from: PhysicalPage, block: BlockIndex, cause: Cause) -> (u32, PhysicalPage) {
        self.flash.copy(from, block, cause, self.sink)
    }

    /// See [`FlashState::copy_at`].
    #[inline(always)]
    pub fn copy_at(
        &mut self,
        from: PhysicalPage,
        block: BlockIndex,
        offset: u32,
        cause: Cause,
    ) -> (OpIndex, PhysicalPage) {
        self.flash.copy_at(from, block, offset, cause, self.sink)
    }

    /// See [`FlashState::copy_run`].
    #[inline(always)]
    pub fn copy_run(
        &mut self,
        from: PhysicalPage,
        count: u32,
        block: BlockIndex,
        offset: u32,
        cause: Cause,
    ) -> (OpIndex, PhysicalPage) {
        self.flash.copy_run(from, count, block, offset, cause, self.sink)
    }

    /// See [`FlashState::erase`].
    #[inline(always)]
    pub fn erase(&mut self, block: BlockIndex, cause: Cause) {
        self.flash.erase(block, cause, self.sink);
    }

    /// See [`FlashState::erase_after`].
    #[inline(always)]
    pub fn erase_after(&mut self, block: BlockIndex, cause: Cause, after: Option<OpIndex>) {
        self.flash.erase_after(block, cause, after, self.sink);
    }

    /// See [`FlashState::scan_spare`].
    #[inline(always)]
    pub fn scan_spare(&mut self, page: PhysicalPage) -> SpareArea {
        self.flash.scan_spare(page, self.sink)
    }

    /// See [`FlashState::scan_map`].
    #[inline(always)]
    pub fn scan_map(&mut self, page: PhysicalPage) -> MapPage {
        self.flash.scan_map(page, self.sink)
    }
}
