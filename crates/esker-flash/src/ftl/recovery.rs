//! What translation layers share that recover after a power failure.

use esker_core::PhysicalPage;

use crate::BlockIndex;
use crate::nand::{Cause, FlashState, OpSink, Spare};

/// What recovery found out about a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundBlock {
    /// Pages that are programmed, or cannot be read; zero for a block that is free.
    pub programmed: u32,
    /// Whether it takes no more pages.
    pub full: bool,
    /// Whether it holds the map.
    pub map: bool,
    /// The sequence number of its first page; zero where that cannot be read.
    pub opened: u64,
}

impl FoundBlock {
    /// A block whose every page is erased.
    pub(crate) const FREE: Self = Self { programmed: 0, full: false, map: false, opened: 0 };
}

/// Reads what the spare areas of `block` say, from its summary where it has one, else page by page up to the first that is
/// erased. Tells `each` of those that can be read.
pub(crate) fn scan_block<S: OpSink>(
    block: BlockIndex,
    flash: &mut FlashState,
    sink: &mut S,
    mut each: impl FnMut(PhysicalPage, u32, u64),
) -> FoundBlock {
    let geometry = *flash.geometry();
    let (first, data_pages) = (geometry.first_page(block).0, geometry.data_pages_per_block());
    let summary = PhysicalPage(first + geometry.pages_per_block() - 1);
    let last = if geometry.block_summary() { Some(flash.scan_spare(summary, sink)) } else { None };
    let listed = matches!(last, Some(Spare::Programmed { .. }));
    let mut found = FoundBlock::FREE;
    for offset in 0..data_pages {
        let page = PhysicalPage(first + offset);
        if !listed {
            flash.read_spare(page, Cause::Recovery, sink);
        }
        match flash.spare(page) {
            Spare::Erased => break,
            Spare::Unreadable => {}
            Spare::Programmed { owner, sequence } => {
                if offset == 0 {
                    found.opened = sequence;
                }
                each(page, owner, sequence);
            }
        }
        found.programmed += 1;
    }
    found.full = found.programmed == data_pages && last != Some(Spare::Erased);
    found
}
