//! A trace that a format can hold is read back unchanged.

use esker_core::Nanos;
use esker_trace::{FORMATS, FormatCapability, FormatEntry, Operation, ReadOptions, Record, TraceError, VolumeIndex};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, TestRunner};

use super::common;

/// Runs `check` on traces that the format can hold, and names the format in errors.
fn for_legal_traces(
    cases: u32,
    check: impl Fn(&'static FormatEntry, Vec<String>, Vec<esker_trace::Record>) -> Result<(), String>,
) {
    for format in FORMATS.iter().filter(|format| format.can(FormatCapability::Write)) {
        let mut runner = TestRunner::new_with_rng(
            Config { cases, failure_persistence: None, ..Config::default() },
            proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
        );
        let result = runner.run(&common::legal_trace(format), |(names, records)| {
            check(format, names, records).map_err(proptest::test_runner::TestCaseError::fail)
        });
        result.unwrap_or_else(|error| panic!("{}: {error}", format.name));
    }
}

#[test]
fn writing_recognising_and_reading_is_the_identity() {
    for_legal_traces(150, |format, names, records| {
        let (bytes, notes) = common::write(format.name, &records, &names).map_err(|error| error.to_string())?;
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
        let (reader, read) = common::read(bytes, &ReadOptions::default()).map_err(|e| format!("{e}\n{shown}"))?;
        if reader.format().name != format.name {
            return Err(format!("read as {}", reader.format().name));
        }
        if read != records {
            let at = read.iter().zip(&records).position(|(read, wrote)| read != wrote).unwrap_or(0);
            return Err(format!("record {at}: {:?}, not {:?}\n{shown}", read.get(at), records.get(at)));
        }
        if reader.volumes() != names {
            return Err(format!("{:?}, not {names:?}", reader.volumes()));
        }
        if !notes.losses.is_empty() || !notes.volumes_renamed.is_empty() {
            return Err(format!("{notes:?}"));
        }
        let (notes, count) = (reader.notes(), records.len() as u64);
        let has_responses = records.iter().any(|record| record.response.is_some());
        if (notes.records, notes.reordered, notes.bad_lines, notes.has_responses) != (count, 0, 0, has_responses) {
            return Err(format!("{notes:?}"));
        }
        Ok(())
    });
}

#[test]
fn carriage_returns_and_a_missing_last_newline_are_no_difference_in_text() {
    for_legal_traces(20, |format, names, records| {
        if format.build.binary {
            return Ok(());
        }
        let (bytes, _) = common::write(format.name, &records, &names).map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes).unwrap();
        for changed in [text.replace('\n', "\r\n"), text.trim_end().to_string(), format!("{text}\n \n")] {
            let (_, read) = common::read(changed.into_bytes(), &ReadOptions::default()).map_err(|e| e.to_string())?;
            if read != records {
                return Err("other records".into());
            }
        }
        Ok(())
    });
}

#[test]
fn every_format_compressed_is_the_same_trace() {
    for format in FORMATS.iter().filter(|format| format.can(FormatCapability::Write)) {
        let mut runner = TestRunner::deterministic();
        let (names, records) = common::legal_trace(format).new_tree(&mut runner).unwrap().current();
        let (bytes, _) = common::write(format.name, &records, &names).unwrap();
        let packed = zstd::encode_all(&bytes[..], 1).unwrap();
        let (reader, read) = common::read(packed.clone(), &ReadOptions::default()).unwrap();
        assert!(reader.format().name == format.name && read == records, "{}", format.name);
        // A compressed trace that is cut off is an error, never a shorter trace.
        let error = common::read(packed[..packed.len() - 1].to_vec(), &ReadOptions::default()).unwrap_err();
        assert!(matches!(error, TraceError::Compressed { .. }), "{}: {error}", format.name);
    }
}

/// The start and end of each column are part of these formats.
#[test]
fn events_are_written_as_their_programs_print_them() {
    let record = |operation, offset, length| Record {
        at: Nanos(1_500_000_042),
        offset,
        length,
        volume: VolumeIndex(0),
        operation,
        response: Some(Nanos(2_000)),
    };
    let text = |format, operation, offset, length| {
        let (bytes, _) = common::write(format, &[record(operation, offset, length)], &["8,0".to_string()]).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    assert_eq!(
        text("blkparse", Operation::Write, 4096, 1024) + &text("blkparse", Operation::Flush, 0, 0),
        "    8,0  0        1     1.500000042     0  Q   W 8 + 2 [esker]\n    \
             8,0  0        2     1.500002042     0  C   W 8 + 2 [0]\n    \
             8,0  0        1     1.500000042     0  Q  FN [esker]\n    \
             8,0  0        2     1.500002042     0  C  FN 0 [0]\n"
    );
    assert_eq!(
        text("wiscsee", Operation::Trim, 4096, 1024),
        "0 D discard 4096 1024 1.500000042 0 False\n0 C discard 4096 1024 1.500002042 0 False\n"
    );
    assert_eq!(
        text("nbdkit", Operation::Write, 0xabc, 16) + &text("nbdkit", Operation::Read, 0, 1),
        "1970-01-01 00:00:01.500000 connection=1 Write id=1 offset=0xabc count=0x10 fua=0 ...\n\
         1970-01-01 00:00:01.500002 connection=1 ...Write id=1 return=0\n\
         1970-01-01 00:00:01.500000 connection=1 Read id=1 offset=0x0 count=0x1 ...\n\
         1970-01-01 00:00:01.500002 connection=1 ...Read id=1 return=0\n"
    );
}

#[test]
fn a_recording_that_was_cut_off_is_read_up_to_its_last_whole_section() {
    let record = |number: u64| Record {
        at: Nanos::from_micros(number),
        offset: number << 12,
        length: 4096,
        volume: VolumeIndex(0),
        operation: Operation::Write,
        response: Some(Nanos(100 + number)),
    };
    let output = common::Shared::default();
    let names = ["volume".to_string()];
    let mut writer = esker_trace::TraceWriter::create("esker", Box::new(output.clone()), &names).unwrap();
    writer.write_waiting().unwrap();
    let (mut bytes, mut whole) = (output.take(), Vec::new());
    for number in 0..5 {
        whole.push((bytes.len(), number));
        writer.push(&record(2 * number)).unwrap();
        writer.push(&record(2 * number + 1)).unwrap();
        writer.write_waiting().unwrap();
        bytes.extend(output.take());
    }
    whole.push((bytes.len(), 5));
    drop(writer);
    for cut in 16..=bytes.len() {
        let (reader, records) = common::read(bytes[..cut].to_vec(), &common::forced("esker")).unwrap();
        let sections = whole.iter().rev().find(|(end, _)| *end <= cut).unwrap().1;
        assert_eq!(records, (0..2 * sections).map(record).collect::<Vec<_>>(), "cut at byte {cut}");
        assert!(reader.notes().remarks.iter().any(|remark| remark.contains("was cut off")), "cut at byte {cut}");
    }
}
