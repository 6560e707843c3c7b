//! Zones: a zone has a block of each plane of a pool. Its blocks are filled page by page in turn, and erased together.

use std::collections::VecDeque;

use esker_core::registry::ParameterSource;
use esker_core::{PhysicalPage, bits};
use esker_nand::state::{Cause, FlashState, OpSink};
use esker_nand::{BlockIndex, Divisor, Geometry};

use crate::allocation::Allocation;
use crate::gc::{self, PoolShape, VictimPolicy};
use crate::page::PageFtl;
use crate::pools::{Content, drop_unwanted, report_lost};
use crate::roomy::Roomy;
use crate::{BuildError, Cells, FtlContext, FtlEntry, FtlError, LayerCapability, PageMap, PoolBlock};

pub(crate) const ENTRY: FtlEntry = FtlEntry {
    name: "zoned",
    summary: "a map of all pages in memory over zones, a block of each plane, which are filled and erased as a whole",
    source: "hosts of zoned drives: Bjørling et al., ZNS, USENIX ATC 2021, section 2",
    parameters: ParameterSource::NONE,
    capabilities: &[LayerCapability::Refresh, LayerCapability::AsksOwner, LayerCapability::Suspects],
    build: |context, _| Ok(Box::new(PageFtl::<Zones>::new(context)?)),
};

/// The zones of all pools.
#[derive(Clone, Debug)]
struct Zones {
    pools: Vec<ZonePool>,
    blocks_per_pool: Divisor,
}

/// The zones of one pool. One of them is open and takes all pages: both pages that are written and pages that cleaning
/// copies.
#[derive(Clone, Debug)]
struct ZonePool {
    /// The first block of each plane on the device, in the order in which the planes take turns.
    planes: Vec<BlockIndex>,
    /// The first block of the pool.
    first: BlockIndex,
    /// Number of zones, equal to the number of blocks of a plane. Zone z has block z of each plane.
    zones: u32,
    /// Data pages of a block, and of a zone.
    data_pages_per_block: u32,
    pages: u32,
    /// A zone is cleaned if fewer zones than this are free.
    reserve: u32,
    summary: bool,
    open: Option<u32>,
    /// Pages that the open zone can still take.
    room: u32,
    /// Free zones. The zone that was erased first is filled first.
    free: Roomy<VecDeque<u32>>,
    /// Bit set of full zones.
    closed: Vec<u64>,
    /// Valid pages of each zone.
    valid: Vec<u32>,
    victims: Box<dyn VictimPolicy>,
    dropped_pages: u64,
}

impl ZonePool {
    fn new(index: u32, context: &FtlContext<'_>) -> Result<Self, BuildError> {
        let FtlContext { geometry, space, settings, seed } = *context;
        let first = index * space.blocks_per_pool;
        let width = (geometry.planes() / space.pools).max(1);
        let zones = space.blocks_per_pool / width;
        let pages = width * space.data_pages_per_block;
        let reserve = space.reserve.div_ceil(width).max(1);
        let keeps = zones.saturating_sub(reserve).saturating_mul(pages).saturating_sub(1);
        if space.host_pages_per_pool() > keeps {
            return Err(BuildError::NoUpdateBlocks {
                kind: ENTRY.name,
                blocks: space.blocks_per_pool,
                logical: space.host_pages_per_pool().div_ceil(space.data_pages_per_block),
                data_pages: space.data_pages_per_block,
                update: width,
                purpose: "blocks of an open zone",
                free: reserve * width,
                remedy: space.over_provisioning_for(u64::from(space.pools) * u64::from(keeps)),
            });
        }
        let shape = PoolShape { blocks: zones, data_pages_per_block: pages };
        let seed = seed ^ u64::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Ok(Self {
            planes: planes(geometry, first, width, zones),
            first: BlockIndex(first),
            zones,
            data_pages_per_block: space.data_pages_per_block,
            pages,
            reserve,
            summary: geometry.block_summary(),
            open: None,
            room: 0,
            free: (0..zones).collect(),
            closed: vec![0; zones.div_ceil(64) as usize],
            valid: vec![0; zones as usize],
            victims: gc::build(&settings.cleaning.victim, &shape, seed)?,
            dropped_pages: 0,
        })
    }

    /// Returns the blocks of `zone`, in the order in which they take pages.
    fn blocks(&self, zone: u32) -> impl Iterator<Item = BlockIndex> {
        self.planes.iter().map(move |first| BlockIndex(first.0 + zone))
    }

    fn zone_of(&self, block: BlockIndex) -> u32 {
        (block.0 - self.first.0) % self.zones
    }

    fn place<S: OpSink>(
        &mut self,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<BlockIndex, FtlError> {
        // Some policies may pick zones without a superseded page, which gain nothing, but hardly this often.
        let mut attempts = 64 * 64 * self.closed.len();
        while self.room == 0 {
            self.open_next(cells)?;
            if self.free.len() < self.reserve as usize {
                self.clean(cells, page_map)?;
                attempts = attempts.checked_sub(1).ok_or(FtlError::NoSpace)?;
            }
        }
        Ok(self.take())
    }

    /// Takes the next page of the open zone, which has room. Returns its block.
    fn take(&mut self) -> BlockIndex {
        let zone = self.open.expect("a zone with room is open");
        let turn = (self.pages - self.room) as usize % self.planes.len();
        self.room -= 1;
        self.valid[zone as usize] += 1;
        BlockIndex(self.planes[turn].0 + zone)
    }

    /// Closes the open zone, which is full, and opens a free one.
    fn open_next<S: OpSink>(&mut self, cells: &mut Cells<'_, S>) -> Result<(), FtlError> {
        if let Some(full) = self.open.take() {
            if self.summary {
                self.blocks(full).for_each(|block| cells.program_summary(block));
            }
            bits::set(&mut self.closed, full as usize);
            self.victims.closed(PoolBlock(full), self.valid[full as usize]);
        }
        self.open = Some(self.free.pop_front().ok_or(FtlError::NoSpace)?);
        self.room = self.pages;
        Ok(())
    }

    /// Copies the pages of one zone that are still needed, in the order in which they were written, and erases it. The
    /// open zone is empty: it has room for all pages of the other one.
    #[cold]
    fn clean<S: OpSink>(&mut self, cells: &mut Cells<'_, S>, page_map: &mut impl PageMap) -> Result<(), FtlError> {
        let victim = self.take_victim().ok_or(FtlError::NoSpace)?.0;
        bits::clear(&mut self.closed, victim as usize);
        let mut left = self.valid[victim as usize];
        for offset in 0..self.data_pages_per_block {
            for plane in 0..self.planes.len() {
                let block = BlockIndex(self.planes[plane].0 + victim);
                let from = PhysicalPage(cells.flash.geometry().first_page(block).0 + offset);
                if !cells.flash.is_valid(from) {
                    continue;
                }
                left -= 1;
                if cells.owner.is_some() && drop_unwanted(from, cells, page_map) {
                    self.dropped_pages += 1;
                    continue;
                }
                let (owner, to) = cells.copy(from, self.take(), Cause::Cleaning);
                page_map.moved(owner, to, cells.flash);
            }
        }
        self.valid[victim as usize] = left;
        for plane in 0..self.planes.len() {
            let block = BlockIndex(self.planes[plane].0 + victim);
            if page_map.has_suspects() {
                report_lost(block, cells, page_map);
            }
            cells.erase(block, Cause::Cleaning);
            page_map.erased(Content::Data);
        }
        self.free.push_back(victim);
        Ok(())
    }

    /// Takes the zone that the policy would have cleaned next.
    fn take_victim(&mut self) -> Option<PoolBlock> {
        let Self { valid, pages, victims, .. } = self;
        gc::take_victim(&mut **victims, false, |zone| valid[zone.index()] < *pages)
    }

    fn superseded(&mut self, block: BlockIndex) {
        let zone = self.zone_of(block);
        self.valid[zone as usize] -= 1;
        if bits::is_set(&self.closed, zone as usize) {
            self.victims.superseded(PoolBlock(zone), self.valid[zone as usize]);
        }
    }

    fn revived(&mut self, block: BlockIndex) {
        let zone = self.zone_of(block);
        self.valid[zone as usize] += 1;
        if bits::is_set(&self.closed, zone as usize) {
            self.victims.revived(PoolBlock(zone), self.valid[zone as usize]);
        }
    }

    fn check(&self, flash: &FlashState) {
        for zone in 0..self.zones {
            let (mut written, mut valid) = (0, 0);
            for block in self.blocks(zone) {
                written += flash.written_in(block).min(self.data_pages_per_block);
                valid += flash.valid_in(block);
            }
            assert_eq!(valid, self.valid[zone as usize], "the valid pages of zone {zone} are counted wrongly");
            let is_closed = bits::is_set(&self.closed, zone as usize);
            let expected = match (self.open == Some(zone), is_closed) {
                (true, false) => self.pages - self.room,
                (false, true) => self.pages,
                (false, false) => 0,
                (true, true) => unreachable!("zone {zone} is open and closed"),
            };
            assert_eq!(written, expected, "zone {zone} is filled in another way than its state says");
            assert_eq!(expected == 0 && self.open != Some(zone), self.free.contains(&zone), "zone {zone} was lost");
        }
    }
}

/// Returns the first block of each plane of a pool with `width` planes, from device block `first` on, in turn.
fn planes(geometry: &Geometry, first: u32, width: u32, blocks_per_plane: u32) -> Vec<BlockIndex> {
    let turns = geometry.turns(first / blocks_per_plane, width, geometry.planes());
    turns.into_iter().map(|plane| BlockIndex(plane * blocks_per_plane)).collect()
}

impl Allocation for Zones {
    fn new(context: &FtlContext<'_>) -> Result<Self, BuildError> {
        let pools = (0..context.space.pools).map(|index| ZonePool::new(index, context)).collect::<Result<_, _>>()?;
        Ok(Self { pools, blocks_per_pool: Divisor::new(context.space.blocks_per_pool) })
    }

    fn place<S: OpSink>(
        &mut self,
        pool: u32,
        _owner: u32,
        _stream: u32,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<BlockIndex, FtlError> {
        self.pools[pool as usize].place(cells, page_map)
    }

    fn place_copy<S: OpSink>(
        &mut self,
        pool: u32,
        _owner: u32,
        _at: BlockIndex,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<BlockIndex, FtlError> {
        self.pools[pool as usize].place(cells, page_map)
    }

    fn superseded(&mut self, block: BlockIndex, _valid: u32) {
        let pool = self.blocks_per_pool.divide(block.0).0;
        self.pools[pool as usize].superseded(block);
    }

    fn revived(&mut self, block: BlockIndex, _valid: u32) {
        let pool = self.blocks_per_pool.divide(block.0).0;
        self.pools[pool as usize].revived(block);
    }

    fn dropped_pages(&self) -> u64 {
        self.pools.iter().map(|pool| pool.dropped_pages).sum()
    }

    fn writable_pages(&self) -> u64 {
        let writable = |pool: &ZonePool| {
            // A zone may be opened if at least `reserve` zones stay free.
            let zones = (pool.free.len() as u64).saturating_sub(u64::from(pool.reserve));
            u64::from(pool.room) + zones * u64::from(pool.pages)
        };
        self.pools.iter().map(writable).sum()
    }

    fn memory_bytes(&self) -> usize {
        let bytes = |pool: &ZonePool| {
            size_of_val(&*pool.planes)
                + 4 * pool.free.capacity()
                + size_of_val(&*pool.closed)
                + size_of_val(&*pool.valid)
                + pool.victims.memory_bytes()
        };
        self.pools.iter().map(bytes).sum()
    }

    fn check(&self, flash: &FlashState) {
        self.pools.iter().for_each(|pool| pool.check(flash));
    }
}
