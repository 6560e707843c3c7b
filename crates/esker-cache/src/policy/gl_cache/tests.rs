//! Groups and their merging against a naive model with a fixed utility; the model that learns, and what it is good for.

use esker_core::Rng;
use esker_core::registry::{Choice, ParameterValue};
use proptest::prelude::*;

use super::learner::ROWS_LEAST;
use super::*;
use crate::policy::build;
use crate::policy::tests::{accesses, compare_built, knows_what_it_holds, mixed};
use crate::reference::NaiveGlCache;
use crate::{AccessKind, NEVER, simulate};

/// Knows the utility of a group from the beginning: uses for each access of its age, times `sign`.
#[derive(Clone, Copy, Debug)]
struct UsesOverAge {
    sign: f64,
}

impl Learner for UsesOverAge {
    fn train(&mut self, _rows: &[Features], _utilities: &[f64]) {}

    fn is_trained(&self) -> bool {
        true
    }

    fn predict(&self, rows: &[Features]) -> Vec<f64> {
        rows.iter().map(|[age, uses, ..]| self.sign * uses / age.max(1.0)).collect()
    }

    fn memory_bytes(&self) -> usize {
        0
    }
}

/// Never learns.
#[derive(Clone, Copy, Debug)]
struct Dunce;

impl Learner for Dunce {
    fn train(&mut self, _rows: &[Features], _utilities: &[f64]) {}

    fn is_trained(&self) -> bool {
        false
    }

    fn predict(&self, rows: &[Features]) -> Vec<f64> {
        vec![0.0; rows.len()]
    }

    fn memory_bytes(&self) -> usize {
        0
    }
}

const SETTINGS: Settings = Settings { group: 60, merged: 2, ranked: Ratio::percent(5), training: Ratio::percent(400) };

fn naive<L: Learner>(capacity: u32, settings: &Settings, learner: L) -> NaiveGlCache<L> {
    let mut naive = NaiveGlCache::new(capacity as usize, settings.merged as usize, learner);
    naive.group = settings.group as usize;
    naive
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn groups_are_formed_and_merged_as_in_a_naive_model(
        seed: u64, capacity in 1u32..700, objects in 1u32..1_400, group in 1u32..9, merged in 2u32..6
    ) {
        let shape = Shape { capacity, objects, seed };
        let settings = Settings { group, merged, ..SETTINGS };
        let accesses = accesses(&mixed(seed, objects, 4_000));
        let learner = UsesOverAge { sign: 1.0 };
        let mut policy = GlCache::new(&shape, settings, learner);
        compare_built(&mut policy, &mut naive(capacity, &settings, learner), &accesses)?;
        let mut policy = GlCache::new(&shape, settings, Dunce);
        compare_built(&mut policy, &mut naive(capacity, &settings, Dunce), &accesses)?;
    }

    /// Objects leave in the order of a ranking while groups lose objects that are removed, and change their size.
    #[test]
    fn a_ranking_outlives_removals(seed: u64, capacity in 1u32..400, objects in 1u32..900, merged in 2u32..6) {
        let settings = Settings { merged, ranked: Ratio::percent(50), ..SETTINGS };
        let shape = Shape { capacity, objects, seed };
        knows_what_it_holds(&mut GlCache::new(&shape, settings, UsesOverAge { sign: 1.0 }), seed, objects)?;
    }
}

#[test]
fn a_model_with_another_utility_or_group_is_noticed() {
    let shape = Shape { capacity: 700, objects: 2_000, seed: 1 };
    let accesses = accesses(&mixed(1, 2_000, 20_000));
    let policy = || GlCache::new(&shape, SETTINGS, UsesOverAge { sign: 1.0 });
    let wrong = [
        naive(700, &SETTINGS, UsesOverAge { sign: -1.0 }),
        naive(700, &Settings { group: 6, ..SETTINGS }, UsesOverAge { sign: 1.0 }),
        naive(700, &Settings { merged: 3, ..SETTINGS }, UsesOverAge { sign: 1.0 }),
    ];
    for mut wrong in wrong {
        assert!(compare_built(&mut policy(), &mut wrong, &accesses).is_err());
    }
    compare_built(&mut policy(), &mut naive(700, &SETTINGS, UsesOverAge { sign: 1.0 }), &accesses).unwrap();
}

fn misses(policy: &str, shape: &Shape, accesses: &[Access]) -> u64 {
    simulate(&mut *build(&Choice::named(policy), shape).unwrap(), accesses).misses
}

/// Until the first training it goes by time, and what was used last is kept longer.
#[test]
fn it_is_like_fifo_and_lru_before_it_is_trained() {
    let shape = Shape { capacity: 2_000, objects: 20_000, seed: 1 };
    let accesses = accesses(&skewed(shape.objects, 100_000));
    let mut untrained = GlCache::new(&shape, SETTINGS, Dunce);
    let untrained = simulate(&mut untrained, &accesses).misses;
    let (fifo, lru) = (misses("fifo", &shape, &accesses), misses("lru", &shape, &accesses));
    assert!(untrained < fifo && untrained.abs_diff(lru) < lru / 20, "{untrained}, with fifo {fifo}, with lru {lru}");
}

/// Low numbers come up more often.
fn skewed(objects: u32, length: usize) -> Vec<u32> {
    let mut rng = Rng::new(1);
    (0..length).map(|_| (rng.unit() * rng.unit() * rng.unit() * f64::from(objects)) as u32).collect()
}

const HOT: u32 = 3_000;

/// Small accesses to `HOT` objects, and time and again a scan of large ones, of which none comes back. Each scan is as
/// long as the cache has objects, so that it empties a cache that goes by time.
fn scanned(scans: u32, scan: u32) -> Vec<Access> {
    let mut rng = Rng::new(7);
    let mut accesses = Vec::new();
    let access = |object, bytes| Access { object: ObjectId(object), bytes, kind: AccessKind::Read, next_use: NEVER };
    for number in 0..scans {
        accesses.extend((0..2 * scan).map(|_| access((rng.unit() * rng.unit() * f64::from(HOT)) as u32, 4_096)));
        accesses.extend((0..scan).map(|at| access(HOT + number * scan + at, 65_536)));
    }
    accesses
}

#[test]
fn it_learns_that_scans_are_of_no_use() {
    let (scans, capacity) = (60, 2_000);
    let accesses = scanned(scans, capacity);
    let shape = Shape { capacity, objects: HOT + scans * capacity, seed: 1 };
    let learned = misses("gl-cache", &shape, &accesses);
    let (fifo, lru) = (misses("fifo", &shape, &accesses), misses("lru", &shape, &accesses));
    let mut dunce = GlCache::new(&shape, SETTINGS, Dunce);
    let untrained = simulate(&mut dunce, &accesses).misses;
    // A third of the accesses is to objects of scans: every policy misses those.
    let avoidable = |misses: u64| misses - u64::from(scans * capacity);
    let worse = avoidable(lru).min(avoidable(fifo)).min(avoidable(untrained));
    assert!(2 * avoidable(learned) < worse, "{learned}, with lru {lru}, with fifo {fifo}, untrained {untrained}");
}

#[test]
fn the_seed_alone_decides_what_is_sampled() {
    // More groups than a sample has.
    let mut choice = Choice::named("gl-cache");
    choice.parameters.insert("group".to_string(), ParameterValue::Integer(1));
    let accesses = accesses(&skewed(10_000, 60_000));
    let misses = [1, 1, 2].map(|seed| {
        let shape = Shape { capacity: 1_500, objects: 10_000, seed };
        simulate(&mut *build(&choice, &shape).unwrap(), &accesses).misses
    });
    assert_eq!(misses[0], misses[1]);
    assert_ne!(misses[0], misses[2]);
}

#[test]
fn trees_learn_a_step_and_nothing_from_few_rows() {
    let row = |age: u32| [f64::from(age), 3.0, 2.0, 0.5, 4_096.0];
    let rows: Vec<Features> = (0..100).map(row).collect();
    let utilities: Vec<f64> = (0..100).map(|age| if age < 40 { 4.0 } else { 0.0 }).collect();
    let mut trees = BoostedTrees::default();
    trees.train(&rows[..ROWS_LEAST - 1], &utilities[..ROWS_LEAST - 1]);
    assert!(!trees.is_trained());
    assert_eq!(trees.predict(&rows), vec![0.0; 100]);
    trees.train(&rows, &utilities);
    let predicted = trees.predict(&[row(10), row(39), row(40), row(1_000)]);
    for (predicted, expected) in predicted.into_iter().zip([2.0, 2.0, 0.0, 0.0]) {
        assert!((predicted - expected).abs() < 0.1, "{predicted} instead of {expected}");
    }
}
