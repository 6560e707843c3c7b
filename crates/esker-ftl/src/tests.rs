//! Tests of every translation layer as a map from each logical page to its last write.

use std::collections::BTreeMap;

use esker_core::registry::Accepted;
use esker_core::{Ratio, StreamId};
use esker_nand::state::{Cause, FlashOpKind};
use esker_nand::{GeometrySettings, PoolScope};
use proptest::prelude::*;

use super::*;
use crate::owner_tests::Dropper;
use crate::testing::{DriveSettings, layer, one_plane};
use crate::{Cells, Choice, CleaningSettings, ParameterValue, Separation, VICTIM_POLICIES, WriteFrontiers};

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Write(u32),
    WritePart(u32),
    /// Writes a number of pages, from a first page on, in one request: `(first, count)`.
    WriteRun(u32, u32),
    Trim(u32),
    Read(u32),
    Collect,
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    // Few pages, and most steps on even fewer, so that there are blocks with many and with few valid pages.
    let page = prop_oneof![0u32..1000, 0u32..20];
    prop_oneof![
        8 => page.clone().prop_map(Step::Write),
        1 => page.clone().prop_map(Step::WritePart),
        2 => (page.clone(), 1u32..12).prop_map(|(page, count)| Step::WriteRun(page, count)),
        1 => page.clone().prop_map(Step::Trim),
        2 => page.prop_map(Step::Read),
        1 => Just(Step::Collect),
    ]
}

/// Returns every layer with its defaults, and some with parameters that matter here.
pub(super) fn choices() -> Vec<Choice> {
    let dftl = |parameters: &[(&str, ParameterValue)]| {
        let mut choice = Choice::named("dftl");
        choice.parameters = parameters.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        choice
    };
    let mut choices: Vec<Choice> = FTLS.iter().map(|entry| Choice::named(entry.name)).collect();
    let (per_page, cache) = (ParameterValue::Integer(4), ParameterValue::Integer(40));
    choices.push(dftl(&[("entries_per_page", per_page.clone()), ("cache", cache.clone())]));
    choices.push(dftl(&[
        ("entries_per_page", per_page),
        ("cache", cache),
        ("batch_evictions", ParameterValue::Flag(true)),
        ("protected_percent", ParameterValue::Integer(80)),
        ("late_write_back", ParameterValue::Flag(true)),
    ]));
    choices
}

pub(super) fn settings() -> DriveSettings {
    DriveSettings {
        geometry: GeometrySettings { channels: 2, dies_per_package: 2, planes_per_die: 2, ..one_plane(16, 4) },
        block_summary: false,
        layer: layer("page", 40, PoolScope::Package),
    }
}

/// Runs a layer and a map side by side. Every write has a unique number. `content` holds these numbers by physical
/// page. It is updated from the emitted operations alone, like a real array.
pub(super) struct Pair {
    pub(super) ftl: Box<dyn Ftl>,
    pub(super) flash: FlashState,
    content: BTreeMap<u32, u32>,
    expected: BTreeMap<u32, u32>,
    host_pages: u32,
    writes: u32,
    /// The owner that is asked about pages before they are copied.
    pub(super) owner: Option<Dropper>,
}

impl Pair {
    pub(super) fn new(ftl: Box<dyn Ftl>, geometry: &Geometry, host_pages: u32) -> Self {
        let (flash, content, expected) = (FlashState::new(geometry), BTreeMap::new(), BTreeMap::new());
        Self { ftl, flash, content, expected, host_pages, writes: 0, owner: None }
    }

    /// Removes from the map the pages that the owner dropped.
    fn forget_dropped(&mut self) -> Result<(), TestCaseError> {
        for page in self.owner.iter_mut().flat_map(|owner| owner.dropped.drain(..)) {
            prop_assert!(self.expected.remove(&page).is_some(), "asked for page {}, which has no data", page);
        }
        Ok(())
    }

    pub(super) fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        if let Step::WriteRun(page, count) = step {
            self.ftl.begin_request(count);
            return (page..page + count).try_for_each(|page| self.perform(Step::Write(page)));
        }
        self.ftl.begin_request(1);
        self.perform(step)
    }

    fn perform(&mut self, step: Step) -> Result<(), TestCaseError> {
        let mut ops = OpList::default();
        let host_pages = self.host_pages;
        let number = |page: u32| LogicalPage(page % host_pages);
        // What a read has to return. Work at the end of the request may drop the page, but only then.
        let mut expected = None;
        match step {
            Step::WriteRun(..) => unreachable!("it was taken apart"),
            Step::Write(page) | Step::WritePart(page) => {
                let extent = if matches!(step, Step::Write(_)) { WriteExtent::Whole } else { WriteExtent::Partial };
                // Any page may come in any stream.
                self.ftl.begin_stream(StreamId((page / 3 + self.writes / 5) as u16));
                let cells = &mut cells(&mut self.flash, &mut ops, &mut self.owner);
                let written = self.ftl.write(number(page), extent, cells);
                prop_assert_eq!(written, Ok(()), "{:?}", self.ftl);
                self.forget_dropped()?;
                self.writes += 1;
                self.expected.insert(number(page).0, self.writes);
            }
            Step::Trim(page) => {
                self.ftl.trim(number(page), &mut cells(&mut self.flash, &mut ops, &mut self.owner));
                self.forget_dropped()?;
                self.expected.remove(&number(page).0);
            }
            Step::Read(page) => {
                self.ftl.read(number(page), &mut cells(&mut self.flash, &mut ops, &mut self.owner));
                self.forget_dropped()?;
                expected = self.expected.get(&number(page).0).copied();
            }
            Step::Collect => {
                // It is fine if cleaning gains nothing.
                let pool = self.ftl.pool_of(number(self.writes));
                let _ = self.ftl.collect(pool, &mut cells(&mut self.flash, &mut ops, &mut self.owner));
            }
        }
        self.ftl.end_request(&mut cells(&mut self.flash, &mut ops, &mut self.owner));
        self.forget_dropped()?;
        let read = self.follow(&ops)?;
        if let Step::Read(_) = step {
            prop_assert_eq!(read, expected);
        }
        Ok(())
    }

    /// Applies the operations to `content`. Returns the number that the last read for the host fetched.
    fn follow(&mut self, ops: &OpList) -> Result<Option<u32>, TestCaseError> {
        let mut read = None;
        for op in ops.as_slice() {
            match op.kind {
                FlashOpKind::Read { page } if op.cause == Cause::Host => read = self.content.get(&page.0).copied(),
                FlashOpKind::Read { .. } | FlashOpKind::ReadSpare { .. } => {}
                FlashOpKind::Program { page, .. } if op.cause == Cause::Host => {
                    prop_assert_eq!(self.content.insert(page.0, self.writes), None, "programmed without an erase");
                }
                FlashOpKind::Program { page, .. } => {
                    prop_assert_eq!(self.content.insert(page.0, u32::MAX), None, "programmed without an erase");
                }
                FlashOpKind::Copy { from, to } => {
                    let data = self.content.get(&from.0).copied().expect("copied what was never written");
                    prop_assert_eq!(self.content.insert(to.0, data), None, "programmed without an erase");
                }
                FlashOpKind::CopyRun { .. } => unreachable!("nobody asked for runs"),
                FlashOpKind::Erase { block } => {
                    let first = self.flash.geometry().first_page(block).0;
                    for page in first..first + self.flash.geometry().pages_per_block() {
                        self.content.remove(&page);
                    }
                }
            }
        }
        Ok(read)
    }

    /// Compares all pages with the map.
    pub(super) fn compare(&self) -> Result<(), TestCaseError> {
        for page in 0..self.host_pages {
            let found = self.ftl.find(LogicalPage(page)).map(|at| self.content.get(&at.0));
            prop_assert_eq!(found, self.expected.get(&page).map(Some), "page {}", page);
        }
        Ok(())
    }
}

pub(super) fn cells<'a>(
    flash: &'a mut FlashState,
    ops: &'a mut OpList,
    owner: &'a mut Option<Dropper>,
) -> Cells<'a, OpList> {
    let cells = Cells::new(flash, ops);
    match owner {
        Some(owner) => cells.owned_by(owner),
        None => cells,
    }
}

pub(super) fn run(
    ftl: Box<dyn Ftl>,
    geometry: &Geometry,
    host_pages: u32,
    steps: &[Step],
) -> Result<(), TestCaseError> {
    let mut pair = Pair::new(ftl, geometry, host_pages);
    for step in steps {
        pair.step(*step)?;
    }
    pair.flash.check();
    pair.ftl.check(&pair.flash);
    pair.compare()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_layer_with_every_policy_behaves_like_a_map(
        steps in prop::collection::vec(step(), 1..1200),
        pool in prop::sample::select(vec![
            PoolScope::Plane, PoolScope::Die, PoolScope::Package, PoolScope::Gang, PoolScope::Device,
        ]),
        frontiers in prop::sample::select(vec![WriteFrontiers::Die, WriteFrontiers::Plane, WriteFrontiers::Pool]),
        block_summary: bool,
        apart in apart(),
    ) {
        for layer in choices() {
            for policy in VICTIM_POLICIES {
                let mut settings = settings();
                settings.ftl = layer.clone();
                settings.cleaning.victim = Choice::named(policy.name);
                keep_apart(&mut settings, apart);
                settings.pool = pool;
                settings.block_summary = block_summary;
                settings.over_provisioning = Some(Ratio::percent(if block_summary { 70 } else { 60 }));
                settings.write_frontiers = frontiers;
                let geometry = Geometry::new(&settings.geometry, block_summary).unwrap();
                let Ok(space) = Space::new(&settings, &geometry) else {
                    prop_assert!(settings.cleaning.separate != Separation::None || settings.streams > 1);
                    continue;
                };
                let context = FtlContext { geometry: &geometry, space: &space, settings: &settings, seed: 1 };
                match build(&context) {
                    Ok(ftl) => run(ftl, &geometry, space.host_pages, &steps)?,
                    // Six blocks are too few for some log sizes, and the blocks of a die may be too few for separate
                    // kinds of data and a map.
                    Err(error) => prop_assert!(
                        pool == PoolScope::Plane && matches!(error, BuildError::NoUpdateBlocks { .. })
                            || (apart.0 != Separation::None || apart.2 > 1)
                                && matches!(error, BuildError::NoRoomForMap { .. } | BuildError::PoolTooSmall { .. }),
                        "{}", error
                    ),
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// The least spare space that is allowed is enough: cleaning always finds something to gain.
    #[test]
    fn the_least_spare_space_is_enough(
        (dies, planes, blocks, pages) in (1u32..4, 1u32..3, 3u32..24, 1u32..9),
        pool in prop::sample::select(vec![
            PoolScope::Plane, PoolScope::Die, PoolScope::Package, PoolScope::Gang, PoolScope::Device,
        ]),
        frontiers in prop::sample::select(vec![WriteFrontiers::Die, WriteFrontiers::Plane, WriteFrontiers::Pool]),
        threshold in 0u64..40,
        seed: u64,
        hot in 1u64..100,
        apart in apart(),
        bad in prop_oneof![1 => Just(0u64), 1 => 1u64..30],
    ) {
        let bad = WearSettings { factory_bad_blocks: Ratio::percent(bad), ..WearSettings::default() };
        let mut settings = settings();
        settings.geometry.dies_per_package = dies;
        settings.geometry.planes_per_die = planes;
        settings.geometry.blocks_per_plane = blocks;
        settings.geometry.pages_per_block = pages;
        settings.cleaning.threshold = Ratio::percent(threshold);
        settings.pool = pool;
        settings.write_frontiers = frontiers;
        let geometry = Geometry::new(&settings.geometry, false).unwrap();
        for layer in choices() {
            settings.ftl = layer;
            settings.cleaning = CleaningSettings { threshold: Ratio::percent(threshold), ..CleaningSettings::default() };
            keep_apart(&mut settings, apart);
            let counts_wear = entry(&settings.ftl).is_ok_and(|layer| layer.can(LayerCapability::Wear));
            settings.wear = counts_wear.then_some(bad);
            let least = (0u64..1000).find_map(|tenth| {
                settings.over_provisioning = Some(Ratio::parts_per_billion(tenth * 1_000_000));
                let space = Space::new(&settings, &geometry).ok()?;
                build(&FtlContext { geometry: &geometry, space: &space, settings: &settings, seed }).ok()?;
                Some(space)
            });
            let Some(space) = least else { continue };
            for policy in VICTIM_POLICIES {
                settings.cleaning.victim = Choice::named(policy.name);
                let context = FtlContext { geometry: &geometry, space: &space, settings: &settings, seed };
                let mut ftl = match build(&context) {
                    Ok(ftl) => ftl,
                    Err(error) => {
                        prop_assert!(matches!(error, BuildError::NoUpdateBlocks { .. }), "{}", error);
                        continue;
                    }
                };
                let mut flash = FlashState::new(&geometry);
                let host = u64::from(space.host_pages);
                let mut rng = esker_core::Rng::new(seed);
                let fill = (0..host).map(|page| LogicalPage(page as u32));
                // Writes first all over the space, then in a part of it, like hot data. A map on flash makes each write
                // clean many blocks here.
                let turns = if ftl.counters().mapping.is_some() { 1 } else { 4 };
                let cold = (0..turns * host / 2).map(|_| rng.below(host));
                let mut pages: Vec<LogicalPage> = fill.chain(cold.map(|page| LogicalPage(page as u32))).collect();
                let part = (host * hot / 100).max(1);
                pages.extend((0..turns * host).map(|_| LogicalPage(rng.below(part) as u32)));
                // Writes first in one stream, then in any.
                let (one, any) = pages.split_at(pages.len() / 2);
                prop_assert_eq!(ftl.write_untimed(one, &mut flash), Ok(()), "{:?} {}", settings.ftl, policy.name);
                for pages in any.chunks(5) {
                    ftl.begin_stream(StreamId(rng.below(7) as u16));
                    prop_assert_eq!(ftl.write_untimed(pages, &mut flash), Ok(()), "{:?} {}", settings.ftl, policy.name);
                }
                flash.check();
                ftl.check(&flash);
            }
        }
    }
}

/// How pages are separated, the window in which they are hot, and the number of streams.
fn apart() -> impl Strategy<Value = Apart> {
    let kinds = vec![Separation::None, Separation::Copied, Separation::HotCold];
    let streams = prop_oneof![2 => Just(1), 1 => 2u32..4];
    (prop::sample::select(kinds), (1u64..=100).prop_map(Ratio::percent), streams)
}

pub(super) type Apart = (Separation, Ratio, u32);

/// Separates pages if the layer supports that.
pub(super) fn keep_apart(settings: &mut DriveSettings, (separate, hot_window, streams): Apart) {
    let layer = entry(&settings.ftl).ok();
    let can = |capability| layer.is_some_and(|layer| layer.can(capability));
    settings.cleaning.separate = if can(LayerCapability::Separate) { separate } else { Separation::None };
    settings.cleaning.hot_window = hot_window;
    let knows_streams = can(LayerCapability::Streams) && separate != Separation::HotCold;
    settings.streams = if knows_streams { streams } else { 1 };
}

/// Returns a layer with parameter values drawn from `seed`; some parameters may have none.
pub(super) fn drawn_parameters(entry: &FtlEntry, seed: u64) -> Choice {
    let mut rng = esker_core::Rng::new(seed);
    let mut choice = Choice::named(entry.name);
    for parameter in entry.parameters.listed() {
        let value = match (parameter.name, parameter.value) {
            ("entry_size", _) => ParameterValue::Integer(1 + rng.below(8)),
            ("entries_per_page", _) => ParameterValue::Integer(1 << rng.below(4)),
            (_, Accepted::Size { .. }) => ParameterValue::Integer(8 * (1 + rng.below(8))),
            (_, Accepted::Flag { .. }) => ParameterValue::Flag(rng.below(2) == 0),
            (_, Accepted::Share { .. }) => ParameterValue::Text(format!("{}%", rng.below(60))),
            (_, Accepted::OneOf(names)) => {
                ParameterValue::Text(names[rng.below(names.len() as u64) as usize].to_string())
            }
            (_, Accepted::Count { .. }) => ParameterValue::Integer(rng.below(5)),
            (_, Accepted::Integer { .. }) => ParameterValue::Number(rng.below(5) as f64 - 2.0),
        };
        if rng.below(2) == 0 {
            choice.parameters.insert(parameter.name.to_string(), value);
        }
    }
    choice
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000 * esker_testkit::soak()))]
    /// Short sequences on the smallest drives, where each block soon has had every role.
    #[test]
    fn every_layer_behaves_like_a_map_on_the_smallest_drives(
        steps in prop::collection::vec(step(), 1..60),
        (dies, planes, blocks, pages) in (1u32..4, 1u32..3, 4u32..9, 1u32..6),
        pool in prop::sample::select(vec![PoolScope::Die, PoolScope::Package, PoolScope::Device]),
        over_provisioning in 50u64..70,
        seed: u64,
        apart in apart(),
    ) {
        let mut settings = settings();
        settings.over_provisioning = Some(Ratio::percent(over_provisioning));
        settings.cleaning.threshold = Ratio::ZERO;
        settings.cleaning.background = Some(Ratio::percent(30));
        settings.pool = pool;
        settings.geometry.channels = 1;
        settings.geometry.dies_per_package = dies;
        settings.geometry.planes_per_die = planes;
        settings.geometry.blocks_per_plane = blocks;
        settings.geometry.pages_per_block = pages;
        let geometry = Geometry::new(&settings.geometry, false).unwrap();
        for layer in FTLS {
            settings.ftl = drawn_parameters(layer, seed);
            keep_apart(&mut settings, apart);
            let Ok(space) = Space::new(&settings, &geometry) else { continue };
            let context = FtlContext { geometry: &geometry, space: &space, settings: &settings, seed };
            if let Ok(ftl) = build(&context) {
                run(ftl, &geometry, space.host_pages, &steps)?;
            }
        }
    }
}

#[test]
fn most_of_the_smallest_drives_can_be_built() {
    // Otherwise the property above would be empty.
    let mut settings = settings();
    settings.over_provisioning = Some(Ratio::percent(60));
    settings.pool = PoolScope::Package;
    settings.geometry.channels = 1;
    let geometry = Geometry::new(&settings.geometry, false).unwrap();
    let space = Space::new(&settings, &geometry).unwrap();
    for layer in FTLS {
        let built = (0..100).filter(|seed| {
            let settings = FtlSettings { ftl: drawn_parameters(layer, *seed), ..settings.layer.clone() };
            build(&FtlContext { geometry: &geometry, space: &space, settings: &settings, seed: 1 }).is_ok()
        });
        assert!(built.count() >= 40, "{}", layer.name);
    }
}

/// A faulty layer that forgets every third write: the check above has to fail.
#[derive(Clone, Debug)]
struct LeakyFtl {
    inner: Box<dyn Ftl>,
    writes: u32,
}

impl Ftl for LeakyFtl {
    fn find(&self, page: LogicalPage) -> Option<PhysicalPage> {
        self.inner.find(page)
    }
    fn pool_of(&self, page: LogicalPage) -> u32 {
        self.inner.pool_of(page)
    }
    fn read(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) {
        self.inner.read(page, cells);
    }
    fn write(&mut self, page: LogicalPage, extent: WriteExtent, cells: &mut Cells<'_, OpList>) -> Result<(), FtlError> {
        self.writes += 1;
        self.inner.write(page, extent, cells)?;
        if self.writes.is_multiple_of(3) {
            self.inner.trim(page, cells);
        }
        Ok(())
    }
    fn trim(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) {
        self.inner.trim(page, cells);
    }
    fn collect(&mut self, pool: u32, cells: &mut Cells<'_, OpList>) -> Result<bool, FtlError> {
        self.inner.collect(pool, cells)
    }
    fn writable_pages(&self) -> u64 {
        self.inner.writable_pages()
    }
    fn memory_bytes(&self) -> usize {
        self.inner.memory_bytes()
    }
    fn map_bytes(&self) -> u64 {
        self.inner.map_bytes()
    }
    fn check(&self, flash: &FlashState) {
        self.inner.check(flash);
    }
}

#[test]
fn the_map_check_catches_a_leaky_layer() {
    let settings = settings();
    let geometry = Geometry::new(&settings.geometry, false).unwrap();
    let space = Space::new(&settings, &geometry).unwrap();
    let context = FtlContext { geometry: &geometry, space: &space, settings: &settings, seed: 1 };
    let steps: Vec<Step> = (0..3).map(Step::Write).collect();
    assert!(run(build(&context).unwrap(), &geometry, space.host_pages, &steps).is_ok());
    let leaky = Box::new(LeakyFtl { inner: build(&context).unwrap(), writes: 0 });
    assert!(run(leaky, &geometry, space.host_pages, &steps).is_err());
}

#[test]
fn writing_in_no_time_has_the_same_outcome() {
    let settings = settings();
    let geometry = Geometry::new(&settings.geometry, false).unwrap();
    let space = Space::new(&settings, &geometry).unwrap();
    for layer in choices() {
        let mut settings = settings.clone();
        settings.ftl = layer;
        let context = FtlContext { geometry: &geometry, space: &space, settings: &settings, seed: 1 };
        let (mut timed, mut untimed) = (build(&context).unwrap(), build(&context).unwrap());
        let (mut flash, mut other_flash) = (FlashState::new(&geometry), FlashState::new(&geometry));
        let mut rng = esker_core::Rng::new(5);
        let pages: Vec<LogicalPage> =
            (0..3000).map(|_| LogicalPage(rng.below(u64::from(space.host_pages)) as u32)).collect();
        let mut ops = OpList::default();
        for page in &pages {
            ops.clear();
            timed.write(*page, WriteExtent::Whole, &mut Cells::new(&mut flash, &mut ops)).unwrap();
        }
        untimed.write_untimed(&pages, &mut other_flash).unwrap();
        assert_eq!(flash.counts(), other_flash.counts());
        for page in 0..space.host_pages {
            assert_eq!(timed.find(LogicalPage(page)), untimed.find(LogicalPage(page)));
        }
    }
}
