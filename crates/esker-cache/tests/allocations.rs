//! Policies allocate when they are built and while they fill, and never again.

use allocation_counter::measure;
use esker_cache::{Access, AccessKind, NEVER, ObjectId, REPLACEMENTS, Shape, build, simulate};
use esker_core::Rng;
use esker_core::registry::Choice;

const OBJECTS: u32 = 10_000;

#[test]
fn a_full_cache_allocates_nothing() {
    let mut rng = Rng::new(1);
    let accesses: Vec<Access> = (0..100_000)
        .map(|_| {
            // Low numbers come up more often.
            let object = ObjectId((rng.unit() * rng.unit() * f64::from(OBJECTS)) as u32);
            Access { object, bytes: 4096, kind: AccessKind::Read, next_use: NEVER }
        })
        .collect();
    let (first, second) = accesses.split_at(accesses.len() / 2);
    for entry in REPLACEMENTS {
        let shape = Shape { capacity: OBJECTS / 10, objects: OBJECTS, seed: 1 };
        let mut policy = build(&Choice::named(entry.name), &shape).unwrap();
        simulate(&mut *policy, first);
        let made = measure(|| {
            simulate(&mut *policy, second);
        });
        assert_eq!(made.count_total, 0, "{} allocates", entry.name);
    }
}
