//! Where a layer with a map of all pages puts its pages, and how it makes room.

use std::fmt;

use esker_core::Unsupported;
use esker_nand::BlockIndex;
use esker_nand::state::{FlashState, OpSink};

use crate::pools::Contents;
use crate::{BuildError, Cells, FoundBlock, FtlContext, FtlError, NO_LEVELLING, PageMap, Pools, WearCounts};

/// Chooses the flash page of each write, and cleans. The layer above has the map, and gets a call for each page that
/// moves.
pub(crate) trait Allocation: Clone + fmt::Debug + Send {
    /// Whether streams of the host go to separate blocks if the settings ask for that.
    const KEEPS_STREAMS: bool = false;
    /// Whether [`Self::adopt_blocks`] and [`Self::restore`] find the pages again after a power failure.
    const RECOVERS: bool = false;

    /// Starts with erased flash.
    fn new(context: &FtlContext<'_>) -> Result<Self, BuildError>;

    /// Returns a block of `pool` with room for the page of `owner`, which is programmed next. See [`Pools::place`].
    fn place<S: OpSink>(
        &mut self,
        pool: u32,
        owner: u32,
        stream: u32,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<BlockIndex, FtlError>;

    /// Like [`Self::place`], for a page that moves away from block `at`.
    fn place_copy<S: OpSink>(
        &mut self,
        pool: u32,
        owner: u32,
        at: BlockIndex,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<BlockIndex, FtlError>;

    /// A page of `block` was superseded; `valid` valid pages are left in it.
    fn superseded(&mut self, block: BlockIndex, valid: u32);

    /// A superseded page of `block` is valid again; now it has `valid` valid pages.
    fn revived(&mut self, block: BlockIndex, valid: u32);

    /// Does one step of cleaning in idle time in `pool`. Returns false if there was nothing to do.
    fn clean_ahead<S: OpSink>(
        &mut self,
        pool: u32,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<bool, FtlError> {
        let _ = (pool, cells, page_map);
        Ok(false)
    }

    /// See [`crate::Ftl::begin_steady`].
    fn start_steady(
        &mut self,
        contents: &[Contents],
        seed: u64,
        flash: &mut FlashState,
        page_map: &mut impl PageMap,
    ) -> Option<f64> {
        let _ = (contents, seed, flash, page_map);
        None
    }

    /// See [`Pools::adopt_blocks`].
    fn adopt_blocks(&mut self, found: &[FoundBlock], flash: &mut FlashState) {
        let _ = (found, flash);
    }

    /// See [`Pools::restore`].
    fn restore<S: OpSink>(&mut self, cells: &mut Cells<'_, S>, page_map: &mut impl PageMap) -> Result<(), FtlError> {
        let _ = (cells, page_map);
        Ok(())
    }

    /// See [`crate::Ftl::pause_levelling`].
    fn pause_levelling(&mut self, is_paused: bool) -> Result<(), Unsupported> {
        let _ = is_paused;
        Err(NO_LEVELLING)
    }

    /// Returns the counts of wear-levelling and of worn-out blocks, if the layer has any.
    fn wear(&self) -> Option<WearCounts> {
        None
    }

    /// See [`crate::Ftl::half_cleaned`].
    fn half_cleaned(&self) -> u64 {
        0
    }

    /// Returns the number of pages that cleaning did not copy, because their owner no longer needed them.
    fn dropped_pages(&self) -> u64;

    /// Returns the number of pages that can be written before cleaning is needed.
    fn writable_pages(&self) -> u64;

    /// Returns the bytes of memory in use.
    fn memory_bytes(&self) -> usize;

    /// Asserts the invariants that hold between calls.
    fn check(&self, flash: &FlashState);
}

impl Allocation for Pools {
    const KEEPS_STREAMS: bool = true;
    const RECOVERS: bool = true;

    fn new(context: &FtlContext<'_>) -> Result<Self, BuildError> {
        Self::new(context)
    }

    #[inline(always)]
    fn place<S: OpSink>(
        &mut self,
        pool: u32,
        owner: u32,
        stream: u32,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<BlockIndex, FtlError> {
        self.place(pool, owner, stream, cells, page_map)
    }

    fn place_copy<S: OpSink>(
        &mut self,
        pool: u32,
        owner: u32,
        at: BlockIndex,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<BlockIndex, FtlError> {
        self.place_copy(pool, owner, at, cells, page_map)
    }

    #[inline(always)]
    fn superseded(&mut self, block: BlockIndex, valid: u32) {
        self.superseded(block, valid);
    }

    fn revived(&mut self, block: BlockIndex, valid: u32) {
        self.revived(block, valid);
    }

    fn clean_ahead<S: OpSink>(
        &mut self,
        pool: u32,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<bool, FtlError> {
        self.clean_ahead(pool, cells, page_map)
    }

    fn start_steady(
        &mut self,
        contents: &[Contents],
        seed: u64,
        flash: &mut FlashState,
        page_map: &mut impl PageMap,
    ) -> Option<f64> {
        self.start_steady(contents, seed, flash, page_map)
    }

    fn adopt_blocks(&mut self, found: &[FoundBlock], flash: &mut FlashState) {
        self.adopt_blocks(found, flash);
    }

    fn restore<S: OpSink>(&mut self, cells: &mut Cells<'_, S>, page_map: &mut impl PageMap) -> Result<(), FtlError> {
        self.restore(cells, page_map)
    }

    fn pause_levelling(&mut self, is_paused: bool) -> Result<(), Unsupported> {
        self.pause_levelling(is_paused)
    }

    fn wear(&self) -> Option<WearCounts> {
        Some(self.wear())
    }

    fn half_cleaned(&self) -> u64 {
        self.half_cleaned()
    }

    fn dropped_pages(&self) -> u64 {
        self.dropped_pages()
    }

    fn writable_pages(&self) -> u64 {
        self.writable_pages()
    }

    fn memory_bytes(&self) -> usize {
        self.memory_bytes()
    }

    fn check(&self, flash: &FlashState) {
        self.check(flash);
    }
}
