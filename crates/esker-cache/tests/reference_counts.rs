//! What every policy misses on a real trace, beside counts by others.
//!
//! The trace is a virtual disk of CloudPhysics. An object is a start block; sizes and operations are ignored.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use esker_cache::{
    Access, AccessKind, AccessLogBuilder, NEVER, ObjectId, REPLACEMENTS, Shape, build, build_by_size, simulate,
};
use esker_core::registry::{Choice, ParameterValue};
use esker_testkit::reference_data;
use esker_trace::{ReadOptions, TraceReader};

/// Objects that the cache holds: 1 % and 10 % of those in the trace.
const SIZES: [u32; 2] = [490, 4_897];

/// What a policy misses at each size according to others, and how far its misses may be from that.
struct Expected {
    policy: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    misses: [u64; 2],
    tolerance: u64,
}

const fn exactly(policy: &'static str, misses: [u64; 2]) -> Expected {
    Expected { policy, parameters: &[], misses, tolerance: 0 }
}

/// Counts by libCacheSim, for every policy of the registry; those of w-tinylfu and clock-pro are by the simulator of
/// Caffeine 3.1.8 (`WindowTinyLfu`, and the library itself for the adaptive window; `ClockPro` with
/// `non-resident-multiplier = 1`). Those without a counterpart there are only kept from changing: lrfu lies near lru or
/// lfu, and the same holds for s3-fifo-1bit.
const EXPECTED: &[Expected] = &[
    exactly("lru", [95_415, 91_657]),
    exactly("fifo", [96_515, 91_716]),
    exactly("clock", [95_329, 91_599]),
    exactly("lfu", [96_757, 90_040]),
    // To the four digits of a miss ratio that it prints.
    Expected { policy: "gdsf", parameters: &[], misses: [94_685, 91_394], tolerance: 6 },
    exactly("2q", [94_572, 88_160]),
    exactly("arc", [94_228, 88_002]),
    exactly("lirs", [94_678, 85_609]),
    // There, the first misses enter whichever segment has room.
    Expected {
        policy: "slru",
        parameters: &[("segments", "4"), ("protected", "75%")],
        misses: [94_589, 90_011],
        tolerance: 100,
    },
    exactly("slru", [94_516, 90_040]),
    // Within a tenth of a point of the miss ratio: there, an object that returns during its test stays cold if all hot
    // objects that are older were used. The paper does not say so.
    Expected { policy: "clock-pro", parameters: &[], misses: [94_545, 85_940], tolerance: 113 },
    exactly("lrfu", [95_197, 91_446]),
    exactly("sieve", [94_415, 90_040]),
    exactly("s3-fifo", [94_555, 85_691]),
    exactly("s3-fifo-1bit", [94_137, 84_425]),
    // Within half a point of the miss ratio: other objects share counters there, and other ones enter by jitter.
    Expected { policy: "w-tinylfu", parameters: &[], misses: [94_867, 90_656], tolerance: 569 },
    Expected { policy: "w-tinylfu", parameters: &[("adaptive", "true")], misses: [95_229, 90_901], tolerance: 569 },
    // As found here; exponentials may differ in their last digit between machines.
    Expected { policy: "lecar", parameters: &[], misses: [95_221, 91_276], tolerance: 340 },
    Expected { policy: "cacheus", parameters: &[], misses: [94_475, 85_940], tolerance: 340 },
    Expected { policy: "lhd", parameters: &[], misses: [95_934, 91_390], tolerance: 340 },
    exactly("belady", [90_255, 71_620]),
];

fn accesses() -> Option<(Vec<Access>, u32)> {
    let path = reference_data("traces/cloudphysics-2h.vscsi.zst")?;
    let mut reader = TraceReader::open(&[path], &ReadOptions::default()).unwrap();
    let (mut accesses, mut batch, mut ids) = (Vec::new(), Vec::new(), BTreeMap::new());
    while reader.next_batch(&mut batch).unwrap() {
        for record in &batch {
            let new = ids.len() as u32;
            let object = ObjectId(*ids.entry((record.volume, record.offset)).or_insert(new));
            accesses.push(Access { object, bytes: 1, kind: AccessKind::Read, next_use: NEVER });
        }
    }
    let mut next = vec![NEVER; ids.len()];
    for (number, access) in accesses.iter_mut().enumerate().rev() {
        access.next_use = std::mem::replace(&mut next[access.object.index()], number as u32);
    }
    Some((accesses, ids.len() as u32))
}

fn misses(choice: &Choice, accesses: &[Access], objects: u32) -> [u64; 2] {
    SIZES.map(|capacity| {
        let mut policy = build(choice, &Shape { capacity, objects, seed: 1 }).unwrap();
        simulate(&mut *policy, accesses).misses
    })
}

#[test]
fn policies_miss_what_others_counted() {
    let Some((accesses, objects)) = accesses() else { return };
    assert_eq!((accesses.len(), objects), (113_872, 48_974));
    let mut wrong = Vec::new();
    for expected in EXPECTED {
        let mut choice = Choice::named(expected.policy);
        for (name, value) in expected.parameters {
            let value = match *value {
                "true" => ParameterValue::Flag(true),
                value => value.parse().map_or_else(|_| ParameterValue::Text(value.into()), ParameterValue::Integer),
            };
            choice.parameters.insert(name.to_string(), value);
        }
        let found = misses(&choice, &accesses, objects);
        if expected.misses.iter().zip(&found).any(|(a, b)| a.abs_diff(*b) > expected.tolerance) {
            wrong.push(format!("{choice:?} misses {found:?}, not {:?}", expected.misses));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Miss ratios by libCacheSim of caches of 64 MiB, with objects as large as their first requests.
#[test]
fn objects_of_their_own_sizes_miss_what_others_counted() {
    let Some(path) = reference_data("traces/cloudphysics-2h.vscsi.zst") else { return };
    let mut reader = TraceReader::open(&[path], &ReadOptions::default()).unwrap();
    let (mut log, mut batch) = (AccessLogBuilder::new(None), Vec::new());
    while reader.next_batch(&mut batch).unwrap() {
        for record in &batch {
            log.request(record.offset, u64::from(record.length), AccessKind::Read).unwrap();
        }
    }
    let log = log.finish(false);
    let counted =
        [("lru", 0.8254), ("fifo", 0.8266), ("clock", 0.8250), ("lfu", 0.8144), ("sieve", 0.8144), ("gdsf", 0.8033)];
    for (policy, expected) in counted {
        let mut cache = build_by_size(&Choice::named(policy), log.objects(), 64 << 20, 1).unwrap();
        let found = log.simulate(&mut *cache, |_| ControlFlow::Continue(())).unwrap().miss_ratio();
        assert!((found - expected).abs() < 0.000_06, "{policy}: {found}");
    }
}

#[test]
fn every_policy_is_compared() {
    for entry in REPLACEMENTS {
        assert!(EXPECTED.iter().any(|expected| expected.policy == entry.name), "{} is missing here", entry.name);
    }
}

#[test]
fn no_policy_misses_less_than_the_optimum() {
    let Some((accesses, objects)) = accesses() else { return };
    let least = misses(&Choice::named("belady"), &accesses, objects);
    for entry in REPLACEMENTS {
        let found = misses(&Choice::named(entry.name), &accesses, objects);
        assert!(found.iter().zip(&least).all(|(found, least)| found >= least), "{}: {found:?}", entry.name);
    }
}

/// Accesses of a trace of the ARC paper, an object for each of its blocks.
fn blocks(name: &str) -> Option<(Vec<Access>, u32)> {
    let path = reference_data(name)?;
    let mut reader = TraceReader::open(&[path], &ReadOptions::default()).unwrap();
    let (mut accesses, mut batch, mut ids) = (Vec::new(), Vec::new(), BTreeMap::new());
    while reader.next_batch(&mut batch).unwrap() {
        for record in &batch {
            for sector in record.offset / 512..(record.offset + u64::from(record.length)) / 512 {
                let new = ids.len() as u32;
                let object = ObjectId(*ids.entry(sector).or_insert(new));
                accesses.push(Access { object, bytes: 1, kind: AccessKind::Read, next_use: NEVER });
            }
        }
    }
    Some((accesses, ids.len() as u32))
}

/// OLTP of the ARC paper against Caffeine's simulator (3.1.8, `WindowTinyLfu`), within half a point. Ageing by hits,
/// which an earlier version had, missed .468 of OLTP.
#[test]
fn w_tinylfu_misses_what_caffeine_does() {
    let Some((accesses, objects)) = blocks("traces/arc-OLTP.lis.zst") else { return };
    assert_eq!((accesses.len(), objects), (914_145, 186_880));
    for (capacity, expected) in [(1_000, 588_290), (15_000, 344_126)] {
        let shape = Shape { capacity, objects, seed: 1 };
        let found = simulate(&mut *build(&Choice::named("w-tinylfu"), &shape).unwrap(), &accesses).misses;
        assert!(found.abs_diff(expected) <= 914_145 / 200, "{capacity}: {found}, {expected} by Caffeine");
    }
}

/// OLTP and P3 of the ARC paper against Caffeine's simulator (3.1.8, `ClockPro` with `non-resident-multiplier = 1`),
/// within a tenth of a point. Without a least share of cold objects, which an earlier version did not have, 343,216 of
/// OLTP with 15,000 objects miss; with a test hand that is carried along by the hot hand, 2,310,334 of P3 did.
#[test]
fn clock_pro_misses_what_caffeine_does() {
    let counted: [(_, _, &[(u32, u64)]); 2] = [
        ("traces/arc-OLTP.lis.zst", 914_145, &[(1_000, 592_033), (15_000, 326_452)]),
        ("traces/arc-P3.lis.zst", 3_912_296, &[(100_000, 2_291_771)]),
    ];
    for (name, requests, sizes) in counted {
        let Some((accesses, objects)) = blocks(name) else { return };
        assert_eq!(accesses.len(), requests);
        for (capacity, expected) in sizes {
            let shape = Shape { capacity: *capacity, objects, seed: 1 };
            let found = simulate(&mut *build(&Choice::named("clock-pro"), &shape).unwrap(), &accesses).misses;
            assert!(found.abs_diff(*expected) <= requests as u64 / 1_000, "{name}: {found}, {expected} by Caffeine");
        }
    }
}
