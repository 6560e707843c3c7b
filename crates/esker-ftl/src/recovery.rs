//! Recovery after a power failure: what several translation layers have in common.

use esker_core::PhysicalPage;
use esker_nand::BlockIndex;
use esker_nand::state::{FlashState, OpSink, SpareArea};

use crate::Cells;

/// What recovery learned about a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundBlock {
    /// Number of pages up to the last one that is programmed or unreadable; zero for a free block.
    pub programmed: u32,
    /// Whether it takes no more pages.
    pub full: bool,
    /// Whether it holds pages of the map.
    pub map: bool,
    /// Sequence number of its first programmed page; zero if that page is unreadable.
    pub opened: u64,
}

impl FoundBlock {
    /// A block with every page erased.
    pub(crate) const FREE: Self = Self { programmed: 0, full: false, map: false, opened: 0 };
}

/// What the spare area of a programmed page holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundPage {
    pub(crate) page: PhysicalPage,
    pub(crate) owner: u32,
    pub(crate) sequence: u64,
    pub(crate) version: u64,
    pub(crate) role: u8,
}

/// Returns what the spare area of `page` holds, if it can be read.
pub(crate) fn found_page(page: PhysicalPage, flash: &FlashState) -> Option<FoundPage> {
    match flash.spare(page) {
        SpareArea::Programmed { owner, sequence, version, role } => {
            Some(FoundPage { page, owner, sequence, version, role })
        }
        SpareArea::Erased | SpareArea::Unreadable => None,
    }
}

/// Reads the spare areas of `block`: from its summary if it has one; otherwise page by page, up to the first erased
/// page, or to the end if programs may have left `gaps`. Calls `each` for every spare area that can be read.
pub(crate) fn scan_block<S: OpSink>(
    block: BlockIndex,
    gaps: bool,
    cells: &mut Cells<'_, S>,
    mut each: impl FnMut(FoundPage),
) -> FoundBlock {
    let geometry = *cells.flash.geometry();
    let (first, data_pages) = (geometry.first_page(block).0, geometry.data_pages_per_block());
    let summary = PhysicalPage(first + geometry.pages_per_block() - 1);
    let last = if geometry.block_summary() { Some(cells.scan_spare(summary)) } else { None };
    let listed = matches!(last, Some(SpareArea::Programmed { .. }));
    let mut found = FoundBlock::FREE;
    for offset in 0..data_pages {
        let page = PhysicalPage(first + offset);
        if !listed {
            cells.scan_spare(page);
        }
        if cells.flash.spare(page) == SpareArea::Erased {
            if gaps {
                continue;
            }
            break;
        }
        if let Some(page) = found_page(page, cells.flash) {
            if found.programmed == 0 {
                found.opened = page.sequence;
            }
            each(page);
        }
        found.programmed = offset + 1;
    }
    found.full = found.programmed == data_pages && last != Some(SpareArea::Erased);
    found
}
