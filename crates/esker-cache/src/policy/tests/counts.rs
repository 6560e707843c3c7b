//! What every policy misses on a real trace, beside counts by others.
//!
//! The trace is a virtual disk of CloudPhysics. An object is a start block; sizes and operations are ignored.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use esker_core::registry::{Choice, ParameterValue};
use esker_testkit::reference_data;
use esker_trace::{ReadOptions, TraceReader};

use super::REFERENCES;
use crate::{
    Access, AccessKind, AccessLogBuilder, NEVER, ObjectId, REPLACEMENTS, Shape, build, build_by_size, simulate,
};

/// Objects that the cache holds: 1 % and 10 % of those in the trace.
pub(super) const SIZES: [u32; 2] = [490, 4_897];

/// Other parameters: the policy, its parameters, its misses and how far they may be from that.
type Varied = (&'static str, &'static [(&'static str, &'static str)], [u64; 2], u64);

const VARIED: [Varied; 2] = [
    // In libCacheSim, the first misses enter whichever segment has room.
    ("slru", &[("segments", "4"), ("protected", "75%")], [94_589, 90_011], 100),
    // By Caffeine 3.1.8 itself, within half a point of the miss ratio as with a fixed window.
    ("w-tinylfu", &[("adaptive", "true")], [95_229, 90_901], 569),
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
    let usual = REFERENCES.iter().map(|reference| (reference.policy, &[][..], reference.misses, reference.tolerance));
    for (policy, parameters, expected, tolerance) in usual.chain(VARIED) {
        let mut choice = Choice::named(policy);
        for (name, value) in parameters {
            let value = match *value {
                "true" => ParameterValue::Flag(true),
                value => value.parse().map_or_else(|_| ParameterValue::Text(value.into()), ParameterValue::Integer),
            };
            choice.parameters.insert(name.to_string(), value);
        }
        let found = misses(&choice, &accesses, objects);
        if expected.iter().zip(&found).any(|(a, b)| a.abs_diff(*b) > tolerance) {
            wrong.push(format!("{choice:?} misses {found:?}, not {expected:?}"));
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
    let compared: Vec<&str> = REFERENCES.iter().map(|reference| reference.policy).collect();
    let known: Vec<&str> = REPLACEMENTS.iter().map(|entry| entry.name).collect();
    assert_eq!(compared, known);
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
