//! Recovery of a pool after a power failure.

use esker_core::bits;

use esker_nand::state::{FlashState, OpSink};

use super::Pool;
use crate::numbers::PoolBlock;
use crate::pools::PageMap;
use crate::{Cells, FoundBlock, FtlError};

impl Pool {
    /// See [`crate::Pools::adopt_blocks`].
    pub(in crate::pools) fn adopt_blocks(&mut self, found: &[FoundBlock], flash: &mut FlashState) {
        self.free.iter_mut().for_each(|blocks| blocks.clear());
        self.free_blocks = 0;
        if let Some(wear) = &mut self.wear {
            wear.recover(flash);
        }
        // Policies may depend on the order in which blocks were closed.
        let mut in_order: Vec<PoolBlock> = self.numbers.all().collect();
        in_order.sort_by_key(|block| found[block.index()].opened);
        let mut open = Vec::new();
        for block in in_order {
            let state = found[block.index()];
            if self.wear.as_ref().is_some_and(|wear| wear.is_bad(block)) {
                continue;
            }
            if state.programmed == 0 {
                self.free[self.numbers.part(block).index()].push_back(block);
                self.free_blocks += 1;
                continue;
            }
            if let (true, Some(map)) = (state.map, &mut self.map) {
                bits::set(&mut self.holds_map, block.index());
                map.in_use += 1;
            }
            if state.full {
                let valid = flash.valid_in(self.numbers.on_device(block));
                self.close(block, valid);
            } else {
                open.push(block);
            }
        }
        self.free.iter_mut().for_each(|blocks| blocks.make_contiguous().sort_unstable());
        // The blocks with the most room become open blocks.
        open.sort_by_key(|block| (found[block.index()].programmed, *block));
        for block in open {
            let state = found[block.index()];
            let home = self.numbers.part(block);
            let is_map = state.map;
            let vacant =
                |index: &usize| self.frontiers[*index].block.is_none() && self.is_map_frontier(*index) == is_map;
            let place = (0..self.frontiers.len()).filter(vacant).min_by_key(|i| self.frontiers[*i].home != home);
            let Some(index) = place else {
                let valid = flash.valid_in(self.numbers.on_device(block));
                self.close(block, valid);
                continue;
            };
            let frontier = &mut self.frontiers[index];
            frontier.block = Some(self.numbers.on_device(block));
            frontier.room = self.data_pages_per_block - state.programmed;
            frontier.opened = state.opened;
            if let (false, Some(stream)) = (is_map, self.stream_of_block.get_mut(block.index())) {
                *stream = (index as u32 / self.data_frontiers) as u8;
            }
        }
        self.record_oldest_open(flash);
    }

    /// See [`crate::Pools::restore`].
    pub(in crate::pools) fn restore<S: OpSink>(
        &mut self,
        cells: &mut Cells<'_, S>,
        page_map: &mut impl PageMap,
    ) -> Result<(), FtlError> {
        let mut attempts = 64 * self.blocks();
        while self.free_blocks < self.reserve {
            self.clean(true, cells, page_map)?;
            attempts = attempts.checked_sub(1).ok_or(FtlError::NoSpace)?;
        }
        Ok(())
    }

    pub(super) fn record_oldest_open(&self, flash: &mut FlashState) {
        let data = &self.frontiers[..self.first_map_frontier as usize];
        let oldest = data.iter().map(|frontier| frontier.opened).min().unwrap_or(u64::MAX);
        flash.set_oldest_open(self.index, oldest);
    }
}
