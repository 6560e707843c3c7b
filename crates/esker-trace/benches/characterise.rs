//! How fast a trace is characterised, mapped densely and filtered.

use esker_core::{Nanos, Rng};
use esker_testkit::Bench;
use esker_trace::{
    Characteriser, CharacteriserSettings, DenseMap, Filter, FilterSettings, Operation, Record, VolumeIndex,
};

fn record_count() -> u64 {
    if Bench::is_smoke() { 50_000 } else { 5_000_000 }
}

/// A skewed load of 8 KiB on average over four volumes, `gib` GiB each; a third is sequential.
fn records(gib: u64, response: bool) -> Vec<Record> {
    let mut rng = Rng::new(1);
    let (mut at, mut ends) = (0, [0u64; 4]);
    (0..record_count())
        .map(|_| {
            at += rng.below(200_000);
            let volume = rng.below(4) as usize;
            let length = [4096, 4096, 8192, 16384][rng.below(4) as usize];
            let random = (rng.unit().powi(4) * (gib << 18) as f64) as u64 * 4096;
            let offset = if rng.chance(1, 3) { ends[volume] } else { random };
            ends[volume] = offset + length;
            Record {
                at: Nanos(at),
                offset,
                length: length as u32,
                volume: VolumeIndex(volume as u32),
                operation: if rng.chance(2, 3) { Operation::Read } else { Operation::Write },
                response: response.then(|| Nanos(100_000 + rng.below(1_000_000))),
            }
        })
        .collect()
}

fn characterise(records: &[Record]) -> u64 {
    let mut characteriser = Characteriser::new(CharacteriserSettings::default());
    characteriser.push_all(records);
    assert_eq!(characteriser.finish(&[]).requests, records.len() as u64);
    records.len() as u64
}

fn main() {
    for (name, gib, response) in [
        ("characterise, 4 GiB", 1, false),
        ("characterise, 4 GiB, with response times", 1, true),
        ("characterise, 400 GiB", 100, false),
    ] {
        let records = records(gib, response);
        Bench::new(name).rate("records", || characterise(&records));
    }
    let records = records(100, false);
    let mut characteriser = Characteriser::new(CharacteriserSettings::default());
    characteriser.push_all(&records);
    let map = DenseMap::new(characteriser.touched());
    Bench::new("map densely, 400 GiB").rate("records", || {
        let sum = records.iter().filter_map(|record| map.map(record.volume, record.offset)).fold(0, u64::wrapping_add);
        std::hint::black_box(sum);
        record_count()
    });
    Bench::new("filter").rate("records", || {
        let settings = FilterSettings { shift_bytes: 512, speed: Some(2.0), ..FilterSettings::default() };
        let mut filter = Filter::new(settings).expect("the settings make sense");
        for record in &records {
            std::hint::black_box(filter.apply(record, &[]));
        }
        filter.kept()
    });
}
