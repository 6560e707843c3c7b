//! Demand-based page mapping (DFTL): the map is on flash, and a controller with little memory caches single entries of
//! it (Kim 2009, section 3.3).

mod cache;
mod recovery;
mod steady;
mod tables;
#[cfg(test)]
mod tests;

use esker_core::registry::{Accepted, Fallback, Parameter, ParameterSource};
use esker_core::{Bytes, LogicalPage, PhysicalPage, Unsupported};
use esker_nand::state::{Cause, FlashState, OpIndex, OpList, OpSink};
use esker_nand::{BlockIndex, ValueError};
use esker_results::MappingCounts;

use crate::pools::{MapSpace, Striping};
use crate::{
    BuildError, Cells, Ftl, FtlContext, FtlCounters, FtlEntry, FtlError, LayerCapability, Pools, WearCounts,
    WriteExtent, write_with_prefetch,
};
use cache::Cache;
use tables::Tables;

pub(crate) const ENTRY: FtlEntry = FtlEntry {
    name: "dftl",
    summary: "a map of all pages on flash, with a cache of single entries",
    source: "Kim 2009, section 3.3 (DFTL)",
    parameters: ParameterSource::Listed(&[
        Parameter {
            name: "cache",
            meaning: "controller memory for cached entries, such as `64KiB`",
            value: Accepted::Size {
                default: Fallback::Derived("1/32 of all entries"),
                least: Bytes(1),
                most: Bytes(u64::MAX),
            },
        },
        Parameter {
            name: "entry_size",
            meaning: "bytes of controller memory that a cached entry takes",
            value: Accepted::Count { default: Fallback::Value(8), least: 1, most: 64 },
        },
        Parameter {
            name: "protected_percent",
            meaning: "most of the cache that the protected segment of segmented LRU may take, in percent",
            value: Accepted::Count { default: Fallback::Value(50), least: 0, most: 100 },
        },
        Parameter {
            name: "batch_evictions",
            meaning: "whether writing back an evicted entry also saves the other changed entries of its translation page",
            value: Accepted::Flag { default: false },
        },
        Parameter {
            name: "late_write_back",
            meaning: "whether room in the cache is made after the operations of a request, which then does not wait for what is written \
                      back",
            value: Accepted::Flag { default: false },
        },
        Parameter {
            name: "entries_per_page",
            meaning: "entries of a translation page, a power of two",
            value: Accepted::Count { default: Fallback::Derived("page size / 4 bytes"), least: 1, most: 1 << 18 },
        },
    ]),
    capabilities: &[
        LayerCapability::Wear,
        LayerCapability::Separate,
        LayerCapability::Refresh,
        LayerCapability::GradualCleaning,
        LayerCapability::KnownSteady,
        LayerCapability::Recover,
        LayerCapability::RecoverByMap,
        LayerCapability::AsksOwner,
    ],
    build: |context, parameters| {
        let entry_size = parameters.count("entry_size");
        let cache = parameters.given_size("cache");
        if let Some(cache) = cache.filter(|cache| *cache < Bytes(entry_size)) {
            return Err(ValueError::Parameter {
                key: "ftl.cache".to_string(),
                expected: format!("room for an entry, at least {} (`ftl.entry_size`)", Bytes(entry_size)),
                found: cache.to_string(),
            }
            .into());
        }
        let protected = parameters.count("protected_percent");
        let batch_evictions = parameters.flag("batch_evictions");
        let late_write_back = parameters.flag("late_write_back");
        let most = context.geometry.page_size().0 / FLASH_ENTRY_SIZE;
        let per_page = parameters.given_count("entries_per_page").unwrap_or(most);
        if !per_page.is_power_of_two() || per_page > most {
            return Err(ValueError::Parameter {
                key: "ftl.entries_per_page".to_string(),
                expected: format!("a power of two up to {most}"),
                found: per_page.to_string(),
            }
            .into());
        }
        let host_pages = u64::from(context.space.host_pages);
        let entries = cache.map_or(host_pages / 32, |cache| cache.0 / entry_size).clamp(1, host_pages) as u32;
        let kept_vacant = if late_write_back { (entries / 8).clamp(1, KEPT_VACANT_MAX) } else { 0 };
        let protected = (u64::from(entries) * protected / 100) as u32;
        let settings = Settings { entry_size, entries_per_page: per_page as u32, batch_evictions, kept_vacant };
        Ok(Box::new(Dftl::new(context, Cache::new(entries, protected), settings)?))
    },
};

/// Bytes of an entry on flash: "if 4 Bytes are needed to represent the physical page
/// address" (Kim 2009, section 3.3.1).
const FLASH_ENTRY_SIZE: u64 = 4;
/// A map entry needs one bit for "cached", and counts physical pages from one.
const PAGES_MAX: u32 = (1 << 31) - 2;
/// With `late_write_back`, this many pages of a request (or an eighth of a small cache) can miss without waiting for
/// evictions.
const KEPT_VACANT_MAX: u32 = 32;
/// The parameters apart from the cache size.
#[derive(Clone, Copy, Debug)]
struct Settings {
    /// Bytes of controller memory per cached entry.
    entry_size: u64,
    /// Entries of a translation page.
    entries_per_page: u32,
    /// Whether writing back an evicted entry also cleans its neighbours in the translation page.
    batch_evictions: bool,
    /// Cache entries that are kept free between requests, so that a miss need not wait for evictions.
    kept_vacant: u32,
}

/// The DFTL translation layer.
///
/// Each pool keeps the map of its own pages: a translation page covers consecutive slots of one pool, and lies in a
/// translation block of that pool. So each pool is a DFTL as in the paper, and the pools share only the cache.
#[derive(Clone, Debug)]
struct Dftl {
    tables: Tables,
    pools: Pools,
    settings: Settings,
}

impl Dftl {
    fn new(context: &FtlContext<'_>, cache: Cache, settings: Settings) -> Result<Self, BuildError> {
        let (geometry, space) = (context.geometry, context.space);
        if geometry.pages() > PAGES_MAX {
            let (found, limit) = (u64::from(geometry.pages()), u64::from(PAGES_MAX));
            return Err(ValueError::TooLarge { key: "geometry (flash pages, with ftl `dftl`)", found, limit }.into());
        }
        let entries_per_page = settings.entries_per_page;
        let striping = Striping::padded(context, entries_per_page);
        let translation_pages = striping.slots_per_pool() / entries_per_page;
        let map_space = check_space(context, translation_pages)?;
        let tables = Tables::new(striping, entries_per_page, cache);
        let pools = Pools::with_map(context, map_space)?;
        debug_assert_eq!(translation_pages * space.pools, tables.translation_pages());
        Ok(Self { tables, pools, settings })
    }

    /// Finds the entry of `slot` in the cache, or loads it (Kim 2009, algorithm 1). Returns its index in the cache and
    /// the operation that loads it, if any.
    #[inline]
    fn translate<S: OpSink>(
        &mut self,
        slot: u32,
        cells: &mut Cells<'_, S>,
    ) -> Result<(u32, Option<OpIndex>), FtlError> {
        self.tables.counts.lookups += 1;
        match self.tables.cached(slot) {
            Some(index) => {
                self.tables.counts.hits += 1;
                self.tables.cache.touch(index);
                Ok((index, None))
            }
            None => self.load(slot, cells),
        }
    }

    /// Does the same as [`Self::translate`], but never fails: if an entry has to be evicted and there is no space to
    /// write it back, the cache exceeds its capacity.
    fn translate_in_any_case<S: OpSink>(&mut self, slot: u32, cells: &mut Cells<'_, S>) -> (u32, Option<OpIndex>) {
        self.translate(slot, cells).unwrap_or_else(|_| self.fetch(slot, cells))
    }

    fn load<S: OpSink>(&mut self, slot: u32, cells: &mut Cells<'_, S>) -> Result<(u32, Option<OpIndex>), FtlError> {
        if self.tables.cache.is_full() {
            self.evict(true, cells)?;
        }
        Ok(self.fetch(slot, cells))
    }

    fn fetch<S: OpSink>(&mut self, slot: u32, cells: &mut Cells<'_, S>) -> (u32, Option<OpIndex>) {
        let page = self.tables.translation_page_of(slot);
        let read = self.tables.located(page).map(|at| {
            self.tables.counts.translation_reads += 1;
            cells.read_map(at, true)
        });
        (self.tables.load(slot), read)
    }

    /// Evicts an entry from the cache. If `awaited`, the request waits for the write-back.
    fn evict<S: OpSink>(&mut self, awaited: bool, cells: &mut Cells<'_, S>) -> Result<(), FtlError> {
        let victim = self.tables.cache.victim();
        if self.tables.cache.is_dirty(victim) {
            let slot = self.tables.cache.slot(victim);
            // Make space first: cleaning may move the translation page that is about to be superseded.
            let block = self.place_for(slot, cells)?;
            self.tables.counts.dirty_evictions += 1;
            self.tables.cache.clean(victim);
            self.save(self.tables.translation_page_of(slot), block, awaited, cells);
        }
        self.tables.counts.evictions += 1;
        self.tables.forget(victim);
        Ok(())
    }

    /// Returns the block that takes the next version of the translation page of `slot`.
    fn place_for<S: OpSink>(&mut self, slot: u32, cells: &mut Cells<'_, S>) -> Result<BlockIndex, FtlError> {
        let pool = self.tables.pool_of(self.tables.translation_page_of(slot));
        self.pools.place_map(pool, cells, &mut self.tables)
    }

    /// Writes translation page `page` to `block`, including the cached entries marked clean so far.
    fn save<S: OpSink>(&mut self, page: u32, block: BlockIndex, awaited: bool, cells: &mut Cells<'_, S>) {
        self.tables.counts.translation_reads += u64::from(self.tables.located(page).is_some());
        self.tables.counts.translation_writes += 1;
        if self.settings.batch_evictions {
            self.tables.clean_all_of(page);
        }
        if let Some((block, valid)) = self.tables.rewrite(page, block, awaited, cells) {
            self.pools.superseded(block, valid);
        }
    }

    #[inline]
    fn write_to<S: OpSink>(
        &mut self,
        page: LogicalPage,
        extent: WriteExtent,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError> {
        let (pool, slot) = self.tables.striping.locate(page.0);
        let (index, known) = self.translate(slot, cells)?;
        // Makes space first: cleaning may move the very page that is about to be superseded.
        let block = self.pools.place(pool, slot, 0, cells, &mut self.tables)?;
        let old = tables::page_of(self.tables.cache.page(index));
        let read = match (extent, old) {
            (WriteExtent::Partial, Some(old)) => Some(cells.read_after(old, Cause::Host, known)),
            _ => known,
        };
        let at = cells.program(block, slot, Cause::Host, read);
        self.tables.change(index, tables::entry(at), cells.flash);
        self.supersede(old, cells.flash);
        Ok(())
    }

    #[inline]
    fn supersede(&mut self, old: Option<PhysicalPage>, flash: &mut FlashState) {
        if let Some(old) = old {
            let (block, valid) = flash.supersede(old);
            self.pools.superseded(block, valid);
        }
    }

    /// Returns false if no page near `slot` was ever written, so that no lookup is needed.
    #[inline]
    fn is_known(&self, slot: u32) -> bool {
        self.tables.cached(slot).is_some() || self.tables.located(self.tables.translation_page_of(slot)).is_some()
    }
}

/// Returns how the blocks of a pool are divided. So that cleaning can always go on, it keeps as many free as the
/// settings ask for, and at least one for each frontier of data, two for each frontier of the map, and two for the
/// victim's pages. The map may take four times its own size, so that cleaning its blocks copies next to nothing, but at
/// most half of what the data can spare. It is an error if cleaning could not gain a page.
fn check_space(context: &FtlContext<'_>, translation_pages: u32) -> Result<MapSpace, BuildError> {
    let space = context.space;
    let (open, frontiers) = (space.open_blocks(), space.open_blocks() + space.frontiers);
    let reserve = space.reserve.max(open + 2 * space.frontiers + 2);
    let needed = reserve + frontiers + 1;
    let good = space.blocks_per_pool.saturating_sub(space.bad_blocks_per_pool);
    if needed >= good {
        return Err(BuildError::PoolTooSmall { blocks: good, needed, reserve, frontiers });
    }
    let room = u64::from(good - reserve + 1 - frontiers) * u64::from(space.data_pages_per_block) - 1;
    let host = space.host_pages_per_pool();
    for (key, ahead) in [("cleaning.gradual", space.gradual), ("cleaning.background", space.background)] {
        // With a goal that cannot be reached, cleaning would never end.
        let blocks = if ahead == 0 { 0 } else { ahead.max(reserve + 1) };
        let held = (u64::from(host) + u64::from(translation_pages) + 1).div_ceil(u64::from(space.data_pages_per_block));
        let most = (u64::from(good) + 1).saturating_sub(u64::from(frontiers) + held) as u32;
        if most >= reserve && blocks > most {
            return Err(BuildError::NeverFree { key, blocks, most, of: space.blocks_per_pool });
        }
    }
    if u64::from(host) + u64::from(translation_pages) > room {
        let keep = room.saturating_sub(u64::from(translation_pages)) * u64::from(space.pools);
        return Err(BuildError::NoRoomForMap {
            blocks: good,
            data_pages: space.data_pages_per_block,
            host,
            translation_pages,
            reserve,
            frontiers,
            room,
            remedy: space.over_provisioning_for(keep),
        });
    }
    let spare = room - u64::from(host) - u64::from(translation_pages);
    let own = translation_pages.div_ceil(space.data_pages_per_block);
    let more = (spare / 2 / u64::from(space.data_pages_per_block)) as u32;
    let allowance = own + space.frontiers + more.min(3 * own);
    let spare_blocks = (spare / u64::from(space.data_pages_per_block)) as u32;
    Ok(MapSpace { reserve, allowance, spare_blocks })
}

impl Ftl for Dftl {
    #[inline]
    fn find(&self, page: LogicalPage) -> Option<PhysicalPage> {
        self.tables.find(self.tables.striping.locate(page.0).1)
    }

    #[inline]
    fn pool_of(&self, page: LogicalPage) -> u32 {
        self.tables.striping.locate(page.0).0
    }

    #[inline]
    fn prefetch(&self, page: LogicalPage) {
        self.tables.prefetch(self.tables.striping.locate(page.0).1);
    }

    #[inline]
    fn prefetch_write(&self, page: LogicalPage, flash: &FlashState) {
        self.tables.prefetch_write(self.tables.striping.locate(page.0).1, flash);
    }

    /// With `late_write_back`, makes room in the cache for later requests. If flash has no space, those find the cache
    /// full and evict entries themselves.
    fn end_request(&mut self, cells: &mut Cells<'_, OpList>) {
        while self.tables.cache.len() + self.settings.kept_vacant > self.tables.cache.capacity()
            && self.evict(false, cells).is_ok()
        {}
    }

    fn read(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) {
        let slot = self.tables.striping.locate(page.0).1;
        if self.is_known(slot) {
            let (index, known) = self.translate_in_any_case(slot, cells);
            if let Some(at) = tables::page_of(self.tables.cache.page(index)) {
                cells.read_after(at, Cause::Host, known);
            }
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
        let (pool, slot) = self.tables.striping.locate(page.0);
        let index = self.tables.cached(slot).expect("the read looked it up");
        let at = cells
            .flash
            .geometry()
            .block_of(tables::page_of(self.tables.cache.page(index)).expect("its data were read"));
        let block = self.pools.place_copy(pool, slot, at, cells, &mut self.tables)?;
        let new = cells.program(block, slot, cause, Some(read));
        // Cleaning may have moved or dropped the page.
        let old = tables::page_of(self.tables.cache.page(index));
        if old.is_some() {
            self.tables.change(index, tables::entry(new), cells.flash);
        }
        self.supersede(old.or(Some(new)), cells.flash);
        Ok(())
    }

    fn trim(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) {
        let slot = self.tables.striping.locate(page.0).1;
        if self.is_known(slot) {
            let (index, _) = self.translate_in_any_case(slot, cells);
            // If power may fail, the translation page on flash must not keep pointing to a superseded page, which may
            // hold data of another page later. Recovery finds a rewritten page by its data, but a trimmed page only by
            // its translation page.
            let save = cells.flash.keeps_journal() && self.tables.cache.is_dirty(index);
            let block = if save { self.place_for(slot, cells).ok() } else { None };
            let old = tables::page_of(self.tables.cache.page(index));
            if old.is_some() {
                self.tables.change(index, tables::NO_PAGE, cells.flash);
                self.supersede(old, cells.flash);
            }
            if let Some(block) = block {
                self.tables.cache.clean(index);
                self.save(self.tables.translation_page_of(slot), block, true, cells);
            }
        }
    }

    fn collect(&mut self, pool: u32, cells: &mut Cells<'_, OpList>) -> Result<bool, FtlError> {
        self.pools.clean_ahead(pool, cells, &mut self.tables)
    }

    fn write_untimed(&mut self, pages: &[LogicalPage], flash: &mut FlashState) -> Result<(), FtlError> {
        write_with_prefetch(self, pages, flash, |layer, page, cells| layer.write_to(page, WriteExtent::Whole, cells))
    }

    fn begin_steady(&mut self, pages: u32, seed: u64, flash: &mut FlashState) -> Option<f64> {
        self.begin(pages, seed, flash)
    }

    fn recover(&mut self, cells: &mut Cells<'_, OpList>) -> Result<(), FtlError> {
        self.recover_map(cells)
    }

    fn writable_pages(&self) -> u64 {
        self.pools.writable_pages()
    }

    fn memory_bytes(&self) -> usize {
        self.tables.memory_bytes() + self.pools.memory_bytes()
    }

    fn map_bytes(&self) -> u64 {
        u64::from(self.tables.cache.capacity()) * self.settings.entry_size
            + u64::from(self.tables.translation_pages()) * FLASH_ENTRY_SIZE
    }

    fn counters(&self) -> FtlCounters {
        let mapping = MappingCounts {
            cache_entries: u64::from(self.tables.cache.capacity()),
            cache_bytes: u64::from(self.tables.cache.capacity()) * self.settings.entry_size,
            directory_bytes: u64::from(self.tables.translation_pages()) * FLASH_ENTRY_SIZE,
            translation_pages: u64::from(self.tables.translation_pages()),
            ..self.tables.counts
        };
        let dropped_pages = self.pools.dropped_pages();
        FtlCounters { mapping: Some(mapping), dropped_pages, ..FtlCounters::default() }
    }

    fn pause_levelling(&mut self, is_paused: bool) -> Result<(), Unsupported> {
        self.pools.pause_levelling(is_paused)
    }

    fn wear(&self) -> Option<WearCounts> {
        Some(self.pools.wear())
    }

    fn half_cleaned(&self) -> u64 {
        self.pools.half_cleaned()
    }

    fn check(&self, flash: &FlashState) {
        self.tables.check(flash);
        self.pools.check(flash);
    }
}
