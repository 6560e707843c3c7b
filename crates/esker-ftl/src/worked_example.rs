//! The smallest translation layer: a map of all pages in memory.

use esker_core::registry::ParameterSource;
use esker_core::{LogicalPage, PhysicalPage};
use esker_nand::state::{Cause, FlashState, OpList};

use crate::{Cells, Ftl, FtlEntry, FtlError, LayerCapability, PageMap, Pools, WriteExtent};

pub(crate) const ENTRY: FtlEntry = FtlEntry {
    name: "plain",
    summary: "a map of all pages in memory, and no more",
    source: "none: an example",
    parameters: ParameterSource::NONE,
    // The pools have this capability.
    capabilities: &[LayerCapability::GradualCleaning],
    build: |context, _| {
        let map = Map(vec![None; context.space.host_pages as usize]);
        Ok(Box::new(Plain { map, pools: Pools::new(context)?, count: context.space.pools }))
    },
};

/// Pages go to the allocation pools in turn. The pools have the write frontiers and the free blocks, and do the
/// cleaning.
#[derive(Clone, Debug)]
struct Plain {
    map: Map,
    pools: Pools,
    count: u32,
}

/// Physical pages by logical page. The logical page is also the owner in spare areas.
#[derive(Clone, Debug)]
struct Map(Vec<Option<PhysicalPage>>);

/// Cleaning reports where it copied a page.
impl PageMap for Map {
    fn moved(&mut self, owner: u32, to: PhysicalPage, _: &FlashState) {
        self.0[owner as usize] = Some(to);
    }
}

impl Ftl for Plain {
    fn find(&self, page: LogicalPage) -> Option<PhysicalPage> {
        self.map.0[page.0 as usize]
    }

    fn pool_of(&self, page: LogicalPage) -> u32 {
        page.0 % self.count
    }

    fn read(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) {
        if let Some(at) = self.find(page) {
            cells.read(at, Cause::Host);
        }
    }

    fn write(&mut self, page: LogicalPage, extent: WriteExtent, cells: &mut Cells<'_, OpList>) -> Result<(), FtlError> {
        // Make space first: cleaning may move the very page that is about to be superseded.
        let block = self.pools.place(self.pool_of(page), page.0, 0, cells, &mut self.map)?;
        // A partial write needs the other sectors of the page.
        let read = self.find(page).filter(|_| extent == WriteExtent::Partial).map(|old| cells.read(old, Cause::Host));
        let new = cells.program(block, page.0, Cause::Host, read);
        if let Some(old) = self.map.0[page.0 as usize].replace(new) {
            let (block, valid) = cells.flash.supersede(old);
            self.pools.superseded(block, valid);
        }
        Ok(())
    }

    fn trim(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) {
        if let Some(old) = self.map.0[page.0 as usize].take() {
            let (block, valid) = cells.flash.supersede(old);
            self.pools.superseded(block, valid);
        }
    }

    fn collect(&mut self, pool: u32, cells: &mut Cells<'_, OpList>) -> Result<bool, FtlError> {
        self.pools.clean_ahead(pool, cells, &mut self.map)
    }

    fn writable_pages(&self) -> u64 {
        self.pools.writable_pages()
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&*self.map.0) + self.pools.memory_bytes()
    }

    fn map_bytes(&self) -> u64 {
        4 * self.map.0.len() as u64
    }

    fn check(&self, flash: &FlashState) {
        let mapped = self.map.0.iter().enumerate().filter_map(|(page, at)| Some((page, (*at)?)));
        let wrong = mapped.clone().find(|&(page, at)| !flash.is_valid(at) || flash.owner(at) as usize != page);
        assert_eq!(wrong, None, "a page is mapped to data of another");
        assert_eq!(mapped.count() as u64, flash.valid_pages(), "valid pages that nothing maps to");
        self.pools.check(flash);
    }
}
