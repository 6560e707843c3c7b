//! Properties of admission policies, each compared with a naive model, and closed forms.

use std::collections::BTreeSet;

use esker_core::registry::{self, ParameterValue};
use esker_core::{Bytes, Rng};
use proptest::prelude::*;

use super::*;
use crate::{AccessKind, NEVER, ObjectId, build, simulate_admitting};

/// A policy in its simplest form. It receives the answers of the real one, since a Bloom filter may err.
pub(super) trait Model {
    /// Returns true if `admitted` is a correct answer to this miss.
    fn agrees(&mut self, now: Nanos, access: &Access, admitted: bool) -> bool;
    fn hit(&mut self, _now: Nanos, _access: &Access) {}
}

/// The window as a list that is searched. With an adaptive length, this is LARC.
struct Window {
    capacity: f64,
    length: f64,
    adapts: bool,
    seen: Vec<ObjectId>,
}

/// A window of this share of the cache.
pub(super) fn window(shape: &Shape, length: f64, adapts: bool) -> Box<dyn Model> {
    let capacity = f64::from(shape.capacity);
    Box::new(Window { capacity, length: length * capacity, adapts, seen: Vec::new() })
}

impl Model for Window {
    fn agrees(&mut self, _: Nanos, access: &Access, admitted: bool) -> bool {
        if self.adapts {
            self.length = (self.length + self.capacity / self.length).min(0.9 * self.capacity);
        }
        let before = self.seen.len();
        self.seen.retain(|object| *object != access.object);
        let second = self.seen.len() < before;
        if !second {
            self.seen.push(access.object);
            let gone = self.seen.len().saturating_sub((self.length as usize).max(1));
            self.seen.drain(..gone);
        }
        second == admitted
    }

    fn hit(&mut self, _: Nanos, _: &Access) {
        if self.adapts {
            self.length = (self.length - self.capacity / (self.capacity - self.length)).max(0.1 * self.capacity);
        }
    }
}

/// Two sets in place of two filters.
pub(super) struct Sets {
    window: usize,
    current: BTreeSet<ObjectId>,
    before: BTreeSet<ObjectId>,
    answers: u64,
    wrong: u64,
}

impl Model for Sets {
    fn agrees(&mut self, _: Nanos, access: &Access, admitted: bool) -> bool {
        let seen = self.current.contains(&access.object) || self.before.contains(&access.object);
        self.answers += 1;
        self.wrong += u64::from(admitted && !seen);
        if !admitted {
            self.current.insert(access.object);
            if self.current.len() == self.window {
                self.before = std::mem::take(&mut self.current);
            }
        }
        admitted || !seen
    }
}

/// What a policy with its default parameters is compared with.
pub(super) struct ModelEntry {
    /// The name of the policy.
    pub(super) policy: &'static str,
    pub(super) model: fn(&Shape) -> Box<dyn Model>,
}

/// Returns the model of a policy with its default parameters.
fn model(name: &str, shape: &Shape) -> Option<Box<dyn Model>> {
    MODELS.iter().find(|model| model.policy == name).map(|model| (model.model)(shape))
}

pub(super) fn sets(window: usize) -> Sets {
    Sets { window, current: BTreeSet::new(), before: BTreeSet::new(), answers: 0, wrong: 0 }
}

fn access(object: u32, kind: AccessKind) -> Access {
    Access { object: ObjectId(object), bytes: 4096, kind, next_use: NEVER }
}

/// Accesses to objects below `objects`, a quarter of them writes. Small numbers are used often.
fn mixed(seed: u64, objects: u32, length: usize) -> Vec<Access> {
    let mut rng = Rng::new(seed);
    let kind = |write| if write { AccessKind::Write } else { AccessKind::Read };
    let mut draw = || {
        let below = 1 + rng.below(u64::from(objects));
        access(rng.below(below) as u32, kind(rng.chance(1, 4)))
    };
    (0..length).map(|_| draw()).collect()
}

fn choice(name: &str, parameters: &[(&str, ParameterValue)]) -> Choice {
    let parameters = parameters.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    Choice { kind: name.to_string(), parameters }
}

fn text(value: &str) -> ParameterValue {
    ParameterValue::Text(value.to_string())
}

/// Runs a policy in front of an LRU cache, together with a model. Returns the first access on which the two disagree.
fn first_difference(choice: &Choice, model: &mut dyn Model, shape: &Shape, accesses: &[Access]) -> Option<usize> {
    let mut admission = build_admission(choice, shape).unwrap();
    let mut cache = build(&Choice::named("lru"), shape).unwrap();
    (0..accesses.len()).find(|number| {
        let (now, access) = (Nanos::from_millis(*number as u64), &accesses[*number]);
        if cache.hit(access) {
            admission.hit(now, access);
            model.hit(now, access);
            return false;
        }
        let admitted = admission.admits(now, access);
        if admitted {
            cache.insert(access);
        }
        !model.agrees(now, access, admitted)
    })
}

#[test]
fn the_registry_is_sound() {
    assert_eq!(registry::check(ADMISSIONS), Vec::<String>::new());
}

proptest! {
    #[test]
    fn each_policy_admits_what_its_model_admits(seed: u64, capacity in 1u32..60, objects in 1u32..150) {
        let shape = Shape { capacity, objects, seed };
        let accesses = mixed(seed, objects, 1_500);
        for entry in ADMISSIONS {
            let mut model = model(entry.name, &shape).expect("every policy has a model");
            let difference = first_difference(&Choice::named(entry.name), &mut *model, &shape, &accesses);
            prop_assert_eq!(difference, None, "{}", entry.name);
        }
    }

    /// At any time, the bytes admitted so far are at most the bytes saved up at the beginning, plus the bytes earned
    /// by then, plus one object.
    #[test]
    fn the_budget_is_kept(seed: u64, megabytes_per_day in 1u64..5_000, burst in 1u64..200) {
        let shape = Shape { capacity: 50, objects: 400, seed };
        let budget = megabytes_per_day * 1_000_000;
        let parameters = [
            ("bytes_per_day", ParameterValue::Integer(budget)),
            ("burst", text(&format!("{burst}%"))),
            ("window", text("1000%")),
        ];
        let mut admission = build_admission(&choice("reject-first", &parameters), &shape).unwrap();
        let mut rng = Rng::new(seed);
        let (mut now, mut admitted) = (0, 0);
        let day = 24.0 * 3600.0 * 1e9;
        for mut access in mixed(seed, 400, 3_000) {
            now += rng.below(20_000_000_000);
            access.bytes = 1 + rng.below(100_000) as u32;
            if admission.admits(Nanos(now), &access) {
                admitted += u64::from(access.bytes);
            }
            let earned = budget as f64 * (burst as f64 / 100.0 + now as f64 / day);
            prop_assert!(admitted as f64 <= earned + 100_000.0, "{admitted} of {earned} bytes at {now}");
        }
    }
}

/// Computes the remaining budget without stepping through time. Since any earlier write, it is at most the burst, plus
/// what was earned since, less what was written since. The smallest of these values counts.
#[test]
fn a_budget_is_what_its_closed_form_says() {
    const DAY: i128 = 86_400_000_000_000;
    let differences = |bytes_per_day: u64, burst_in_form: i128| {
        let mut rng = Rng::new(bytes_per_day);
        let mut budget = super::budget::Budget::new(Bytes(bytes_per_day), Ratio::percent(10));
        let burst = i128::from(bytes_per_day) * DAY / 10 + burst_in_form;
        let mut written: Vec<(i128, i128)> = Vec::new();
        let (mut now, mut different) = (0, 0);
        for _ in 0..1_000 {
            now += rng.below(200_000_000_000);
            let (mut left, mut since) = (burst, 0);
            for (at, bytes) in written.iter().rev() {
                since += bytes * DAY;
                left = left.min(burst + (i128::from(now) - at) * i128::from(bytes_per_day) - since);
            }
            let allowed = budget.allows(Nanos(now));
            different += u32::from(allowed != (left > 0));
            if allowed {
                let bytes = 1 + rng.below(2_000_000) as u32;
                budget.spend(bytes.into());
                written.push((i128::from(now), i128::from(bytes)));
            }
        }
        assert!(written.len() < 900, "the budget is never used up");
        different
    };
    for bytes_per_day in [10_000_000, 123_456_780, 500_000_000] {
        assert_eq!(differences(bytes_per_day, 0), 0);
        // With a burst that is a tenth larger, the closed form is wrong.
        assert!(differences(bytes_per_day, i128::from(bytes_per_day) * DAY / 100) > 0);
    }
}

/// If objects miss all the time, exactly as many enter as the budget pays for.
#[test]
fn the_budget_is_used_up() {
    let shape = Shape { capacity: 10, objects: 10, seed: 1 };
    // One object of 4 KiB every ten seconds.
    let parameters = [("bytes_per_day", ParameterValue::Integer(4096 * 8640)), ("burst", text("1%"))];
    let mut admission = build_admission(&choice("reject-first", &parameters), &shape).unwrap();
    let seconds = 100_000;
    let admitted = (0..seconds)
        .filter(|second| {
            let access = access((second % 10) as u32, AccessKind::Read);
            admission.admits(Nanos::from_secs(*second), &access)
        })
        .count();
    let expected = seconds as f64 / 10.0 + 86.4;
    assert!((admitted as f64 - expected).abs() <= 2.0, "{admitted}, not {expected}");
}

/// Writes to cached objects cannot be refused. Nothing new enters until they are paid for.
#[test]
fn writes_that_hit_are_paid_for() {
    let shape = Shape { capacity: 10, objects: 10, seed: 1 };
    let parameters = [("bytes_per_day", ParameterValue::Integer(86_400 * 4096)), ("burst", text("1%"))];
    let mut admission = build_admission(&choice("reject-first", &parameters), &shape).unwrap();
    let (new, held) = (access(1, AccessKind::Read), access(2, AccessKind::Write));
    assert!(!admission.admits(Nanos::default(), &new));
    // 864 objects were saved up, so these writes exceed the budget by a hundred seconds.
    (0..964).for_each(|_| admission.hit(Nanos::default(), &held));
    assert!(!admission.admits(Nanos::from_secs(100), &new));
    assert!(admission.admits(Nanos::from_secs(101), &new));
}

#[test]
fn second_hit_admits_exactly_at_the_second_miss_within_the_window() {
    let shape = Shape { capacity: 4, objects: 10, seed: 1 };
    let mut admission = build_admission(&choice("second-hit", &[("window", text("200%"))]), &shape).unwrap();
    let mut admits = |object| admission.admits(Nanos::default(), &access(object, AccessKind::Read));
    assert_eq!([0, 0, 0, 0].map(&mut admits), [false, true, false, true]);
    // Eight objects are remembered, and 0 is the oldest of them.
    assert_eq!((0..8).map(&mut admits).filter(|admitted| *admitted).count(), 0);
    assert!(admits(0));
    // Now 1 to 7 are remembered, then also 8, and then 9 instead of 1.
    assert_eq!([8, 9, 1, 3].map(&mut admits), [false, false, false, true]);
}

#[test]
fn the_comparison_finds_a_window_that_is_one_object_too_long() {
    let shape = Shape { capacity: 20, objects: 100, seed: 7 };
    let accesses = mixed(7, 100, 5_000);
    for (window, agrees) in [("100%", true), ("105%", false), ("95%", false)] {
        let choice = choice("second-hit", &[("window", text(window))]);
        let difference = first_difference(&choice, &mut *model("second-hit", &shape).unwrap(), &shape, &accesses);
        assert_eq!(difference.is_none(), agrees, "{window}");
    }
}

/// A full filter with ten bits per object errs with probability (1 - e^(-7/10))^7, which is 0.8 %. Two filters err at
/// most twice as often.
#[test]
fn the_filters_err_as_often_as_they_should() {
    let shape = Shape { capacity: 2_000, objects: 1_000_000, seed: 3 };
    let accesses: Vec<Access> = (0..1_000_000).map(|object| access(object, AccessKind::Read)).collect();
    let mut sets = sets(2_000);
    assert_eq!(first_difference(&Choice::named("bloom"), &mut sets, &shape, &accesses), None);
    let full = (1.0 - f64::exp(-0.7)).powi(7);
    let rate = sets.wrong as f64 / sets.answers as f64;
    assert!((full..2.0 * full).contains(&rate), "{rate}, beside {full} of one full filter");
}

#[test]
fn a_scan_enters_nothing_but_by_error() {
    let shape = Shape { capacity: 1_000, objects: 100_000, seed: 1 };
    let accesses: Vec<Access> = (0..100_000).map(|object| access(object, AccessKind::Read)).collect();
    let times = vec![Nanos::default(); accesses.len()];
    for entry in ADMISSIONS.iter().filter(|entry| entry.name != NO_ADMISSION) {
        let mut cache = build(&Choice::named("lru"), &shape).unwrap();
        let mut admission = build_admission(&Choice::named(entry.name), &shape).unwrap();
        let counts = simulate_admitting(&mut *cache, &mut *admission, &times, &accesses);
        assert_eq!(counts.misses, 100_000);
        assert!(counts.refused >= 98_000, "{} refused {}", entry.name, counts.refused);
        assert_eq!(counts.written_bytes, 4096 * (counts.misses - counts.refused), "{}", entry.name);
    }
}

#[test]
fn admitting_all_is_the_simulation_without_admission() {
    let shape = Shape { capacity: 30, objects: 200, seed: 1 };
    let accesses = mixed(5, 200, 5_000);
    let times = vec![Nanos::default(); accesses.len()];
    let mut all = build_admission(&Choice::named(NO_ADMISSION), &shape).unwrap();
    let cache = || build(&Choice::named("lru"), &shape).unwrap();
    let admitting = simulate_admitting(&mut *cache(), &mut *all, &times, &accesses);
    assert_eq!(admitting, crate::simulate(&mut *cache(), &accesses));
    assert_eq!(admitting.refused, 0);
}

/// When the size of a cache changes, its window changes with it.
#[test]
fn windows_follow_the_capacity() {
    let small = Shape { capacity: 5, objects: 300, seed: 9 };
    let large = Shape { capacity: 50, ..small };
    let accesses = mixed(9, 300, 3_000);
    for entry in ADMISSIONS {
        let answers = |admission: &mut dyn Admission| -> Vec<bool> {
            accesses.iter().map(|access| admission.admits(Nanos::default(), access)).collect()
        };
        let expected = answers(&mut *build_admission(&Choice::named(entry.name), &large).unwrap());
        let mut grown = build_admission(&Choice::named(entry.name), &small).unwrap();
        grown.set_capacity(50);
        assert_eq!(answers(&mut *grown), expected, "{}", entry.name);
        let mut shrunk = build_admission(&Choice::named(entry.name), &large).unwrap();
        answers(&mut *shrunk);
        shrunk.set_capacity(5);
        assert!(shrunk.memory_bytes() <= 300 * 16 + 1_000, "{}", entry.name);
    }
}

#[test]
fn what_is_wrong_with_a_choice_is_said() {
    let shape = Shape { capacity: 1, objects: 1, seed: 1 };
    let error = |choice: &Choice, shape| build_admission(choice, shape).unwrap_err().to_string();
    assert_eq!(error(&Choice::named("lark"), &shape), "`lark` is no admission policy; did you mean `larc`?");
    let zero = choice("reject-first", &[("bytes_per_day", ParameterValue::Integer(0))]);
    assert!(error(&zero, &shape).contains("bytes_per_day"));
    let none = Shape { capacity: 0, ..shape };
    assert_eq!(build_admission(&Choice::named(NO_ADMISSION), &none).unwrap_err(), BuildError::NoCapacity);
}

/// Policies that claim not to look at the time give the same answers at all times; a budget does not.
#[test]
fn the_time_matters_to_those_that_say_so() {
    let shape = Shape { capacity: 20, objects: 200, seed: 3 };
    let accesses = mixed(3, 200, 3_000);
    for entry in ADMISSIONS {
        let choice = match entry.can(AdmissionCapability::Time) {
            true => choice(entry.name, &[("bytes_per_day", ParameterValue::Integer(5_000_000))]),
            false => Choice::named(entry.name),
        };
        let counts = |step: u64| {
            let times: Vec<Nanos> = (0..accesses.len() as u64).map(|number| Nanos::from_secs(number * step)).collect();
            let mut cache = build(&Choice::named("lru"), &shape).unwrap();
            simulate_admitting(&mut *cache, &mut *build_admission(&choice, &shape).unwrap(), &times, &accesses)
        };
        assert_eq!(counts(0) != counts(60), entry.can(AdmissionCapability::Time), "{}", entry.name);
    }
}
