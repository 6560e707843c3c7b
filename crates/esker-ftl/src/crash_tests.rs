//! Power failures at any operation, checked against a map with versions.

use std::collections::BTreeMap;
use std::ops::Range;

use esker_core::Rng;
use esker_nand::PoolScope;
use esker_nand::state::{Cause, FlashOpKind, SpareArea};

use super::tests::{cells, drawn_parameters, keep_apart, settings};
use super::*;
use crate::owner_tests::Dropper;
use crate::testing::DriveSettings;
use crate::{Cells, Choice, ParameterValue, Separation, WriteFrontiers};

/// What happened to a logical page since its content was last known for certain.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// Written by the change with this number, if that is still unsettled.
    Write {
        version: u32,
        change: Option<usize>,
    },
    Trim,
}

struct World {
    settings: DriveSettings,
    geometry: Geometry,
    space: Space,
    ftl: Box<dyn Ftl>,
    flash: FlashState,
    rng: Rng,
    /// By sequence number, the logical page and version that a program wrote; `None` for pages without host data.
    brought: BTreeMap<u64, Option<(u32, u32)>>,
    /// The logical page and version by physical page.
    content: BTreeMap<u32, Option<(u32, u32)>>,
    next_sequence: u64,
    /// Number of unsettled changes.
    changes: usize,
    versions: u32,
    events: Vec<Vec<Event>>,
    /// The owner that is asked about pages before they are copied.
    owner: Option<Dropper>,
}

impl World {
    fn new(settings: DriveSettings, seed: u64) -> Option<Self> {
        let geometry = Geometry::new(&settings.geometry, settings.block_summary).ok()?;
        let space = Space::new(&settings, &geometry).ok()?;
        let ftl = build(&FtlContext { geometry: &geometry, space: &space, settings: &settings, seed: 1 }).ok()?;
        let mut flash = FlashState::new(&geometry);
        flash.keep_journal(space.blocks_per_pool);
        Some(Self {
            ftl,
            flash,
            geometry,
            rng: Rng::new(seed),
            brought: BTreeMap::new(),
            content: BTreeMap::new(),
            next_sequence: 1,
            changes: 0,
            versions: 0,
            events: vec![Vec::new(); space.host_pages as usize],
            space,
            settings,
            owner: None,
        })
    }

    /// Treats dropped pages as trimmed: a power failure cannot tell the difference.
    fn forget_dropped(&mut self) {
        for page in self.owner.iter_mut().flat_map(|owner| owner.dropped.drain(..)) {
            self.events[page as usize].push(Event::Trim);
        }
    }

    /// Starts in the steady state. The version of a page is its sequence number. Returns the number of map pages on
    /// flash.
    fn begin_steady(&mut self) -> u32 {
        let pages = self.space.host_pages;
        self.ftl.begin_steady(pages, 5, &mut self.flash).expect("the steady state is known");
        self.flash.check();
        self.ftl.check(&self.flash);
        let (mut pages_of_owners, mut of_map) = (BTreeMap::new(), 0);
        for page in 0..pages {
            let at = self.ftl.find(LogicalPage(page)).expect("every page has data");
            pages_of_owners.insert(self.flash.owner(at), page);
            let version = self.flash.version(at) as u32;
            self.events[page as usize].push(Event::Write { version, change: None });
        }
        for page in (0..self.geometry.pages()).map(PhysicalPage) {
            let SpareArea::Programmed { owner, sequence, .. } = self.flash.spare(page) else { continue };
            let summary = self.geometry.split_page(page).1 == self.geometry.data_pages_per_block();
            let host = pages_of_owners.get(&owner).filter(|_| !summary);
            let data = host.map(|page| (*page, sequence as u32));
            of_map += u32::from(data.is_none() && !summary);
            assert!(self.brought.insert(sequence, data).is_none(), "a sequence number was given twice");
            self.content.insert(page.0, data);
        }
        self.next_sequence = self.flash.next_sequence();
        self.versions = self.next_sequence as u32;
        of_map
    }

    /// Applies the operations. Returns the change that programmed the host's page.
    fn follow(&mut self, ops: &OpList, written: Option<(u32, u32)>) -> Option<usize> {
        let mut host = None;
        for op in ops.as_slice() {
            let data = match op.kind {
                FlashOpKind::Read { .. } | FlashOpKind::ReadSpare { .. } => continue,
                FlashOpKind::Erase { .. } => {
                    self.changes += 1;
                    continue;
                }
                FlashOpKind::Program { page, .. } if op.cause == Cause::Host => {
                    host = Some(self.changes);
                    (page, written)
                }
                FlashOpKind::Program { page, .. } => (page, None),
                FlashOpKind::Copy { from, to } => (to, self.content[&from.0]),
                FlashOpKind::CopyRun { .. } => unreachable!("a journal is kept of single pages"),
            };
            self.brought.insert(self.next_sequence, data.1);
            self.content.insert(data.0.0, data.1);
            self.next_sequence += 1;
            self.changes += 1;
        }
        assert_eq!(self.next_sequence, self.flash.next_sequence(), "a program was not emitted");
        host
    }

    fn step(&mut self) {
        let mut ops = OpList::default();
        let hot = self.rng.below(2) == 0;
        let pages = u64::from(self.space.host_pages);
        let page = self.rng.below(if hot { pages.div_ceil(4) } else { pages }) as u32;
        match self.rng.below(20) {
            0 => {
                self.flash.settle();
                self.changes = 0;
                for event in self.events.iter_mut().flatten() {
                    if let Event::Write { change, .. } = event {
                        *change = None;
                    }
                }
            }
            1..3 => {
                self.ftl.trim(LogicalPage(page), &mut cells(&mut self.flash, &mut ops, &mut self.owner));
                self.ftl.end_request(&mut cells(&mut self.flash, &mut ops, &mut self.owner));
                self.follow(&ops, None);
                self.forget_dropped();
                self.events[page as usize].push(Event::Trim);
            }
            3..5 => {
                self.ftl.read(LogicalPage(page), &mut cells(&mut self.flash, &mut ops, &mut self.owner));
                self.ftl.end_request(&mut cells(&mut self.flash, &mut ops, &mut self.owner));
                self.follow(&ops, None);
                self.forget_dropped();
            }
            5..7 => {
                let length = (1 + self.rng.below(8) as u32).min(self.space.host_pages - page);
                self.ftl.begin_request(length);
                (page..page + length).for_each(|page| self.write(page, WriteExtent::Whole));
            }
            7 => {
                // It is fine if cleaning gains nothing.
                let pool = self.ftl.pool_of(LogicalPage(page));
                let _ = self.ftl.collect(pool, &mut cells(&mut self.flash, &mut ops, &mut self.owner));
                self.follow(&ops, None);
                self.forget_dropped();
            }
            kind => {
                self.ftl.begin_request(1);
                self.write(page, if kind == 8 { WriteExtent::Partial } else { WriteExtent::Whole });
            }
        }
    }

    fn write(&mut self, page: u32, extent: WriteExtent) {
        let mut ops = OpList::default();
        self.versions += 1;
        let version = self.versions;
        self.ftl.begin_stream(esker_core::StreamId((version / 3) as u16));
        self.ftl.write(LogicalPage(page), extent, &mut cells(&mut self.flash, &mut ops, &mut self.owner)).unwrap();
        self.ftl.end_request(&mut cells(&mut self.flash, &mut ops, &mut self.owner));
        let change = self.follow(&ops, Some((page, version)));
        assert!(change.is_some());
        self.forget_dropped();
        self.events[page as usize].push(Event::Write { version, change });
    }

    fn crash(&mut self) {
        let mut kept = vec![0; self.geometry.dies() as usize];
        for die in self.flash.unsettled_dies() {
            kept[die as usize] += 1;
        }
        for kept in &mut kept {
            if self.rng.below(2) == 0 {
                *kept = self.rng.below(*kept as u64 + 1) as usize;
            }
        }
        let torn = self.rng.below(2) == 0;
        let performed = self.flash.power_failure(&kept, torn);
        assert_eq!(performed.len(), self.changes);
        self.flash.check();
        self.changes = 0;
        let context = FtlContext { geometry: &self.geometry, space: &self.space, settings: &self.settings, seed: 1 };
        self.ftl = build(&context).unwrap();
        self.content.clear();
        for page in 0..self.geometry.pages() {
            if let SpareArea::Programmed { sequence, .. } = self.flash.spare(PhysicalPage(page)) {
                self.content.insert(page, self.brought[&sequence]);
            }
        }
        let mut ops = OpList::default();
        self.ftl.recover(&mut Cells::new(&mut self.flash, &mut ops)).unwrap();
        self.follow(&ops, None);
        self.flash.check();
        self.ftl.check(&self.flash);
        for page in 0..self.space.host_pages {
            self.compare(page, &performed);
        }
    }

    /// Asserts that `page` reads as it may after the power failure. From now on, its content is known.
    fn compare(&mut self, page: u32, performed: &[bool]) {
        let found = self.ftl.find(LogicalPage(page)).map(|at| {
            let (owner, version) = self.content[&at.0].expect("data are mapped to what is not data");
            assert_eq!(owner, page, "page {page} reads as another");
            version
        });
        let events = std::mem::take(&mut self.events[page as usize]);
        let is_performed = |event: &Event| match event {
            Event::Write { change, .. } => change.is_none_or(|change| performed[change]),
            Event::Trim => false,
        };
        let acknowledged = events.iter().rposition(is_performed);
        let since = &events[acknowledged.unwrap_or(0)..];
        let trimmed = since.iter().any(|event| matches!(event, Event::Trim));
        let allowed = match found {
            // A trimmed page may read as anything that it ever held. It was checked above that the data belong to this
            // page.
            Some(_) if trimmed => true,
            Some(found) => since
                .iter()
                .any(|event| is_performed(event) && matches!(event, Event::Write { version, .. } if *version == found)),
            None => trimmed || acknowledged.is_none(),
        };
        assert!(allowed, "page {page} reads as {found:?} after {events:?}, performed {performed:?}");
        // Recovery does not settle what a trimmed page reads as: the next power failure may bring back another of its
        // old contents.
        let known = found.map(|version| Event::Write { version, change: None });
        let trim = (trimmed || found.is_none() && !events.is_empty()).then_some(Event::Trim);
        self.events[page as usize] = known.into_iter().chain(trim).collect();
    }
}

fn drawn(rng: &mut Rng, ftl: &Choice) -> DriveSettings {
    let mut settings = settings();
    settings.ftl = ftl.clone();
    settings.block_summary = rng.below(2) == 0;
    settings.pool = [PoolScope::Plane, PoolScope::Die, PoolScope::Package, PoolScope::Device][rng.below(4) as usize];
    settings.write_frontiers =
        [WriteFrontiers::Die, WriteFrontiers::Pool, WriteFrontiers::Plane][rng.below(3) as usize];
    settings.geometry.channels = 1 + rng.below(2) as u32;
    settings.geometry.dies_per_package = 1 + rng.below(2) as u32;
    settings.geometry.planes_per_die = 1 + rng.below(2) as u32;
    settings.geometry.blocks_per_plane = 10 + rng.below(12) as u32;
    settings.geometry.pages_per_block = 2 + rng.below(4) as u32;
    settings.over_provisioning = Some(esker_core::Ratio::percent(50 + rng.below(30)));
    // One spare block more than the frontiers need, for pages lost when a program was interrupted.
    settings.cleaning.threshold = esker_core::Ratio::percent(20);
    settings.cleaning.background = Some(esker_core::Ratio::percent(rng.below(60)));
    settings.power_fails = true;
    let apart = [Separation::None, Separation::Copied, Separation::HotCold][rng.below(3) as usize];
    let window = esker_core::Ratio::percent(1 + rng.below(100));
    keep_apart(&mut settings, (apart, window, 1 + rng.below(3) as u32));
    settings
}

/// Runs `count` sequences with power failures, some of which hit recovery, too.
fn survives(ftl: &Choice, count: u32) {
    survive(count, |rng| drawn(rng, ftl));
}

fn survive(count: u32, drawn: impl Fn(&mut Rng) -> DriveSettings) {
    survive_with(count, drawn, |_| None);
}

/// Runs `count` sequences with settings and an owner drawn for each.
fn survive_with(count: u32, drawn: impl Fn(&mut Rng) -> DriveSettings, owner: impl Fn(u64) -> Option<Dropper>) {
    let (mut worlds, mut seed, mut recoveries_that_wrote) = (0, 0, 0);
    let mut rng = Rng::new(11);
    while worlds < count * esker_testkit::soak() {
        seed += 1;
        let Some(mut world) = World::new(drawn(&mut rng), seed) else { continue };
        worlds += 1;
        world.owner = owner(seed);
        let steps = 20 + world.rng.below(100);
        for _ in 0..1 + world.rng.below(4) {
            for _ in 0..steps {
                world.step();
            }
            world.crash();
            recoveries_that_wrote += u32::from(world.changes > 0);
            while world.rng.below(3) == 0 {
                world.crash();
            }
        }
    }
    assert!(recoveries_that_wrote > worlds / 50, "{recoveries_that_wrote} of {worlds}");
}

#[test]
fn the_page_layer_survives_power_failures() {
    survives(&Choice::named("page"), 10_000);
}

/// Dropped pages read as empty, or as what was written to them before, and never as another page's data.
#[test]
fn dropped_pages_never_read_as_other_pages_after_power_failures() {
    let owner = |seed| Some(Dropper::new(seed, [10, 50, 90][seed as usize % 3]));
    for (layer, count) in [(Choice::named("page"), 2000), (dftl(false, false), 2000), (dftl(true, true), 1000)] {
        survive_with(count, |rng| drawn(rng, &layer), owner);
    }
}

fn dftl(batch: bool, late: bool) -> Choice {
    let mut ftl = Choice::named("dftl");
    ftl.parameters.insert("entries_per_page".to_string(), ParameterValue::Integer(4));
    ftl.parameters.insert("cache".to_string(), ParameterValue::Integer(48));
    ftl.parameters.insert("batch_evictions".to_string(), ParameterValue::Flag(batch));
    ftl.parameters.insert("late_write_back".to_string(), ParameterValue::Flag(late));
    ftl
}

#[test]
fn dftl_survives_power_failures() {
    survives(&dftl(false, false), 4_000);
    survives(&dftl(true, false), 3_000);
    survives(&dftl(false, true), 3_000);
}

/// After a start in the steady state and some writes, data are recovered as if they had been written one by one.
fn survives_after_a_stationary_start(ftl: &Choice, seeds: Range<u64>) {
    let mut rng = Rng::new(5);
    for seed in 0..seeds.end {
        let mut settings = drawn(&mut rng, ftl);
        settings.geometry.blocks_per_plane = 1000;
        // With several streams, the steady state is not known.
        settings.streams = 1;
        settings.cleaning.threshold = esker_core::Ratio::percent(2);
        settings.cleaning.background = None;
        settings.pool = [PoolScope::Plane, PoolScope::Die][rng.below(2) as usize];
        settings.geometry.pages_per_block = 4 + rng.below(4) as u32;
        settings.over_provisioning = Some(esker_core::Ratio::percent(50));
        if seed < seeds.start {
            continue;
        }
        let mut world = World::new(settings, seed).expect("there is room");
        assert_eq!(world.begin_steady() > 0, ftl.kind == "dftl", "where the map is");
        for steps in [0, 20, 200] {
            (0..steps).for_each(|_| world.step());
            world.crash();
        }
    }
}

#[test]
fn a_stationary_start_survives_power_failures() {
    let seeds = 0..24 * u64::from(esker_testkit::soak());
    survives_after_a_stationary_start(&Choice::named("page"), seeds.clone());
    survives_after_a_stationary_start(&dftl(false, false), seeds.clone());
    survives_after_a_stationary_start(&well_cached(), seeds);
}

/// A cache so large that recovery has to save more changes than free pages could take at once.
fn well_cached() -> Choice {
    let mut ftl = dftl(false, true);
    ftl.parameters.insert("cache".to_string(), ParameterValue::Integer(8 << 10));
    ftl
}

#[test]
fn recovery_makes_room_between_the_map_pages_that_it_writes() {
    // With this seed, there are more changed entries than the cache holds.
    survives_after_a_stationary_start(&well_cached(), 457..458);
}

/// A block-mapped layer with random parameter values, on so few blocks that it merges all the time, and in half of the
/// cases without a single spare block.
fn block_mapped(kind: &str) {
    let entry = FTLS.iter().find(|entry| entry.name == kind).unwrap();
    survive(10_000, |rng| {
        let mut settings = drawn(rng, &drawn_parameters(entry, rng.clone().below(u64::MAX)));
        settings.geometry.blocks_per_plane = 5 + rng.below(8) as u32;
        if rng.below(2) == 0 {
            let least = (1..100).find(|percent| {
                settings.over_provisioning = Some(esker_core::Ratio::percent(*percent));
                World::new(settings.clone(), 1).is_some()
            });
            settings.over_provisioning = Some(esker_core::Ratio::percent(least.unwrap_or(99)));
        }
        settings
    });
}

#[test]
fn the_block_layer_survives_power_failures() {
    block_mapped("block");
}

#[test]
fn replacement_blocks_survive_power_failures() {
    block_mapped("replacement-block");
}

#[test]
fn bast_survives_power_failures() {
    block_mapped("bast");
}

#[test]
fn fast_survives_power_failures() {
    block_mapped("fast");
}

#[test]
fn superblocks_survive_power_failures() {
    block_mapped("superblock");
}

#[test]
fn last_survives_power_failures() {
    block_mapped("last");
}
