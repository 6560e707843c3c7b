//! Both sides together, with bytes cut anywhere and replies in any order, against an array of bytes.

use proptest::prelude::*;

use crate::common::plan::{Plan, Twin};
use crate::common::world::World;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96 * esker_testkit::soak()))]

    #[test]
    fn both_sides_agree_with_an_array_of_bytes(seed in any::<u64>(), requests in 0usize..80) {
        let run = World::new(Plan::random(seed, requests)).run();
        prop_assert!(run.is_ok(), "{}", run.err().unwrap_or_default());
    }
}

/// The property finds each of these faults with few seeds.
#[test]
fn faulty_embedders_are_found() {
    for twin in [Twin::LosesWrites, Twin::LiesAboutHoles, Twin::ReadsOldData, Twin::LosesByteAtTakeOver] {
        let finds = |seed| {
            let plan = Plan { twin, takes_over: true, ..Plan::random(seed, 80) };
            World::new(plan).run().is_err()
        };
        assert!((0..20).any(finds), "{twin:?}");
    }
}
