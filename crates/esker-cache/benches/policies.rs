//! Runs every policy over 10 million Zipf(1.0) accesses to a million objects, with a cache of 65,000.

use esker_cache::{Access, AccessKind, NEVER, ObjectId, REPLACEMENTS, Shape, build, simulate};
use esker_core::Rng;
use esker_core::registry::Choice;
use esker_testkit::Bench;

const OBJECTS: usize = 1_000_000;
const ACCESSES: usize = 10_000_000;
const CAPACITY: u32 = 65_000;

/// Draws by inverting the distribution function. Popular objects are scattered among the others. Each access knows the
/// next access to its object.
fn zipf() -> Vec<Access> {
    let mut sums = Vec::with_capacity(OBJECTS);
    let mut sum = 0.0;
    for rank in 1..=OBJECTS {
        sum += 1.0 / rank as f64;
        sums.push(sum);
    }
    let mut rng = Rng::new(1);
    let mut ids: Vec<u32> = (0..OBJECTS as u32).collect();
    for last in (1..OBJECTS).rev() {
        ids.swap(last, rng.below(last as u64 + 1) as usize);
    }
    let draw = |_| {
        let goal = rng.unit() * sum;
        let object = ObjectId(ids[sums.partition_point(|&below| below < goal).min(OBJECTS - 1)]);
        Access { object, bytes: 4096, kind: AccessKind::Read, next_use: NEVER }
    };
    let mut accesses: Vec<Access> = (0..ACCESSES).map(draw).collect();
    let mut next = vec![NEVER; OBJECTS];
    for (number, access) in accesses.iter_mut().enumerate().rev() {
        access.next_use = std::mem::replace(&mut next[access.object.index()], number as u32);
    }
    accesses
}

#[expect(clippy::print_stdout, reason = "a benchmark's result is its output")]
fn main() {
    let mut accesses = zipf();
    if Bench::is_smoke() {
        accesses.truncate(ACCESSES / 100);
    }
    let shape = Shape { capacity: CAPACITY, objects: OBJECTS as u32, seed: 1 };
    for entry in REPLACEMENTS {
        let (mut miss_ratio, mut bytes) = (0.0, 0);
        let measured = Bench::new(format!("{}, Zipf(1.0)", entry.name)).rate_with_setup(
            "accesses",
            || build(&Choice::named(entry.name), &shape).expect("defaults are accepted"),
            |mut policy| {
                let counts = simulate(&mut *policy, &accesses);
                (miss_ratio, bytes) = (counts.miss_ratio(), policy.memory_bytes());
                counts.accesses
            },
        );
        if measured.is_some() {
            println!("    miss ratio {miss_ratio:.4}, {:.1} bytes for each object", bytes as f64 / OBJECTS as f64);
        }
    }
}
