use std::collections::BTreeMap;

use esker_core::Rng;
use esker_trace::AreaSet;
use proptest::prelude::*;

use super::*;

/// What there is to know of a record: requests, reads, bytes, and requests by second.
type Known = (u64, u64, u64, BTreeMap<u64, u32>);

/// The classes of all records, by volume and number, as simply as can be.
fn reference(records: &[Record], settings: &ClassSettings) -> BTreeMap<(u32, u64), Option<[usize; 3]>> {
    let mut known: BTreeMap<(u32, u64), Known> = BTreeMap::new();
    for record in records {
        for byte in record.offset..record.end() {
            let (requests, reads, bytes, seconds) =
                known.entry((record.volume.0, byte / settings.record.0)).or_default();
            if byte == record.offset || byte % settings.record.0 == 0 {
                *requests += 1;
                *reads += u64::from(record.operation == Operation::Read);
                *seconds.entry((record.at - records[0].at).0 / 1_000_000_000).or_default() += 1;
            }
            *bytes += 1;
        }
    }
    let class = |(requests, reads, bytes, seconds): &Known| {
        let busiest = *seconds.values().max().unwrap();
        let by_reads = settings.read_shares.iter().filter(|&&begin| *reads as f64 / *requests as f64 >= begin).count();
        let by_size = settings.sizes.iter().filter(|begin| *bytes as f64 / *requests as f64 >= begin.0 as f64).count();
        let by_intensity = settings.intensities.iter().filter(|&&begin| busiest >= begin).count();
        (busiest > settings.hot_above).then_some([by_reads, by_size, by_intensity])
    };
    known.iter().map(|(place, known)| (*place, class(known))).collect()
}

fn trace(seed: u64, requests: u64) -> Vec<Record> {
    let (mut rng, mut at) = (Rng::new(seed), 5_000_000_000);
    let record = |_| {
        at += rng.below(400_000_000);
        let unit = 512;
        Record {
            at: Nanos(at),
            // A few places are asked for often.
            offset: if rng.chance(1, 2) { rng.below(8) * 5000 } else { rng.below(1 << 11) } * unit,
            length: (1 + rng.below(48)) as u32 * unit as u32,
            volume: VolumeIndex(rng.below(2) as u32),
            operation: if rng.chance(2, 3) { Operation::Read } else { Operation::Write },
            response: None,
        }
    };
    (0..requests).map(record).collect()
}

fn settings() -> ClassSettings {
    ClassSettings {
        record: Bytes::kib(8),
        sizes: vec![Bytes::kib(2), Bytes::kib(4), Bytes::kib(7)],
        intensities: vec![3],
        ..ClassSettings::kim_33()
    }
}

fn classified(records: &[Record], settings: &ClassSettings) -> DataClasses {
    let mut areas = AreaSet::default();
    records.iter().for_each(|record| areas.add(record));
    DataClasses::of(DenseMap::new(&areas), settings, || records.iter().copied()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn classes_are_those_of_the_reference(seed in any::<u64>(), requests in 1..200u64) {
        let (records, settings) = (trace(seed, requests), settings());
        let found = classified(&records, &settings);
        for ((volume, number), expected) in reference(&records, &settings) {
            let class = found.class_of(VolumeIndex(volume), number * settings.record.0).unwrap();
            let bin = found.classes[class].bins.map(|bins| {
                assert_eq!(bins.from, bins.to);
                [bins.from.reads, bins.from.size, bins.from.intensity].map(usize::from)
            });
            prop_assert_eq!(bin, expected);
        }
        let bytes: u64 = records.iter().map(|record| u64::from(record.length)).sum();
        prop_assert_eq!(found.classes.iter().map(|class| class.total.bytes()).sum::<u64>(), bytes);
        prop_assert!(found.classes.len() <= settings.classes_max());
        // Each of the 17 classes is made of whole ones of the 33.
        let fewer = classified(&records, &ClassSettings { intensities: Vec::new(), ..settings.clone() });
        let mut into = BTreeMap::new();
        for (volume, number) in reference(&records, &settings).into_keys() {
            let at = (VolumeIndex(volume), number * settings.record.0);
            let of = |classes: &DataClasses| classes.class_of(at.0, at.1).unwrap();
            prop_assert_eq!(*into.entry(of(&found)).or_insert(of(&fewer)), of(&fewer));
        }
    }

    /// What is merged over intensities is what is classified without them.
    #[test]
    fn merged_classes_are_those_of_wider_bins(seed in any::<u64>(), requests in 1..200u64) {
        let (records, settings) = (trace(seed, requests), settings());
        let found = classified(&records, &settings);
        let fewer = classified(&records, &ClassSettings { intensities: Vec::new(), ..settings });
        let mut kinds: Vec<Option<(u8, u8)>> = Vec::new();
        let kind = |class: &ClassOfData| class.bins.map(|bins| (bins.from.reads, bins.from.size));
        let numbers: Vec<usize> = found.classes.iter().map(kind).map(|kind| {
            let known = kinds.iter().position(|known| *known == kind);
            known.unwrap_or_else(|| { kinds.push(kind); kinds.len() - 1 })
        }).collect();
        let merged = found.merged(&numbers, || records.iter().copied());
        prop_assert_eq!(merged.of_records(), fewer.of_records());
        for (one, other) in merged.classes.iter().zip(&fewer.classes) {
            prop_assert_eq!(kind(one), kind(other));
            prop_assert_eq!((one.records, one.total, &one.seconds), (other.records, other.total, &other.seconds));
        }
        prop_assert_eq!(merged.classes.len(), fewer.classes.len());
    }

    #[test]
    fn peaks_that_do_not_meet_are_not_added_up(seed in any::<u64>(), requests in 1..200u64) {
        let found = classified(&trace(seed, requests), &settings());
        let each: Vec<Demand> = found.classes.iter().map(|class| demand([&class.seconds[..]], 1.0)).collect();
        let all = demand(found.classes.iter().map(|class| &class.seconds[..]), 1.0);
        prop_assert!(all.bytes <= each.iter().map(|one| one.bytes).sum());
        prop_assert!(all.bytes >= each.iter().map(|one| one.bytes).max().unwrap());
    }
}

/// Two requests in one second, one of 4 KiB that is read and one of 8 KiB that is written behind it; and another
/// second.
#[test]
fn demands_are_those_of_the_seconds() {
    let record = |at, offset, length, operation| Record {
        at: Nanos(at),
        offset,
        length,
        volume: VolumeIndex(0),
        operation,
        response: None,
    };
    let records = [
        record(0, 0, 4096, Operation::Read),
        record(1, 4096, 8192, Operation::Write),
        record(7_000_000_000, 1 << 20, 4096, Operation::Write),
    ];
    let found = classified(&records, &ClassSettings::kim_33());
    let [hot, cold] = &found.classes[..] else { panic!("{:?}", found.classes) };
    let bin = HotBin { reads: 2, size: 0, intensity: 0 };
    assert_eq!((hot.bins, hot.records), (Some(HotBins::one(bin)), 1));
    let load = Load {
        random_reads: 1,
        sequential_writes: 1,
        read_bytes: 4096,
        written_bytes: 8192,
        sequential_written_bytes: 8192,
        ..Load::default()
    };
    assert_eq!((&hot.seconds[..], hot.total), (&[(0, load)][..], load));
    assert_eq!((cold.bins, cold.seconds[0].0, cold.total.random_writes), (None, 7, 1));
    assert_eq!(
        demand([&hot.seconds[..]], 0.95),
        Demand { requests: 2, bytes: 12288, read_bytes: 4096, written_bytes: 8192 }
    );
    assert_eq!(found.class_of(VolumeIndex(0), 9 << 20), None);
}

#[test]
fn bins_that_make_no_sense_are_refused() {
    for (wrong, says) in [
        (ClassSettings { record: Bytes(5000), ..ClassSettings::kim_33() }, "power of two"),
        (ClassSettings { record: Bytes::mib(2), ..ClassSettings::kim_33() }, "power of two"),
        (ClassSettings { read_shares: vec![0.5, 0.5], ..ClassSettings::kim_33() }, "share of reads"),
        (ClassSettings { read_shares: vec![f64::NAN], ..ClassSettings::kim_33() }, "share of reads"),
        (ClassSettings { sizes: vec![Bytes::ZERO], ..ClassSettings::kim_33() }, "size of requests"),
        (ClassSettings { intensities: vec![8, 4], ..ClassSettings::kim_33() }, "busiest second"),
    ] {
        assert!(wrong.check().unwrap_err().to_string().contains(says), "{wrong:?}");
    }
    assert_eq!((ClassSettings::kim_33().classes_max(), ClassSettings::kim_17().classes_max()), (33, 17));
    let none = classified(&[], &ClassSettings::kim_33());
    assert!(none.classes.is_empty() && none.time == Nanos::ZERO);
}
