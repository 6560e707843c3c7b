//! The model against hand-made traces. Real ones are in `tests/it/like.rs`.

use esker_core::{Nanos, Rng};
use proptest::prelude::*;

use super::{TraceModel, TraceModelFitter};
use crate::{Characteriser, CharacteriserSettings, Operation, Record, VolumeIndex};
use esker_results::profile::Profile;

fn fit(records: &[Record]) -> TraceModel {
    let mut fitter = TraceModelFitter::default();
    fitter.push_all(records);
    fitter.finish(&["a".to_string(), "b".to_string()])
}

fn profile(records: &[Record]) -> Profile {
    let mut characteriser = Characteriser::new(CharacteriserSettings::default());
    characteriser.push_all(records);
    characteriser.finish(&[])
}

/// Two volumes with runs of reads, single writes, flushes and bursts.
fn trace(seed: u64, count: u64) -> Vec<Record> {
    let mut rng = Rng::new(seed);
    let (mut at, mut records, mut end) = (1_000_000_000, Vec::new(), 0);
    for index in 0..count {
        at += if rng.chance(1, 20) { rng.below(50_000_000) } else { rng.below(100_000) };
        let (operation, offset, length, volume) = match rng.below(10) {
            0 => (Operation::Flush, 0, 0, 0),
            1..=4 if index > 0 => (Operation::Read, end, 8192, 1),
            5 | 6 => (Operation::Read, rng.below(4_000) * 4096, 16384, 1),
            7 => (Operation::Trim, rng.below(500) * 4096, 65536, 0),
            _ => (Operation::Write, rng.below(10_000) * 512, 1536, 0),
        };
        if volume == 1 {
            end = offset + u64::from(length);
        }
        records.push(Record { at: Nanos(at), offset, length, volume: VolumeIndex(volume), operation, response: None });
    }
    records
}

#[test]
fn as_many_requests_as_fitted_reproduce_every_count() {
    let records = trace(1, 20_000);
    let model = fit(&records);
    assert_eq!(model.requests(), 20_000);
    assert_eq!(model.volumes(), ["a", "b"]);
    let generated: Vec<Record> = model.generate(20_000, 5).collect();
    let (before, after) = (profile(&records), profile(&generated));
    assert_eq!(after.requests, before.requests);
    assert_eq!(after.read_requests, before.read_requests);
    assert_eq!(after.trim_requests, before.trim_requests);
    assert_eq!(after.flush_requests, before.flush_requests);
    assert_eq!(after.read_bytes, before.read_bytes);
    assert_eq!(after.write_bytes, before.write_bytes);
    assert_eq!(after.sizes, before.sizes);
    assert_eq!(after.duration_s, before.duration_s);
    assert_eq!(after.aligned_4k_fraction, before.aligned_4k_fraction);
    assert!((after.sequential_fraction - before.sequential_fraction).abs() < 0.01);
    for (after, before) in after.volumes.iter().zip(&before.volumes) {
        assert_eq!((after.requests, after.write_bytes), (before.requests, before.write_bytes));
    }
    let footprint = after.footprint_bytes as f64 / before.footprint_bytes as f64;
    assert!((0.95..1.05).contains(&footprint), "{footprint}");
}

#[test]
fn any_number_of_requests_keeps_the_mix_and_the_rate() {
    let records = trace(2, 5_000);
    let before = profile(&records);
    let model = fit(&records);
    // One gap in twenty is long, so with few requests the rate is random.
    for (requests, rates) in [(500u64, 0.5..2.0), (12_345, 0.9..1.1), (50_000, 0.99..1.01)] {
        let generated: Vec<Record> = model.generate(requests, 1).collect();
        assert_eq!(generated.len() as u64, requests);
        assert!(generated.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let after = profile(&generated);
        let share = |profile: &Profile| profile.read_requests as f64 / profile.requests as f64;
        assert!((share(&after) - share(&before)).abs() < 0.05, "{requests}");
        let rate = after.requests_per_s.unwrap() / before.requests_per_s.unwrap();
        assert!(rates.contains(&rate), "{requests}: {rate}");
    }
}

#[test]
fn seeds_and_repetitions() {
    let model = fit(&trace(3, 3_000));
    let draw = |seed| model.generate(3_000, seed).collect::<Vec<_>>();
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}

#[test]
fn load_that_changes_over_time_changes_in_the_generated_trace() {
    let mut records = trace(4, 8_000);
    // The second half is a hundred times as fast.
    let middle = records[4_000].at;
    for record in &mut records[4_000..] {
        record.at = Nanos(middle.0 + (record.at - middle).0 / 100);
    }
    let model = fit(&records);
    let generated: Vec<Record> = model.generate(8_000, 1).collect();
    let last = |records: &[Record], index: usize| (records[index].at - records[0].at).as_secs_f64();
    for index in [2_000, 4_000, 7_999] {
        let ratio = last(&generated, index) / last(&records, index);
        assert!((0.85..1.15).contains(&ratio), "request {index}: {ratio}");
    }
}

#[test]
fn segments_merge_when_there_are_many() {
    let records = trace(5, 200_000);
    let model = fit(&records);
    assert!(model.segments.len() <= 64, "{}", model.segments.len());
    assert_eq!(model.requests(), 200_000);
    let after = profile(&model.generate(200_000, 1).collect::<Vec<_>>());
    assert_eq!(after.read_bytes, profile(&records).read_bytes);
}

#[test]
fn nothing_gives_nothing_and_one_gives_one() {
    assert_eq!(fit(&[]).generate(10, 1).count(), 0);
    let one = trace(6, 1);
    let again: Vec<Record> = fit(&one).generate(3, 1).collect();
    assert_eq!(again.len(), 3);
    assert!(again.iter().all(|record| record.operation == one[0].operation && record.at == Nanos::ZERO));
}

proptest! {
    #[test]
    fn any_records_can_be_fitted_and_generated(
        records in prop::collection::vec(
            (prop_oneof![0u64..1_000, any::<u64>()], prop_oneof![0u64..100_000, any::<u64>()], any::<u32>(), 0u32..4, 0u8..4),
            1..50,
        ),
        requests in 0u64..200,
        seed: u64,
    ) {
        let operations = [Operation::Read, Operation::Write, Operation::Trim, Operation::Flush];
        let records: Vec<Record> = records
            .into_iter()
            .map(|(at, offset, length, volume, operation)| Record {
                at: Nanos(at),
                offset,
                length,
                volume: VolumeIndex(volume),
                operation: operations[usize::from(operation)],
                response: None,
            })
            .collect();
        let model = fit(&records);
        prop_assert_eq!(model.requests(), records.len() as u64);
        prop_assert_eq!(model.generate(requests, seed).count() as u64, requests);
    }
}
