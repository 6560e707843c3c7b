//! The write modes of pages.

use esker_core::PhysicalPage;

use super::FlashState;
use crate::state::page_modes::PageModes;
use crate::state::{HostAccess, ModeCounts, ModePolicy, OpIndex, WriteMode};

impl FlashState {
    /// Makes `policy` choose the mode of each program from now on. All cells must be erased.
    pub fn keep_modes(&mut self, policy: Box<dyn ModePolicy>) {
        self.modes = Some(Box::new(PageModes::new(policy, self.geometry.pages())));
    }

    /// Returns the mode in which `page` was last programmed.
    pub fn mode_of(&self, page: PhysicalPage) -> WriteMode {
        self.modes.as_ref().map_or(WriteMode::Normal, |modes| modes.mode_of(page))
    }

    /// Sets whether the host reads or writes the pages that are accessed for it from now on.
    #[inline]
    pub fn begin_access(&mut self, access: HostAccess) {
        if let Some(modes) = &mut self.modes {
            modes.access = access;
            modes.wish = None;
        }
    }

    /// Returns the read of the current access whose page should be programmed in another mode. The next program for
    /// [`Cause::ReEncoding`](crate::state::Cause::ReEncoding) uses that mode.
    #[inline]
    pub fn re_encoding(&self) -> Option<OpIndex> {
        self.modes.as_ref().and_then(|modes| modes.wish).map(|(read, _)| read)
    }

    /// Returns the counts by mode since they were reset, or `None` if there is only one mode.
    pub fn mode_counts(&self) -> Option<&ModeCounts> {
        self.modes.as_ref().map(|modes| &modes.counts)
    }

    /// Returns the policy that chooses modes.
    pub fn mode_policy(&self) -> Option<&dyn ModePolicy> {
        self.modes.as_ref().map(|modes| &*modes.policy)
    }

    /// Resets the counts by mode.
    pub fn reset_mode_counts(&mut self) {
        if let Some(modes) = &mut self.modes {
            modes.counts = ModeCounts::default();
        }
    }

    /// Returns the bytes that the simulator keeps for tags.
    pub(super) fn mode_bytes(&self) -> usize {
        self.modes.as_ref().map_or(0, |modes| modes.memory_bytes())
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::state::{Cause, OpList, OpModes, Silent};
    use crate::{BlockIndex, Geometry, GeometrySettings};

    /// The mode of a page is given by its owner; reads ask for another one.
    #[derive(Clone, Debug)]
    struct ByOwner;

    impl ModePolicy for ByOwner {
        fn usual(&self) -> WriteMode {
            WriteMode::MediumCost
        }
        fn modes(&self) -> &'static [WriteMode] {
            &WriteMode::ALL
        }
        fn record_read(&mut self, _: u32) {}
        fn record_write(&mut self, _: u32) {}
        fn choose(&self, page: u32) -> WriteMode {
            WriteMode::ALL[page as usize % 4]
        }
        fn re_encode(&self, _: u32, _: WriteMode) -> Option<WriteMode> {
            Some(WriteMode::HighCost)
        }
        fn forget(&mut self) {}
        fn memory_bits(&self) -> u64 {
            0
        }
    }

    const PAGES: u32 = 4;
    const BLOCKS: u32 = 3;

    fn flash() -> FlashState {
        let settings = GeometrySettings {
            channels: 1,
            packages_per_channel: 1,
            dies_per_package: 1,
            planes_per_die: 1,
            blocks_per_plane: BLOCKS,
            pages_per_block: PAGES,
            page_size: Bytes::kib(4),
            spare_size: Bytes(0),
            units_per_page: 1,
        };
        let mut flash = FlashState::new(&Geometry::new(&settings, false).unwrap());
        flash.keep_journal(BLOCKS);
        flash.keep_modes(Box::new(ByOwner));
        flash
    }

    /// The mode of each page that is programmed.
    fn modes(flash: &FlashState) -> Vec<Option<WriteMode>> {
        let programmed = |page: u32| page % PAGES < flash.written_in(BlockIndex(page / PAGES));
        let mode = |page| programmed(page).then(|| flash.mode_of(PhysicalPage(page)));
        (0..BLOCKS * PAGES).map(mode).collect()
    }

    /// Programs data or a map page to `block`, copies a page to it, or erases it. Returns false if that is not
    /// possible.
    fn change(flash: &mut FlashState, kind: u8, block: BlockIndex, owner: u32) -> bool {
        let full = flash.written_in(block) == PAGES;
        let first = block.0 * PAGES;
        match kind {
            0 if !full => _ = flash.program(block, owner, Cause::Host, None, &mut Silent),
            1 if !full => _ = flash.program_map(block, owner, None, false, &mut Silent),
            2 if !full => {
                let valid = (0..BLOCKS * PAGES).map(PhysicalPage).find(|page| flash.is_valid(*page));
                let Some(from) = valid.filter(|from| from.0 / PAGES != block.0) else { return false };
                flash.copy(from, block, Cause::Cleaning, &mut Silent);
            }
            3 => {
                let valid = (first..first + PAGES).map(PhysicalPage).filter(|page| flash.is_valid(*page));
                let valid: Vec<PhysicalPage> = valid.collect();
                valid.into_iter().for_each(|page| _ = flash.supersede(page));
                flash.erase(block, Cause::Cleaning, &mut Silent);
            }
            _ => return false,
        }
        true
    }

    proptest! {
        /// Whatever a power failure undoes, each remaining page has the mode in which it was programmed.
        #[test]
        fn pages_keep_their_modes_over_a_power_failure(
            changes in prop::collection::vec((0u8..4, 0..BLOCKS, 0u32..8), 1..60),
            kept: prop::sample::Index,
        ) {
            let mut flash = flash();
            let mut after = vec![modes(&flash)];
            for (kind, block, owner) in changes {
                if change(&mut flash, kind, BlockIndex(block), owner) {
                    after.push(modes(&flash));
                }
            }
            let kept = kept.index(after.len());
            flash.power_failure(&[kept], false);
            prop_assert_eq!(&modes(&flash), &after[kept]);
        }
    }

    #[test]
    fn pages_of_the_map_have_the_usual_mode_wherever_they_are_copied() {
        let mut flash = flash();
        let page = flash.program_map(BlockIndex(0), 1, None, false, &mut Silent);
        assert_eq!(flash.mode_of(page), WriteMode::MediumCost);
        let (_, copy) = flash.copy(page, BlockIndex(1), Cause::WearLevelling, &mut Silent);
        assert_eq!(flash.mode_of(copy), WriteMode::MediumCost, "owner 1 would have low cost");
        let data = flash.program(BlockIndex(0), 1, Cause::Host, None, &mut Silent);
        assert_eq!(flash.mode_of(data), WriteMode::LowCost);
    }

    #[test]
    fn only_reads_for_the_host_ask_for_another_mode() {
        let mut flash = flash();
        let mut ops = OpList::default();
        let page = flash.program(BlockIndex(0), 1, Cause::Host, None, &mut ops);
        for (access, cause, asks) in [
            (HostAccess::None, Cause::Host, None),
            (HostAccess::Write, Cause::Host, None),
            (HostAccess::Read, Cause::Cleaning, None),
            (HostAccess::Read, Cause::Host, Some(OpIndex(4))),
        ] {
            flash.begin_access(access);
            flash.read(page, cause, &mut ops);
            assert_eq!(flash.re_encoding(), asks, "{access:?}");
        }
        let again = flash.program(BlockIndex(0), 1, Cause::ReEncoding, Some(OpIndex(4)), &mut ops);
        assert_eq!(flash.mode_of(again), WriteMode::HighCost);
        let last = *ops.as_slice().last().unwrap();
        assert_eq!(last.modes, OpModes::programming(WriteMode::HighCost));
        assert_eq!(ops.as_slice()[1].modes, OpModes::reading(WriteMode::LowCost));
        flash.begin_access(HostAccess::None);
        assert_eq!(flash.re_encoding(), None);
        assert_eq!(flash.mode_counts().unwrap().programs[3][Cause::ReEncoding as usize], 1);
    }
}
