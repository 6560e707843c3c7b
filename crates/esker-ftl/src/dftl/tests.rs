//! Lookups, evictions and cleaning of DFTL, operation by operation.

use std::collections::BTreeMap;

use esker_core::{Ratio, Rng};
use esker_nand::state::{FlashOp, FlashOpKind, OpModes, Transfer};
use esker_nand::{Geometry, PoolScope, ValueError};
use esker_results::Counters;

use super::*;
use crate::testing::{DriveSettings, layer, one_plane};
use crate::{Cells, Choice, ParameterValue, Space, WearSettings};

/// One die, with host pages for at least four translation pages; 4 entries per translation page.
fn settings(cache_entries: u64, parameters: &[(&str, ParameterValue)]) -> DriveSettings {
    let mut ftl = Choice::named("dftl");
    ftl.parameters = BTreeMap::from([
        ("cache".to_string(), ParameterValue::Integer(8 * cache_entries)),
        ("entries_per_page".to_string(), ParameterValue::Integer(4)),
        ("protected_percent".to_string(), ParameterValue::Integer(0)),
    ]);
    ftl.parameters.extend(parameters.iter().map(|(name, value)| (name.to_string(), value.clone())));
    let mut layer = layer("dftl", 60, PoolScope::Die);
    (layer.ftl, layer.cleaning.threshold) = (ftl, Ratio::ZERO);
    DriveSettings { geometry: one_plane(20, 4), block_summary: false, layer }
}

struct Drive {
    ftl: Box<dyn Ftl>,
    flash: FlashState,
    host_pages: u32,
}

impl Drive {
    fn new(settings: &DriveSettings) -> Self {
        let geometry = Geometry::new(&settings.geometry, settings.block_summary).unwrap();
        let space = Space::new(settings, &geometry).unwrap();
        let context = FtlContext { geometry: &geometry, space: &space, settings, seed: 1 };
        let ftl = crate::build(&context).unwrap();
        Self { ftl, flash: FlashState::new(&geometry), host_pages: space.host_pages }
    }
    fn with_cache(entries: u64) -> Self {
        Self::new(&settings(entries, &[]))
    }
    fn write(&mut self, page: u32) -> Vec<FlashOp> {
        let mut ops = OpList::default();
        self.ftl.write(LogicalPage(page), WriteExtent::Whole, &mut Cells::new(&mut self.flash, &mut ops)).unwrap();
        ops.as_slice().to_vec()
    }
    fn read(&mut self, page: u32) -> Vec<FlashOp> {
        let mut ops = OpList::default();
        self.ftl.read(LogicalPage(page), &mut Cells::new(&mut self.flash, &mut ops));
        ops.as_slice().to_vec()
    }
    fn trim(&mut self, page: u32) -> Vec<FlashOp> {
        let mut ops = OpList::default();
        self.ftl.trim(LogicalPage(page), &mut Cells::new(&mut self.flash, &mut ops));
        ops.as_slice().to_vec()
    }
    fn end_request(&mut self) -> Vec<FlashOp> {
        let mut ops = OpList::default();
        self.ftl.end_request(&mut Cells::new(&mut self.flash, &mut ops));
        ops.as_slice().to_vec()
    }
    fn at(&self, page: u32) -> PhysicalPage {
        self.ftl.find(LogicalPage(page)).unwrap()
    }
    fn counts(&self) -> MappingCounts {
        self.ftl.counters().mapping.unwrap()
    }
}

fn read(page: u32, cause: Cause, after: Option<u32>) -> FlashOp {
    FlashOp {
        kind: FlashOpKind::Read { page: PhysicalPage(page) },
        cause,
        after: after.map(OpIndex),
        awaited: true,
        modes: OpModes::default(),
    }
}
fn program(page: u32, cause: Cause, after: Option<u32>) -> FlashOp {
    let kind = FlashOpKind::Program { page: PhysicalPage(page), transfer: Transfer::Page };
    FlashOp { kind, cause, after: after.map(OpIndex), awaited: true, modes: OpModes::default() }
}

#[test]
fn nothing_is_looked_up_where_nothing_was_written() {
    let mut drive = Drive::with_cache(2);
    assert_eq!(drive.read(0), vec![]);
    assert_eq!(drive.trim(0), vec![]);
    // The translation page does not exist yet: the entry enters the cache without a read.
    assert_eq!(drive.write(0), vec![program(0, Cause::Host, None)]);
    assert_eq!(drive.counts().lookups, 1);
    assert_eq!(drive.counts().hits, 0);
}

#[test]
fn a_hit_needs_no_translation_page() {
    let mut drive = Drive::with_cache(2);
    drive.write(0);
    assert_eq!(drive.read(0), vec![read(0, Cause::Host, None)]);
    assert_eq!(drive.write(0), vec![program(1, Cause::Host, None)]);
    assert_eq!((drive.counts().lookups, drive.counts().hits), (3, 2));
}

#[test]
fn an_evicted_change_is_written_back_and_a_missing_entry_is_read_before_the_data() {
    let mut drive = Drive::with_cache(2);
    drive.write(0);
    drive.write(4);
    // Entry 0 is evicted: its translation page is written for the first time, to the first block of the map (block 1).
    // Page 8 has no translation page yet.
    assert_eq!(drive.write(8), vec![program(4, Cause::Mapping, None), program(2, Cause::Host, None)]);
    // Entry 4 is evicted (translation page 1). Entry 0 is read from translation page 0, and the read of its data waits
    // for that.
    assert_eq!(
        drive.read(0),
        vec![program(5, Cause::Mapping, None), read(4, Cause::Mapping, None), read(0, Cause::Host, Some(1))]
    );
    // Entry 8 is evicted (translation page 2). Entry 1 is on translation page 0 as well. Writes wait for their entries,
    // too.
    assert_eq!(
        drive.write(1),
        vec![program(6, Cause::Mapping, None), read(4, Cause::Mapping, None), program(3, Cause::Host, Some(1))]
    );
    // Entry 0 was not changed: it is dropped without a write.
    assert_eq!(drive.read(4), vec![read(5, Cause::Mapping, None), read(1, Cause::Host, Some(0))]);
    // Entry 1 was changed: the existing translation page is read first.
    assert_eq!(
        drive.read(8),
        vec![
            read(4, Cause::Mapping, None),
            program(7, Cause::Mapping, Some(0)),
            read(6, Cause::Mapping, None),
            read(2, Cause::Host, Some(2)),
        ]
    );
    let counts = drive.counts();
    assert_eq!((counts.lookups, counts.hits), (7, 0));
    assert_eq!((counts.evictions, counts.dirty_evictions), (5, 4));
    assert_eq!((counts.translation_reads, counts.translation_writes), (5, 4));
    drive.ftl.check(&drive.flash);
}

#[test]
fn a_part_of_a_page_waits_for_its_entry_and_then_for_its_old_data() {
    let mut drive = Drive::with_cache(1);
    drive.write(0);
    drive.write(4);
    let mut ops = OpList::default();
    drive.ftl.write(LogicalPage(0), WriteExtent::Partial, &mut Cells::new(&mut drive.flash, &mut ops)).unwrap();
    assert_eq!(
        ops.as_slice(),
        &[
            program(5, Cause::Mapping, None),
            read(4, Cause::Mapping, None),
            read(0, Cause::Host, Some(1)),
            program(2, Cause::Host, Some(2)),
        ]
    );
}

#[test]
fn a_late_write_back_follows_the_request_and_nobody_waits_for_it() {
    let mut drive = Drive::new(&settings(2, &[("late_write_back", ParameterValue::Flag(true))]));
    let late = |op: FlashOp| FlashOp { awaited: false, ..op };
    assert_eq!(drive.write(0), vec![program(0, Cause::Host, None)]);
    assert_eq!(drive.end_request(), vec![]);
    // The cache is full now: entry 0 is evicted after the write of the data.
    assert_eq!(drive.write(4), vec![program(1, Cause::Host, None)]);
    assert_eq!(drive.end_request(), vec![late(program(4, Cause::Mapping, None))]);
    assert_eq!(drive.read(0), vec![read(4, Cause::Mapping, None), read(0, Cause::Host, Some(0))]);
    assert_eq!(drive.end_request(), vec![late(program(5, Cause::Mapping, None))]);
    // A request that needs more room than there is waits, as without the option.
    assert_eq!(drive.write(8), vec![program(2, Cause::Host, None)]);
    assert_eq!(drive.write(12), vec![program(3, Cause::Host, None)]);
    assert_eq!(drive.end_request(), vec![late(program(6, Cause::Mapping, None))]);
    let counts = drive.counts();
    assert_eq!((counts.evictions, counts.dirty_evictions, counts.translation_writes), (4, 3, 3));
    drive.ftl.check(&drive.flash);
}

#[test]
fn evicting_in_batches_cleans_the_neighbours() {
    let evict = |batch| {
        let mut drive = Drive::new(&settings(3, &[("batch_evictions", ParameterValue::Flag(batch))]));
        for page in [0, 1, 2, 8, 12, 16] {
            drive.write(page);
        }
        drive.ftl.check(&drive.flash);
        (drive.counts().evictions, drive.counts().dirty_evictions)
    };
    assert_eq!(evict(false), (3, 3));
    assert_eq!(evict(true), (3, 1));
}

#[test]
fn trimming_looks_the_entry_up_and_forgets_the_data() {
    let mut drive = Drive::with_cache(1);
    drive.write(0);
    drive.write(4);
    assert_eq!(drive.trim(0), vec![program(5, Cause::Mapping, None), read(4, Cause::Mapping, None)]);
    assert_eq!(drive.ftl.find(LogicalPage(0)), None);
    assert_eq!(drive.read(0), vec![]);
    // The trimmed entry is written back to flash like any other change.
    drive.write(4);
    assert_eq!(drive.ftl.find(LogicalPage(0)), None);
    drive.ftl.check(&drive.flash);
}

/// Pages of a victim whose entries share a translation page cost one update. Pages whose entries are cached cost none.
#[test]
fn cleaning_updates_in_batches_and_leaves_cached_entries_alone() {
    let mut settings = settings(3, &[]);
    settings.cleaning.victim = Choice::named("fifo");
    let mut drive = Drive::new(&settings);
    // Block 0 holds pages 0, 1 (one translation page), 4 (another), and 8, which is superseded in block 2.
    for page in [0, 1, 4, 8] {
        drive.write(page);
    }
    // Entries 0 and 1 are evicted; 4 is used again and again, and stays.
    for page in [8, 12, 16] {
        drive.write(page);
        drive.read(4);
    }
    let (old_0, old_4) = (drive.at(0), drive.at(4));
    assert!(drive.flash.geometry().block_of(old_0) == drive.flash.geometry().block_of(old_4));
    // The oldest data block is cleaned first.
    let mut ops = Vec::new();
    let mut before = drive.counts();
    for page in (20..28).cycle() {
        before = drive.counts();
        ops = drive.write(page);
        if drive.counts().data_erases > 0 {
            break;
        }
        drive.read(4);
    }
    let first = ops.iter().position(|op| op.cause == Cause::Cleaning).unwrap();
    let last = ops.iter().rposition(|op| op.cause == Cause::Cleaning).unwrap();
    let ops = &ops[first..=last];
    let kinds: Vec<FlashOpKind> = ops.iter().map(|op| op.kind).collect();
    let copies: Vec<bool> = kinds.iter().map(|kind| matches!(kind, FlashOpKind::Copy { .. })).collect();
    assert_eq!(copies, vec![true, true, true, false, false, false], "{kinds:?}");
    assert!(matches!(kinds[3], FlashOpKind::Read { .. }) && matches!(kinds[4], FlashOpKind::Program { .. }));
    assert!(matches!(kinds[5], FlashOpKind::Erase { .. }));
    assert_eq!(ops[4].after, Some(OpIndex(first as u32 + 3)));
    assert!(ops.iter().all(|op| !op.awaited), "no request waits for cleaning");
    let counts = drive.counts().since(&before);
    assert_eq!((counts.update_reads, counts.update_writes), (1, 1));
    assert_ne!((drive.at(0), drive.at(4)), (old_0, old_4));
    drive.ftl.check(&drive.flash);
}

/// With room for every entry in the cache, no translation page is ever written, and the drive cleans like one with its
/// map in memory.
#[test]
fn with_the_whole_map_cached_it_is_the_page_ftl() {
    let mut dftl = settings(10_000, &[]);
    dftl.geometry.blocks_per_plane = 64;
    let space =
        |settings: &DriveSettings| Space::new(settings, &Geometry::new(&settings.geometry, false).unwrap()).unwrap();
    // Gives both the same number of free blocks: the page layer has no reserve for a map.
    let mut page = dftl.clone();
    page.ftl = Choice::named("page");
    page.cleaning.threshold = Ratio::from_f64(5.0 / 64.0);
    dftl.cleaning.threshold = page.cleaning.threshold;
    assert_eq!(space(&dftl), space(&page));
    let (mut dftl, mut page) = (Drive::new(&dftl), Drive::new(&page));
    let mut rng = Rng::new(3);
    for _ in 0..5000 {
        let target = rng.below(u64::from(dftl.host_pages)) as u32;
        match rng.below(10) {
            0 => assert_eq!(dftl.trim(target), page.trim(target)),
            1..4 => assert_eq!(dftl.read(target), page.read(target)),
            _ => assert_eq!(dftl.write(target), page.write(target)),
        }
    }
    assert_eq!(dftl.flash.counts(), page.flash.counts());
    assert!(page.flash.counts().erases > 100);
    let counts = dftl.counts();
    assert_eq!((counts.evictions, counts.map_erases, counts.translation_reads), (0, 0, 0));
}

/// The counters of table 3.4 agree with the operations by cause.
#[test]
fn counters_add_up_to_the_operations() {
    for batch in [false, true] {
        let mut drive = Drive::new(&settings(5, &[("batch_evictions", ParameterValue::Flag(batch))]));
        let mut rng = Rng::new(3);
        for _ in 0..4000 {
            let target = rng.below(u64::from(drive.host_pages)) as u32;
            match rng.below(10) {
                0 => drop(drive.trim(target)),
                1..4 => drop(drive.read(target)),
                _ => drop(drive.write(target)),
            }
        }
        drive.ftl.check(&drive.flash);
        let (counts, flash) = (drive.counts(), *drive.flash.counts());
        assert_eq!(counts.cleaning_data_reads, flash.reads().cleaning);
        assert_eq!(counts.cleaning_data_writes, flash.programs().cleaning);
        assert_eq!(counts.cleaning_map_reads + counts.translation_reads + counts.update_reads, flash.reads().mapping);
        assert_eq!(
            counts.cleaning_map_writes + counts.translation_writes + counts.update_writes,
            flash.programs().mapping
        );
        assert_eq!(counts.data_erases + counts.map_erases, flash.erases);
        assert_eq!(counts.dirty_evictions, counts.translation_writes);
        for count in [counts.hits, counts.map_erases, counts.cleaning_map_writes, counts.update_writes] {
            assert!(count > 0, "{counts:?}");
        }
    }
}

#[test]
fn a_drive_without_room_for_its_map_is_refused_with_a_value_that_works() {
    let mut settings = settings(4, &[]);
    settings.over_provisioning = Some(Ratio::percent(30));
    let geometry = Geometry::new(&settings.geometry, false).unwrap();
    let build = |settings: &DriveSettings| {
        let space = Space::new(settings, &geometry).unwrap();
        crate::build(&FtlContext { geometry: &geometry, space: &space, settings, seed: 1 }).map(|_| ())
    };
    let error = build(&settings).unwrap_err();
    let BuildError::NoRoomForMap { remedy, .. } = error else { panic!("{error}") };
    settings.over_provisioning = Some(remedy);
    assert_eq!(build(&settings), Ok(()));
    settings.ftl.parameters.insert("entries_per_page".to_string(), ParameterValue::Integer(5));
    assert!(matches!(build(&settings), Err(BuildError::Value(ValueError::Parameter { .. }))));
}

/// Of 20 blocks of 4 pages, five stay free, and one of data and one of the map are open. The rest holds 55 pages if
/// cleaning is to gain one, 15 more than the 32 of the host and 8 of the map: three blocks may go bad. If two of them
/// are bad from the start, one more may.
#[test]
fn fewer_blocks_can_go_bad_where_the_map_needs_some() {
    for (bad, spare_blocks, without_map) in [(0, 3, 10), (10, 1, 8)] {
        let mut settings = settings(4, &[]);
        let wear = WearSettings { factory_bad_blocks: Ratio::percent(bad), ..WearSettings::default() };
        settings.wear = Some(wear);
        let geometry = Geometry::new(&settings.geometry, false).unwrap();
        let space = Space::new(&settings, &geometry).unwrap();
        let context = FtlContext { geometry: &geometry, space: &space, settings: &settings, seed: 1 };
        let map_space = check_space(&context, 8).unwrap();
        assert_eq!((map_space.reserve, map_space.spare_blocks), (5, spare_blocks));
        assert_eq!(space.spare_blocks_per_pool(), without_map);
    }
}
