//! Compares starts in the steady state with the state that long overwriting reaches in the end.

use esker_core::{LogicalPage, Ratio, Rng};
use esker_flash::SsdSettings;
use esker_ftl::{Choice, Ftl, FtlContext, ParameterValue, Separation, Space, WriteFrontiers};
use esker_nand::state::FlashState;
use esker_nand::{Geometry, PoolScope};

use crate::common::{one_package, preset};

/// A drive of four dies with pools of the given scope, each of which has the same number of blocks.
fn settings(spare: u64, scope: PoolScope, blocks: u32) -> SsdSettings {
    let mut settings = one_package(1);
    settings.geometry.channels = 2;
    settings.geometry.dies_per_package = 2;
    settings.geometry.blocks_per_plane = blocks;
    settings.pool = scope;
    settings.spare_factor = Some(Ratio::percent(spare));
    settings.cleaning.threshold = Ratio::percent(1);
    settings
}

struct Drive {
    ftl: Box<dyn Ftl>,
    flash: FlashState,
    pages: u64,
    rng: Rng,
}

impl Drive {
    fn new(settings: &SsdSettings, seed: u64) -> Self {
        let geometry = Geometry::new(&settings.geometry, settings.block_summary).unwrap();
        let layer = settings.layer();
        let space = Space::new(&layer, &geometry).unwrap();
        let context = FtlContext { geometry: &geometry, space: &space, settings: &layer, seed };
        let ftl = esker_ftl::build(&context).unwrap();
        let flash = FlashState::new(&geometry);
        Self { ftl, flash, pages: u64::from(space.host_pages), rng: Rng::new(seed) }
    }

    fn steady(settings: &SsdSettings, seed: u64) -> Self {
        let mut drive = Self::new(settings, seed);
        drive.ftl.begin_steady(drive.pages as u32, seed, &mut drive.flash).expect("the steady state is known");
        drive.flash.check();
        drive.ftl.check(&drive.flash);
        drive
    }

    fn overwritten(settings: &SsdSettings, passes: u64) -> Self {
        let mut drive = Self::new(settings, 1);
        let fill: Vec<LogicalPage> = (0..drive.pages).map(|page| LogicalPage(page as u32)).collect();
        drive.ftl.write_untimed(&fill, &mut drive.flash).unwrap();
        drive.overwrite(passes * drive.pages);
        drive
    }

    /// Overwrites random pages. Returns the number of programs that this takes.
    fn overwrite(&mut self, writes: u64) -> u64 {
        let before = self.flash.counts().programs().total();
        let mut left = writes;
        while left > 0 {
            let batch = left.min(1 << 16);
            let pages: Vec<_> = (0..batch).map(|_| LogicalPage(self.rng.below(self.pages) as u32)).collect();
            self.ftl.write_untimed(&pages, &mut self.flash).unwrap();
            left -= batch;
        }
        self.flash.counts().programs().total() - before
    }
}

/// Compares the write amplification of the first `writes` writes, over `starts` starts, with that of long overwriting.
#[expect(clippy::print_stdout, reason = "`--nocapture` shows how near it comes")]
fn compare(what: &str, settings: &SsdSettings, starts: u64, writes: u64) {
    let settled = if settings.ftl.kind == "dftl" { 1 << 14 } else { 0 };
    let programs: u64 = (1..=starts)
        .map(|seed| {
            let mut drive = Drive::steady(settings, seed);
            drive.overwrite(settled);
            drive.overwrite(writes)
        })
        .sum();
    let start = programs as f64 / (starts * writes) as f64;
    let mut drive = Drive::overwritten(settings, 6);
    let length = (starts * writes).max(6 * drive.pages);
    let long = drive.overwrite(length) as f64 / length as f64;
    let off = start / long - 1.0;
    println!("{what}: {start:.4} after the start, {long:.4} in the end: {:+.2} %", off * 100.0);
    assert!(off.abs() < 0.005, "{what}: {start:.4} after the start, {long:.4} in the end");
}

fn choices(d: u64) -> Choice {
    Choice { kind: "d-choices".into(), parameters: [("d".to_string(), ParameterValue::Integer(d))].into() }
}

#[test]
fn the_page_layer_begins_where_it_would_end() {
    for (victim, starts) in [(Choice::named("greedy"), 4), (choices(3), 8), (Choice::named("random"), 24)] {
        for (spare, scope, blocks) in [(10, PoolScope::Die, 600), (28, PoolScope::Device, 300)] {
            let mut settings = settings(spare, scope, blocks);
            settings.cleaning.victim = victim.clone();
            compare(&format!("{victim:?} {spare} {scope:?}"), &settings, starts, 1 << 16);
        }
    }
}

/// The theory assumes infinitely many blocks.
#[test]
fn pools_of_few_blocks_begin_where_they_would_end() {
    for (victim, starts) in [(Choice::named("greedy"), 8), (choices(3), 16), (Choice::named("random"), 48)] {
        for blocks in [110, 150, 256] {
            let mut settings = settings(12, PoolScope::Die, blocks);
            settings.cleaning.victim = victim.clone();
            compare(&format!("{victim:?}, {blocks} blocks"), &settings, starts, 1 << 15);
        }
    }
}

/// As in the scaled-down drives that studies simulate. In theory, hardly any block of such a pool has only valid pages;
/// in fact, the block that was just filled does.
#[test]
fn pools_of_few_long_blocks_begin_where_they_would_end() {
    let mut settings = settings(12, PoolScope::Package, 86);
    settings.geometry.pages_per_block = 768;
    settings.write_frontiers = WriteFrontiers::Die;
    settings.cleaning.threshold = Ratio::parts_per_billion(3_000_000);
    settings.cleaning.gradual = Some(Ratio::parts_per_billion(8_000_000));
    compare("few long blocks", &settings, 8, 1 << 16);
}

#[test]
fn frontiers_and_gradual_cleaning_take_their_share() {
    let mut frontiers = settings(12, PoolScope::Device, 500);
    frontiers.write_frontiers = WriteFrontiers::Die;
    compare("frontiers of dies", &frontiers, 4, 1 << 16);
    frontiers.cleaning.separate = Separation::HotCold;
    compare("hot and cold apart", &frontiers, 4, 1 << 16);
    let mut gradual = settings(15, PoolScope::Package, 600);
    gradual.cleaning.gradual = Some(Ratio::percent(3));
    gradual.write_frontiers = WriteFrontiers::Die;
    gradual.block_summary = true;
    compare("gradual cleaning", &gradual, 4, 1 << 16);
    // The policy never chooses blocks without a superseded page.
    gradual.spare_factor = Some(Ratio::percent(8));
    gradual.block_summary = false;
    gradual.cleaning.victim = Choice::named("random");
    compare("gradual cleaning of any block", &gradual, 16, 1 << 16);
}

/// A pool of 4,096 blocks has some 120 spare blocks. One more or less changes write amplification by nearly a percent,
/// and the pace of gradual cleaning lies between those of two whole numbers of free blocks.
#[test]
fn long_blocks_under_gradual_cleaning_begin_at_its_pace() {
    let mut settings = preset("qlc-data-centre-2t");
    settings.geometry.channels = 1;
    settings.geometry.packages_per_channel = 1;
    settings.geometry.dies_per_package = 2;
    settings.factory_over_provisioning = Some(Ratio::percent(7));
    settings.cleaning.threshold = Ratio::percent(3);
    settings.cleaning.gradual = Some(Ratio::percent(4));
    settings.cleaning.background = None;
    let mut drive = Drive::new(&settings, 1);
    let expected = drive.ftl.begin_steady(drive.pages as u32, 1, &mut drive.flash).expect("the steady state is known");
    // A victim with 959 valid pages takes 64 page writes to clean and gives 65 pages; one with 960 takes 65 and gives
    // 64.
    assert!((expected - 1024.0 / 64.5).abs() < 0.01, "{expected}");
    for writes in [1 << 17, 1 << 19] {
        let measured = drive.overwrite(writes) as f64 / writes as f64;
        assert!((measured / expected - 1.0).abs() < 0.003, "{measured} in {writes} writes, not {expected}");
    }
}

#[test]
fn dftl_begins_where_it_would_end() {
    for (victim, starts) in [(Choice::named("greedy"), 4), (choices(3), 8), (Choice::named("random"), 24)] {
        for (spare, scope, blocks) in [(15, PoolScope::Package, 600), (30, PoolScope::Device, 300)] {
            let mut settings = settings(spare, scope, blocks);
            settings.cleaning.victim = victim.clone();
            settings.ftl = Choice::named("dftl");
            compare(&format!("dftl, {victim:?} {spare} {scope:?}"), &settings, starts, 1 << 16);
        }
    }
}

/// With blocks of many pages, a wrong number of free blocks at the start shows for a long time. A pool of short blocks
/// soon corrects itself.
#[test]
fn dftl_begins_at_the_pace_of_gradual_cleaning() {
    for (victim, starts, pages) in
        [(Choice::named("greedy"), 4, 512), (choices(3), 8, 256), (Choice::named("random"), 24, 256)]
    {
        let mut settings = settings(15, PoolScope::Device, 300);
        settings.geometry.pages_per_block = pages;
        settings.cleaning.victim = victim.clone();
        settings.cleaning.gradual = Some(Ratio::percent(3));
        settings.ftl = Choice::named("dftl");
        compare(&format!("dftl, gradual cleaning, {victim:?} {pages}"), &settings, starts, 1 << 17);
    }
}
