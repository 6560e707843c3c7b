//! A small tournament, and verdicts on made-up rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_core::registry;
use esker_sim::HYBRID_POLICIES;

use super::contestants::{BEST_SPLIT, Contestant, Side, Store, all};
use super::measured::Measured;
use super::pairs::{FAST, PAIRS, SLOW};
use super::verdict::{Estimate, Row, Verdict};
use super::*;
use crate::Context;

/// The made-up load alone, on little data.
fn small(threads: usize) -> Plan {
    let loads = vec![loads::SHIFTING];
    Plan { requests: 2_000, made_up: Bytes::mib(64), loads, threads, ..Plan::quick() }
}

fn outcome(plan: &Plan) -> ItemOutcome {
    let cancel = AtomicBool::new(false);
    let progress = |share: f64| assert!((0.0..=1.0).contains(&share));
    let context = Context { seed: 1, traces: None, progress: &progress, cancel: &cancel, drives: Arc::default() };
    play(&QUICK, &context, plan).unwrap()
}

#[test]
fn every_policy_has_a_row_and_threads_change_nothing() {
    let (one, two) = (outcome(&small(1)), outcome(&small(2)));
    assert_eq!(format!("{one:?}"), format!("{two:?}"));
    let throughputs: Vec<_> = one.figures.iter().filter(|figure| figure.title.contains("throughput")).collect();
    assert_eq!(throughputs.len(), PAIRS.len());
    for figure in throughputs {
        let names: Vec<&str> = figure.curves.iter().map(|curve| curve.name.trim_end_matches(" (ours)")).collect();
        let caches =
            ["cache write-through", "cache write-back", "cache orthus write-through", "cache orthus write-back"];
        let expected: Vec<&str> = registry::names(&HYBRID_POLICIES).chain(caches).chain([BEST_SPLIT]).collect();
        assert_eq!(names, expected, "{}", figure.title);
        assert!(figure.curves.iter().all(|curve| curve.points.len() == 1 && curve.points[0].1 > 0.0));
    }
    // One load is not enough for the claim of each pair; nothing else is missing.
    let aims = one.claims.iter().filter(|claim| claim.verdict == crate::ClaimVerdict::Unreachable);
    let aims: Vec<bool> = aims.map(|claim| claim.claim.contains("beats every rival")).collect();
    assert_eq!(aims, [true; PAIRS.len()]);
    one.claims.iter().for_each(crate::items::check_claim);
}

#[test]
fn a_missing_trace_leaves_out_its_rows_alone() {
    let plan = Plan { loads: vec![loads::LOADS[0], loads::SHIFTING], pairs: vec![PAIRS[1]], ..small(2) };
    let outcome = outcome(&plan);
    let missing = outcome.claims.iter().filter(|claim| claim.verdict == crate::ClaimVerdict::Unreachable);
    let missing: Vec<_> = missing.map(|claim| (claim.claim.as_str(), claim.reason.contains("--traces"))).collect();
    assert_eq!(missing[1..], [("CloudPhysics: its rows", true)]);
    assert!(outcome.figures[0].curves.iter().all(|curve| curve.points.len() == 1));
}

/// What only the full form has: several sizes, both loops, and intervals over seeds.
#[test]
fn the_full_form_has_every_size_and_intervals_over_seeds() {
    let Plan { fast_percents, depths, .. } = Plan::full();
    let plan = Plan { fast_percents: fast_percents.clone(), depths: depths.clone(), seeds: 2, ..small(2) };
    let outcome = outcome(&plan);
    let cells = PAIRS.len() * fast_percents.len() * depths.len();
    let unreachable = outcome.claims.iter().filter(|claim| claim.verdict == crate::ClaimVerdict::Unreachable);
    assert_eq!(
        unreachable.count(),
        cells,
        "one load is not enough for the claim of each cell; nothing else is missing"
    );
    let of_throughput = |figure: &&crate::Figure| figure.title.contains("throughput, requests/s");
    let is_interval = |figure: &&crate::Figure| figure.title.ends_with("half of the 99 % interval over seeds");
    let (intervals, means): (Vec<_>, Vec<_>) = outcome.figures.iter().filter(of_throughput).partition(is_interval);
    assert_eq!((means.len(), intervals.len()), (cells, cells));
    assert!(intervals.iter().all(|figure| figure.curves.iter().all(|curve| curve.points[0].1 >= 0.0)));
}

#[test]
fn it_can_be_stopped() {
    let cancel = AtomicBool::new(true);
    let context = Context { seed: 1, traces: None, progress: &|_| {}, cancel: &cancel, drives: Arc::default() };
    assert!(matches!(play(&QUICK, &context, &small(2)), Err(ReproduceError::Cancelled)));
    assert!(cancel.load(Ordering::Relaxed));
}

/// What follows no load is neither ours nor a rival; ours are those that volumes can have.
#[test]
fn the_registries_tell_whose_a_policy_is() {
    let of = |side: Side| -> Vec<String> {
        all().into_iter().filter(|one| one.side == side && !one.is_split()).map(|one| one.name).collect()
    };
    let fixed = of(Side::Fixed);
    assert_eq!(fixed, ["static-split", "fast-first", "size-threshold", "pinned"]);
    assert!(of(Side::Ours).contains(&"wardrop".to_string()) && of(Side::Rival).contains(&"dm-cache".to_string()));
    assert!(of(Side::Rival).contains(&"wardrop-published".to_string()));
}

#[test]
fn devices_hold_their_share_and_keep_their_dies() {
    for pair in PAIRS {
        for mib in [30, 300, 3_000] {
            let touched = Bytes::mib(mib);
            let system = pair.system(&Store::Split(100), touched, 20);
            let assembled = system.assemble(1).unwrap().device;
            assert_eq!(assembled.capacity(), touched, "{}", pair.title);
            let report = esker_results::Report::of(&*assembled);
            let (fast, slow) = (&report.devices[FAST], &report.devices[SLOW]);
            let wanted = touched.0 / 5;
            assert!((wanted..wanted + (1 << 18)).contains(&fast.capacity_bytes), "{}: {mib} MiB", pair.title);
            assert!(slow.capacity_bytes >= touched.0 * 105 / 100, "{}: {mib} MiB", pair.title);
            let flash = fast.flash.as_ref().unwrap();
            let sold: f64 = if pair.fast.starts_with("tlc") { 0.126 } else { 0.15 };
            assert!(1.0 - flash.pages.host as f64 / flash.pages.raw as f64 >= sold - 1e-9, "{}", pair.title);
        }
    }
}

fn row(name: &str, side: Side, requests_per_s: f64, p99_ms: f64, flash_bytes: f64) -> Row {
    let run = Measured { requests_per_s, p99_ms, programmed_bytes: vec![flash_bytes], ..Measured::default() };
    Row { name: name.into(), side, closed: vec![run.clone()], open: vec![run] }
}

fn ours(requests_per_s: f64, p99_ms: f64, flash_bytes: f64) -> Row {
    row("ours", Side::Ours, requests_per_s, p99_ms, flash_bytes)
}

fn rival() -> Row {
    row("rival", Side::Rival, 1000.0, 10.0, 500.0)
}

#[test]
fn more_of_one_is_better_only_if_nothing_is_paid_for_it() {
    let cases = [
        // Throughput, p99 and bytes of flash of ours, and whether that is better than 1000/s, 10 ms and 500 bytes.
        ((1060.0, 10.0, 500.0), true),
        ((1000.0, 9.4, 500.0), true),
        ((1060.0, 10.0, 501.0), false),
        ((2000.0, 1.0, 501.0), false),
        ((1040.0, 9.6, 0.0), false),
        ((1060.0, 10.1, 500.0), true),
        ((1060.0, 10.3, 500.0), false),
        ((985.0, 9.4, 500.0), true),
        ((970.0, 5.0, 500.0), false),
        ((1000.0, 10.0, 0.0), false),
    ];
    for ((requests_per_s, p99_ms, flash_bytes), better) in cases {
        let own = ours(requests_per_s, p99_ms, flash_bytes);
        assert_eq!(own.beats(&rival()), better, "{requests_per_s}/s, {p99_ms} ms, {flash_bytes} bytes");
    }
}

/// Twice as good in one run and half as good in the other is chance.
#[test]
fn a_gain_that_seeds_do_not_agree_on_is_none() {
    let several = |closed: [f64; 3]| {
        let runs = closed.map(|requests_per_s| Measured { requests_per_s, p99_ms: 10.0, ..Measured::default() });
        Row { closed: runs.to_vec(), open: runs.to_vec(), ..ours(0.0, 0.0, 0.0) }
    };
    let rival = several([1000.0; 3]);
    assert!(several([1100.0, 1101.0, 1099.0]).beats(&rival));
    assert!(!several([1000.0, 1500.0, 1000.0]).beats(&rival));
}

#[test]
fn an_interval_is_that_of_students_t() {
    // Two values a distance of 2 apart: a standard error of 1, and t of 63.657 for 99 % with one degree of freedom.
    let of_two = Estimate::of(&[1.0, 3.0]);
    assert!((of_two.mean - 2.0).abs() < 1e-12 && (of_two.reach - 63.657).abs() < 1e-3, "{of_two:?}");
    for equal in [&[5.0][..], &[5.0, 5.0, 5.0], &[0.0, 0.0]] {
        assert_eq!(Estimate::of(equal), Estimate { mean: equal[0], reach: 0.0 });
    }
}

#[test]
fn the_best_of_ours_is_the_one_that_beats_most_and_a_cheap_one_has_to_be_beaten_too() {
    let lazy = row("lazy", Side::Rival, 100.0, 90.0, 0.0);
    let split = row(BEST_SPLIT, Side::Fixed, 500.0, 10.0, 0.0);
    let (busy, calm) = (ours(1500.0, 5.0, 600.0), Row { name: "calm".into(), ..ours(1100.0, 9.0, 400.0) });
    let verdict = Verdict::of(&[rival(), lazy, split, busy.clone(), calm]).unwrap();
    assert_eq!((verdict.best.as_str(), verdict.beaten, verdict.rivals), ("calm", 1, 2));
    assert!(!verdict.beats_all() && verdict.unbeaten.len() == 1 && verdict.unbeaten[0].starts_with("lazy ("));
    assert_eq!((verdict.over_split, verdict.faster), (Some(2.2), true));
    let alone = Verdict::of(&[busy]).unwrap();
    assert!(!alone.beats_all(), "without rivals there is nothing to win");
    assert_eq!(Verdict::of(&[rival()]), None);
}

/// A split of all that fits fills the fast device, and one of nothing leaves it empty.
#[test]
fn splits_put_their_share_on_the_fast_device() {
    let splits: Vec<Contestant> = all().into_iter().filter(Contestant::is_split).collect();
    assert!(splits.iter().any(|one| one.store == Store::Split(0)));
    assert!(splits.iter().any(|one| one.store == Store::Split(100)));
    for one in splits {
        let Store::Split(percent) = one.store else { unreachable!("only splits were taken") };
        let assembled = PAIRS[1].system(&one.store, Bytes::mib(200), 20).assemble(1).unwrap().device;
        let places = assembled.composite().and_then(|composite| composite.extent_places()).unwrap().placed();
        let (held, all) = (places.devices[0].extents as f64, 1600.0);
        assert!((held - all * 0.2 * percent as f64 / 100.0).abs() <= 2.0, "{percent} %: {held}");
    }
}
