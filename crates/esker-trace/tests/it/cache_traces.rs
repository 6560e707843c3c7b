//! Traces of caches without a header: which format is detected, and where their objects go.

use std::collections::{BTreeMap, BTreeSet};

use esker_core::Nanos;
use esker_trace::{Operation, ReadOptions, Record, TraceError, TraceReader};

fn read(name: &str, bytes: &[u8], format: Option<&str>) -> Result<(&'static str, Vec<Record>), TraceError> {
    let options = ReadOptions { format: format.map(str::to_string), ..ReadOptions::default() };
    let mut reader = TraceReader::from_reader(name, Box::new(std::io::Cursor::new(bytes.to_vec())), &options)?;
    let (mut records, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch)? {
        records.extend_from_slice(&batch);
    }
    Ok((reader.format().name, records))
}

fn oracle(accesses: &[(u32, u64, u32, i64)]) -> Vec<u8> {
    let record = |&(seconds, object, size, next): &(u32, u64, u32, i64)| {
        [&seconds.to_le_bytes()[..], &object.to_le_bytes(), &size.to_le_bytes(), &next.to_le_bytes()].concat()
    };
    accesses.iter().flat_map(record).collect()
}

#[test]
fn objects_do_not_overlap_whatever_their_hash_and_size() {
    let objects = [u64::MAX, 0, 1, u64::MAX - 1, u64::MAX, 1 << 63, 0, 7];
    let sizes = [u32::MAX, 4096, 0, 1, u32::MAX, 100, 4096, u32::MAX];
    let accesses: Vec<_> = (0..8).map(|index| (index as u32 / 2, objects[index], sizes[index], -1)).collect();
    let (_, records) = read("x", &oracle(&accesses), Some("oracle-general")).unwrap();
    assert_eq!(records.len(), 8);
    for (index, record) in records.iter().enumerate() {
        assert_eq!((record.at, record.operation), (Nanos::from_secs(index as u64 / 2), Operation::Read));
        assert_eq!(record.length, sizes[index].max(1));
        for (other, earlier) in records[..index].iter().enumerate() {
            let apart = record.offset >= earlier.end() || earlier.offset >= record.end();
            assert_eq!(apart, objects[index] != objects[other], "{index} and {other}");
            assert_eq!(record.offset == earlier.offset, objects[index] == objects[other]);
        }
    }
    assert_eq!(records.iter().map(|record| record.offset).collect::<BTreeSet<_>>().len(), 6);
}

/// Against a plain map, over several blocks of the input: objects used again at once, within what is looked ahead, and
/// long after.
#[test]
fn objects_are_numbered_in_the_order_of_their_first_appearance() {
    let mut random = 1u64;
    let accesses: Vec<_> = (0..40_000)
        .map(|seconds| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let object = random >> 33;
            let object = match object % 4 {
                0 => object % 10,
                1 => (object % 3_000) << 52,
                2 => u64::MAX - object % 20_000,
                _ => u64::from(seconds / 2),
            };
            (seconds, object, 512, -1)
        })
        .collect();
    let (_, records) = read("x", &oracle(&accesses), Some("oracle-general")).unwrap();
    let mut numbers = BTreeMap::new();
    assert_eq!(records.len(), accesses.len());
    for (record, &(seconds, object, ..)) in records.iter().zip(&accesses) {
        let next = numbers.len() as u64;
        assert_eq!(
            (record.at.0, record.offset >> 32),
            (u64::from(seconds) * 1_000_000_000, *numbers.entry(object).or_insert(next))
        );
        assert_eq!(record.offset as u32, 0);
    }
    assert!(numbers.len() > 10_000, "{}", numbers.len());
}

#[test]
fn what_they_are_taken_for() {
    let access = |n: u32| (n / 4, u64::from(n % 7) << 50, 512, if n < 13 { i64::from(n) + 7 } else { -1 });
    let accesses: Vec<_> = (0..20).map(access).collect();
    let bytes = oracle(&accesses);
    assert_eq!(read("trace", &bytes, None).unwrap().0, "oracle-general");
    // A next access that came before, a time that goes back, too few records: not certain enough.
    for wrong in [(4, 0, 512, 3), (0, 0, 512, 40), (4, 0, 0, 40)] {
        let mut accesses = accesses.clone();
        accesses[18] = wrong;
        assert!(matches!(read("trace", &oracle(&accesses), None), Err(TraceError::Unrecognised { .. })), "{wrong:?}");
    }
    assert!(matches!(read("trace", &bytes[..24 * 4], None), Err(TraceError::Unrecognised { .. })));
    assert!(matches!(read("trace", &[0; 480], None), Err(TraceError::Unrecognised { .. })));
    for name in ["a.oracleGeneral", "b.oracleGeneral.bin.zst", "c.ORACLEGENERAL"] {
        assert_eq!(read(name, &bytes[..48], None).unwrap().1.len(), 2);
    }
}

#[test]
fn page_numbers_are_pages() {
    let bytes: Vec<u8> = [3u32, u32::MAX, 3].iter().flat_map(|number| number.to_le_bytes()).collect();
    let offsets = |records: Vec<Record>| records.iter().map(|record| record.offset / 4096).collect::<Vec<_>>();
    for (name, format) in [("x", Some("u32")), ("x.u32", None), ("dir/x.u32.gz", None)] {
        let (found, records) = read(name, &bytes, format).unwrap();
        assert_eq!((found, offsets(records)), ("u32", vec![3, u64::from(u32::MAX), 3]));
    }
    assert!(read("x", &bytes, None).is_err(), "numbers alone say nothing");
    let bytes: Vec<u8> = [3u64, (1 << 52) - 2].iter().flat_map(|number| number.to_le_bytes()).collect();
    let (found, records) = read("x.u64", &bytes, None).unwrap();
    assert_eq!((found, offsets(records)), ("u64", vec![3, (1 << 52) - 2]));
}

#[test]
fn what_is_cut_off_or_too_large_is_named() {
    let error = |bytes: &[u8], format: &str| read("x", bytes, Some(format)).unwrap_err().to_string();
    assert!(error(&oracle(&[(0, 0, 1, -1), (0, 0, 1, -1)])[..30], "oracle-general").contains("24 bytes"));
    assert!(error(&[1, 2, 3, 4, 5], "u32").contains("a whole page number"));
    let large = error(&(1u64 << 52).to_le_bytes(), "u64");
    assert!(large.contains("a page number below 2^52"), "{large}");
    let end = [u64::MAX; 2].map(u64::to_le_bytes).concat();
    assert!(error(&end, "u64").contains("record 1"), "{}", error(&end, "u64"));
}
