//! Tests with owners that no longer need all of their pages: the layer still maps the others, and copies less.

use esker_core::{LogicalPage, PhysicalPage, Ratio, Rng};
use esker_nand::state::{Cause, FlashState, OpIndex, OpList};
use esker_nand::{Geometry, PoolScope};
use proptest::prelude::*;

use crate::testing::DriveSettings;
use crate::tests::{Pair, Step, choices, settings, step};
use crate::{
    Cells, Choice, FTLS, Ftl, FtlContext, FtlCounters, FtlError, LayerCapability, PageOwner, Separation, Space,
    VICTIM_POLICIES, WearLevelling, WearSettings, WriteExtent, build,
};

/// An owner that no longer needs some pages, drawn at random.
#[derive(Clone, Debug)]
pub(crate) struct Dropper {
    rng: Rng,
    /// Share of pages that are dropped, in percent.
    percent: u64,
    /// Simulates a faulty owner or layer: this percentage of the pages to keep is dropped without a note.
    loses: u64,
    /// Pages dropped since the list was last read.
    pub(crate) dropped: Vec<u32>,
    asked: u64,
    refused: u64,
}

impl Dropper {
    pub(crate) fn new(seed: u64, percent: u64) -> Self {
        Self { rng: Rng::new(seed), percent, loses: 0, dropped: Vec::new(), asked: 0, refused: 0 }
    }
}

impl PageOwner for Dropper {
    fn keep(&mut self, page: LogicalPage) -> bool {
        self.asked += 1;
        if self.rng.below(100) < self.percent {
            self.refused += 1;
            self.dropped.push(page.0);
            return false;
        }
        self.rng.below(100) >= self.loses
    }
}

fn pair(settings: &DriveSettings, wrap: impl Fn(Box<dyn Ftl>) -> Box<dyn Ftl>) -> Option<Pair> {
    let geometry = Geometry::new(&settings.geometry, settings.block_summary).unwrap();
    let space = Space::new(settings, &geometry).ok()?;
    let context = FtlContext { geometry: &geometry, space: &space, settings, seed: 1 };
    Some(Pair::new(wrap(build(&context).ok()?), &geometry, space.host_pages))
}

/// Checks a layer whose pages have an owner.
fn run(mut pair: Pair, owner: Dropper, steps: &[Step]) -> Result<Dropper, TestCaseError> {
    pair.owner = Some(owner);
    for (index, step) in steps.iter().enumerate() {
        pair.step(*step)?;
        if index % 64 == 0 {
            pair.compare()?;
        }
    }
    pair.compare()?;
    pair.flash.check();
    pair.ftl.check(&pair.flash);
    let owner = pair.owner.expect("it has an owner");
    prop_assert_eq!(pair.ftl.counters().dropped_pages, owner.refused);
    Ok(owner)
}

/// Many writes of few pages, for frequent cleaning.
fn overwrites(count: u32) -> Vec<Step> {
    let mut rng = Rng::new(7);
    (0..count).map(|_| Step::Write(rng.below(1 << 20) as u32)).collect()
}

/// Returns drive settings for `layer` with as little spare space as it can work with.
fn tight(layer: &Choice) -> DriveSettings {
    let mut settings = settings();
    settings.over_provisioning = Some(Ratio::percent(if has_map_in_memory(layer) { 30 } else { 50 }));
    settings.ftl = layer.clone();
    settings
}

/// Returns true if nothing but data is written to the flash.
fn has_map_in_memory(layer: &Choice) -> bool {
    ["page", "zoned"].contains(&&*layer.kind)
}

/// Returns the layers that ask owners.
fn asking() -> impl Iterator<Item = Choice> {
    let asks =
        |choice: &Choice| FTLS.iter().any(|entry| entry.name == choice.kind && entry.can(LayerCapability::AsksOwner));
    choices().into_iter().filter(asks)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn what_owners_drop_is_gone_and_nothing_else_is(
        steps in prop::collection::vec(step(), 1..1200),
        pool in prop::sample::select(vec![PoolScope::Die, PoolScope::Package, PoolScope::Device]),
        (percent, seed) in (prop::sample::select(vec![0u64, 1, 20, 60, 100]), any::<u64>()),
        (gradual, background, worn) in (any::<bool>(), any::<bool>(), any::<bool>()),
        separate in prop::sample::select(vec![Separation::None, Separation::Copied, Separation::HotCold]),
    ) {
        let mut asked = 0;
        for layer in asking() {
            for policy in VICTIM_POLICIES {
                let mut settings = settings();
                settings.ftl = layer.clone();
                settings.cleaning.victim = Choice::named(policy.name);
                settings.cleaning.separate = separate;
                settings.cleaning.gradual = gradual.then_some(Ratio::percent(25));
                settings.cleaning.background = background.then_some(Ratio::percent(25));
                settings.pool = pool;
                settings.over_provisioning = Some(Ratio::percent(70));
                if worn {
                    let levelling = WearLevelling::Migration;
                    let (age_variance, retirement_age) = (Ratio::percent(1), Ratio::percent(99));
                    settings.endurance_cycles = 20;
                    settings.wear =
                        Some(WearSettings { levelling, age_variance, retirement_age, ..WearSettings::default() });
                }
                if let Some(pair) = pair(&settings, |ftl| ftl) {
                    asked += run(pair, Dropper::new(seed, percent), &steps)?.asked;
                }
            }
        }
        prop_assert!(asked > 0 || steps.len() < 1000, "nobody was asked");
    }
}

/// Returns the programs per host write, while `owner` is asked.
fn amplification(settings: &DriveSettings, owner: Option<Dropper>) -> f64 {
    let mut pair = pair(settings, |ftl| ftl).expect("there is room");
    pair.owner = owner;
    let steps = overwrites(20_000);
    steps.iter().for_each(|step| pair.step(*step).unwrap());
    pair.flash.counts().programs().total() as f64 / steps.len() as f64
}

#[test]
fn the_more_is_dropped_the_less_is_copied_and_being_asked_costs_nothing() {
    for layer in asking() {
        let settings = tight(&layer);
        let unasked = amplification(&settings, None);
        let [kept, half, none] = [0, 50, 100].map(|percent| amplification(&settings, Some(Dropper::new(3, percent))));
        assert_eq!(unasked, kept, "{layer:?}");
        assert!(half < kept - 0.1 && none < half - 0.1, "{layer:?}: {kept:.3}, {half:.3}, {none:.3}");
        if has_map_in_memory(&layer) {
            assert_eq!(none, 1.0, "nothing is copied where nothing is wanted");
        }
    }
}

#[test]
fn layers_that_map_blocks_keep_everything() {
    for layer in FTLS.iter().filter(|layer| !layer.can(LayerCapability::AsksOwner)) {
        let mut settings = settings();
        settings.over_provisioning = Some(Ratio::percent(60));
        settings.ftl = Choice::named(layer.name);
        let pair = pair(&settings, |ftl| ftl).expect("there is room");
        let owner = run(pair, Dropper::new(1, 50), &overwrites(2000)).unwrap();
        assert_eq!(owner.asked, 0, "{}", layer.name);
    }
}

/// A faulty layer: drops pages, but still finds them where they were.
#[derive(Clone, Debug)]
struct StaleFtl {
    inner: Box<dyn Ftl>,
    places: Vec<Option<PhysicalPage>>,
}

impl Ftl for StaleFtl {
    fn find(&self, page: LogicalPage) -> Option<PhysicalPage> {
        self.inner.find(page).or(self.places[page.0 as usize])
    }
    fn pool_of(&self, page: LogicalPage) -> u32 {
        self.inner.pool_of(page)
    }
    fn read(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) {
        self.inner.read(page, cells);
    }
    fn write(&mut self, page: LogicalPage, extent: WriteExtent, cells: &mut Cells<'_, OpList>) -> Result<(), FtlError> {
        self.inner.write(page, extent, cells)?;
        self.places[page.0 as usize] = self.inner.find(page);
        Ok(())
    }
    fn refresh(
        &mut self,
        page: LogicalPage,
        read: OpIndex,
        cause: Cause,
        cells: &mut Cells<'_, OpList>,
    ) -> Result<(), FtlError> {
        self.inner.refresh(page, read, cause, cells)
    }
    fn trim(&mut self, page: LogicalPage, cells: &mut Cells<'_, OpList>) {
        self.inner.trim(page, cells);
        self.places[page.0 as usize] = None;
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
    fn counters(&self) -> FtlCounters {
        self.inner.counters()
    }
    fn check(&self, flash: &FlashState) {
        self.inner.check(flash);
    }
}

#[test]
fn wrong_twins_are_found_out() {
    let steps = overwrites(6000);
    for layer in asking() {
        let settings = tight(&layer);
        let sound = |owner| run(pair(&settings, |ftl| ftl).unwrap(), owner, &steps);
        assert!(sound(Dropper::new(1, 20)).unwrap().refused > 10, "{layer:?}");
        let stale = |ftl| Box::new(StaleFtl { inner: ftl, places: vec![None; 1 << 16] }) as Box<dyn Ftl>;
        assert!(run(pair(&settings, stale).unwrap(), Dropper::new(1, 0), &steps).is_ok(), "{layer:?}");
        let error = run(pair(&settings, stale).unwrap(), Dropper::new(1, 20), &steps).unwrap_err();
        assert!(error.to_string().contains("page"), "{layer:?}: {error}");
        // A page that should have been kept is lost.
        let error = sound(Dropper { loses: 2, ..Dropper::new(1, 20) }).unwrap_err();
        assert!(error.to_string().contains("page"), "{layer:?}: {error}");
    }
}

/// A page with too many bit errors is moved. That may start cleaning, which may drop that very page.
#[test]
fn a_page_that_is_dropped_while_it_is_refreshed_stays_gone() {
    for layer in asking() {
        let settings = tight(&layer);
        let mut pair = pair(&settings, |ftl| ftl).unwrap();
        overwrites(2000).iter().for_each(|step| pair.step(*step).unwrap());
        let (mut rng, mut vanished) = (Rng::new(9), 0);
        for round in 0..20_000 {
            let mut ops = OpList::default();
            let [page, other] = [(); 2].map(|()| LogicalPage(rng.below(80) as u32));
            pair.ftl.write(other, WriteExtent::Whole, &mut Cells::new(&mut pair.flash, &mut ops)).unwrap();
            ops.clear();
            pair.ftl.read(page, &mut Cells::new(&mut pair.flash, &mut ops));
            if pair.ftl.find(page).is_none() {
                continue;
            }
            let read = OpIndex(ops.as_slice().len() as u32 - 1);
            let mut owner = Dropper::new(round, 30);
            let cells = &mut Cells::new(&mut pair.flash, &mut ops).owned_by(&mut owner);
            pair.ftl.refresh(page, read, Cause::Refresh, cells).unwrap();
            if owner.dropped.contains(&page.0) {
                assert_eq!(pair.ftl.find(page), None, "{layer:?}");
                pair.flash.check();
                pair.ftl.check(&pair.flash);
                vanished += 1;
            }
        }
        assert!(vanished > 0, "{layer:?}: the case never came up");
    }
}

/// A victim with hot and cold pages may need two free blocks before it frees one.
#[test]
fn kinds_of_data_share_the_last_room_rather_than_refuse_a_write() {
    for seed in 0..400 {
        let mut settings = settings();
        settings.cleaning.victim = Choice::named("mru");
        settings.cleaning.separate = Separation::HotCold;
        settings.cleaning.background = Some(Ratio::percent(25));
        settings.pool = PoolScope::Die;
        settings.over_provisioning = Some(Ratio::percent(70));
        let mut pair = pair(&settings, |ftl| ftl).expect("there is room");
        let mut rng = Rng::new(seed);
        for _ in 0..1000 {
            let page = if rng.below(2) == 0 { rng.below(1000) } else { rng.below(20) };
            let steps = [Step::Write(page as u32), Step::Collect];
            steps[..1 + (rng.below(16) == 0) as usize].iter().for_each(|step| pair.step(*step).unwrap());
        }
        pair.compare().unwrap();
    }
}
