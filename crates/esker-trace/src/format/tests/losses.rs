//! What is written and read back is equal, or the difference was counted.

use std::collections::BTreeMap;

use esker_core::Nanos;
use esker_trace::{
    FORMATS, FormatCapability, FormatEntry, LossKind, Operation, ReadOptions, Record, TraceError, TraceWriter,
    VolumeIndex, WriteNotes,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use super::common;

const NAMES: [&str; 12] =
    ["0", "a b", "host.1", "host.1.x", "8,0", "4096,0", "8,1048576", "\u{e9}", "", "255", "70000", "a_b"];

/// Records at the limits of the formats: units of time; response times that are unknown, zero, tiny and huge; several
/// requests for one range under way at once; several volumes.
fn edges() -> impl Strategy<Value = Vec<Record>> {
    let time = || prop::sample::select(vec![0, 0, 0, 1, 99, 100, 999, 1000, 1_000_000_000u64]);
    let start = prop_oneof![
        Just(0),
        Just(100_000_000_000_000_000),
        Just(100_000_000_000_000_001),
        Just(1_172_163_102_415_432_900),
        Just(4_294_967_295_000_000_000),
        Just(u64::MAX - 20_000_000_000),
    ];
    let response = prop_oneof![
        2 => Just(None),
        2 => Just(Some(0)),
        2 => time().prop_map(Some),
        2 => (0..4_000_000_000u64).prop_map(Some),
        1 => prop_oneof![Just(9_999_999_999), Just(10_000_000_001), Just(2_147_483_647_000), Just(2_147_483_648_000),
                         Just(i64::MAX as u64), Just(u64::MAX)].prop_map(Some),
    ];
    let offset = prop_oneof![
        6 => (0..4u64).prop_map(|page| page * 4096),
        4 => prop::sample::select(vec![1, 256, 1 << 40, u64::MAX - 4095]),
    ];
    let length = prop_oneof![6 => Just(4096), 5 => prop::sample::select(vec![512, 1, 1 << 31, u32::MAX, 0])];
    let operation = prop::sample::select(vec![
        Operation::Read,
        Operation::Read,
        Operation::Read,
        Operation::Write,
        Operation::Trim,
        Operation::Flush,
    ]);
    let volume = prop_oneof![4 => Just(2u32), 3 => 0..NAMES.len() as u32];
    let record = (prop_oneof![4 => time(), 1 => Just(3_000_000_000)], offset, length, operation, volume, response);
    (start, prop::collection::vec(record, 1..60)).prop_map(|(start, raw)| {
        let mut at = start;
        let record = |(step, offset, length, operation, volume, response): (u64, u64, u32, _, u32, Option<u64>)| {
            at = u64::saturating_add(at, step);
            let (offset, length) = if operation == Operation::Flush { (0, 0) } else { (offset, length) };
            let response = response.map(Nanos);
            Record { at: Nanos(at), offset, length, volume: VolumeIndex(volume), operation, response }
        };
        raw.into_iter().map(record).collect()
    })
}

/// A written trace, and the records that the format could hold.
struct WrittenTrace {
    kept: Vec<Record>,
    bytes: Vec<u8>,
    notes: WriteNotes,
}

/// Writes those of `records` that `format` can hold. Every refusal has to name a remedy.
fn write(format: &str, records: &[Record], names: &[String]) -> Result<WrittenTrace, String> {
    let output = common::Shared::default();
    let mut writer = TraceWriter::create(format, Box::new(output.clone()), names).map_err(|e| e.to_string())?;
    let mut kept = Vec::new();
    for record in records {
        match writer.push(record) {
            Ok(()) => kept.push(*record),
            Err(error @ TraceError::CannotHold { .. }) => {
                let hint = esker_core::Hint::hint(&error).unwrap_or_default();
                if hint.is_empty() || hint.ends_with("write ") {
                    return Err(format!("no way out of: {error}"));
                }
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    let notes = writer.finish().map_err(|error| error.to_string())?;
    Ok(WrittenTrace { kept, bytes: output.take(), notes })
}

fn is_of_time(kind: LossKind) -> bool {
    matches!(kind, LossKind::TimesDropped | LossKind::TimesRounded | LossKind::TimesMadeUp)
}

/// Compares the records that were written with those read back. The differences have to agree with the counted losses,
/// in number and in where they begin.
fn check(format: &str, wrote: &[Record], names: &[String], notes: &WriteNotes, bytes: &[u8]) -> Result<(), String> {
    if wrote.is_empty() && bytes.is_empty() {
        return Ok(());
    }
    let (reader, read) = common::read(bytes.to_vec(), &common::forced(format)).map_err(|error| error.to_string())?;
    if (read.len(), notes.records) != (wrote.len(), wrote.len() as u64) {
        return Err(format!("{} records read and {} counted of {} written", read.len(), notes.records, wrote.len()));
    }
    let renamed: BTreeMap<&String, &String> = notes.volumes_renamed.iter().map(|(from, to)| (from, to)).collect();
    let (mut times, mut responses) = (Vec::new(), Vec::new());
    for (index, (wrote, read)) in wrote.iter().zip(&read).enumerate() {
        if (wrote.operation, wrote.offset, wrote.length) != (read.operation, read.offset, read.length) {
            return Err(format!("record {index}: {read:?}, not {wrote:?}"));
        }
        let name = &names[wrote.volume.0 as usize];
        let (expected, found) = (renamed.get(name).unwrap_or(&name), &reader.volumes()[read.volume.0 as usize]);
        if found != *expected {
            return Err(format!("record {index}: volume {found}, not {expected}"));
        }
        if wrote.at != read.at + notes.time_origin {
            times.push(index as u64 + 1);
        }
        if wrote.response != read.response {
            responses.push(index as u64 + 1);
        }
    }
    let mistaken = notes.lost(LossKind::ResponsesMistaken);
    for (what, found, of_time) in [("times", times, true), ("response times", responses, false)] {
        let losses = || notes.losses.iter().filter(|loss| is_of_time(loss.kind) == of_time);
        let (count, first) = (losses().map(|loss| loss.count).sum::<u64>(), losses().map(|loss| loss.first).min());
        // A response time may be rounded first and then be taken for that of another request.
        let twice = if of_time { 0 } else { mistaken };
        let differ = found.len() as u64;
        if count < differ || count - differ > twice || (twice == 0 && first != found.first().copied()) {
            return Err(format!("{differ} {what} differ, from {:?} on; counted: {:?}", found.first(), notes.losses));
        }
    }
    Ok(())
}

fn names() -> Vec<String> {
    NAMES.map(String::from).into()
}

fn writable() -> impl Iterator<Item = &'static FormatEntry> {
    FORMATS.iter().filter(|format| format.can(FormatCapability::Write))
}

fn run<S: Strategy>(cases: u32, what: &str, strategy: S, check: impl Fn(S::Value) -> Result<(), String>) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let result = runner.run(&strategy, |value| check(value).map_err(TestCaseError::fail));
    result.unwrap_or_else(|error| panic!("{what}: {error}"));
}

#[test]
fn what_is_read_back_is_equal_or_was_counted() {
    for format in writable() {
        let kept = std::cell::Cell::new(0);
        run(200, format.name, edges(), |records| {
            let written = write(format.name, &records, &names())?;
            kept.set(kept.get() + written.kept.len());
            check(format.name, &written.kept, &names(), &written.notes, &written.bytes)
        });
        assert!(kept.get() > 300, "{} took only {} of some 6,000 records", format.name, kept.get());
    }
}

#[test]
fn converting_any_format_to_any_other_counts_what_it_loses() {
    for from in writable() {
        for to in writable() {
            run(4, &format!("{} to {}", from.name, to.name), edges(), |records| {
                let source = write(from.name, &records, &names())?;
                if source.bytes.is_empty() {
                    return Ok(());
                }
                let (reader, read) =
                    common::read(source.bytes, &common::forced(from.name)).map_err(|error| error.to_string())?;
                let written = write(to.name, &read, reader.volumes())?;
                check(to.name, &written.kept, reader.volumes(), &written.notes, &written.bytes)
            });
        }
    }
}

/// Changes records before a writer gets them: stands for a writer that drops something without counting it.
type Twin = (&'static str, fn(&mut Vec<Record>));

#[test]
fn writers_that_drop_silently_are_caught() {
    let twins: [Twin; 6] = [
        ("forgets response times", |records| records.iter_mut().for_each(|record| record.response = None)),
        ("makes response times up", |records| {
            records.iter_mut().for_each(|record| record.response = record.response.or(Some(Nanos::ZERO)));
        }),
        ("cuts response times to milliseconds", |records| {
            records.iter_mut().for_each(|r| r.response = r.response.map(|time| Nanos(time.0 / 1_000_000 * 1_000_000)));
        }),
        ("cuts times to milliseconds", |records| {
            records.iter_mut().for_each(|record| record.at.0 -= record.at.0 % 1_000_000);
        }),
        ("takes all volumes for one", |records| {
            records.iter_mut().for_each(|record| record.volume = VolumeIndex(0));
        }),
        ("loses the last record", |records| records.truncate(records.len() - 1)),
    ];
    for (what, spoil) in twins {
        let caught = std::cell::Cell::new(0);
        run(50, what, edges(), |records| {
            let mut spoilt = records.clone();
            spoil(&mut spoilt);
            let written = write("esker", &spoilt, &names())?;
            let sound: Vec<Record> = write("esker", &records, &names())?.kept;
            let differs = sound != written.kept;
            let found = check("esker", &sound, &names(), &written.notes, &written.bytes);
            caught.set(caught.get() + u32::from(differs));
            if found.is_err() == differs { Ok(()) } else { Err(format!("{found:?}")) }
        });
        assert!(caught.get() > 10, "{what}");
    }
}

#[test]
fn losses_that_are_not_counted_are_caught() {
    let seen = std::cell::RefCell::new(BTreeMap::<LossKind, u32>::new());
    for format in writable() {
        run(60, format.name, edges(), |records| {
            let WrittenTrace { kept, bytes, notes } = write(format.name, &records, &names())?;
            for index in 0..notes.losses.len() {
                *seen.borrow_mut().entry(notes.losses[index].kind).or_default() += 1;
                let mut silent = notes.clone();
                let loss = silent.losses.remove(index);
                let alone = notes.lost(LossKind::ResponsesMistaken) == 0 || notes.losses.len() == 1;
                if alone && check(format.name, &kept, &names(), &silent, &bytes).is_ok() {
                    return Err(format!("{loss:?} was not missed"));
                }
            }
            Ok(())
        });
    }
    let kinds: Vec<LossKind> = seen.into_inner().into_keys().collect();
    use LossKind::*;
    let all = [
        TimesDropped,
        TimesRounded,
        ResponsesDropped,
        ResponsesRounded,
        ResponsesClipped,
        ResponsesUnknown,
        ResponsesMadeUp,
        ResponsesMistaken,
    ];
    assert_eq!(kinds, all, "every kind of loss occurs");
}

#[test]
fn each_loss_is_one_line() {
    let record = |response: Option<u64>| Record {
        at: Nanos(1_172_163_102_415_432_950),
        offset: 512,
        length: 512,
        volume: VolumeIndex(0),
        operation: Operation::Read,
        response: response.map(Nanos),
    };
    let lines = |format: &str, responses: &[Option<u64>]| {
        let records: Vec<Record> = responses.iter().map(|response| record(*response)).collect();
        write(format, &records, &["8,0".to_string()]).unwrap().notes.lines()
    };
    assert_eq!(lines("parquet", &[None, Some(5), Some(0)]), [] as [&str; 0]);
    assert_eq!(
        lines("msr", &[Some(250), Some(99), Some(0)])[..3],
        [
            "3 times were rounded down to 100ns, the unit of `msr` (the first is record 1)",
            "1 response times were rounded down to 100ns, the unit of `msr` (the first is record 1)",
            "2 response times below 100ns became unknown: that is what 0 means in `msr` (the first is record 2)",
        ]
    );
    assert_eq!(
        lines("diskmon", &[Some(0), None]),
        [
            "1 requests have no response time and got 0: `diskmon` has to have one, and 0 reads as measured (the first \
             is record 2)",
            "times count from the first request in `diskmon`; it came 1172163102.415432950 s after 1970-01-01, which \
             is not kept",
            "1 volumes are called otherwise in `diskmon`: 8,0 is 0",
        ]
    );
    let swapped = lines("blkparse", &[Some(9_000), Some(10)]);
    assert!(swapped[0].starts_with("2 response times read back as those of other requests"), "{swapped:?}");
    let mut writer = TraceWriter::create("spc", Box::new(std::io::sink()), &["0".to_string()]).unwrap();
    writer.push(&Record { at: Nanos::ZERO, ..record(None) }).unwrap();
    writer.trace_has_no_times();
    assert_eq!(
        writer.finish().unwrap().lines(),
        ["the trace has no times; all are 0 in `spc`, as if every request came at once"]
    );
}

/// After filtering to one volume, a format with one volume holds the trace, however many volumes it names.
#[test]
fn only_volumes_with_records_take_a_place() {
    let names: Vec<String> = ["a", "b", "c"].map(String::from).into();
    let record = Record {
        at: Nanos::ZERO,
        offset: 0,
        length: 512,
        volume: VolumeIndex(1),
        operation: Operation::Read,
        response: None,
    };
    let (bytes, notes) = common::write("vscsi", &[record], &names).unwrap();
    assert_eq!(notes.volumes_renamed, [("b".to_string(), "0".to_string())]);
    assert_eq!(common::read(bytes, &common::forced("vscsi")).unwrap().1.len(), 1);
    let (bytes, _) = common::write("esker", &[record], &names).unwrap();
    assert_eq!(common::read(bytes, &ReadOptions::default()).unwrap().0.volumes(), ["b"]);
}

/// A request before the first response time can only take its completion while a reader would still wait for it.
#[test]
fn a_first_response_time_late_in_a_trace_is_held_against_what_waits() {
    const COUNT: u64 = 200_000;
    let record = |number: u64, page: u64, response: Option<u64>| Record {
        at: Nanos(1000 * number),
        offset: page * 4096,
        length: 4096,
        volume: VolumeIndex(0),
        operation: Operation::Write,
        response: response.map(Nanos),
    };
    let mut records: Vec<Record> = (0..COUNT).map(|number| record(number, number, None)).collect();
    // The range of a request that still waits, of one that was given up, and of none.
    for (number, page) in [(0, COUNT - 60_000), (1, COUNT - 70_000), (2, COUNT)] {
        records.push(record(COUNT + number, page, Some(5000)));
    }
    for (format, mistaken) in [("blkparse", 2), ("blktrace", 2), ("wiscsee", 2), ("nbdkit", 0)] {
        let names = ["8,0".to_string()];
        let WrittenTrace { kept, bytes, notes } = write(format, &records, &names).unwrap();
        assert_eq!(notes.lost(LossKind::ResponsesMistaken), mistaken, "{format}");
        check(format, &kept, &names, &notes, &bytes).unwrap();
    }
}
