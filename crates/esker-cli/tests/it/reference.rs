//! Every real block trace of the reference data is studied without options.

use esker_testkit::reference_data;
use serde_json::Value;

use crate::support::esker_ok;

/// Name, and number of reads and writes, of each trace.
const TRACES: &[(&str, u64)] = &[
    ("Financial1-first10k.spc", 10_000),
    ("WebSearch1-first25k.spc", 24_783),
    ("msr-prxy_0-first20k.csv", 20_000),
    ("hplajw-1week.msr.csv", 44_519),
    ("hplajw-1week.srt", 44_519),
    ("tpcc-small.mqsim", 6_999),
    ("diskmon-sys1.diskmon", 58_818),
    ("ycsb-rocksdb-10k.blkparse", 1_695),
    ("sqlite-wal-ext4-5k.wiscsee", 5_007),
];
/// Traces that take longest, for `make soak` (with `ESKER_SOAK`).
const LONG_TRACES: &[(&str, u64)] = &[
    ("diskmon-mayun2.diskmon", 87_160),
    ("postmark-62k.disksim", 62_257),
    ("llm-opt7b-offload.mqsim", 36_873),
    ("cloudphysics-2h.vscsi", 113_872),
    ("msps-dtrs-8h.ssdsim", 127_043),
    ("iozone-100k.disksim", 100_000),
    ("disksim-sample-100k.disksim", 100_000),
];

#[test]
fn every_reference_trace_is_studied_unaided() {
    let folder = tempfile::tempdir().unwrap();
    let long = if std::env::var_os("ESKER_SOAK").is_some() { LONG_TRACES } else { &[] };
    for (name, requests) in TRACES.iter().chain(long) {
        let Some(path) = reference_data(&format!("traces/{name}.zst")) else { return };
        let run = esker_ok(folder.path(), &["study", path.to_str().unwrap(), "--json", "-q"]);
        let study: Value = serde_json::from_str(&run.stdout).unwrap();
        let workload = &study["workloads"][0];
        let count = |field: &str| workload["profile"][field].as_u64().unwrap();
        assert_eq!(count("read_requests") + count("write_requests"), *requests, "{name}");
        for candidate in workload["candidates"].as_array().unwrap() {
            assert_ne!(candidate["outcome"]["result"], "failed", "{name}: {candidate}");
        }
    }
}
