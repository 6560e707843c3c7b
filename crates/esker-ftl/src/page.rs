//! Page mapping: the whole map is in memory. This is the ideal against which other translation layers are measured, not
//! a model of a controller with little memory.

use esker_core::registry::ParameterSource;
use esker_core::{LogicalPage, PhysicalPage, Rng, StreamId, Unsupported};
use esker_nand::BlockIndex;
use esker_nand::memory::{prefetch, zeroed};
use esker_nand::state::{Cause, FlashState, OpIndex, OpList, OpSink};

use crate::allocation::Allocation;
use crate::pools::{Contents, OwnerRun, PageMap, Striping};
use crate::recovery::scan_block;
use crate::suspects::Suspects;
use crate::{
    BuildError, Cells, FoundBlock, Ftl, FtlContext, FtlCounters, FtlEntry, FtlError, LayerCapability, Pools,
    WearCounts, WriteExtent, write_with_prefetch,
};

pub(crate) const ENTRY: FtlEntry = FtlEntry {
    name: "page",
    summary: "a map of all pages in memory",
    source: "Agrawal et al. 2008, section 3.1; the baseline of Kim 2009, chapter 3",
    parameters: ParameterSource::NONE,
    capabilities: &[
        LayerCapability::Wear,
        LayerCapability::Separate,
        LayerCapability::Streams,
        LayerCapability::Refresh,
        LayerCapability::GradualCleaning,
        LayerCapability::KnownSteady,
        LayerCapability::Recover,
        LayerCapability::AsksOwner,
        LayerCapability::Suspects,
    ],
    build: |context, _| Ok(Box::new(PageFtl::<Pools>::new(context)?)),
};

/// Encodes a map entry: the physical page plus one, or zero for no data. A map of zeroed memory is therefore empty.
#[inline(always)]
fn entry(page: PhysicalPage) -> u32 {
    page.0 + 1
}

/// Decodes a map entry.
#[inline(always)]
fn page_of(entry: u32) -> Option<PhysicalPage> {
    entry.checked_sub(1).map(PhysicalPage)
}

/// The page-mapped translation layer, over blocks or over zones.
#[derive(Clone, Debug)]
pub(crate) struct PageFtl<A> {
    striping: Striping,
    /// For each slot of a logical page, its [`entry`].
    map: Vec<u32>,
    /// The slots whose entries point to pages that are superseded but can be revived.
    suspects: Suspects,
    logical_pages: u64,
    pools: A,
    /// Number of separate streams. The next field is the stream that is written now.
    streams: u32,
    stream: u32,
}

/// The map as the pools see it. The owner of a page is its slot.
struct Map<'a> {
    entries: &'a mut [u32],
    suspects: &'a mut Suspects,
    striping: &'a Striping,
}

impl PageMap for Map<'_> {
    #[inline(always)]
    fn prefetch(&self, owner: u32) {
        prefetch(self.entries, owner as usize);
    }
    #[inline(always)]
    fn moved(&mut self, owner: u32, to: PhysicalPage, _: &FlashState) {
        self.entries[owner as usize] = entry(to);
    }
    fn droppable(&self, owner: u32, _: &FlashState) -> Option<LogicalPage> {
        Some(self.striping.page_at(owner))
    }
    fn dropped(&mut self, owner: u32, _: &FlashState) {
        self.entries[owner as usize] = 0;
    }
    #[inline(always)]
    fn has_suspects(&self) -> bool {
        self.suspects.count() > 0
    }
    fn lost(&mut self, owner: u32, page: PhysicalPage) -> Option<LogicalPage> {
        // An older version of a page that was written anew has the same owner.
        if self.entries[owner as usize] != entry(page) || !self.suspects.remove(owner) {
            return None;
        }
        self.entries[owner as usize] = 0;
        self.suspects.erased += 1;
        Some(self.striping.page_at(owner))
    }
}

impl<A: Allocation> PageFtl<A> {
    pub(crate) fn new(context: &FtlContext<'_>) -> Result<Self, BuildError> {
        let striping = Striping::new(context);
        let logical_pages = u64::from(context.space.logical_pages);
        let (pools, streams) = (A::new(context)?, context.settings.streams);
        let (map, suspects) = (zeroed(striping.slots()), Suspects::default());
        Ok(Self { map, suspects, striping, logical_pages, pools, streams, stream: 0 })
    }

    /// Returns the flash page with valid data of the page at `slot`.
    #[inline]
    fn valid_at(&self, slot: u32) -> Option<PhysicalPage> {
        page_of(self.map[slot as usize]).filter(|_| !self.suspects.has(slot))
    }

    #[inline]
    fn write_to<S: OpSink>(
        &mut self,
        page: LogicalPage,
        extent: WriteExtent,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError> {
        let Self { striping, map: entries, suspects, pools, stream, .. } = self;
        let (pool, slot) = striping.locate(page.0);
        // Make space first: cleaning may move the very page that is about to be superseded.
        let block = pools.place(pool, slot, *stream, cells, &mut Map { entries, suspects, striping })?;
        let old = page_of(entries[slot as usize]).filter(|_| !suspects.remove(slot));
        let read = match (extent, old) {
            (WriteExtent::Partial, Some(old)) => Some(cells.read(old, Cause::Host)),
            _ => None,
        };
        entries[slot as usize] = entry(cells.program(block, slot, Cause::Host, read));
        if let Some(old) = old {
            let (block, valid) = cells.flash.supersede(old);
            pools.superseded(block, valid);
        }
        Ok(())
    }
}

impl<A: Allocation> Ftl for PageFtl<A> {
    #[inline]
    fn find(&self, page: LogicalPage) -> Option<PhysicalPage> {
        self.valid_at(self.striping.locate(page.0).1)
    }

    #[inline]
    fn pool_of(&self, page: LogicalPage) -> u32 {
        self.striping.locate(page.0).0
    }

    #[inline]
    fn prefetch(&self, page: LogicalPage) {
        prefetch(&self.map, self.striping.locate(page.0).1 as usize);
    }

    #[inline]
    fn prefetch_write(&self, page: LogicalPage, flash: &FlashState) {
        if let Some(old) = self.find(page) {
            flash.prefetch_block(flash.geometry().block_of(old));
        }
    }

    fn begin_stream(&mut self, stream: StreamId) {
        self.stream = u32::from(stream.0) % self.streams;
    }

    fn keeps_streams(&self) -> bool {
        A::KEEPS_STREAMS
    }

    fn read(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) {
        if let Some(at) = self.find(page) {
            cells.read(at, Cause::Host);
        }
    }

    fn write(&mut self, page: LogicalPage, extent: WriteExtent, cells: &mut Cells<'_, OpList>) -> Result<(), FtlError> {
        self.write_to(page, extent, cells)
    }

    fn refresh(
        &mut self,
        page: LogicalPage,
        read: OpIndex,
        cause: Cause,
        cells: &mut Cells<'_, OpList>,
    ) -> Result<(), FtlError> {
        let Self { striping, map: entries, suspects, pools, .. } = self;
        let (pool, slot) = striping.locate(page.0);
        let at = page_of(entries[slot as usize]).expect("its data were read");
        let block = pools.place_copy(
            pool,
            slot,
            cells.flash.geometry().block_of(at),
            cells,
            &mut Map { entries, suspects, striping },
        )?;
        let new = cells.program(block, slot, cause, Some(read));
        // Cleaning may have moved or dropped the page.
        let old = page_of(entries[slot as usize]);
        if old.is_some() {
            entries[slot as usize] = entry(new);
        }
        let (block, valid) = cells.flash.supersede(old.unwrap_or(new));
        pools.superseded(block, valid);
        Ok(())
    }

    fn trim(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) {
        let slot = self.striping.locate(page.0).1;
        let old = page_of(std::mem::take(&mut self.map[slot as usize]));
        if let Some(old) = old.filter(|_| !self.suspects.remove(slot)) {
            let (block, valid) = cells.flash.supersede(old);
            self.pools.superseded(block, valid);
        }
    }

    fn suspect(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) -> bool {
        let slot = self.striping.locate(page.0).1;
        let Some(at) = self.valid_at(slot) else { return false };
        self.suspects.add(slot, self.map.len());
        let (block, valid) = cells.flash.supersede(at);
        self.pools.superseded(block, valid);
        true
    }

    fn revive(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) -> bool {
        let slot = self.striping.locate(page.0).1;
        if !self.suspects.remove(slot) {
            return false;
        }
        let at = page_of(self.map[slot as usize]).expect("a suspect has a place");
        cells.flash.set_valid(at);
        let block = cells.flash.geometry().block_of(at);
        self.pools.revived(block, cells.flash.valid_in(block));
        self.suspects.revived += 1;
        true
    }

    fn collect(&mut self, pool: u32, cells: &mut Cells<'_, OpList>) -> Result<bool, FtlError> {
        let Self { striping, map: entries, suspects, pools, .. } = self;
        pools.clean_ahead(pool, cells, &mut Map { entries, suspects, striping })
    }

    fn write_untimed(&mut self, pages: &[LogicalPage], flash: &mut FlashState) -> Result<(), FtlError> {
        write_with_prefetch(self, pages, flash, |layer, page, cells| layer.write_to(page, WriteExtent::Whole, cells))
    }

    fn begin_steady(&mut self, pages: u32, seed: u64, flash: &mut FlashState) -> Option<f64> {
        let Self { striping, map: entries, suspects, pools, .. } = self;
        if pages < striping.pools() {
            return None;
        }
        let mut rng = Rng::derive(seed, "order of pages");
        let slots = striping.first_slots(pages);
        let contents: Vec<Contents> =
            slots.map(|(first, count)| Contents { data: OwnerRun::new(first, count, &mut rng), map: None }).collect();
        pools.start_steady(&contents, seed, flash, &mut Map { entries, suspects, striping })
    }

    /// Reads the spare areas of all pages; with `block_summary`, the summaries of full blocks and the spare areas of
    /// the others. Of each page, the newest version counts.
    fn recover(&mut self, cells: &mut Cells<'_, OpList>) -> Result<(), FtlError> {
        if !A::RECOVERS {
            return Err(FtlError::CannotRecover);
        }
        let Self { striping, map: entries, suspects, pools, .. } = self;
        let mut newest = vec![0; entries.len()];
        let blocks = cells.flash.geometry().blocks();
        let found: Vec<FoundBlock> = (0..blocks)
            .map(|block| {
                scan_block(BlockIndex(block), false, cells, |found| {
                    let owner = found.owner as usize;
                    if found.sequence > newest[owner] {
                        newest[owner] = found.sequence;
                        entries[owner] = entry(found.page);
                    }
                })
            })
            .collect();
        entries.iter().filter_map(|entry| page_of(*entry)).for_each(|page| cells.flash.set_valid(page));
        pools.adopt_blocks(&found, cells.flash);
        pools.restore(cells, &mut Map { entries, suspects, striping })
    }

    fn writable_pages(&self) -> u64 {
        self.pools.writable_pages()
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&*self.map) + self.suspects.memory_bytes() + self.pools.memory_bytes()
    }

    fn map_bytes(&self) -> u64 {
        4 * self.logical_pages
    }

    fn counters(&self) -> FtlCounters {
        FtlCounters {
            dropped_pages: self.pools.dropped_pages(),
            revived_pages: self.suspects.revived,
            erased_suspects: self.suspects.erased,
            ..FtlCounters::default()
        }
    }

    fn pause_levelling(&mut self, is_paused: bool) -> Result<(), Unsupported> {
        self.pools.pause_levelling(is_paused)
    }

    fn wear(&self) -> Option<WearCounts> {
        self.pools.wear()
    }

    fn half_cleaned(&self) -> u64 {
        self.pools.half_cleaned()
    }

    fn check(&self, flash: &FlashState) {
        let (mut mapped, mut suspected) = (0, 0);
        for (slot, &entry) in self.map.iter().enumerate() {
            let Some(at) = page_of(entry) else { continue };
            if self.suspects.has(slot as u32) {
                assert!(!flash.is_valid(at), "slot {slot} is suspected at {at}, which holds valid data");
                assert_eq!(flash.owner(at) as usize, slot, "slot {slot} is suspected in data of another");
                suspected += 1;
                continue;
            }
            assert!(flash.is_valid(at), "slot {slot} maps to {at}, which holds no valid data");
            assert_eq!(flash.owner(at) as usize, slot, "slot {slot} maps to data of another");
            mapped += 1;
        }
        assert_eq!(suspected, self.suspects.count(), "suspects without data");
        assert_eq!(mapped, flash.valid_pages(), "valid pages that nothing maps to");
        self.pools.check(flash);
    }
}
