//! Suspected pages: they count as invalid, stay readable until their block is erased, and can be revived until then.

use std::collections::BTreeMap;

use esker_core::{LogicalPage, PhysicalPage, Ratio, Rng};
use esker_nand::state::{FlashOpKind, FlashState, OpList};
use esker_nand::{Geometry, PoolScope};
use proptest::prelude::*;

use crate::tests::settings;
use crate::{
    Cells, Choice, FTLS, Ftl, FtlContext, FtlCounters, FtlEntry, LayerCapability, PageOwner, Space, VICTIM_POLICIES,
    WearLevelling, WearSettings, WriteExtent, build,
};

#[derive(Clone, Copy, Debug)]
enum Step {
    Write(u32),
    Suspect(u32),
    Revive(u32),
    Trim(u32),
    Collect,
}

fn step() -> impl Strategy<Value = Step> {
    let page = prop_oneof![0u32..1000, 0u32..60];
    prop_oneof![
        8 => page.clone().prop_map(Step::Write),
        3 => page.clone().prop_map(Step::Suspect),
        3 => page.clone().prop_map(Step::Revive),
        1 => page.prop_map(Step::Trim),
        1 => Just(Step::Collect),
    ]
}

/// Drops some pages, and records the erases that are reported to it.
#[derive(Clone, Debug)]
struct Owner {
    rng: Rng,
    percent: u64,
    dropped: Vec<u32>,
    erased: Vec<u32>,
}

impl PageOwner for Owner {
    fn keep(&mut self, page: LogicalPage) -> bool {
        let keep = self.rng.below(100) >= self.percent;
        if !keep {
            self.dropped.push(page.0);
        }
        keep
    }
    fn erased(&mut self, page: LogicalPage) {
        self.erased.push(page.0);
    }
}

/// Faults of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The layer trims suspected pages.
    Trims,
    /// The layer claims to have revived pages that it has not.
    Boasts,
    /// The layer does not report erases to the owner.
    Silent,
}

#[derive(Clone, Debug)]
struct Layer {
    inner: Box<dyn Ftl>,
    fault: Fault,
}

/// A layer beside a table of its pages. Every write has its own number. `content` holds these numbers by physical page,
/// and is updated from the emitted operations alone.
struct Pair {
    layer: Layer,
    flash: FlashState,
    owner: Owner,
    content: BTreeMap<u32, u32>,
    valid: BTreeMap<u32, u32>,
    suspected: BTreeMap<u32, u32>,
    space: Space,
    writes: u32,
    revived: u64,
    erased: u64,
}

impl Pair {
    fn new(settings: &crate::testing::DriveSettings, fault: Fault, percent: u64) -> Option<Self> {
        let geometry = Geometry::new(&settings.geometry, settings.block_summary).unwrap();
        let space = Space::new(settings, &geometry).ok()?;
        let space = space.addressing(space.host_pages * 3).expect("it is one pool");
        let inner = build(&FtlContext { geometry: &geometry, space: &space, settings, seed: 1 }).ok()?;
        Some(Self {
            layer: Layer { inner, fault },
            flash: FlashState::new(&geometry),
            owner: Owner { rng: Rng::new(7), percent, dropped: Vec::new(), erased: Vec::new() },
            content: BTreeMap::new(),
            valid: BTreeMap::new(),
            suspected: BTreeMap::new(),
            space,
            writes: 0,
            revived: 0,
            erased: 0,
        })
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        let (Step::Write(page) | Step::Suspect(page) | Step::Revive(page) | Step::Trim(page)) = step else {
            let page = LogicalPage(self.writes % self.space.logical_pages);
            return self.perform(|ftl, cells| ftl.collect(ftl.pool_of(page), cells).map(|_| ())).map(|_| ());
        };
        let page = page % self.space.logical_pages;
        let logical = LogicalPage(page);
        match step {
            Step::Write(_) => {
                self.make_room(page)?;
                self.writes += 1;
                let result = self.perform(|ftl, cells| ftl.write(logical, WriteExtent::Whole, cells))?;
                prop_assert_eq!(result, Ok(()));
                self.suspected.remove(&page);
                self.valid.insert(page, self.writes);
            }
            Step::Suspect(_) => self.suspect(page)?,
            Step::Revive(_) => {
                self.make_room(page)?;
                let boasts = self.layer.fault == Fault::Boasts;
                let revived = self.perform(|ftl, cells| ftl.revive(logical, cells) || boasts)?;
                let number = self.suspected.remove(&page);
                prop_assert_eq!(revived, number.is_some(), "revived {}", page);
                self.revived += u64::from(revived);
                number.map(|number| self.valid.insert(page, number));
            }
            _ => {
                self.perform(|ftl, cells| ftl.trim(logical, cells))?;
                self.valid.remove(&page);
                self.suspected.remove(&page);
            }
        }
        let found = self.layer.inner.find(logical).map(|at| self.content.get(&at.0));
        prop_assert_eq!(found, self.valid.get(&page).map(Some), "page {}", page);
        Ok(())
    }

    /// Suspects a page if there would otherwise be too many pages with data once `page` has some.
    fn make_room(&mut self, page: u32) -> Result<(), TestCaseError> {
        if self.valid.len() as u32 == self.space.host_pages && !self.valid.contains_key(&page) {
            let (&first, _) = self.valid.range(page..).next().or(self.valid.first_key_value()).expect("some are valid");
            self.suspect(first)?;
        }
        Ok(())
    }

    fn suspect(&mut self, page: u32) -> Result<(), TestCaseError> {
        let trims = self.layer.fault == Fault::Trims;
        let suspected = self.perform(|ftl, cells| match trims {
            true => {
                let had = ftl.find(LogicalPage(page)).is_some();
                ftl.trim(LogicalPage(page), cells);
                had
            }
            false => ftl.suspect(LogicalPage(page), cells),
        })?;
        let number = self.valid.remove(&page);
        prop_assert_eq!(suspected, number.is_some(), "suspected {}", page);
        number.map(|number| self.suspected.insert(page, number));
        Ok(())
    }

    /// Calls the layer, applies the operations that it emitted, and records what it reported to the owner.
    fn perform<T>(&mut self, call: impl FnOnce(&mut dyn Ftl, &mut Cells<'_, OpList>) -> T) -> Result<T, TestCaseError> {
        let mut ops = OpList::default();
        let result = call(&mut *self.layer.inner, &mut Cells::new(&mut self.flash, &mut ops).owned_by(&mut self.owner));
        for page in self.owner.dropped.drain(..) {
            prop_assert!(self.valid.remove(&page).is_some(), "asked about {}, which has no data", page);
        }
        if self.layer.fault == Fault::Silent {
            self.owner.erased.clear();
        }
        for page in self.owner.erased.drain(..) {
            prop_assert!(self.suspected.remove(&page).is_some(), "{} was not suspected", page);
            self.erased += 1;
        }
        for op in ops.as_slice() {
            match op.kind {
                FlashOpKind::Program { page, .. } => {
                    prop_assert_eq!(self.content.insert(page.0, self.writes), None, "programmed without an erase");
                }
                FlashOpKind::Copy { from, to } => {
                    let data = self.content.get(&from.0).copied().expect("copied what was never written");
                    prop_assert_eq!(self.content.insert(to.0, data), None, "programmed without an erase");
                }
                FlashOpKind::Erase { block } => {
                    let first = self.flash.geometry().first_page(block).0;
                    (first..first + self.flash.geometry().pages_per_block()).for_each(|page| {
                        self.content.remove(&page);
                    });
                }
                _ => {}
            }
        }
        Ok(result)
    }

    /// Compares all pages, after reviving every suspect that fits.
    fn finish(mut self) -> Result<FtlCounters, TestCaseError> {
        self.flash.check();
        self.layer.inner.check(&self.flash);
        let suspects: Vec<u32> = self.suspected.keys().copied().collect();
        let room = self.space.host_pages as usize - self.valid.len();
        for page in suspects.into_iter().take(room) {
            self.step(Step::Revive(page))?;
        }
        for page in 0..self.space.logical_pages {
            let found: Option<PhysicalPage> = self.layer.inner.find(LogicalPage(page));
            let number = found.map(|at| self.content.get(&at.0));
            prop_assert_eq!(number, self.valid.get(&page).map(Some), "page {}", page);
        }
        self.flash.check();
        self.layer.inner.check(&self.flash);
        let counters = self.layer.inner.counters();
        prop_assert_eq!((counters.revived_pages, counters.erased_suspects), (self.revived, self.erased));
        Ok(counters)
    }
}

/// Returns the layers that can suspect pages.
fn able() -> impl Iterator<Item = &'static FtlEntry> {
    FTLS.iter().filter(|layer| layer.can(LayerCapability::Suspects))
}

fn one_pool() -> crate::testing::DriveSettings {
    let mut settings = settings();
    (settings.pool, settings.over_provisioning) = (PoolScope::Device, Some(Ratio::percent(40)));
    settings
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn suspects_read_as_written_until_their_block_is_erased(
        steps in prop::collection::vec(step(), 1..1500),
        percent in prop::sample::select(vec![0u64, 20, 100]),
        (gradual, background, worn) in (any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        for (layer, policy) in able().flat_map(|layer| VICTIM_POLICIES.iter().map(move |policy| (layer, policy))) {
            let mut settings = one_pool();
            settings.ftl = Choice::named(layer.name);
            settings.cleaning.victim = Choice::named(policy.name);
            settings.cleaning.gradual = gradual.then_some(Ratio::percent(25));
            settings.cleaning.background = background.then_some(Ratio::percent(25));
            if worn && layer.can(LayerCapability::Wear) {
                let (age_variance, retirement_age) = (Ratio::percent(1), Ratio::percent(99));
                settings.endurance_cycles = 20_000;
                settings.wear = Some(WearSettings {
                    levelling: WearLevelling::Migration, age_variance, retirement_age, ..WearSettings::default()
                });
            }
            let mut pair = Pair::new(&settings, Fault::None, percent).expect("there is room");
            steps.iter().try_for_each(|step| pair.step(*step))?;
            pair.finish()?;
        }
    }
}

/// Steps that start cleaning often, with a few pages in use and others suspected.
fn many_steps() -> Vec<Step> {
    let mut rng = Rng::new(3);
    let mut page = || rng.below(250) as u32;
    (0..6_000).flat_map(|_| [Step::Write(page()), Step::Suspect(page()), Step::Revive(page())]).collect()
}

fn outcome(layer: &str, fault: Fault) -> Result<FtlCounters, TestCaseError> {
    let mut settings = one_pool();
    settings.ftl = Choice::named(layer);
    let mut pair = Pair::new(&settings, fault, 0).expect("there is room");
    many_steps().iter().try_for_each(|step| pair.step(*step))?;
    pair.finish()
}

#[test]
fn faulty_layers_are_caught() {
    for layer in able() {
        let counters = outcome(layer.name, Fault::None).unwrap();
        assert!(counters.revived_pages > 100 && counters.erased_suspects > 100, "{counters:?}");
        assert_eq!(counters.dropped_pages, 0);
        for fault in [Fault::Trims, Fault::Boasts, Fault::Silent] {
            assert!(outcome(layer.name, fault).is_err(), "{}: {fault:?}", layer.name);
        }
    }
}

/// Suspecting pages makes a block cheap to clean; reviving them makes it expensive again.
#[test]
fn suspects_count_as_invalid_for_the_victim() {
    let copies = |suspect: bool, revive: bool| {
        let mut pair = Pair::new(&one_pool(), Fault::None, 0).expect("there is room");
        let host = pair.space.host_pages;
        (0..host).for_each(|page| pair.step(Step::Write(page)).unwrap());
        let even = || (0..host).step_by(2);
        even().filter(|_| suspect).for_each(|page| pair.step(Step::Suspect(page)).unwrap());
        even().filter(|_| revive).for_each(|page| pair.step(Step::Revive(page)).unwrap());
        let mut rng = Rng::new(5);
        (0..5 * host).for_each(|_| pair.step(Step::Write(1 | rng.below(u64::from(host)) as u32)).unwrap());
        pair.flash.counts().programs().cleaning
    };
    assert!(copies(true, false) < copies(false, false), "{} {}", copies(true, false), copies(false, false));
    assert_eq!(copies(true, true), copies(false, false));
}

#[test]
fn an_owner_of_more_pages_needs_one_pool() {
    let geometry = Geometry::new(&settings().geometry, false).unwrap();
    let several = Space::new(&settings(), &geometry).unwrap();
    assert_eq!(several.addressing(several.host_pages * 2), None);
    let one = Space::new(&one_pool(), &geometry).unwrap();
    assert_eq!(one.addressing(one.host_pages - 1), None);
    assert_eq!(one.addressing(one.host_pages * 2).unwrap().logical_pages, one.host_pages * 2);
}
