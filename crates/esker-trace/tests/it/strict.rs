//! Bad input is refused with its position, or counted if it is tolerated.

use esker_core::{Hint, Nanos};
use esker_trace::{LossKind, ReadOptions, TraceError};

use crate::common;

fn message(text: impl Into<Vec<u8>>, format: &str) -> String {
    common::read(text.into(), &common::forced(format)).unwrap_err().to_string()
}

#[test]
fn errors_say_where_what_was_expected_and_what_was_found() {
    for (format, text, expected) in [
        ("spc", "0,1,512,R,0.0\n0,1,512,R,-3.2\n", "test:2: expected a timestamp in seconds, found `-3.2`"),
        ("spc", "0,1,512,Q,0.0\n", "test:1: expected R or W, found `Q`"),
        ("spc", "0,1,512,R\n", "test:1: expected a comma, found the end of the line"),
        ("spc", "0,1,512,R,0.0x\n", "test:1: expected the end of the line, found `x`"),
        ("spc", "0,1,4294967296,R,0.0\n", "test:1: expected a length below 4 GiB, found `0,1,4294967296,R,0.0`"),
        (
            "spc",
            "0,36028797018963968,1,R,0.0\n",
            "test:1: expected a sector below 2^55, found `0,36028797018963968,1,R,0.0`",
        ),
        ("spc", "0,36028797018963967,600,R,0\n", "test:1: expected a range that ends below 2^64 bytes, found `0,360"),
        ("spc", "4294967296,1,512,R,0.0\n", "test:1: expected an ASU number, found `4294967296`"),
        ("spc", "0,1,512,R,0.0\n\0\0\0\0\n", "test:2: expected an ASU number, found `\\x00\\x00\\x00\\x00`"),
        ("msr", "1,h,0,Read,0,1,0\n", "test:1: expected a FILETIME between 1970 and 2554, found `1`"),
        ("msr", "128166372003061629,h,0,Red,0,1,0\n", "test:1: expected Read or Write, found `Red`"),
        ("ssdsim", "0 0 0 8 2\n", "test:1: expected 1 (read) or 0 (write), found `2`"),
        ("disksim", "0.0 0 0 8 g\n", "test:1: expected flags in hexadecimal, found `g`"),
        ("blkparse", "8,0 0 1 0.0 1 Q R 5 + x [c]\n", "test:1: expected a number of sectors, found `x`"),
        ("fio", "fio version 2 iolog\n", "test:1: expected `fio version 3 iolog`, found `fio`"),
        ("fio-v2", "fio version 2 iolog\n/f jump 0 0\n", "test:2: expected add, open, close, read, write"),
        (
            "vscsi",
            "0123456789",
            "test:record 1: expected a record of 32 bytes, found 10 bytes and the end of the input",
        ),
        (
            "srt",
            "$$TR_IOREC-1.3\ntracedate = \"yesterday\";\n\x0c",
            "expected tracedate as in \"Sat May 30 00:03:06 1992\"",
        ),
        ("esker", "ESKERTRC\x02\0\0\0\0\0\0\0", "expected version 1 of the format, found version 2"),
    ] {
        let found = message(text, format);
        assert!(found.starts_with(expected) || found.contains(&format!(": {expected}")), "{found}\n{expected}");
    }
}

#[test]
fn lines_are_bounded_wherever_they_begin() {
    let long = "x".repeat(70_000);
    for before in [0, 1, 20_000] {
        let text = format!("{}0,1,512,R,0.0,{long}\n", "0,1,512,R,0.0\n".repeat(before));
        let found = message(text, "spc");
        let place = format!("test:{}: expected a line of at most 65,536 bytes, found a longer one", before + 1);
        assert_eq!(found, place);
    }
    // Endless input without any newline.
    let found = message("1".repeat(3_000_000), "spc");
    assert!(found.contains("a line of at most 65,536 bytes"), "{found}");
    let short = format!("0,1,512,R,0.0,{}\n", "x".repeat(60_000));
    assert_eq!(common::read(short.into_bytes(), &common::forced("spc")).unwrap().1.len(), 1);
}

#[test]
fn bad_lines_are_tolerated_up_to_a_number() {
    let text = b"0,1,512,R,0.0\nbad\n0,1,512,W,0.5\nworse,\n0,2,512,W,0.5\n".to_vec();
    let options = |lenient| ReadOptions { lenient: Some(lenient), ..ReadOptions::default() };
    let (reader, records) = common::read(text.clone(), &options(2)).unwrap();
    assert_eq!(records.len(), 3);
    assert_eq!(reader.notes().bad_lines, 2);
    assert_eq!(reader.notes().bad_line_messages[0], "test:2: expected an ASU number, found `bad`");
    let error = common::read(text.clone(), &options(1)).unwrap_err();
    assert!(matches!(error, TraceError::TooManyBadLines { limit: 1, .. }), "{error}");
    assert!(error.to_string().contains("test:2:") && error.to_string().contains("test:4:"), "{error}");
    assert!(matches!(common::read(text, &options(0)), Err(TraceError::Field { .. })));
}

#[test]
fn header_lines_of_columns_are_passed_over() {
    let text =
        b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\r\n128166372003061629,usr,0,Read,512,1024,10\r\n";
    let (reader, records) = common::read(text.to_vec(), &ReadOptions::default()).unwrap();
    assert_eq!((reader.format().name, records.len(), reader.notes().ignored("header")), ("msr", 1, 1));
    let text = b"1456135200.013118000,0.5,R,4,32768,4096\n1456135201.013118000,,,4,4096,4096\n".to_vec();
    let (reader, records) = common::read(text, &ReadOptions::default()).unwrap();
    assert_eq!((reader.format().name, records.len()), ("systor", 1));
    assert_eq!((records[0].at, records[0].response), (Nanos(1_456_135_200_013_118_000), Some(Nanos::from_millis(500))));
    assert_eq!(reader.notes().ignored("request of unknown type"), 1);
}

#[test]
fn requests_of_length_zero_are_counted_and_left_out() {
    let (reader, records) = common::read(b"0,1,0,R,0.0\n0,1,512,W,0.5\n".to_vec(), &ReadOptions::default()).unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(reader.notes().ignored("request of length zero"), 1);
}

#[test]
fn small_steps_back_in_time_are_sorted_and_large_ones_refused() {
    let text = |times: &[&str]| {
        times.iter().map(|time| format!("0,{},512,R,{time}\n", time.len())).collect::<String>().into_bytes()
    };
    let (reader, records) =
        common::read(text(&["1.0", "2.0", "1.5", "2.00", "1.25"]), &ReadOptions::default()).unwrap();
    let times: Vec<u64> = records.iter().map(|record| record.at.0 / 10_000_000).collect();
    assert_eq!(times, [100, 125, 150, 200, 200]);
    // Records with equal times keep their order.
    assert_eq!(records[3].offset, 3 * 512);
    assert_eq!((reader.notes().reordered, reader.notes().largest_step_back), (2, Nanos::from_millis(750)));

    let error = common::read(text(&["1.0", "2.0", "0.5"]), &ReadOptions::default()).unwrap_err();
    let TraceError::Unordered { back, at, .. } = error else { panic!("{error}") };
    assert_eq!((back, at), (Nanos::from_millis(1500), Nanos::from_millis(500)));
}

#[test]
fn the_line_that_steps_back_too_far_is_named() {
    // With blank and ignored lines in between, and several pieces of input.
    let mut text = String::new();
    for index in 0..50_000 {
        text += &format!("0,1,512,R,{}.0\n", 10 + index);
        if index % 1000 == 0 {
            text += "\n0,1,0,R,0.0\n";
        }
    }
    let line = text.lines().count() + 1;
    text += "0,1,512,R,3.0\n";
    let error = common::read(text.into_bytes(), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with(&format!("test:{line}: time goes back by 50006s, to 3s")), "{error}");
    assert!(error.hint().unwrap().contains("sort"));
}

#[test]
fn a_wrong_name_of_a_format_suggests_the_right_one() {
    let error = common::read(b"x\n".to_vec(), &common::forced("blkprase")).unwrap_err();
    assert_eq!(error.to_string(), "`blkprase` is no trace format; did you mean `blkparse`?");
    assert!(error.hint().unwrap().starts_with("there is: spc, msr, "), "{:?}", error.hint());
}

#[test]
fn what_a_format_cannot_hold_is_said() {
    let trim = esker_trace::Record {
        at: Nanos(0),
        offset: 0,
        length: 4096,
        volume: esker_trace::VolumeIndex(0),
        operation: esker_trace::Operation::Trim,
        response: None,
    };
    let message = |format: &str, record: esker_trace::Record, volumes: &[&str]| {
        let volumes: Vec<String> = volumes.iter().map(|name| name.to_string()).collect();
        common::write(format, &[record], &volumes).unwrap_err().to_string()
    };
    assert_eq!(message("msr", trim, &["0"]), "record 1: format `msr` cannot hold trims");
    let odd = esker_trace::Record { operation: esker_trace::Operation::Read, offset: 100, ..trim };
    assert!(message("ssdsim", odd, &["0"]).contains("4096 bytes at byte 100"));
    let second = esker_trace::Record { volume: esker_trace::VolumeIndex(1), offset: 512, ..odd };
    let first = esker_trace::Record { volume: esker_trace::VolumeIndex(0), ..second };
    let error = common::write("arc", &[first, second], &["a", "b"].map(String::from)).unwrap_err();
    assert_eq!(error.to_string(), "record 2: format `arc` cannot hold more than one volume");
    let hint = error.hint().unwrap();
    assert!(hint.starts_with("choose one with `esker trace filter --volume NAME`, or write spc, msr"), "{hint}");
    let error = error.in_record("day.esker", 7).to_string();
    assert_eq!(error, "day.esker: record 7: format `arc` cannot hold more than one volume");
    let flush = esker_trace::Record { operation: esker_trace::Operation::Flush, ..trim };
    assert_eq!(message("wiscsee", flush, &["0"]), "record 1: format `wiscsee` cannot hold flushes");
}

#[test]
fn what_is_lost_in_writing_is_noted() {
    let record = esker_trace::Record {
        at: Nanos(1_172_163_102_415_432_950),
        offset: 512,
        length: 512,
        volume: esker_trace::VolumeIndex(1),
        operation: esker_trace::Operation::Read,
        response: Some(Nanos(5)),
    };
    let volumes: Vec<String> = ["prxy.0", "a b"].map(String::from).into();
    let (text, notes) = common::write("msr", &[record], &volumes).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), "128166367024154329,a_b,0,Read,512,512,0\n");
    assert_eq!((notes.lost(LossKind::TimesRounded), notes.lost(LossKind::ResponsesUnknown)), (1, 1));
    assert_eq!(notes.volumes_renamed, [("a b".to_string(), "a_b.0".to_string())]);
    let (text, notes) = common::write("spc", &[record], &volumes).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), "0,1,512,R,0.000000\n");
    assert_eq!((notes.lost(LossKind::ResponsesDropped), notes.time_origin), (1, record.at));
    assert_eq!(notes.volumes_renamed.len(), 1);
    // Names that become equal are kept apart.
    let volumes: Vec<String> = ["a b", "a_b.0", "a_b"].map(String::from).into();
    let third = esker_trace::Record { volume: esker_trace::VolumeIndex(2), ..record };
    let (text, _) = common::write(
        "msr",
        &[esker_trace::Record { volume: esker_trace::VolumeIndex(0), ..record }, record, third],
        &volumes,
    )
    .unwrap();
    let hosts: Vec<String> = String::from_utf8(text)
        .unwrap()
        .lines()
        .map(|line| line.split(',').skip(1).take(2).collect::<Vec<_>>().join("."))
        .collect();
    assert_eq!(hosts, ["a_b.0", "a_b_1.0", "a_b.2"]);
    let (_, notes) = common::write("fio-v2", &[record], &volumes).unwrap();
    assert_eq!(notes.lost(LossKind::TimesDropped), 1);
}
