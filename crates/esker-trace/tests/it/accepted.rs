//! Unusual input that is read anyway, and hints for input that cannot be read.

use std::io::Write;

use esker_core::{Hint, Nanos};
use esker_trace::{FORMATS, FormatCapability, Operation, ReadOptions, Record, TraceError, VolumeIndex};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::common;

const SPC: &str = "0,1,512,R,0.0\n0,2,512,W,0.5\n0,3,512,W,0.75\n";

fn read(bytes: impl Into<Vec<u8>>) -> Result<Vec<Record>, TraceError> {
    common::read(bytes.into(), &ReadOptions::default()).map(|(_, records)| records)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The error and its hint.
fn refusal(bytes: impl Into<Vec<u8>>, options: &ReadOptions) -> (String, String) {
    let error = common::read(bytes.into(), options).unwrap_err();
    (error.to_string(), error.hint().unwrap_or_default())
}

#[test]
fn the_hint_on_times_out_of_order_leads_on() {
    let text = "0,1,512,R,1000.0\n0,2,512,R,800.0\n";
    let (error, hint) = refusal(text, &ReadOptions::default());
    assert!(error.contains("time goes back by 200s"), "{error}");
    assert!(hint.starts_with("--reorder 300s "), "{hint}");
    let wide = ReadOptions { reorder_time: "300s".parse().unwrap(), ..ReadOptions::default() };
    assert_eq!(common::read(text.into(), &wide).unwrap().1[0].at, Nanos::from_secs(800));

    // Close enough in time, but with too many records between.
    let mut text: String = (0..2000).map(|number| format!("0,{number},512,R,10.{number:06}\n")).collect();
    text += "0,1,512,R,9.5\n";
    let few = ReadOptions { reorder_records: 1024, ..ReadOptions::default() };
    let (_, hint) = refusal(text.clone(), &few);
    assert!(hint.starts_with("--reorder-records 65536 "), "{hint}");
    assert_eq!(read(text).unwrap().len(), 2001);
    // Another recording after the first.
    let (_, hint) = refusal("0,1,512,R,90000.0\n0,2,512,R,0.0\n", &ReadOptions::default());
    assert!(hint.starts_with("sort the trace by time"), "{hint}");
}

#[test]
fn lenient_is_named_where_it_helps_and_nowhere_else() {
    let (_, hint) = refusal(format!("{SPC}bad\n"), &ReadOptions::default());
    assert!(hint.contains("--lenient"), "{hint}");
    let write = |format| {
        let format = FORMATS.iter().find(|entry| entry.name == format).unwrap();
        let (names, records) =
            common::legal_trace(format).new_tree(&mut TestRunner::deterministic()).unwrap().current();
        common::write(format.name, &records, &names).unwrap().0
    };
    let (esker, parquet, mut blktrace) = (write("esker"), write("parquet"), write("blktrace"));
    blktrace[48] = b'?';
    let mut damaged = esker;
    let at = damaged.len() - 30;
    damaged[at] ^= 1;
    for (format, bytes) in [
        ("spc", format!("{SPC}{}\n", "1".repeat(70_000)).into_bytes()),
        ("fio", b"0 f read 0 512\n1 f read 0 512\n".to_vec()),
        ("srt", b"$$TR_IOREC-1.3\ntracedate = \"yesterday\";\n\x0c".to_vec()),
        ("esker", damaged),
        ("parquet", parquet[..parquet.len() - 9].to_vec()),
        ("blktrace", blktrace),
    ] {
        let strict = refusal(bytes.clone(), &common::forced(format));
        assert!(!strict.1.is_empty() && !strict.1.contains("--lenient"), "{format}: {strict:?}");
        let lenient = ReadOptions { lenient: Some(1000), ..common::forced(format) };
        assert_eq!(refusal(bytes, &lenient), strict, "it cannot help");
    }
}

#[test]
fn text_in_utf_16_is_named() {
    let units = |swap: bool| {
        SPC.encode_utf16()
            .flat_map(|unit| if swap { unit.to_be_bytes() } else { unit.to_le_bytes() })
            .collect::<Vec<_>>()
    };
    for (bytes, from) in [
        ([b"\xff\xfe", &units(false)[..]].concat(), "-f UTF-16 "),
        ([b"\xfe\xff", &units(true)[..]].concat(), "-f UTF-16 "),
        (units(false), "-f UTF-16LE "),
        (units(true), "-f UTF-16BE "),
    ] {
        for bytes in [bytes.clone(), gzip(&bytes)] {
            for options in [ReadOptions::default(), common::forced("spc")] {
                let (error, hint) = refusal(bytes.clone(), &options);
                assert_eq!(error, "test: expected a trace, found text in UTF-16");
                assert!(hint.contains(from), "{hint}");
            }
        }
    }
}

#[test]
fn a_byte_order_mark_in_front_of_text_is_no_difference() {
    for format in FORMATS.iter().filter(|format| format.can(FormatCapability::Write) && !format.build.binary) {
        let (names, records) =
            common::legal_trace(format).new_tree(&mut TestRunner::deterministic()).unwrap().current();
        let (text, _) = common::write(format.name, &records, &names).unwrap();
        let marked = [b"\xef\xbb\xbf", &text[..]].concat();
        for options in [ReadOptions::default(), common::forced(format.name)] {
            let (reader, read) = common::read(marked.clone(), &options).unwrap();
            assert!(reader.format().name == format.name && read == records, "{}", format.name);
        }
    }
    // Only one line, so that no other line shows the format.
    assert_eq!(read(b"\xef\xbb\xbf0,1,512,R,0.5\n".to_vec()).unwrap().len(), 1);
    assert!(matches!(common::read(b"\xef\xbb\xbf".to_vec(), &common::forced("spc")), Err(TraceError::Empty { .. })));
}

#[test]
fn zeros_behind_gzip_are_padding() {
    let packed = gzip(SPC.as_bytes());
    for zeros in [1, 511, 300_000] {
        let padded = [&packed[..], &vec![0; zeros]].concat();
        assert_eq!(read(padded).unwrap().len(), 3, "{zeros} zeros");
        let two = [&packed[..], &gzip(b"0,4,512,W,1\n"), &vec![0; zeros]].concat();
        assert_eq!(read(two).unwrap().len(), 4);
    }
    for behind in [&b"rubbish"[..], b"\0\0\0x", &[&[0; 100], &packed[..]].concat()] {
        let error = read([&packed[..], behind].concat()).unwrap_err();
        assert!(matches!(error, TraceError::Compressed { .. }), "{error}");
    }
}

#[test]
fn trims_of_4_gib_and_more_are_read_in_pieces() {
    const LENGTH: u64 = 10 << 30;
    for (format, text, response) in [
        ("fio", format!("fio version 3 iolog\n5 f add\n7 f trim 4096 {LENGTH}\n"), None),
        (
            "wiscsee",
            format!("0 D discard 4096 {LENGTH} 0.000007 0 False\n0 C discard 4096 {LENGTH} 0.5 0 False\n"),
            Some(499_993_000),
        ),
        (
            "blkparse",
            format!("8,0 0 1 0.000007 1 Q D 8 + {0} [c]\n8,0 0 2 0.5 1 C D 8 + {0} [0]\n", LENGTH / 512),
            Some(499_993_000),
        ),
    ] {
        let (reader, records) = common::read(text.into_bytes(), &common::forced(format)).unwrap();
        let mut end = 4096;
        for record in &records {
            assert_eq!((record.offset, record.operation, record.at), (end, Operation::Trim, Nanos(7_000)), "{format}");
            assert_eq!(record.response, response.map(Nanos));
            end = record.end();
        }
        assert_eq!((end, records.len()), (4096 + LENGTH, 3), "{format}");
        let remarks = &reader.notes().remarks;
        assert!(remarks.iter().any(|r| r == "1 trims of 4 GiB and more were read as 3 shorter ones"), "{remarks:?}");
    }
    let (error, _) = refusal(format!("fio version 3 iolog\n0 f write 0 {LENGTH}\n"), &ReadOptions::default());
    assert!(error.contains("expected a length below 4 GiB"), "{error}");
    // Lengths that no device has must not become endless records.
    for length in [u64::MAX - 4096, 1 << 60] {
        let text = format!("fio version 3 iolog\n7 f trim 4096 {length}\n");
        assert!(refusal(text, &ReadOptions::default()).0.contains("trims of less than 1 PiB"));
        let text = format!("0 D discard 4096 {} 0.000007 0 False\n", length & !511);
        let (reader, records) = common::read(text.into_bytes(), &common::forced("wiscsee")).unwrap();
        assert_eq!((records.len(), reader.notes().ignored("trim of too many bytes")), (0, 1));
    }
}

#[test]
fn the_header_line_of_alibaba_is_passed_over() {
    let text = "device_id,opcode,offset,length,timestamp\r\n3,R,0,512,1577808000000012\r\n";
    let (reader, records) = common::read(text.into(), &ReadOptions::default()).unwrap();
    assert_eq!((reader.format().name, records.len(), reader.notes().ignored("header")), ("alibaba", 1, 1));
    let (error, _) = refusal("device_id,opcode\n3,R,0,512,1577808000000012\n", &common::forced("alibaba"));
    assert_eq!(error, "test:1: expected a device number, found `device_id`");
}

#[test]
fn reserved_bytes_of_eskers_own_format_are_zero() {
    let record = Record {
        at: Nanos(1),
        offset: 0,
        length: 512,
        volume: VolumeIndex(0),
        operation: Operation::Read,
        response: None,
    };
    let (bytes, _) = common::write("esker", &[record], &["a".into()]).unwrap();
    assert_eq!(read(bytes.clone()).unwrap(), [record]);
    // One bad byte in the header of the file, one in that of the first section, whose checksum is corrected.
    let mut changed = bytes.clone();
    changed[13] = 1;
    assert!(refusal(changed, &ReadOptions::default()).0.contains("expected zero in reserved bytes"));
    let mut changed = bytes;
    changed[16 + 2] = 1;
    let length = u32::from_le_bytes(changed[24..28].try_into().unwrap()) as usize;
    let mut crc = flate2::Crc::new();
    crc.update(&changed[16..28]);
    crc.update(&changed[32..32 + length]);
    changed[28..32].copy_from_slice(&crc.sum().to_le_bytes());
    let (error, _) = refusal(changed, &ReadOptions::default());
    assert!(error.contains("expected zero in reserved bytes"), "{error}");
}

#[test]
fn a_recording_of_completions_only_is_an_error() {
    let blkparse = "8,0 0 1 0.1 0 C R 0 + 8 [0]\n8,0 0 2 0.2 0 C W 8 + 8 [0]\n";
    let (error, hint) = refusal(blkparse, &common::forced("blkparse"));
    assert_eq!(error, "test: has no requests, only 2 completions");
    assert!(hint.contains("blktrace -a queue"), "{hint}");
    let wiscsee = "0 C read 299008 4096 0.000122793 7.3e-05 False\n";
    assert!(matches!(read(wiscsee), Err(TraceError::OnlyCompletions { completions: 1, .. })));
    // A recording without events is no error.
    let (bytes, _) = common::write("esker", &[], &[]).unwrap();
    assert_eq!(read(bytes).unwrap(), []);
}

#[test]
fn windows_that_take_much_memory_are_refused_with_a_way_out() {
    let mut zstd = zstd::Encoder::new(Vec::new(), 1).unwrap();
    zstd.window_log(27).unwrap();
    zstd.write_all(SPC.as_bytes()).unwrap();
    // Two writes, so that the size is unknown when the header is written.
    zstd.flush().unwrap();
    zstd.write_all(SPC.as_bytes()).unwrap();
    let (error, hint) = refusal(zstd.finish().unwrap(), &ReadOptions::default());
    assert!(error.contains("more than 32 MiB of memory") && hint.contains("zstd -dc --long=31"), "{error}: {hint}");

    let xz = |dictionary: u32| {
        let mut options = liblzma::stream::LzmaOptions::new_preset(0).unwrap();
        options.dict_size(dictionary);
        let mut filters = liblzma::stream::Filters::new();
        filters.lzma2(&options);
        let stream = liblzma::stream::Stream::new_stream_encoder(&filters, liblzma::stream::Check::Crc32).unwrap();
        let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
        encoder.write_all(SPC.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    assert_eq!(read(xz(32 << 20)).unwrap().len(), 3, "as of `xz -8`");
    let (error, hint) = refusal(xz(64 << 20), &ReadOptions::default());
    assert!(error.contains("more than 32 MiB of memory") && hint.contains("xz -dc"), "{error}: {hint}");
}

/// A line that is skipped leaves nothing behind, such as its date for the next one.
#[test]
fn a_skipped_date_is_not_that_of_the_next_line() {
    let line = |date: &str, rest: &str| format!("{date} 07:58:0{rest}\n");
    let text = line("2026-11-20", "7.0 connection=1 Write id=1 offset=0x0 count=0x1000 fua=0 ...")
        + &line("2027-1-20", "7.2 connection=1 Write id=2 offset=0x0 count=0x1000 fua=0 ...")
        + &line("2026-11-20", "8.0 connection=1 Write id=3 offset=0x1000 count=0x1000 fua=0 ...");
    let options = ReadOptions { lenient: Some(1), ..common::forced("nbdkit") };
    let (reader, records) = common::read(text.into_bytes(), &options).unwrap();
    assert_eq!(reader.notes().bad_lines, 1);
    assert_eq!(records[1].at - records[0].at, Nanos::from_secs(1));
}
