//! Tests the rules of placement and cleaning in docs/flash-model.md, operation by operation.

use esker_core::{LogicalPage, Ratio, Rng};
use esker_nand::state::{Cause, FlashOpKind, OpList, Silent};
use esker_nand::{Geometry, GeometrySettings, PoolScope};

use super::*;
use crate::gc::{self, PoolShape};
use crate::testing::{DriveSettings, layer, one_plane};
use crate::{Cells, Choice, Ftl, Space, VICTIM_POLICIES, WearLevelling, WearSettings, WriteExtent};

/// One pool of `dies` dies with 8 blocks of 4 pages each. Half of the pages are the host's, and a quarter of the blocks
/// is kept free.
fn settings(dies: u32) -> DriveSettings {
    let mut layer = layer("page", 50, PoolScope::Device);
    layer.cleaning.threshold = Ratio::percent(25);
    DriveSettings { geometry: GeometrySettings { channels: dies, ..one_plane(8, 4) }, block_summary: false, layer }
}

struct Drive {
    ftl: Box<dyn Ftl>,
    flash: FlashState,
    host_pages: u32,
}

impl Drive {
    fn new(dies: u32) -> Self {
        Self::of(&settings(dies))
    }

    fn of(settings: &DriveSettings) -> Self {
        let geometry = Geometry::new(&settings.geometry, false).unwrap();
        let space = Space::new(settings, &geometry).unwrap();
        let ftl = crate::build(&FtlContext { geometry: &geometry, space: &space, settings, seed: 1 }).unwrap();
        let mut drive = Self { ftl, flash: FlashState::new(&geometry), host_pages: space.host_pages };
        for page in 0..drive.host_pages {
            drive.write(page, WriteExtent::Whole);
        }
        drive
    }

    fn write(&mut self, page: u32, extent: WriteExtent) -> Vec<(FlashOpKind, Cause)> {
        let mut ops = OpList::default();
        self.ftl.write(LogicalPage(page), extent, &mut Cells::new(&mut self.flash, &mut ops)).unwrap();
        ops.as_slice().iter().map(|op| (op.kind, op.cause)).collect()
    }

    /// Returns the blocks that a write of `page` erases.
    fn erased_by(&mut self, page: u32) -> Vec<u32> {
        let erased = |(kind, _)| if let FlashOpKind::Erase { block } = kind { Some(block.0) } else { None };
        self.write(page, WriteExtent::Whole).into_iter().filter_map(erased).collect()
    }
}

#[test]
fn a_full_block_is_a_candidate_once_its_frontier_goes_on_and_ties_go_to_the_lowest() {
    let mut drive = Drive::new(2);
    // Blocks 0 to 3 and 8 to 11 hold the even and the odd pages. The writes below fill blocks 4 and 12, then 5 and 13
    // in turn. They leave two valid pages in each of 0 to 3 and in 8, three in 9 to 11, and four in 4, 5 and 12.
    for pages in [[0, 3], [8, 11], [16, 19], [24, 27], [2, 1], [10, 1], [18, 1], [26, 1]] {
        pages.into_iter().for_each(|page| assert!(drive.erased_by(page).is_empty()));
    }
    drive.ftl.trim(LogicalPage(1), &mut Cells::new(&mut drive.flash, &mut OpList::default()));
    assert_eq!(drive.flash.valid_in(BlockIndex(13)), 0);
    // The first die's frontier is next. Block 13 is full and all superseded, but not closed, as the second die's
    // frontier has not opened another block yet.
    assert_eq!(drive.erased_by(31), [0]);
    assert_eq!(drive.erased_by(29), [13]);
}

/// A write that starts cleaning goes to the die of the last victim, and reads the old data after the cleaning.
#[test]
fn a_write_follows_its_cleaning_and_so_does_what_it_reads() {
    for dies in [1, 2, 3, 4] {
        let mut drive = Drive::new(dies);
        let mut rng = Rng::new(3);
        let mut cleanings = 0;
        for _ in 0..500 {
            let ops = drive.write(rng.below(u64::from(drive.host_pages)) as u32, WriteExtent::Partial);
            let [
                cleaning @ ..,
                (FlashOpKind::Read { .. }, Cause::Host),
                (FlashOpKind::Program { page, .. }, Cause::Host),
            ] = &ops[..]
            else {
                panic!("{ops:?}")
            };
            assert!(cleaning.iter().all(|(_, cause)| *cause == Cause::Cleaning), "{ops:?}");
            if let Some((FlashOpKind::Erase { block }, _)) = cleaning.last() {
                cleanings += 1;
                let geometry = drive.flash.geometry();
                assert_eq!(geometry.die_of(*block), geometry.die_of(geometry.block_of(*page)), "{ops:?}");
            }
        }
        assert!(cleanings > 50);
    }
}

/// Whatever block a policy picks, a write cleans fewer blocks than its pool has pages: each gains a page at least, or
/// the policy soon picks one that does.
#[test]
fn cleaning_always_ends() {
    for entry in VICTIM_POLICIES {
        for dies in 1..=3 {
            let mut settings = settings(dies);
            settings.cleaning.victim = Choice::named(entry.name);
            let mut drive = Drive::of(&settings);
            let mut rng = Rng::new(5);
            let pages = drive.flash.geometry().pages() as usize;
            // Writes all over the space, then in a quarter of it: the rest stays valid.
            for part in [1, 4] {
                for _ in 0..1000 {
                    let erased = drive.erased_by(rng.below(u64::from(drive.host_pages / part)) as u32);
                    assert!(erased.len() < pages, "{}: {} blocks", entry.name, erased.len());
                }
            }
        }
    }
}

#[test]
fn a_die_without_free_blocks_borrows_from_the_one_with_most() {
    let settings = settings(4);
    let geometry = Geometry::new(&settings.geometry, false).unwrap();
    let space = Space::new(&settings, &geometry).unwrap();
    let context = FtlContext { geometry: &geometry, space: &space, settings: &settings, seed: 1 };
    let shape = PoolShape { blocks: space.blocks_per_pool, data_pages_per_block: space.data_pages_per_block };
    let victims = gc::build(&Choice::named("greedy"), &shape, 1).unwrap();
    let mut pool = Pool::new(0, &context, None, victims, 1);
    let mut flash = FlashState::new(&geometry);
    let free: [&[u32]; 4] = [&[], &[9, 10], &[22, 17, 20], &[25, 24, 28]];
    pool.free = free.iter().map(|blocks| blocks.iter().map(|block| PoolBlock(*block)).collect()).collect();
    pool.free_blocks = 8;
    let mut opened = |frontier: usize| {
        pool.frontiers[frontier].room = 0;
        pool.open(frontier, &mut Cells::new(&mut flash, &mut Silent)).unwrap();
        pool.frontiers[frontier].block.take().unwrap().0
    };
    // Two dies have three free blocks: the first of these gives the block that was erased first. Then the other die has
    // the most.
    assert_eq!([opened(0), opened(0)], [22, 25]);
    // Now all have two.
    assert_eq!([opened(0), opened(1)], [9, 10]);
}

/// One die of 8 blocks of 4 pages. Pages 0 to 7 are written once, and lie in blocks 0 and 1. The others are overwritten
/// in order, so that blocks 2 to 6 are erased in turn, without a copy. Block 7 is written once and never cleaned: ties
/// go to the lowest. So the k-th erase of a block is at least the (5k - 4)-th of all.
fn levelled(ftl: &str, levelling: WearLevelling, spread: u32) -> Drive {
    let mut settings = settings(1);
    settings.ftl = Choice::named(ftl);
    settings.wear = Some(WearSettings { levelling, spread, ..WearSettings::default() });
    Drive::of(&settings)
}

impl Drive {
    /// Overwrites hot pages from the `next` one on until `erases` more blocks were erased. Returns the erases and the
    /// copies that only levelled wear.
    fn overwrite(&mut self, next: &mut u32, erases: u64) -> (usize, usize) {
        let end = self.flash.counts().erases + erases;
        let (mut erased, mut copied) = (0, 0);
        while self.flash.counts().erases < end {
            let ops = self.write(8 + *next % 8, WriteExtent::Whole);
            *next += 1;
            let levelling = ops.into_iter().filter(|(_, cause)| *cause == Cause::WearLevelling);
            for (kind, _) in levelling {
                erased += usize::from(matches!(kind, FlashOpKind::Erase { .. }));
                copied += usize::from(matches!(kind, FlashOpKind::Copy { .. }));
            }
        }
        (erased, copied)
    }
}

#[test]
fn static_levelling_begins_with_the_first_erase_beyond_the_spread() {
    for spread in [1, 2, 5] {
        let (mut drive, mut next) = (levelled("page", WearLevelling::Static, spread), 0);
        assert_eq!(drive.overwrite(&mut next, 5 * u64::from(spread)), (0, 0), "{spread}");
        // The block that was erased takes the four pages of a cold one, which is erased in its place.
        assert_eq!(drive.overwrite(&mut next, 1), (1, 4), "{spread}");
        assert_eq!(drive.ftl.wear().unwrap().migrated, 1);
        drive.ftl.check(&drive.flash);
    }
}

/// Block 0 keeps one page of its four. A worn block that took it would be the next victim again.
#[test]
fn a_worn_block_takes_no_data_of_a_block_that_is_soon_cleaned() {
    let (mut drive, mut next) = (levelled("page", WearLevelling::Static, 2), 0);
    for page in 0..3 {
        drive.ftl.trim(LogicalPage(page), &mut Cells::new(&mut drive.flash, &mut OpList::default()));
    }
    assert_eq!(drive.overwrite(&mut next, 10), (0, 0));
    assert_eq!(drive.overwrite(&mut next, 1), (1, 4), "block 1");
    assert_eq!(drive.flash.erases_of(BlockIndex(0)), 0);
    assert_eq!(drive.flash.erases_of(BlockIndex(1)), 1);
}

#[test]
fn a_pause_ends_levelling_at_once_and_its_end_resumes_it_with_the_next_erase() {
    let (mut drive, mut next) = (levelled("page", WearLevelling::Static, 2), 0);
    assert_eq!(drive.overwrite(&mut next, 10), (0, 0));
    drive.ftl.pause_levelling(true).unwrap();
    assert_eq!(drive.overwrite(&mut next, 50), (0, 0));
    // The counts of five blocks are 12 now, and those of the cold ones 0.
    drive.ftl.pause_levelling(false).unwrap();
    assert_eq!(drive.overwrite(&mut next, 1), (1, 4));
    drive.ftl.pause_levelling(true).unwrap();
    assert_eq!(drive.overwrite(&mut next, 30), (0, 0));
    drive.ftl.check(&drive.flash);
}

#[test]
fn only_levelling_that_moves_data_can_be_paused() {
    for levelling in [WearLevelling::None, WearLevelling::RateLimit, WearLevelling::Migration, WearLevelling::Static] {
        let answer = levelled("page", levelling, 2).ftl.pause_levelling(true);
        let moves = matches!(levelling, WearLevelling::Migration | WearLevelling::Static);
        assert_eq!(answer.is_ok(), moves, "{levelling:?}: {answer:?}");
    }
    let mut unworn = Drive::new(1);
    let error = unworn.ftl.pause_levelling(true).unwrap_err();
    assert_eq!(error.to_string(), "this device does not support pausing wear-levelling: it moves no data for that");
    let mut by_block = settings(1);
    by_block.ftl = Choice::named("block");
    let error = Drive::of(&by_block).ftl.pause_levelling(true).unwrap_err();
    assert_eq!(error.to_string(), "this device does not support wear-levelling");
}
