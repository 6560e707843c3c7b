//! Generated traces have the same profile as the real one that they were fitted to.

use esker_results::profile::Profile;
use esker_testkit::reference_data;
use esker_trace::{
    Characteriser, CharacteriserSettings, ReadOptions, Record, TraceModel, TraceModelFitter, TraceReader,
};

fn read(name: &str) -> Option<(Vec<Record>, Vec<String>)> {
    let path = reference_data(&format!("traces/{name}.zst"))?;
    let mut reader = TraceReader::open(&[path], &ReadOptions::default()).unwrap();
    let (mut records, mut batch) = (Vec::new(), Vec::new());
    while reader.next_batch(&mut batch).unwrap() {
        records.extend_from_slice(&batch);
    }
    Some((records, reader.volumes().to_vec()))
}

fn profile(records: &[Record], volumes: &[String]) -> Profile {
    let mut characteriser = Characteriser::new(CharacteriserSettings::default());
    characteriser.push_all(records);
    characteriser.finish(volumes)
}

fn model(records: &[Record], volumes: &[String]) -> TraceModel {
    let mut fitter = TraceModelFitter::default();
    fitter.push_all(records);
    fitter.finish(volumes)
}

/// Compares a generated trace with its original; each figure has its tolerance.
fn check(name: &str) {
    let Some((records, volumes)) = read(name) else { return };
    let before = profile(&records, &volumes);
    let model = model(&records, &volumes);
    for seed in [1, 2, 3] {
        let generated: Vec<Record> = model.generate(records.len() as u64, seed).collect();
        let after = profile(&generated, model.volumes());
        let mut wrong = Vec::new();
        let mut near = |what: &str, after: f64, before: f64, tolerance: f64| {
            if (after - before).abs() > tolerance {
                wrong.push(format!("{what} is {after}, was {before}"));
            }
        };
        let read_share = |profile: &Profile| profile.read_requests as f64 / profile.requests as f64;
        near("share of reads", read_share(&after), read_share(&before), 0.01);
        near("mean size", after.mean_size_bytes, before.mean_size_bytes, 0.03 * before.mean_size_bytes);
        near("median size", after.median_size_bytes as f64, before.median_size_bytes as f64, 0.0);
        near("sequential share", after.sequential_fraction, before.sequential_fraction, 0.03);
        near("global sequential share", after.sequential_fraction_global, before.sequential_fraction_global, 0.05);
        near("aligned share", after.aligned_4k_fraction, before.aligned_4k_fraction, 0.01);
        let footprint = before.footprint_bytes as f64;
        near("footprint", after.footprint_bytes as f64, footprint, 0.1 * footprint);
        for (after, before) in [(&after.skew, &before.skew), (&after.write_skew, &before.write_skew)] {
            for (after, before) in after.top.iter().zip(&before.top) {
                let what = format!("share of the hottest {}", before.page_share);
                near(&what, after.access_share, before.access_share, 0.05);
            }
        }
        let rate = before.requests_per_s.unwrap();
        near("rate", after.requests_per_s.unwrap(), rate, 0.05 * rate);
        let burstiness = |profile: &Profile| profile.inter_arrival.unwrap().squared_coefficient_of_variation.ln();
        near("logarithm of burstiness", burstiness(&after), burstiness(&before), 0.1);
        near("volumes", after.devices as f64, before.devices as f64, 0.0);
        assert!(wrong.is_empty(), "{name}, seed {seed}: {wrong:#?}");
    }
}

#[test]
fn the_bank_trace() {
    check("Financial1-first10k.spc");
}

#[test]
fn the_proxy_log() {
    check("msr-prxy_0-first20k.csv");
}

#[test]
fn the_transaction_benchmark() {
    check("tpcc-small.mqsim");
}

#[test]
fn the_virtual_disk() {
    check("cloudphysics-2h.vscsi");
}

#[test]
fn the_office_week() {
    check("hplajw-1week.msr.csv");
}
