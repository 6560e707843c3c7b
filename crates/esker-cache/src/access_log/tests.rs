//! Compares the accesses of logs with the requests, and samples with the whole.

use esker_core::Rng;
use esker_core::registry::Choice;
use proptest::prelude::*;

use super::*;
use crate::{ADMISSIONS, AdmissionCapability, Shape, build, build_admission, simulate_admitting};

fn all(log: &AccessLog) -> Vec<Access> {
    let packed = log.blocks.iter().flatten().enumerate();
    packed.map(|(number, access)| access.unpack(log.next_use.get(number).copied().unwrap_or(NEVER))).collect()
}

/// Returns the misses of an LRU cache of `size` objects.
fn misses(log: &AccessLog, size: u32) -> u64 {
    let mut policy = build(&Choice::named("lru"), &Shape { capacity: size, objects: log.objects(), seed: 1 }).unwrap();
    let counts = log.simulate(&mut *policy, |_| ControlFlow::Continue(())).unwrap();
    log.of_the_whole(&counts).misses
}

proptest! {
    /// Compares a log with the simplest way to number objects and to look for the next use.
    #[test]
    fn accesses_are_those_of_the_requests(
        requests in prop::collection::vec((0u64..60_000, 0u64..20_000, any::<bool>()), 1..60),
        piece in prop::sample::select(vec![512u64, 4096]),
    ) {
        let mut builder = AccessLogBuilder::new(NonZeroU64::new(piece));
        let mut touched: Vec<(u64, u32, AccessKind)> = Vec::new();
        for &(offset, length, writes) in &requests {
            let kind = if writes { AccessKind::Write } else { AccessKind::Read };
            builder.request(offset, length, kind).unwrap();
            for number in 0..(offset + length).div_ceil(piece) {
                let (from, to) = (offset.max(number * piece), (offset + length).min((number + 1) * piece));
                if from < to {
                    touched.push((number, (to - from) as u32, kind));
                }
            }
        }
        let log = builder.finish(true);
        prop_assert_eq!(log.len(), touched.len() as u64);
        prop_assert_eq!(log.bytes(), requests.iter().map(|(_, length, _)| length).sum::<u64>());
        let mut names: Vec<u64> = Vec::new();
        for (number, access) in all(&log).iter().enumerate() {
            let (name, bytes, kind) = touched[number];
            if !names.contains(&name) {
                names.push(name);
            }
            prop_assert_eq!(names[access.object.index()], name);
            prop_assert_eq!((access.bytes, access.kind), (bytes, kind));
            let next = touched.iter().skip(number + 1).position(|(other, ..)| *other == name);
            prop_assert_eq!(access.next_use, next.map_or(NEVER, |next| (number + 1 + next) as u32));
        }
        prop_assert_eq!(log.objects() as usize, names.len());
    }
}

#[test]
fn a_request_without_pieces_is_one_access_whatever_its_length() {
    let mut builder = AccessLogBuilder::new(None);
    for (offset, length) in [(512, 0), (512, 1 << 20), (1024, u64::from(u32::MAX))] {
        builder.request(offset, length, AccessKind::Write).unwrap();
    }
    let log = builder.finish(false);
    assert_eq!((log.len(), log.objects()), (3, 2));
    assert_eq!(all(&log).iter().map(|access| access.bytes).collect::<Vec<_>>(), [0, 1 << 20, WRITES - 1]);
    assert!(all(&log).iter().all(|access| access.kind == AccessKind::Write && access.next_use == NEVER));
}

#[test]
fn the_last_addresses_of_all_are_objects_too() {
    let mut builder = AccessLogBuilder::new(NonZeroU64::new(4096));
    builder.request(u64::MAX - 5_000, 5_000, AccessKind::Read).unwrap();
    builder.request(u64::MAX - 1, 1, AccessKind::Read).unwrap();
    let log = builder.finish(false);
    assert_eq!(
        all(&log).iter().map(|access| (access.object.0, access.bytes)).collect::<Vec<_>>(),
        [(0, 905), (1, 4_095), (1, 1),]
    );
}

#[test]
fn blocks_and_chunks_follow_each_other() {
    let length = 2 * BLOCK + CHUNK + 17;
    let mut rng = Rng::new(5);
    let ids: Vec<u64> = (0..length).map(|_| rng.below(3_000)).collect();
    let mut builder = AccessLogBuilder::new(None);
    ids.iter().for_each(|id| builder.request(*id, 1, AccessKind::Read).unwrap());
    let log = builder.finish(true);
    assert_eq!(log.len() as usize, length);
    let accesses = all(&log);
    let mut policy = build(&Choice::named("lru"), &Shape { capacity: 1_000, objects: 3_000, seed: 1 }).unwrap();
    assert_eq!(misses(&log, 1_000), crate::simulate(&mut *policy, &accesses).misses);
    let mut calls = 0;
    let stopped = log.simulate(&mut *policy, |done| {
        calls += done;
        ControlFlow::Break(())
    });
    assert_eq!((stopped, calls as usize), (None, BLOCK));
}

#[test]
fn a_sample_estimates_the_whole_and_a_sample_of_everything_is_the_whole() {
    let mut rng = Rng::new(1);
    let ids: Vec<u64> = (0..300_000).map(|_| (rng.unit().powi(3) * 50_000.0) as u64).collect();
    let log = |rate, seed| {
        let mut builder = AccessLogBuilder::sampled(None, Sample { rate, seed });
        ids.iter().for_each(|id| builder.request(*id, 4096, AccessKind::Read).unwrap());
        builder.finish(false)
    };
    let whole = log(1.0, 1);
    let exact = misses(&whole, 5_000) as f64 / 300_000.0;
    assert_eq!((whole.len(), whole.rate()), (300_000, 1.0));
    let mut errors: Vec<f64> = (0..9)
        .map(|seed| {
            let sample = log(0.1, seed);
            assert!(sample.len() < 60_000 && sample.accesses() == 300_000, "{}", sample.len());
            (misses(&sample, 500) as f64 / 300_000.0 - exact).abs()
        })
        .collect();
    errors.sort_by(f64::total_cmp);
    // The error bound for samples of 10 % of small traces.
    assert!(errors[4] < 0.02, "{errors:?}");
    // A caller that forgets to scale the cache uses the size of the whole cache on a sample.
    assert!((misses(&log(0.1, 1), 5_000) as f64 / 300_000.0 - exact).abs() > 0.05);
}

/// Simulates an LRU cache with a budget of `bytes_per_day` admitted bytes a day.
fn budgeted(log: &AccessLog, size: u32, bytes_per_day: &str) -> Counts {
    let shape = Shape { capacity: size, objects: log.objects(), seed: 1 };
    let choice: Choice = format!("reject-first(bytes_per_day={bytes_per_day},window=1000%)").parse().unwrap();
    let (mut policy, mut admission) =
        (build(&Choice::named("lru"), &shape).unwrap(), build_admission(&choice, &shape).unwrap());
    let counts = log.simulate_admitting(&mut *policy, &mut *admission, |_| ControlFlow::Continue(())).unwrap();
    log.of_the_whole(&counts)
}

#[test]
fn admission_is_told_every_access_with_its_time() {
    let length = BLOCK + CHUNK + 17;
    let mut rng = Rng::new(6);
    let mut builder = AccessLogBuilder::new(None).with_times();
    let times: Vec<Nanos> = (0..length as u64).map(|number| Nanos::from_millis(number * 200)).collect();
    for time in &times {
        builder.at(*time);
        builder.request(rng.below(3_000), 4096, AccessKind::Read).unwrap();
    }
    let log = builder.finish(false);
    let shape = Shape { capacity: 500, objects: log.objects(), seed: 1 };
    for entry in ADMISSIONS {
        let mut choice = Choice::named(entry.name);
        if entry.can(AdmissionCapability::Time) {
            choice = format!("{}(bytes_per_day=200MiB)", entry.name).parse().unwrap();
        }
        let parts = || (build(&Choice::named("lru"), &shape).unwrap(), build_admission(&choice, &shape).unwrap());
        let (mut policy, mut admission) = parts();
        let expected = simulate_admitting(&mut *policy, &mut *admission, &times, &all(&log));
        let (mut policy, mut admission) = parts();
        let counts = log.simulate_admitting(&mut *policy, &mut *admission, |_| ControlFlow::Continue(()));
        assert_eq!(counts, Some(expected), "{}", entry.name);
    }
}

/// A budget applies to the whole trace: a sample of a tenth writes as much per day, not ten times as much.
#[test]
fn a_sample_keeps_the_budget_of_the_whole() {
    let mut rng = Rng::new(2);
    let log = |rate, rng: &mut Rng| {
        let mut builder = AccessLogBuilder::sampled(None, Sample { rate, seed: 1 }).with_times();
        for number in 0..200_000 {
            builder.at(Nanos::from_millis(number * 432));
            builder.request(rng.below(30_000), 4096, AccessKind::Read).unwrap();
        }
        builder.finish(false)
    };
    let (whole, sample) = (log(1.0, &mut rng.clone()), log(0.1, &mut rng));
    // A day with a budget for some 25 000 objects, of which a twentieth is saved up.
    let written = |log, size| budgeted(log, size, "100MiB").written_bytes as f64 / (100.0 * 1_048_576.0 * 1.05);
    let (exact, estimate) = (written(&whole, 3_000), written(&sample, 300));
    // Budget that is earned before anything has missed twice finds a full bucket, and is lost.
    assert!((0.96..1.0).contains(&exact), "{exact}");
    assert!((estimate / exact - 1.0).abs() < 0.01, "{estimate} instead of {exact}");
}

/// In a small sample of large objects an access stands for more than 4 GiB.
#[test]
fn an_access_of_a_sample_takes_all_that_it_stands_for_from_the_budget() {
    const GIB: u64 = 1 << 30;
    let mut builder = AccessLogBuilder::sampled(None, Sample { rate: 0.01, seed: 1 }).with_times();
    // Each object misses twice, a second before the next one does: the second time it may enter.
    for number in 0..20_000 {
        builder.at(Nanos::from_secs(number));
        (0..2).for_each(|_| builder.request(number, GIB, AccessKind::Read).unwrap());
    }
    let log = builder.finish(false);
    // The budget is for 4000 objects a day: forty of the sample a day, and two that are saved up.
    let written = budgeted(&log, 1, "4000GiB").written_bytes / (100 * GIB);
    let expected = 2.0 + 40.0 * 20_000.0 / 86_400.0;
    assert!((written as f64 - expected).abs() < 2.0, "{written} instead of {expected}");
}

/// A warm-up does not count the misses of its accesses. Later accesses find the cache as the warm-up left it.
#[test]
fn what_only_warms_is_not_counted() {
    let mut rng = Rng::new(5);
    let requests: Vec<u64> = (0..200_000).map(|_| (rng.unit().powi(3) * 9_000.0) as u64 * 4096).collect();
    // Warm-ups that end before, within and at the end of a chunk and of a block.
    for warm in [0, 1, CHUNK, CHUNK + 1, BLOCK, 3 * BLOCK - 7] {
        let log = |requests: &[u64], warm: Option<usize>| {
            let mut builder = AccessLogBuilder::new(NonZeroU64::new(4096)).with_volumes();
            for (number, offset) in requests.iter().enumerate() {
                if warm == Some(number) {
                    builder.end_warm_up();
                }
                builder.volume((offset / 4096 % 2) as u32);
                builder.request(*offset, 4096, AccessKind::Read).unwrap();
            }
            builder.finish(false)
        };
        let (whole, before, counted) = (log(&requests, None), log(&requests[..warm], None), log(&requests, Some(warm)));
        let run = |log: &AccessLog| {
            let shape = Shape { capacity: 700, objects: whole.objects(), seed: 1 };
            let counts = |mut policy: Box<dyn Replacement>| log.simulate(&mut *policy, |_| ControlFlow::Continue(()));
            counts(build(&Choice::named("lru"), &shape).unwrap()).unwrap()
        };
        let (all, first, later) = (run(&whole), run(&before), run(&counted));
        assert_eq!(
            (later.accesses, later.misses),
            (all.accesses - first.accesses, all.misses - first.misses),
            "{warm}"
        );
        assert_eq!((counted.accesses(), counted.bytes()), (later.accesses, later.bytes));
        assert_eq!(counted.first_uses(), whole.objects() - before.objects());
        let shape = Shape { capacity: 700, objects: whole.objects(), seed: 1 };
        let mut policy = build(&Choice::named("lru"), &shape).unwrap();
        let volumes = counted.simulate_by_volume(&mut *policy, None, |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(volumes.into_iter().sum::<Counts>(), later);
    }
}
