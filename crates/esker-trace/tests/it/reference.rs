//! Real traces: the right format is detected, and the counts agree with those of others.

use std::path::PathBuf;

use esker_core::Hint;
use esker_testkit::reference_data;
use esker_trace::{Operation, ReadOptions, Record, TraceError, TraceReader};

/// File, format, reads, writes, volumes.
const TRACES: &[(&str, &str, u64, u64, usize)] = &[
    ("Financial1-first10k.spc", "spc", 4077, 5923, 22),
    ("WebSearch1-first25k.spc", "spc", 24779, 4, 6),
    ("msr-prxy_0-first20k.csv", "msr", 336, 19664, 1),
    ("hplajw-1week.msr.csv", "msr", 13040, 31479, 2),
    ("tpcc-small.mqsim", "ssdsim", 4381, 2618, 16),
    ("msps-dtrs-8h.ssdsim", "ssdsim", 113_123, 13920, 1),
    ("llm-opt7b-offload.mqsim", "ssdsim", 31873, 5000, 1),
    ("iozone-100k.disksim", "disksim", 0, 100_000, 1),
    ("postmark-62k.disksim", "disksim", 51780, 10477, 1),
    ("disksim-sample-100k.disksim", "disksim", 79634, 20366, 14),
    ("cloudphysics-2h.vscsi", "vscsi", 46974, 66898, 1),
    ("hplajw-1week.srt", "srt", 13040, 31479, 2),
    ("diskmon-sys1.diskmon", "diskmon", 29590, 29228, 1),
    ("diskmon-mayun2.diskmon", "diskmon", 36705, 50455, 1),
    ("ycsb-rocksdb-10k.blkparse", "blkparse", 1695, 0, 1),
    ("sqlite-wal-ext4-5k.wiscsee", "wiscsee", 4, 5003, 1),
    ("arc-OLTP.lis", "arc", 914_145, 0, 1),
    ("arc-P3.lis", "arc", 238_578, 0, 1),
    ("fio-randwrite.iolog", "fio-v2", 0, 9441, 1),
];

fn trace(name: &str) -> Option<PathBuf> {
    reference_data(&format!("traces/{name}.zst"))
}

#[test]
fn every_real_trace_is_recognised_and_counted() {
    for &(name, format, reads, writes, volumes) in TRACES {
        let Some(path) = trace(name) else { continue };
        let mut reader = TraceReader::open(&[path], &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(reader.format().name, format, "{name}");
        let (mut batch, mut counts, mut latest) = (Vec::new(), [0; 4], esker_core::Nanos::ZERO);
        while reader.next_batch(&mut batch).unwrap_or_else(|e| panic!("{e}")) {
            for record in &batch {
                counts[record.operation as usize] += 1;
                assert!(record.at >= latest && (record.volume.0 as usize) < reader.volumes().len(), "{name}");
                latest = record.at;
            }
        }
        assert_eq!(counts[Operation::Read as usize], reads, "{name}");
        assert_eq!(counts[Operation::Write as usize], writes, "{name}");
        assert_eq!(reader.volumes().len(), volumes, "{name}: {:?}", reader.volumes());
        assert_eq!(reader.notes().records, counts.iter().sum::<u64>(), "{name}");
        assert_eq!(reader.notes().reordered, 0, "{name}");
        assert_eq!(Some(reader.bytes_read()), reader.bytes_total(), "{name}");
    }
}

fn read_all(name: &str) -> Option<(TraceReader, Vec<Record>)> {
    let mut reader = TraceReader::open(&[trace(name)?], &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch).unwrap_or_else(|e| panic!("{e}")) {
        all.extend_from_slice(&batch);
    }
    Some((reader, all))
}

/// Others made the MSR file from the SRT file, so both have the same times, ranges and response times.
#[test]
fn the_week_of_hplajw_is_the_same_in_both_formats() {
    let (Some((_, binary)), Some((_, text))) = (read_all("hplajw-1week.srt"), read_all("hplajw-1week.msr.csv")) else {
        return;
    };
    assert_eq!(binary.len(), text.len());
    for (index, (binary, text)) in binary.iter().zip(&text).enumerate() {
        assert_eq!(binary, text, "record {index}");
    }
}

/// Number and sum of response times in nanoseconds, computed in Python with a dictionary and decimals.
#[test]
fn response_times_are_those_of_the_files() {
    for (name, count, sum) in [
        ("ycsb-rocksdb-10k.blkparse", 1694, 280_500_543),
        ("sqlite-wal-ext4-5k.wiscsee", 4992, 2_043_004_667),
        ("diskmon-sys1.diskmon", 58_818, 81_083_428_970),
        ("diskmon-mayun2.diskmon", 87_160, 82_270_879_700),
        ("msr-prxy_0-first20k.csv", 20_000, 4_815_695_100),
    ] {
        let Some((reader, records)) = read_all(name) else { continue };
        let responses = records.iter().filter_map(|record| record.response);
        assert_eq!((responses.clone().count(), responses.map(|time| time.0).sum::<u64>()), (count, sum), "{name}");
        assert!(reader.notes().has_responses);
    }
}

#[test]
fn files_that_are_no_block_traces_are_refused_by_what_they_are() {
    for (name, found) in [
        ("hdd-measured-atlas10k.disksim-validate", "service times measured on a drive"),
        ("hdd-measured-cheetah9LP.disksim-validate", "service times measured on a drive"),
        ("hdd-measured-hp_c2247a.disksim-validate", "service times measured on a drive"),
        ("meta-tectonic-1k.csv", "Meta Tectonic"),
        ("mobibench-facebook.fslevel", "file operations"),
        ("aux-cloudphysics-106vm-features.csv", "columns between commas, beginning `block_req_count"),
    ] {
        let Some(path) = trace(name) else { continue };
        let error = TraceReader::open(&[path], &ReadOptions::default()).unwrap_err();
        assert!(matches!(error, TraceError::Unrecognised { .. }) && error.to_string().contains(found), "{error}");
        assert!(error.hint().unwrap().contains("msr"), "{:?}", error.hint());
    }
}
