//! Miss-ratio curves: 10 million Zipf(1.0) accesses over a million objects.

use esker_core::Rng;
use esker_curves::{ExactCurve, SampleSize, Shards};
use esker_testkit::Bench;

/// A million, or in a smoke run few enough to finish at once.
fn objects() -> usize {
    if Bench::is_smoke() { 10_000 } else { 1_000_000 }
}
fn accesses() -> usize {
    10 * objects()
}

/// Draws by inverting the distribution function; ids are spread over 64 bits.
fn zipf() -> Vec<u64> {
    let mut sums = Vec::with_capacity(objects());
    let mut sum = 0.0;
    for rank in 1..=objects() {
        sum += 1.0 / rank as f64;
        sums.push(sum);
    }
    let mut rng = Rng::new(1);
    let draw = |_| {
        let goal = rng.unit() * sum;
        (sums.partition_point(|&below| below < goal) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    (0..accesses()).map(draw).collect()
}

fn main() {
    let ids = zipf();
    let objects = objects() as u64;
    let sequential: Vec<u64> = (0..accesses() as u64).map(|access| access % objects).collect();
    let exact = |ids: &[u64]| {
        let mut curve = ExactCurve::default();
        curve.push_all(ids);
        assert_eq!(curve.finish().accesses, accesses() as u64);
        accesses() as u64
    };
    Bench::new("exact curve, Zipf(1.0)").rate("accesses", || exact(&ids));
    Bench::new("exact curve, cyclic").rate("accesses", || exact(&sequential));
    for (name, size) in [
        ("SHARDS at 10 %, Zipf(1.0)", SampleSize::Rate(0.1)),
        ("SHARDS at 1 %, Zipf(1.0)", SampleSize::Rate(0.01)),
        ("SHARDS with 8,192 objects, Zipf(1.0)", SampleSize::Objects(8_192)),
    ] {
        Bench::new(name).rate("accesses", || {
            let mut shards = Shards::new(size, 1);
            shards.push_all(&ids);
            assert_eq!(shards.finish().accesses, accesses() as u64);
            accesses() as u64
        });
    }
}
