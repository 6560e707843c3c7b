//! Tests the rules of placement and cleaning in docs/flash-model.md, operation by operation.

use esker_core::{LogicalPage, Ratio, Rng};
use esker_nand::state::{Cause, FlashOpKind, OpList, Silent};
use esker_nand::{Geometry, GeometrySettings, PoolScope};

use super::*;
use crate::gc::{self, PoolShape};
use crate::testing::{DriveSettings, layer, one_plane};
use crate::{Cells, Choice, Ftl, Space, VICTIM_POLICIES, WriteExtent};

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
    let mut pool = Pool::new(0, &context, None, space.reserve, victims, 1);
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
