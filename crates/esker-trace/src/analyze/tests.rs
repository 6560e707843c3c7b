//! The whole profile against a naive computation.

use std::collections::BTreeSet;

use esker_core::{Nanos, Rng};
use proptest::prelude::*;

use super::{AREA_BYTES, Characteriser, CharacteriserSettings, Operation, Record};
use crate::VolumeIndex;
use esker_results::profile::{Profile, VolumeProfile};

fn random_records(seed: u64, count: u64) -> Vec<Record> {
    let mut rng = Rng::new(seed);
    let (mut at, mut end) = (1_000_000_000_000, 0);
    (0..count)
        .map(|_| {
            at += rng.below(30_000_000);
            let operation = match rng.below(20) {
                0 => Operation::Flush,
                1 => Operation::Trim,
                2..=9 => Operation::Read,
                _ => Operation::Write,
            };
            let offset = if rng.chance(1, 3) { end } else { rng.below(50_000) * 512 };
            let length = if operation == Operation::Flush { 0 } else { (1 + rng.below(64) as u32) * 512 };
            let record = Record {
                at: Nanos(at),
                offset: if operation == Operation::Flush { 0 } else { offset },
                length,
                volume: VolumeIndex(rng.below(3) as u32),
                operation,
                response: rng.chance(1, 2).then(|| Nanos(rng.below(1_000_000))),
            };
            if operation != Operation::Flush {
                end = record.end();
            }
            record
        })
        .collect()
}

fn profile_of(records: &[Record]) -> Profile {
    let mut characteriser = Characteriser::new(CharacteriserSettings::default());
    characteriser.push_all(records);
    characteriser.finish(&["a".to_string(), "b".to_string()])
}

#[test]
fn the_profile_is_what_a_naive_count_finds() {
    let records = random_records(3, 5_000);
    let profile = profile_of(&records);
    let count = |operation| records.iter().filter(|record| record.operation == operation).count() as u64;
    let bytes = |operation| {
        let of = records.iter().filter(|record| record.operation == operation);
        of.map(|record| u64::from(record.length)).sum::<u64>()
    };
    assert_eq!(profile.requests, 5_000);
    assert_eq!(profile.read_requests, count(Operation::Read));
    assert_eq!(profile.write_requests, count(Operation::Write));
    assert_eq!(profile.trim_requests, count(Operation::Trim));
    assert_eq!(profile.flush_requests, count(Operation::Flush));
    assert_eq!(profile.read_bytes, bytes(Operation::Read));
    assert_eq!(profile.write_bytes, bytes(Operation::Write));
    assert_eq!(profile.trim_bytes, bytes(Operation::Trim));
    let pages = |wanted: &[Operation]| {
        let of = records.iter().filter(|record| wanted.contains(&record.operation));
        of.flat_map(|record| (record.offset / 4096..=(record.end() - 1) / 4096).map(|page| (record.volume, page)))
            .collect::<BTreeSet<_>>()
            .len() as u64
    };
    assert_eq!(profile.pages_4k, pages(&[Operation::Read, Operation::Write]));
    assert_eq!(profile.pages_4k_read, pages(&[Operation::Read]));
    assert_eq!(profile.pages_4k_written, pages(&[Operation::Write]));
    assert_eq!(profile.footprint_bytes, profile.pages_4k * 4096);

    let ranged: Vec<&Record> = records.iter().filter(|record| record.operation != Operation::Flush).collect();
    let follows = |before: &Record, record: &Record| before.end() == record.offset;
    let global = ranged.windows(2).filter(|pair| follows(pair[0], pair[1])).count();
    assert_eq!(profile.sequential_fraction_global, global as f64 / ranged.len() as f64);
    let mut sequential = 0;
    for volume in 0..3 {
        let of: Vec<_> = ranged.iter().filter(|record| record.volume == VolumeIndex(volume)).collect();
        sequential += of.windows(2).filter(|pair| follows(pair[0], pair[1])).count();
    }
    assert_eq!(profile.sequential_fraction, sequential as f64 / ranged.len() as f64);
    let aligned = ranged.iter().filter(|record| record.offset % 4096 == 0 && record.length % 4096 == 0).count();
    assert_eq!(profile.aligned_4k_fraction, aligned as f64 / ranged.len() as f64);

    let mut lengths: Vec<u64> = records
        .iter()
        .filter(|record| matches!(record.operation, Operation::Read | Operation::Write))
        .map(|record| u64::from(record.length))
        .collect();
    lengths.sort_unstable();
    assert_eq!(profile.median_size_bytes, lengths[(lengths.len() - 1) / 2]);
    assert_eq!(profile.mean_size_bytes, lengths.iter().sum::<u64>() as f64 / lengths.len() as f64);
    let duration = records.last().unwrap().at - records[0].at;
    assert_eq!(profile.duration_s, Some(duration.as_secs_f64()));
    assert_eq!(profile.first_arrival_ns, records[0].at.0);

    let responses: Vec<u64> = records.iter().filter_map(|record| record.response).map(|time| time.0).collect();
    let measured = profile.measured.unwrap();
    assert_eq!(measured.requests, responses.len() as u64);
    let mean = responses.iter().sum::<u64>() as f64 / responses.len() as f64;
    assert!((measured.all.mean_us * 1e3 - mean).abs() < 1e-6);
    assert_eq!(measured.busiest_hour, measured.all);
}

#[test]
fn parts_add_up_to_the_whole() {
    let profile = profile_of(&random_records(4, 20_000));
    assert_eq!(profile.devices, 3);
    let names: Vec<&str> = profile.volumes.iter().map(|volume| volume.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "2"]);
    let sum = |of: fn(&VolumeProfile) -> u64| profile.volumes.iter().map(of).sum::<u64>();
    assert_eq!(sum(|volume| volume.requests), profile.requests);
    assert_eq!(sum(|volume| volume.pages_4k), profile.pages_4k);
    assert_eq!(sum(|volume| volume.active_bytes), profile.active_bytes);
    assert_eq!(profile.load.iter().map(|interval| interval.requests).sum::<u64>(), profile.requests);
    assert_eq!(profile.load.iter().map(|interval| interval.write_bytes).sum::<u64>(), profile.write_bytes);
    let last = profile.working_set.last().unwrap();
    assert_eq!(last.footprint_bytes, profile.footprint_bytes);
    assert!(profile.working_set.iter().all(|interval| interval.area_bytes <= profile.active_bytes));
    assert_eq!(profile.skew.pages, profile.pages_4k);
    assert_eq!(profile.write_skew.pages, profile.pages_4k_written);
    assert_eq!(profile.overwrite_ratio, profile.write_skew.accesses as f64 / profile.pages_4k_written as f64);
    let in_bins: u64 = profile.sizes.bins.iter().map(|bin| bin.reads + bin.writes).sum();
    assert_eq!(in_bins, profile.read_requests + profile.write_requests);
}

#[test]
fn the_working_set_is_what_each_interval_touched() {
    let records = random_records(5, 3_000);
    let profile = profile_of(&records);
    let width = (profile.working_set_interval_s * 1e9).round() as u64;
    for (index, interval) in profile.working_set.iter().enumerate() {
        let inside = records.iter().filter(|record| (record.at - records[0].at).0 / width == index as u64);
        let areas: BTreeSet<_> = inside
            .filter(|record| matches!(record.operation, Operation::Read | Operation::Write))
            .flat_map(|record| (record.offset >> 20..=(record.end() - 1) >> 20).map(|area| (record.volume, area)))
            .collect();
        assert_eq!(interval.area_bytes, areas.len() as u64 * AREA_BYTES, "interval {index}");
    }
}

#[test]
fn a_trace_without_times_has_none() {
    let mut records = random_records(6, 100);
    records.iter_mut().for_each(|record| record.at = Nanos::ZERO);
    let profile = profile_of(&records);
    assert_eq!((profile.duration_s, profile.requests_per_s), (None, None));
    assert_eq!((profile.peaks, profile.busiest_hour, profile.inter_arrival), (None, None, None));
    assert!(profile.load.is_empty() && profile.working_set.is_empty() && profile.idle.is_empty());
}

#[test]
fn an_empty_trace_has_a_profile() {
    let profile = profile_of(&[]);
    assert_eq!((profile.requests, profile.devices, profile.pages_4k), (0, 0, 0));
    assert_eq!(profile.mean_size_bytes, 0.0);
}

#[test]
fn the_profile_survives_json() {
    let profile = profile_of(&random_records(7, 1_000));
    let text = serde_json::to_string(&profile).unwrap();
    assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
}

#[test]
fn records_that_go_back_in_time_do_no_harm() {
    let mut records = random_records(8, 1_000);
    records.reverse();
    let profile = profile_of(&records);
    assert_eq!(profile.requests, 1_000);
    assert_eq!(profile.duration_s, Some(0.0));
    assert_eq!(profile.requests_per_s, None);
}

/// Ordinary numbers, and numbers at the edges of their type.
fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..5_000_000, Just(u64::MAX), Just(u64::MAX - 4096), any::<u64>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_records_have_a_profile_that_survives_json(
        records in prop::collection::vec(
            (any_number(), any_number(), prop_oneof![0u32..100_000, Just(64 << 20)], 0u32..5, 0u8..4, any_number()),
            0..30,
        ),
    ) {
        let records: Vec<Record> = records
            .into_iter()
            .map(|(at, offset, length, volume, operation, response)| Record {
                at: Nanos(at),
                offset,
                length,
                volume: VolumeIndex(volume),
                operation: [Operation::Read, Operation::Write, Operation::Trim, Operation::Flush][usize::from(operation)],
                response: (response % 3 > 0).then_some(Nanos(response)),
            })
            .collect();
        let profile = profile_of(&records);
        prop_assert_eq!(profile.requests, records.len() as u64);
        prop_assert!(profile.load.len() <= 512 && profile.working_set.len() <= 128);
        prop_assert!(profile.skew.lorenz.len() <= 200);
        let text = serde_json::to_string(&profile).unwrap();
        prop_assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
    }
}

/// The spans of two volumes together once exceeded 2^64, and the sum overflowed. Now it stops at the largest number.
#[test]
fn spans_beyond_all_numbers_stop_at_the_largest() {
    let record = |volume, offset| Record {
        at: Nanos::ZERO,
        offset,
        length: 512,
        volume: VolumeIndex(volume),
        operation: Operation::Read,
        response: None,
    };
    let profile = profile_of(&[record(0, 0), record(0, u64::MAX), record(1, 0), record(1, u64::MAX)]);
    assert_eq!(profile.address_span_bytes, u64::MAX);
}
