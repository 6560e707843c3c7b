//! Properties of every policy of the registry, and a comparison of each policy with its naive reference.

mod counts;

use std::collections::BTreeSet;

use esker_core::Rng;
use esker_core::registry::ParameterValue;
use proptest::prelude::*;

use super::*;
use crate::reference::{
    Naive, NaiveBelady, NaiveCacheus, NaiveClock, NaiveClockPro, NaiveFifo, NaiveGdsf, NaiveLecar, NaiveLfu, NaiveLhd,
    NaiveLirs, NaiveLrfu, NaiveLru, NaiveS3Fifo, NaiveSlru, NaiveTwoQ, NaiveWTinyLfu,
};
use crate::{AccessKind, NEVER};

/// Returns accesses to these objects, each with the number of the object's next use.
pub(crate) fn accesses(objects: &[u32]) -> Vec<Access> {
    let mut next: std::collections::BTreeMap<u32, u32> = std::collections::BTreeMap::new();
    let mut accesses: Vec<Access> = (0..objects.len() as u32)
        .rev()
        .map(|number| (number, &objects[number as usize]))
        .map(|(number, object)| Access {
            object: ObjectId(*object),
            bytes: 4096,
            kind: if number % 3 == 0 { AccessKind::Write } else { AccessKind::Read },
            next_use: next.insert(*object, number).unwrap_or(NEVER),
        })
        .collect();
    accesses.reverse();
    accesses
}

/// Returns objects below `objects`: half of them from the first tenth, a quarter in runs such as scans.
pub(crate) fn mixed(seed: u64, objects: u32, length: usize) -> Vec<u32> {
    let mut rng = Rng::new(seed);
    let (mut drawn, mut scan) = (Vec::with_capacity(length), 0);
    let objects = u64::from(objects);
    while drawn.len() < length {
        // On average, a run is half as long as the number of objects.
        if rng.below(3 * objects / 2 + 1) == 0 {
            for _ in 0..rng.below(objects + 1) {
                drawn.push(scan);
                scan = (scan + 1) % objects as u32;
            }
        }
        let among = if rng.below(3) == 0 { objects } else { objects / 10 + 1 };
        drawn.push(rng.below(among) as u32);
    }
    drawn.truncate(length);
    drawn
}

/// What a policy with its default parameters is compared with.
pub(super) struct Reference {
    /// The name of the policy.
    pub(super) policy: &'static str,
    /// The policy, written as simply as possible.
    pub(super) naive: fn(&Shape) -> Box<dyn Naive>,
    /// What it misses on a real trace with each of [`counts::SIZES`], by libCacheSim unless a comment says otherwise.
    pub(super) misses: [u64; 2],
    /// How far its misses may be from that.
    pub(super) tolerance: u64,
}

/// Returns the reference of a policy, with its default parameters.
fn naive(name: &str, shape: &Shape) -> Option<Box<dyn Naive>> {
    REFERENCES.iter().find(|reference| reference.policy == name).map(|reference| (reference.naive)(shape))
}

/// Policies whose parameters turn them into another policy, or for which a second set of parameters is a harder test.
fn with_parameters(shape: &Shape) -> Vec<(Choice, Box<dyn Naive>)> {
    let capacity = shape.capacity as usize;
    let choice = |name: &str, parameters: &[(&str, f64)]| {
        let share = |value: f64| ParameterValue::Number(value);
        let parameters = parameters.iter().map(|(name, value)| (name.to_string(), share(*value))).collect();
        Choice { kind: name.to_string(), parameters }
    };
    let mut s4lru = choice("slru", &[("protected", 0.75)]);
    s4lru.parameters.insert("segments".to_string(), ParameterValue::Integer(4));
    let mut adaptive = Choice::named("w-tinylfu");
    adaptive.parameters.insert("adaptive".to_string(), ParameterValue::Flag(true));
    let w_tinylfu = Box::new(NaiveWTinyLfu::new(capacity, shape.objects as usize, shape.seed, true));
    let mut lecar = Choice::named("lecar");
    lecar.parameters.insert("ties".to_string(), ParameterValue::Text("number".to_string()));
    let lru = || Box::new(NaiveLru { capacity, held: Vec::new() });
    vec![
        (choice("slru", &[("protected", 0.0)]), lru()),
        (s4lru, Box::new(NaiveSlru::new(capacity, 4, 75))),
        (choice("2q", &[("in", 1.0), ("out", 0.0)]), Box::new(NaiveFifo { capacity, held: Vec::new() })),
        (choice("lirs", &[("hir", 1.0)]), lru()),
        (choice("lirs", &[("hir", 0.25), ("stack", 1.5)]), Box::new(NaiveLirs::new(capacity, 25, 150))),
        (choice("clock-pro", &[("cold", 0.5)]), Box::new(NaiveClockPro::new(capacity, 50))),
        (choice("lrfu", &[("decay", 0.0)]), Box::new(NaiveLfu::new(capacity))),
        (choice("lrfu", &[("decay", 3.0)]), Box::new(NaiveLrfu::new(capacity, 3.0))),
        (choice("lrfu", &[("decay", capacity as f64)]), lru()),
        (adaptive, w_tinylfu),
        (lecar, Box::new(NaiveLecar::new(capacity, shape.seed, true))),
    ]
}

/// Compares a policy with its reference, access by access.
fn compare(
    choice: &Choice,
    shape: &Shape,
    mut naive: Box<dyn Naive>,
    accesses: &[Access],
) -> Result<(), TestCaseError> {
    compare_built(&mut *build(choice, shape).unwrap(), &mut *naive, accesses)
}

/// Compares an existing policy with a reference, access by access.
pub(super) fn compare_built(
    policy: &mut dyn Replacement,
    naive: &mut dyn Naive,
    accesses: &[Access],
) -> Result<(), TestCaseError> {
    for (number, access) in accesses.iter().enumerate() {
        let hit = policy.hit(access);
        if !hit {
            policy.insert(access);
        }
        prop_assert_eq!(hit, naive.access(access), "{:?} at access {}", policy, number);
    }
    Ok(())
}

fn built(name: &str, shape: &Shape) -> Box<dyn Replacement> {
    build(&Choice::named(name), shape).unwrap()
}

#[test]
fn the_registry_is_sound() {
    assert_eq!(registry::check(REPLACEMENTS), Vec::<String>::new());
}

proptest! {
    #[test]
    fn each_policy_hits_what_its_reference_hits(seed: u64, capacity in 1u32..40, objects in 1u32..90) {
        let shape = Shape { capacity, objects, seed };
        let accesses = accesses(&mixed(seed, objects, 1_500));
        for entry in REPLACEMENTS {
            let naive = naive(entry.name, &shape).expect("every policy has a reference");
            compare(&Choice::named(entry.name), &shape, naive, &accesses)?;
        }
    }

    #[test]
    fn parameters_do_what_they_say(seed: u64, capacity in 1u32..40, objects in 1u32..90) {
        let shape = Shape { capacity, objects, seed };
        let accesses = accesses(&mixed(seed, objects, 1_500));
        for (choice, naive) in with_parameters(&shape) {
            compare(&choice, &shape, naive, &accesses)?;
        }
    }

    #[test]
    fn each_policy_knows_what_it_holds(seed: u64, capacity in 1u32..40, objects in 1u32..90) {
        for entry in REPLACEMENTS {
            knows_what_it_holds(&mut *built(entry.name, &Shape { capacity, objects, seed }), seed, objects)?;
        }
    }
}

/// The answers of the policy agree with each other over accesses, removals, evictions and changes of the capacity in
/// any order.
pub(super) fn knows_what_it_holds(policy: &mut dyn Replacement, seed: u64, objects: u32) -> Result<(), TestCaseError> {
    let most = 2 * u64::from(policy.capacity());
    let mut held = BTreeSet::new();
    let mut rng = Rng::new(seed);
    for access in accesses(&mixed(seed, objects, 800)) {
        match rng.below(20) {
            0 => {
                let object = ObjectId(rng.below(u64::from(objects)) as u32);
                policy.remove(object);
                held.remove(&object);
            }
            1 => {
                let left = policy.evict();
                prop_assert_eq!(left.is_some(), !held.is_empty());
                left.map(|left| held.remove(&left));
            }
            2 => {
                policy.set_capacity(1 + rng.below(most) as u32);
                while policy.len() > policy.capacity() {
                    let left = policy.evict().unwrap();
                    prop_assert!(held.remove(&left), "{:?} let go what it did not hold", policy);
                }
            }
            _ => {
                let hit = policy.hit(&access);
                prop_assert_eq!(hit, held.contains(&access.object), "{:?}", policy);
                if !hit {
                    held.insert(access.object);
                    if let Some(left) = policy.insert(&access) {
                        prop_assert!(held.remove(&left), "{:?} let go what it did not hold", policy);
                    }
                }
            }
        }
        prop_assert_eq!(policy.len() as usize, held.len(), "{:?}", policy);
        prop_assert!(policy.len() <= policy.capacity(), "{:?} holds too much", policy);
    }
    for object in (0..objects).map(ObjectId) {
        prop_assert_eq!(policy.holds(object), held.contains(&object), "{:?}", policy);
    }
    Ok(())
}

/// Policies that claim to evict in the order of insertion do so, and no others do.
#[test]
fn logs_evict_in_the_order_of_insertion() {
    let shape = Shape { capacity: 20, objects: 60, seed: 1 };
    for entry in REPLACEMENTS {
        let mut policy = built(entry.name, &shape);
        let mut inserted = Vec::new();
        let mut is_in_order = true;
        for access in accesses(&mixed(1, shape.objects, 2_000)) {
            if policy.hit(&access) {
                continue;
            }
            inserted.push(access.object);
            if let Some(left) = policy.insert(&access) {
                is_in_order &= inserted[0] == left;
                inserted.retain(|object| *object != left);
            }
        }
        assert_eq!(is_in_order, entry.can(ReplacementCapability::Log), "{}", entry.name);
    }
}

/// Slightly wrong references: the comparison has to notice them.
#[test]
fn a_wrong_reference_is_noticed() {
    let shape = Shape { capacity: 200, objects: 600, seed: 1 };
    let accesses = accesses(&mixed(1, 600, 20_000));
    let capacity = shape.capacity as usize;
    let wrong: [(&str, Box<dyn Naive>); 14] = [
        ("clock", Box::new(NaiveFifo { capacity, held: Vec::new() })),
        ("gdsf", Box::new(NaiveGdsf::new(capacity, false))),
        ("slru", Box::new(NaiveSlru::new(capacity, 2, 79))),
        ("arc", Box::new(NaiveTwoQ::new(capacity))),
        ("lirs", Box::new(NaiveLirs::new(capacity, 1, 199))),
        ("clock-pro", Box::new(NaiveClockPro::new(capacity, 2))),
        ("lrfu", Box::new(NaiveLrfu::new(capacity, 0.1))),
        ("sieve", Box::new(NaiveClock { capacity, held: Vec::new() })),
        ("s3-fifo", Box::new(NaiveS3Fifo::new(capacity, true))),
        ("w-tinylfu", Box::new(NaiveWTinyLfu::new(capacity, 600, 2, false))),
        ("lecar", Box::new(NaiveLecar::new(capacity, 2, false))),
        ("cacheus", Box::new(NaiveCacheus::new(capacity, 2))),
        ("lhd", Box::new(NaiveLhd::new(capacity, 2))),
        ("belady", Box::new(NaiveBelady { capacity: capacity - 1, held: Vec::new() })),
    ];
    for (name, naive) in wrong {
        assert!(compare(&Choice::named(name), &shape, naive, &accesses).is_err(), "{name}");
    }
    for entry in REPLACEMENTS {
        let naive = naive(entry.name, &shape).unwrap();
        compare(&Choice::named(entry.name), &shape, naive, &accesses).unwrap();
    }
}

/// Caches that are large enough for a step of the window to be several objects, and runs that are long enough for many
/// steps.
#[test]
fn an_adaptive_window_climbs_as_its_reference_does() {
    for (seed, capacity) in [(1, 100), (2, 300)] {
        let shape = Shape { capacity, objects: 3 * capacity, seed };
        let accesses = accesses(&mixed(seed, shape.objects, 150 * capacity as usize));
        let naive = NaiveWTinyLfu::new(capacity as usize, shape.objects as usize, seed, true);
        let mut choice = Choice::named("w-tinylfu");
        choice.parameters.insert("adaptive".to_string(), ParameterValue::Flag(true));
        compare(&choice, &shape, Box::new(naive), &accesses).unwrap();
        let fixed = NaiveWTinyLfu::new(capacity as usize, shape.objects as usize, seed, false);
        assert!(compare(&choice, &shape, Box::new(fixed), &accesses).is_err());
    }
}

#[test]
fn a_cache_for_all_objects_misses_each_once() {
    for entry in REPLACEMENTS {
        let accesses = accesses(&mixed(3, 50, 2_000));
        let distinct: BTreeSet<_> = accesses.iter().map(|access| access.object).collect();
        let mut policy = built(entry.name, &Shape { capacity: 500, objects: 50, seed: 1 });
        assert_eq!(crate::simulate(&mut *policy, &accesses).misses, distinct.len() as u64, "{}", entry.name);
    }
}

/// 32 bytes per object, and a little that does not depend on the number of objects.
#[test]
fn policies_take_little_memory() {
    for entry in REPLACEMENTS {
        let policy = built(entry.name, &Shape { capacity: 10_000, objects: 100_000, seed: 1 });
        let bytes = policy.memory_bytes();
        assert!(bytes <= 32 * 100_000 + 4_096, "{} takes {bytes} bytes", entry.name);
    }
}

#[test]
fn what_is_wrong_with_a_choice_is_said() {
    let shape = Shape { capacity: 1, objects: 1, seed: 1 };
    let error = build(&Choice::named("lur"), &shape).unwrap_err();
    assert_eq!(error.to_string(), "`lur` is no cache policy; did you mean `lru`?");
    let mut choice = Choice::named("lru");
    choice.parameters.insert("k".to_string(), ParameterValue::Integer(2));
    assert_eq!(build(&choice, &shape).unwrap_err().to_string(), "`lru` has no parameter `k`");
    let none = Shape { capacity: 0, ..shape };
    assert_eq!(build(&Choice::named("lru"), &none).unwrap_err(), BuildError::NoCapacity);
}
