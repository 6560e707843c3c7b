//! The pages of a block that is cleaned, and which of them their owner still needs.

use esker_core::{PhysicalPage, StreamId};
use esker_nand::BlockIndex;
use esker_nand::state::{FlashState, OpSink};

use super::PageMap;
use crate::Cells;

/// Asks the owner of `from` whether the page is still needed, and unmaps it if not. Returns true if it was dropped.
pub(crate) fn drop_unwanted<S: OpSink>(
    from: PhysicalPage,
    cells: &mut Cells<'_, S>,
    page_map: &mut impl PageMap,
) -> bool {
    let owner = cells.flash.owner(from);
    let (Some(page), Some(asked)) = (page_map.droppable(owner, cells.flash), &mut cells.owner) else {
        return false;
    };
    if asked.keep(page) {
        return false;
    }
    page_map.dropped(owner, cells.flash);
    cells.flash.supersede(from);
    true
}

/// Asks the owner for the stream to which `from`, which is kept, is copied; `None` if there is no owner, or if it
/// leaves the choice to the layer.
#[inline]
pub(super) fn asked_stream<S: OpSink>(
    from: PhysicalPage,
    cells: &mut Cells<'_, S>,
    page_map: &impl PageMap,
) -> Option<StreamId> {
    let owner = cells.owner.as_mut()?;
    owner.stream(page_map.droppable(cells.flash.owner(from), cells.flash)?)
}

/// Reports to the owner which suspected pages are lost with `block`, which is about to be erased.
#[cold]
pub(crate) fn report_lost<S: OpSink>(block: BlockIndex, cells: &mut Cells<'_, S>, page_map: &mut impl PageMap) {
    let geometry = *cells.flash.geometry();
    let first_page = geometry.first_page(block).0;
    for page in first_page..first_page + cells.flash.written_in(block).min(geometry.data_pages_per_block()) {
        let lost = page_map.lost(cells.flash.owner(PhysicalPage(page)), PhysicalPage(page));
        if let (Some(page), Some(owner)) = (lost, &mut cells.owner) {
            owner.erased(page);
        }
    }
}

/// Iterates over the valid pages of `block`.
pub(super) fn valid_pages(flash: &FlashState, block: BlockIndex) -> impl Iterator<Item = PhysicalPage> {
    let first_page = flash.geometry().first_page(block).0;
    (0..flash.words_per_block()).flat_map(move |word| {
        let mut valid = flash.valid_word(block, word);
        std::iter::from_fn(move || {
            let offset = valid.trailing_zeros();
            (valid != 0).then(|| {
                valid &= valid - 1;
                PhysicalPage(first_page + 64 * word as u32 + offset)
            })
        })
    })
}
