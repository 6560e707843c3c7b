//! Running the configuration of a design from a report with `esker sim` repeats the report's figures.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};

use esker_catalogue::Market;
use esker_results::study::{Candidate, CandidateOutcome, Composition, JudgedState, StudyReport};
use esker_sim::{Experiment, RunOptions, run};
use esker_study::{DataSettings, Hooks, StudySettings, builtin_catalogue, study};
use esker_trace::{Operation, ReadOptions, Record, TraceReader, TraceWriter};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/office-server.nbdkit.log.zst");

fn studied(trace: &Path, thorough: bool) -> StudyReport {
    studied_with(settings(trace, thorough))
}

fn studied_with(settings: StudySettings) -> StudyReport {
    let hooks = Hooks { progress: &|_, _, _| {}, cancel: &AtomicBool::new(false), simulated: &AtomicU64::new(0) };
    study(&settings, &hooks).unwrap()
}

fn settings(trace: &Path, thorough: bool) -> StudySettings {
    let catalogue = builtin_catalogue("current").unwrap();
    StudySettings {
        traces: vec![trace.to_path_buf()],
        read: ReadOptions::default(),
        together: false,
        budgets: esker_results::study::Budgets { years: 5.0, ..Default::default() },
        running: catalogue.running.clone(),
        catalogue,
        in_use: Vec::new(),
        market: Market::OnPremises,
        consumer: false,
        kinds: Vec::new(),
        plan: false,
        data: DataSettings {
            capacity: None,
            growth_per_year: 0.0,
            copies: 1,
            fill_limit: esker_core::Ratio::percent(85),
        },
        utilisation: esker_core::Ratio::percent(85),
        thorough,
        seed: 3,
        threads: 2,
        command: String::new(),
    }
}

/// Runs the candidate's configuration from a file beside the trace, and compares all figures.
fn repeat(candidate: &Candidate, folder: &Path) {
    let name = &candidate.name;
    let file = folder.join(format!("{name}.toml"));
    std::fs::write(&file, toml::to_string(&candidate.config).unwrap()).unwrap();
    let results = run(&Experiment::load(&file).unwrap(), &RunOptions::default()).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(results.config, candidate.config, "{name}");
    assert_eq!(results.devices, candidate.devices, "{name}: what the devices did");
    // Results leave out the series of designs that matter less.
    if !candidate.series.is_empty() {
        assert_eq!(results.series, candidate.series, "{name}: the series");
    }
    match &candidate.outcome {
        CandidateOutcome::Served => {
            assert_eq!(Some(&results.requests), candidate.requests.as_ref(), "{name}: response times");
            assert_eq!(results.saturated, None, "{name}");
        }
        CandidateOutcome::Saturated { since_s, stopped_s, backlog_requests, .. } => {
            let saturated = results.saturated.unwrap_or_else(|| panic!("{name} keeps up the second time"));
            let found = (saturated.since_s, saturated.stopped_s, saturated.backlog_requests);
            assert_eq!(found, (*since_s, *stopped_s, *backlog_requests), "{name}");
        }
        CandidateOutcome::Failed { reason } => panic!("{name}: {reason}"),
    }
    match (&candidate.endurance, &results.settled) {
        (Some(endurance), Some(settled)) => {
            // Write amplification that cannot be judged is not shown.
            if endurance.judged {
                assert_eq!(settled.write_amplification, endurance.write_amplification, "{name}");
                assert!(settled.outcome.may_be_judged(), "{name}");
            }
            assert_eq!(settled.passes, endurance.passes, "{name}");
            assert_eq!(settled.cleaning_share, endurance.cleaning_share, "{name}");
        }
        (None, None) => {}
        // A study does not find the life of a design that is too slow anyway.
        (None, Some(_)) if candidate.judgement.p99 == Some(false) => {}
        pair => panic!("{name}: only one of both has settled: {pair:?}"),
    }
}

fn repeat_all(trace: &Path, thorough: bool) {
    let report = studied(trace, thorough);
    let candidates = &report.workloads[0].candidates;
    assert!(candidates.iter().any(|candidate| candidate.endurance.is_some()));
    let drawn = candidates.iter().filter(|candidate| !candidate.series.is_empty()).count();
    assert!((if thorough { candidates.len() } else { 4 }..=candidates.len()).contains(&drawn), "{drawn}");
    let disks = candidates.iter().filter(|one| one.config["workload"]["beyond_capacity"] == "spread");
    assert!(disks.count() > 0, "volumes are spread on disks");
    std::thread::scope(|scope| {
        for half in candidates.chunks(candidates.len().div_ceil(2)) {
            scope.spawn(|| half.iter().for_each(|candidate| repeat(candidate, trace.parent().unwrap())));
        }
    });
}

/// Returns the beginning of the sample, with trims that begin and end anywhere, also within pages that hold data.
fn cut(folder: &Path, requests: usize) -> PathBuf {
    let mut reader = TraceReader::open(&[SAMPLE.into()], &ReadOptions::default()).unwrap();
    let (mut records, mut batch) = (Vec::<Record>::new(), Vec::new());
    while records.len() < requests && reader.next_batch(&mut batch).unwrap() {
        for record in &batch {
            records.push(*record);
            if record.operation == Operation::Write && records.len() % 5 == 0 {
                let trim =
                    Record { operation: Operation::Trim, offset: record.offset + 300, response: None, ..*record };
                records.push(trim);
            }
        }
    }
    records.truncate(requests);
    let path = folder.join("cut.esker");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = TraceWriter::create("esker", Box::new(file), reader.volumes()).unwrap();
    records.iter().for_each(|record| writer.push(record).unwrap());
    writer.finish().unwrap();
    path
}

/// With `ESKER_SOAK` set (`make soak`), every design also runs on the whole sample.
#[test]
fn the_configuration_of_each_design_repeats_its_figures() {
    let folder = tempfile::tempdir().unwrap();
    repeat_all(&cut(folder.path(), 8_000), false);
    if std::env::var_os("ESKER_SOAK").is_some() {
        let trace = folder.path().join(Path::new(SAMPLE).file_name().unwrap());
        std::fs::copy(SAMPLE, &trace).unwrap();
        repeat_all(&trace, true);
    }
}

/// For a hybrid, placement is repeated as well: which extents move, and when.
#[test]
fn the_configuration_of_a_hybrid_repeats_its_figures() {
    let folder = tempfile::tempdir().unwrap();
    let trace = cut(folder.path(), 8_000);
    let mut settings = StudySettings { kinds: vec!["hybrids".into()], ..settings(&trace, false) };
    settings.catalogue = settings.catalogue.only(&["micron-5400-pro", "seagate-exos-10e2400"]).unwrap();
    settings.data.capacity = Some(esker_core::Bytes(5_000_000_000_000));
    let report = studied_with(settings);
    let is_hybrid = |one: &&Candidate| matches!(one.composition, Composition::Hybrid(_));
    let hybrids: Vec<_> = report.workloads[0].candidates.iter().filter(is_hybrid).collect();
    let moves = |one: &Candidate| matches!(one.judged, JudgedState::Settled(state) if state.moved_extents > 0);
    let moved = hybrids.iter().filter(|one| moves(one)).count();
    assert!(moved > 0, "of {} hybrids none moves anything", hybrids.len());
    hybrids.iter().take(4).for_each(|candidate| repeat(candidate, folder.path()));
}

/// A volume that allows the same as one that was simulated shows a configuration of its own.
#[test]
fn the_configuration_of_each_rented_volume_repeats_its_figures() {
    let folder = tempfile::tempdir().unwrap();
    let trace = cut(folder.path(), 4_000);
    let mut alike = 0;
    for market in [Market::Aws, Market::Azure, Market::Google] {
        let report = studied_with(StudySettings { market, ..settings(&trace, true) });
        let candidates = &report.workloads[0].candidates;
        candidates.iter().for_each(|candidate| repeat(candidate, folder.path()));
        for (number, one) in candidates.iter().enumerate() {
            let same = |other: &&Candidate| one.requests == other.requests && one.config != other.config;
            alike += candidates[..number].iter().filter(same).count();
        }
    }
    assert!(alike > 0, "no volume has the results of another one");
}
