//! Binary recordings: files per CPU, either byte order, events out of order.

use std::io::Write;

use esker_core::Nanos;
use esker_trace::{FORMATS, ReadOptions, Record, TraceError, TraceReader};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::common;

const EVENT: usize = 48;

/// A recording of at least 300 requests, as events.
fn recording() -> (Vec<String>, Vec<Record>, Vec<[u8; EVENT]>) {
    let format = FORMATS.iter().find(|format| format.name == "blktrace").unwrap();
    let (mut names, mut records) =
        common::legal_trace(format).new_tree(&mut TestRunner::deterministic()).unwrap().current();
    names.truncate(2);
    for (index, record) in records.iter_mut().enumerate() {
        // Times close together, so that completions come between other requests.
        record.at = Nanos(1_000_000 * index as u64);
        record.response = record.response.map(|response| Nanos(response.0 % 20_000_000));
        record.volume.0 %= 2;
    }
    let (bytes, _) = common::write("blktrace", &records, &names).unwrap();
    let events = bytes.chunks_exact(EVENT).map(|event| event.try_into().unwrap()).collect();
    (names, records, events)
}

fn read_files(files: &[Vec<u8>]) -> Result<(TraceReader, Vec<Record>), TraceError> {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (cpu, bytes) in files.iter().enumerate() {
        let path = folder.path().join(format!("sda.blktrace.{cpu}"));
        std::fs::File::create(&path).unwrap().write_all(bytes).unwrap();
        paths.push(path);
    }
    let groups = esker_trace::group_inputs(&paths);
    assert_eq!(groups.len(), 1);
    let mut reader = TraceReader::open(&groups[0], &ReadOptions::default())?;
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch)? {
        all.extend_from_slice(&batch);
    }
    Ok((reader, all))
}

#[test]
fn files_per_cpu_are_merged_by_time() {
    let (_, records, events) = recording();
    let mut files = vec![Vec::new(); 3];
    for (index, event) in events.iter().enumerate() {
        files[index * 7 % 3].extend_from_slice(event);
    }
    let (reader, read) = read_files(&files).unwrap();
    assert_eq!(read, records);
    assert_eq!(reader.notes().reordered, 0);
}

#[test]
fn either_byte_order_and_what_follows_events_are_read() {
    let (_, records, events) = recording();
    let mut bytes = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let mut event = *event;
        let rest = index % 3 * 5;
        event[46..48].copy_from_slice(&(rest as u16).to_le_bytes());
        for (at, width) in
            [(0, 4), (4, 4), (8, 8), (16, 8), (24, 4), (28, 4), (32, 4), (36, 4), (40, 4), (44, 2), (46, 2)]
        {
            event[at..at + width].reverse();
        }
        bytes.extend_from_slice(&event);
        bytes.extend(std::iter::repeat_n(b'?', rest));
    }
    let (reader, read) = common::read(bytes, &ReadOptions::default()).unwrap();
    assert_eq!(reader.format().name, "blktrace");
    assert_eq!(read, records);
}

/// `blktrace -o -` writes the events of each CPU, one CPU after the other.
#[test]
fn events_of_a_stream_are_put_in_order_before_they_are_paired() {
    let (_, records, events) = recording();
    let mut bytes = Vec::new();
    for (number, piece) in events.chunks(30).enumerate() {
        let (even, odd): (Vec<_>, Vec<_>) = piece.iter().enumerate().partition(|(index, _)| index % 2 == 0);
        let (first, second) = if number % 2 == 0 { (odd, even) } else { (even, odd) };
        first.iter().chain(&second).for_each(|(_, event)| bytes.extend_from_slice(*event));
    }
    let (reader, read) = common::read(bytes, &ReadOptions::default()).unwrap();
    assert_eq!(read, records);
    assert!(reader.notes().reordered > 0 && reader.notes().largest_step_back > Nanos::ZERO);
}

#[test]
fn a_cut_recording_and_a_lost_magic_are_errors() {
    let (_, _, events) = recording();
    let bytes = events.concat();
    let error = common::read(bytes[..bytes.len() - 5].to_vec(), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("expected an event of 48 bytes, found 43 bytes"), "{error}");
    let mut bytes = bytes;
    bytes[EVENT * 3] = 0;
    let error = common::read(bytes, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with("test:record 4: expected version 7"), "{error}");
}

#[test]
fn other_formats_are_not_merged() {
    let spc = b"0,1,512,R,0.0\n".to_vec();
    let error = read_files(&[spc.clone(), spc]).unwrap_err();
    assert!(matches!(error, TraceError::NotMergeable { format: "spc", .. }), "{error}");
}
