//! The whole map in memory, page by page: the ideal that other translation layers are measured against. No model of a
//! controller with little memory.

use esker_core::{LogicalPage, PhysicalPage};

use crate::SsdError;
use crate::ftl::pools::Striping;
use crate::ftl::{Ftl, FtlContext, FtlEntry, FtlError, Part, Pools};
use crate::nand::{Cause, FlashState, OpList, OpSink, Silent};

pub(crate) static ENTRY: FtlEntry = FtlEntry {
    name: "page",
    summary: "a map of all pages in memory",
    source: "Agrawal et al. 2008, section 3.1; the baseline of Kim 2009, chapter 3",
    build: |context, parameters| {
        parameters.finish()?;
        Ok(Box::new(PageFtl::new(context)?))
    },
};

const UNMAPPED: u32 = u32::MAX;

/// The page-mapped translation layer.
#[derive(Debug)]
struct PageFtl {
    striping: Striping,
    /// Per slot of a logical page its physical page, or [`UNMAPPED`].
    map: Vec<u32>,
    pools: Pools,
}

impl PageFtl {
    fn new(context: &FtlContext<'_>) -> Result<Self, SsdError> {
        let striping = Striping::new(context);
        Ok(Self { map: vec![UNMAPPED; striping.slots()], striping, pools: Pools::new(context)? })
    }

    #[inline]
    fn write_to<S: OpSink>(
        &mut self,
        page: LogicalPage,
        part: Part,
        flash: &mut FlashState,
        sink: &mut S,
    ) -> Result<(), FtlError> {
        let Self { striping, map, pools } = self;
        let (pool, slot) = striping.locate(page.0);
        // Space first: cleaning may move the very page that is about to be superseded.
        let block = pools.place(pool, flash, sink, &mut |owner, to| map[owner as usize] = to.0)?;
        let old = map[slot as usize];
        let read = match part {
            Part::Some if old != UNMAPPED => Some(flash.read(PhysicalPage(old), Cause::Host, sink)),
            _ => None,
        };
        map[slot as usize] = flash.program(block, slot, Cause::Host, read, sink).0;
        if old != UNMAPPED {
            let (block, valid) = flash.supersede(PhysicalPage(old));
            pools.superseded(block, valid);
        }
        Ok(())
    }
}

impl Ftl for PageFtl {
    #[inline]
    fn find(&self, page: LogicalPage) -> Option<PhysicalPage> {
        let at = self.map[self.striping.locate(page.0).1 as usize];
        (at != UNMAPPED).then_some(PhysicalPage(at))
    }

    fn read(&mut self, page: LogicalPage, flash: &mut FlashState, ops: &mut OpList) {
        if let Some(at) = self.find(page) {
            flash.read(at, Cause::Host, ops);
        }
    }

    fn write(
        &mut self,
        page: LogicalPage,
        part: Part,
        flash: &mut FlashState,
        ops: &mut OpList,
    ) -> Result<(), FtlError> {
        self.write_to(page, part, flash, ops)
    }

    fn trim(&mut self, page: LogicalPage, flash: &mut FlashState, _: &mut OpList) {
        let slot = self.striping.locate(page.0).1 as usize;
        let old = std::mem::replace(&mut self.map[slot], UNMAPPED);
        if old != UNMAPPED {
            let (block, valid) = flash.supersede(PhysicalPage(old));
            self.pools.superseded(block, valid);
        }
    }

    fn collect(&mut self, flash: &mut FlashState, ops: &mut OpList) -> Result<bool, FtlError> {
        let Self { map, pools, .. } = self;
        pools.clean(pools.neediest(), flash, ops, &mut |owner, to| map[owner as usize] = to.0)
    }

    fn write_untimed(&mut self, pages: &[LogicalPage], flash: &mut FlashState) -> Result<(), FtlError> {
        pages.iter().try_for_each(|page| self.write_to(*page, Part::Whole, flash, &mut Silent))
    }

    fn writable_pages(&self) -> u64 {
        self.pools.writable_pages()
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&*self.map) + self.pools.memory_bytes()
    }

    fn check(&self, flash: &FlashState) {
        let mut mapped = 0;
        for (slot, &at) in self.map.iter().enumerate().filter(|(_, at)| **at != UNMAPPED) {
            let at = PhysicalPage(at);
            assert!(flash.is_valid(at), "slot {slot} maps to {at}, which holds no valid data");
            assert_eq!(flash.owner(at) as usize, slot, "slot {slot} maps to data of another");
            mapped += 1;
        }
        assert_eq!(mapped, flash.valid_pages(), "valid pages that nothing maps to");
        self.pools.check(flash);
    }
}
