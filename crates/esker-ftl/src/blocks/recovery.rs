//! Recovery of a pool: finds out what its blocks hold after a power failure, and which are still needed.
//!
//! The controller reads all spare areas. The highest version of each logical page counts. Copies keep the version of
//! their source, so several pages with the same data may have it. An interrupted merge is then finished or undone: a
//! block is given up if all its newest pages also lie in blocks that stay. Blocks are judged in the order of opening.
//! So if all pages of an old data block have arrived elsewhere, that block is given up; if some have not, the
//! destination block is given up instead, unless it has pages of its own.
//!
//! The blocks that stay are never more than were in use before the interrupted merge, whatever the order of operations
//! on different dies, because the first program of a block waits for all operations before it. If power may fail, a
//! layer keeps one free block more than its merges need (see [`super::BlockNeeds`]). It is used to gather logical
//! blocks whose pages lie in more blocks than the layer has roles for, which happens through torn pages, or trimmed
//! pages that came back.

use esker_core::PhysicalPage;
use esker_nand::BlockIndex;
use esker_nand::memory::zeroed;
use esker_nand::state::{FlashState, OpSink};

use super::BlockPool;
use crate::recovery::{FoundPage, found_page, scan_block};
use crate::{Cells, FtlError};

/// The layout of a block's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    /// All pages belong to one logical block and lie at their offsets.
    InPlace,
    /// Any other layout.
    Anywhere,
}

/// A block that holds data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptBlock {
    pub(crate) block: BlockIndex,
    /// The role it was opened for; see [`FlashState::open_as`].
    pub(crate) role: u8,
    /// The logical block of its first page with newest data.
    pub(crate) logical: u32,
    /// Sequence number of its last page.
    pub(crate) latest: u64,
    fit: Fit,
}

/// The blocks of one logical block beside its data block, in the order of opening.
#[derive(Clone, Debug)]
pub(crate) struct ExtraBlocks {
    pub(crate) logical: u32,
    pub(crate) blocks: Vec<BlockIndex>,
    latest: u64,
}

/// What the scan found in a block.
struct ScannedBlock {
    block: BlockIndex,
    /// As in [`FlashState::written_in`].
    written: u32,
    role: u8,
    opened: u64,
    latest: u64,
}

impl BlockPool {
    /// Finds out what every block holds, and erases blocks that are not needed. Returns the blocks that stay, in the
    /// order of opening. With `gaps`, programs may have skipped pages.
    pub(super) fn recover<S: OpSink>(&mut self, gaps: bool, cells: &mut Cells<'_, S>) -> Vec<KeptBlock> {
        let mut newest: Vec<u64> = zeroed(self.slots());
        let mut scanned: Vec<ScannedBlock> = self.all().map(|block| scan(block, gaps, &mut newest, cells)).collect();
        scanned.sort_by_key(|scanned| (scanned.opened, scanned.block.0));
        self.adopt_free_blocks(scanned.iter().filter(|block| block.written == 0).map(|block| block.block), cells.flash);
        scanned.retain(|scanned| scanned.written > 0);
        scanned.iter().for_each(|scanned| cells.flash.set_written(scanned.block, scanned.written));
        let needed = self.needed(&scanned, &newest, cells.flash);
        for (scanned, needed) in scanned.iter().zip(&needed) {
            if *needed {
                let counts = |page: &FoundPage| page.version == newest[page.owner as usize];
                let pages = self.pages_of(scanned.block, cells.flash).filter(counts);
                for page in pages.collect::<Vec<_>>() {
                    self.found(page, cells.flash);
                }
            }
        }
        self.mark_valid(cells.flash);
        let mut kept = Vec::new();
        for (scanned, needed) in scanned.iter().zip(needed) {
            if needed {
                kept.push(self.classify(scanned, cells.flash));
            } else {
                self.erase(scanned.block, None, cells);
            }
        }
        kept
    }

    /// Returns, for each block, whether it has to stay.
    fn needed(&self, scanned: &[ScannedBlock], newest: &[u64], flash: &FlashState) -> Vec<bool> {
        let mut holders: Vec<u16> = zeroed(newest.len());
        let counting = |block: BlockIndex| {
            let pages = self.pages_of(block, flash).filter(|page| page.version == newest[page.owner as usize]);
            pages.map(|page| page.owner as usize)
        };
        scanned.iter().for_each(|scanned| counting(scanned.block).for_each(|slot| holders[slot] += 1));
        let needed = scanned.iter().map(|scanned| {
            counting(scanned.block).for_each(|slot| holders[slot] -= 1);
            let needed = counting(scanned.block).any(|slot| holders[slot] == 0);
            if needed {
                counting(scanned.block).for_each(|slot| holders[slot] += 1);
            }
            needed
        });
        needed.collect()
    }

    fn pages_of<'a>(&self, block: BlockIndex, flash: &'a FlashState) -> impl Iterator<Item = FoundPage> + use<'a> {
        let first = flash.geometry().first_page(block).0;
        (first..first + self.pages()).filter_map(|page| found_page(PhysicalPage(page), flash))
    }

    /// Records that `page` holds the newest data of its owner. The last of several such pages wins.
    fn found(&mut self, page: FoundPage, flash: &FlashState) {
        let before = self.page(page.owner).and_then(|before| found_page(before, flash));
        if before.is_none_or(|before| before.sequence < page.sequence) {
            self.set_page(page.owner, page.page);
        }
    }

    fn classify(&self, scanned: &ScannedBlock, flash: &FlashState) -> KeptBlock {
        let first = flash.geometry().first_page(scanned.block).0;
        let mut valid = (0..self.pages()).filter(|offset| flash.is_valid(PhysicalPage(first + offset)));
        let slot = |offset: u32| flash.owner(PhysicalPage(first + offset));
        let logical = valid.clone().next().map(|offset| self.block_of_slot(slot(offset)));
        let logical = logical.expect("a block stays for a page that counts");
        let in_place = valid.all(|offset| slot(offset) == logical * self.pages() + offset);
        let fit = if in_place { Fit::InPlace } else { Fit::Anywhere };
        KeptBlock { block: scanned.block, role: scanned.role, logical, latest: scanned.latest, fit }
    }

    /// Gives each logical block a data block: the first of its blocks that has all pages at their offsets. Returns the
    /// other blocks of each logical block, ordered by when they were last written. Each block of `kept` holds pages of
    /// only one logical block.
    pub(crate) fn assign_data(&mut self, kept: impl Iterator<Item = KeptBlock>) -> Vec<ExtraBlocks> {
        let mut kept: Vec<KeptBlock> = kept.collect();
        kept.sort_by_key(|kept| kept.logical);
        let mut beside = Vec::new();
        for group in kept.chunk_by(|a, b| a.logical == b.logical) {
            let logical = group[0].logical;
            let data = group.iter().find(|kept| kept.fit == Fit::InPlace).map(|kept| kept.block);
            self.set_data(logical, data);
            let rest = || group.iter().filter(|kept| Some(kept.block) != data);
            if let Some(latest) = rest().map(|kept| kept.latest).max() {
                beside.push(ExtraBlocks { logical, blocks: rest().map(|kept| kept.block).collect(), latest });
            }
        }
        beside.sort_by_key(|beside| beside.latest);
        beside
    }

    /// Gathers a logical block in a new data block, and erases its other blocks.
    pub(crate) fn gather_all<S: OpSink>(
        &mut self,
        beside: &ExtraBlocks,
        cells: &mut Cells<'_, S>,
    ) -> Result<(), FtlError> {
        let last = self.gather(beside.logical, cells)?;
        beside.blocks.iter().for_each(|block| self.erase(*block, last, cells));
        self.counters.gathered(1);
        Ok(())
    }
}

/// Reads the spare areas of `block`.
fn scan<S: OpSink>(block: BlockIndex, gaps: bool, newest: &mut [u64], cells: &mut Cells<'_, S>) -> ScannedBlock {
    let (mut latest, mut role) = (0, 0);
    let found = scan_block(block, gaps, cells, |page| {
        let newest = &mut newest[page.owner as usize];
        *newest = page.version.max(*newest);
        (latest, role) = (page.sequence, page.role);
    });
    // This includes the summary page, if there is one.
    let written = if found.full { cells.flash.geometry().pages_per_block() } else { found.programmed };
    ScannedBlock { block, written, role, opened: found.opened, latest }
}
