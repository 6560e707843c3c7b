//! Recovery through the directory (Kim 2009, section 3.3.4): first translation pages, then only the data blocks that
//! may hold newer pages.

use esker_core::PhysicalPage;
use esker_nand::BlockIndex;
use esker_nand::state::{OpList, SpareArea};

use super::tables::{TRANSLATION, entry, page_of};
use super::{Dftl, Tables};
use crate::recovery::scan_block;
use crate::{Cells, FoundBlock, FtlError};

/// The newest page of each owner.
struct Newest {
    sequences: Vec<u64>,
    /// Encoded as map entries.
    pages: Vec<u32>,
}

impl Newest {
    fn new(owners: usize) -> Self {
        Self { sequences: vec![0; owners], pages: vec![0; owners] }
    }
    fn see(&mut self, owner: u32, page: PhysicalPage, sequence: u64) {
        if sequence > self.sequences[owner as usize] {
            self.sequences[owner as usize] = sequence;
            self.pages[owner as usize] = entry(page);
        }
    }
}

/// Result of the scan so far.
struct Scan {
    blocks: Vec<FoundBlock>,
    /// Per block, whether the spare areas of all its pages are known.
    scanned: Vec<bool>,
    data: Newest,
    translation: Newest,
}

impl Scan {
    /// Reads the first spare area of each block: what the block holds, and since which sequence number. Scans blocks
    /// whose first page is unreadable.
    fn begin(slots: usize, translation_pages: usize, cells: &mut Cells<'_, OpList>) -> Self {
        let geometry = *cells.flash.geometry();
        let blocks = geometry.blocks() as usize;
        let mut scan = Self {
            blocks: vec![FoundBlock::FREE; blocks],
            scanned: vec![false; blocks],
            data: Newest::new(slots),
            translation: Newest::new(translation_pages),
        };
        for index in 0..geometry.blocks() {
            let block = BlockIndex(index);
            match cells.scan_spare(geometry.first_page(block)) {
                SpareArea::Erased => scan.scanned[index as usize] = true,
                SpareArea::Unreadable => scan.scan(block, cells),
                SpareArea::Programmed { owner, sequence, .. } => {
                    // Assume a full block; blocks that may still be open are scanned later.
                    let (programmed, map) = (geometry.data_pages_per_block(), owner & TRANSLATION != 0);
                    scan.blocks[index as usize] = FoundBlock { programmed, full: true, map, opened: sequence };
                }
            }
        }
        scan
    }

    fn scan(&mut self, block: BlockIndex, cells: &mut Cells<'_, OpList>) {
        if std::mem::replace(&mut self.scanned[block.0 as usize], true) {
            return;
        }
        let Self { data, translation, blocks, .. } = self;
        let mut map = false;
        let found = scan_block(block, false, cells, |found| {
            map = found.owner & TRANSLATION != 0;
            let newest = if map { &mut *translation } else { &mut *data };
            newest.see(found.owner & !TRANSLATION, found.page, found.sequence);
        });
        blocks[block.0 as usize] = FoundBlock { map, ..found };
    }

    fn scan_where(&mut self, cells: &mut Cells<'_, OpList>, wanted: impl Fn(u32, &FoundBlock) -> bool) {
        for index in 0..self.blocks.len() as u32 {
            if wanted(index, &self.blocks[index as usize]) {
                self.scan(BlockIndex(index), cells);
            }
        }
    }

    /// Returns the map entry with the newest data of `slot`. `mapped` is the entry in its translation page.
    fn resolve(&self, slot: u32, mapped: u32, cells: &mut Cells<'_, OpList>) -> u32 {
        let found = self.data.pages[slot as usize];
        let Some(page) = page_of(mapped) else { return found };
        // All pages of a scanned block are known: if it still had data of the slot, the scan would have found them.
        if found == mapped || self.scanned[cells.flash.geometry().block_of(page).0 as usize] {
            return found;
        }
        if found == 0 {
            // There is nothing newer: if the page had been erased since, the block would have been scanned.
            return mapped;
        }
        match cells.scan_spare(page) {
            SpareArea::Programmed { owner, sequence, .. }
                if owner == slot && sequence > self.data.sequences[slot as usize] =>
            {
                mapped
            }
            _ => found,
        }
    }
}

impl Dftl {
    pub(super) fn recover_map(&mut self, cells: &mut Cells<'_, OpList>) -> Result<(), FtlError> {
        let Self { tables, pools, .. } = self;
        let (slots, pool_count) = (tables.striping.slots(), tables.striping.pools());
        let blocks_per_pool = cells.flash.geometry().blocks() / pool_count;
        let mut scan = Scan::begin(slots, tables.translation_pages() as usize, cells);
        scan.scan_where(cells, |_, block| block.map);
        let mut saved_before = vec![0; pool_count as usize];
        for page in 0..tables.translation_pages() {
            let Some(at) = page_of(scan.translation.pages[page as usize]) else { continue };
            cells.flash.set_valid(at);
            let content = cells.scan_map(at);
            let pool = tables.pool_of(page) as usize;
            saved_before[pool] = content.saved_before.max(saved_before[pool]);
            tables.restore_page(page, at, &content.entries);
        }
        scan.scan_where(cells, |index, block| {
            block.programmed > 0 && block.opened >= saved_before[(index / blocks_per_pool) as usize]
        });
        let unsaved = tables.resolve(|slot, mapped, cells| scan.resolve(slot, mapped, cells), cells);
        pools.adopt_blocks(&scan.blocks, cells.flash);
        let fits = unsaved.len() <= tables.cache.capacity() as usize;
        if fits {
            for &(slot, page) in &unsaved {
                let index = tables.load(slot);
                let pool = tables.pool_of(tables.translation_page_of(slot)) as usize;
                tables.change_before(index, page, pool, saved_before[pool]);
            }
            return pools.restore(cells, tables);
        }
        tables.recovering.copy_from_slice(&saved_before);
        pools.restore(cells, tables)?;
        let mut pages: Vec<u32> = unsaved.iter().map(|&(slot, _)| tables.translation_page_of(slot)).collect();
        pages.dedup();
        for page in pages {
            // One by one: cleaning writes all marked pages before it has freed a block for the next.
            tables.mark_for_rewrite(page);
            pools.write_updates(tables.pool_of(page), cells, tables)?;
        }
        tables.recovering.fill(u64::MAX);
        Ok(())
    }
}

impl Tables {
    /// Calls `resolve` for every slot. Returns the slots whose data are not where their translation page says, with the
    /// right map entries.
    fn resolve(
        &mut self,
        resolve: impl Fn(u32, u32, &mut Cells<'_, OpList>) -> u32,
        cells: &mut Cells<'_, OpList>,
    ) -> Vec<(u32, u32)> {
        let mut unsaved = Vec::new();
        for slot in 0..self.map.len() as u32 {
            let mapped = self.map[slot as usize];
            let found = resolve(slot, mapped, cells);
            if found != mapped {
                self.map[slot as usize] = found;
                unsaved.push((slot, found));
            }
            if let Some(page) = page_of(found) {
                cells.flash.set_valid(page);
            }
        }
        unsaved
    }
}
