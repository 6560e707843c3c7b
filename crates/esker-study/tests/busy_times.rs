//! Budgets hold in all busy times, on disks that are full of data, and within the limits of volumes that save up
//! little: from a trace to the answer.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use esker_catalogue::Market;
use esker_core::{Bytes, Ratio, words};
use esker_results::study::{Budgets, Candidate, StudyReport, WorkloadStudy};
use esker_study::{DataSettings, Hooks, StudySettings, builtin_catalogue, study};
use esker_trace::ReadOptions;

fn settings(trace: &Path, products: &[&str], p99_us: f64) -> StudySettings {
    let catalogue = builtin_catalogue("current").unwrap().only(products).unwrap();
    StudySettings {
        traces: vec![trace.to_path_buf()],
        read: ReadOptions::default(),
        together: false,
        budgets: Budgets { years: 5.0, p99_us: Some(p99_us), ..Default::default() },
        running: catalogue.running.clone(),
        catalogue,
        in_use: Vec::new(),
        market: Market::OnPremises,
        consumer: false,
        kinds: Vec::new(),
        plan: false,
        data: DataSettings { capacity: None, growth_per_year: 0.0, copies: 1, fill_limit: Ratio::percent(85) },
        utilisation: Ratio::percent(85),
        thorough: false,
        seed: 1,
        threads: 2,
        command: String::new(),
    }
}

fn studied(settings: &StudySettings) -> WorkloadStudy {
    let hooks = Hooks { progress: &|_, _, _| {}, cancel: &AtomicBool::new(false), simulated: &AtomicU64::new(0) };
    let StudyReport { mut workloads, .. } = study(settings, &hooks).unwrap();
    workloads.remove(0)
}

/// Twenty small reads a second for ten minutes, spread over 8 GiB in two volumes; forty a second in the third minute;
/// reads of 1 MiB in the eighth.
fn two_busy_minutes() -> String {
    let mut text = String::new();
    for n in 0..24_000u64 {
        let ms = n * 25;
        let busiest = (120_000..180_000).contains(&ms);
        if n % 2 == 1 && !busiest {
            continue;
        }
        let bytes = if (420_000..480_000).contains(&ms) { 1 << 20 } else { 4096 };
        let sector = (n * 7_919 % 4_000) * 2_048;
        writeln!(text, "{},{sector},{bytes},R,{}.{:03}", n / 2 % 2, ms / 1000, ms % 1000).unwrap();
    }
    text
}

fn written(folder: &Path, text: &str) -> std::path::PathBuf {
    let path = folder.join("made-up.spc");
    std::fs::write(&path, text).unwrap();
    path
}

fn percentiles(candidate: &Candidate) -> Vec<(f64, &'static str)> {
    let busy = |busy: &Option<esker_results::study::BusyResults>| {
        let busy = busy.as_ref().unwrap();
        busy.response_time.p99_us.max(busy.p99_us_of_other_seed.unwrap_or(0.0))
    };
    vec![
        (busy(&candidate.busy), "in the busiest time"),
        (busy(&candidate.busy_by_bytes), "in the busiest time by bytes"),
        (candidate.busiest_hour.unwrap().response_time.p99_us, "in the busiest hour"),
        (candidate.requests.as_ref().unwrap().all.response_time.p99_us, "over the whole trace"),
    ]
}

#[test]
fn the_headline_has_the_worst_percentile_and_says_when_it_is_that() {
    let folder = tempfile::tempdir().unwrap();
    let trace = written(folder.path(), &two_busy_minutes());
    let found = studied(&settings(&trace, &["seagate-exos-10e2400"], 100_000.0));
    let (by_requests, by_bytes) = (found.busy_stretch.unwrap(), found.busy_stretch_by_bytes.unwrap());
    assert_eq!((by_requests.start_s, by_requests.requests), (120.0, 2_400));
    assert!((by_bytes.start_s - 420.0).abs() < 0.1 && by_bytes.requests == 1_200, "{by_bytes:?}");
    let name = found.verdict.recommended.as_ref().expect("a disk keeps 100 ms");
    let best = found.candidates.iter().find(|candidate| candidate.name == *name).unwrap();
    let all = percentiles(best);
    let (worst, within) = all.iter().copied().reduce(|one, other| if other.0 > one.0 { other } else { one }).unwrap();
    assert_eq!(within, "in the busiest time by bytes", "{all:?}");
    let expected = format!("99 % of requests within {} {within}", words::time(worst));
    assert!(found.verdict.headline.contains(&expected), "{}: {expected}", found.verdict.headline);
    // A budget between the percentiles of the two busy times is missed only in the one by bytes.
    let between = f64::midpoint(all[0].0, all[1].0);
    let found = studied(&settings(&trace, &["seagate-exos-10e2400"], between));
    let same = found.candidates.iter().find(|candidate| candidate.name == *name).unwrap();
    assert_eq!(same.judgement.p99, Some(false));
    assert!(same.judgement.reasons[0].contains("in the busiest time by bytes"), "{:?}", same.judgement.reasons);
}

/// Twenty small reads a second for ten minutes, forty a second in the third minute, and sixty more at one instant in
/// the sixth.
fn a_burst_outside_the_busiest_minute() -> String {
    let mut text = String::new();
    let mut read = |n: u64, ms: u64| {
        let sector = n * 7_919 % 4_000 * 2_048;
        writeln!(text, "0,{sector},4096,R,{}.{:03}", ms / 1000, ms % 1000).unwrap();
    };
    for n in 0..24_000u64 {
        let ms = n * 25;
        if n % 2 == 0 || (120_000..180_000).contains(&ms) {
            read(n, ms);
        }
        if ms == 330_000 {
            (0..60).for_each(|more| read(n + more, ms));
        }
    }
    text
}

/// The burst is less than a hundredth of the trace, but more than a hundredth of its minute.
#[test]
fn what_a_design_carries_is_judged_in_the_times_in_which_budgets_hold_alone() {
    let folder = tempfile::tempdir().unwrap();
    let trace = written(folder.path(), &a_burst_outside_the_busiest_minute());
    let found = studied(&settings(&trace, &["seagate-exos-10e2400"], 30_000.0));
    let name = found.verdict.recommended.as_ref().unwrap_or_else(|| panic!("{}", found.verdict.headline));
    let best = found.candidates.iter().find(|candidate| candidate.name == *name).unwrap();
    let headroom = best.headroom.as_ref().unwrap();
    assert!(headroom.factor >= 1.3, "{headroom:?}");
}

/// Two volumes of 4 GiB on a disk of 600 GB: as they are, and spread over 500 GB.
#[test]
fn on_a_disk_that_is_full_of_data_arms_go_further() {
    let folder = tempfile::tempdir().unwrap();
    let trace = written(folder.path(), &two_busy_minutes());
    let of = |capacity: Option<u64>| {
        let mut settings = settings(&trace, &["seagate-exos-10e2400"], 100_000.0);
        settings.data.capacity = capacity.map(Bytes);
        let found = studied(&settings);
        let disk = found.candidates.iter().find(|one| one.name.ends_with("600GB") && one.device_count == 1).unwrap();
        let mean = disk.requests.as_ref().unwrap().all.response_time.mean_us;
        (mean, disk.config["workload"]["spread_over"].as_str().unwrap().to_string(), found.profile.address_span_bytes)
    };
    let (near, over, span) = of(None);
    assert_eq!(over.parse::<Bytes>().unwrap(), Bytes(span));
    let (far, over, _) = of(Some(500_000_000_000));
    assert_eq!(over.parse::<Bytes>().unwrap(), Bytes(500_000_000_000));
    // A seek across much of the disk takes some 4 ms instead of 1 ms.
    assert!(far > near * 1.2, "{near} us near, {far} us far");
}

/// A thousand requests within a tenth of each second: on average 1,000 a second, at a rate of 10,000.
#[test]
fn bursts_wait_for_the_limits_of_a_volume_and_the_answer_says_what_it_stands_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for n in 0..30_000u64 {
        let us = n / 1_000 * 1_000_000 + n % 1_000 * 100;
        writeln!(text, "0,{},4096,R,{}.{:06}", n * 7_919 % 100_000 * 64, us / 1_000_000, us % 1_000_000).unwrap();
    }
    let trace = written(folder.path(), &text);
    let settings = StudySettings { market: Market::Aws, ..settings(&trace, &["aws-ebs-gp3"], 10_000.0) };
    let found = studied(&settings);
    let name = found.verdict.recommended.as_ref();
    let name = name.unwrap_or_else(|| panic!("gp3 can be ordered with more operations: {:#?}", found.verdict));
    let ordered = |name: &str| -> u64 {
        let rest = name.split_once("GiB-").map_or("3000iops", |(_, rest)| rest);
        rest.split("iops").next().unwrap().replace(',', "").parse().unwrap()
    };
    assert!(ordered(name) >= 7_000, "{name}");
    let remark = found.verdict.findings.iter().find(|finding| finding.text.contains("save up little"));
    let remark = remark.unwrap_or_else(|| panic!("{:#?}", found.verdict.findings));
    assert!(remark.text.contains("1 second") || remark.text.contains("1 s"), "{}", remark.text);
}

/// A drive that has just been filled cleans for half a second by itself. That is no part of five years of a read a
/// second, however short the trace is.
#[test]
fn electricity_over_the_years_is_that_of_the_load_alone() {
    let folder = tempfile::tempdir().unwrap();
    let of = |seconds: u64| {
        let line = |n: u64| format!("0,{},4096,R,{n}.000000\n", n * 7_919 % 4_000 * 2_048);
        let trace = written(folder.path(), &(0..=seconds).map(line).collect::<String>());
        let found = studied(&settings(&trace, &["micron-5400-pro"], 10_000.0));
        let best = found.candidates.into_iter().next().expect("one drive is enough");
        assert!(best.cost.electricity[0].busy < 0.001, "{seconds} s: {:?}", best.cost.electricity);
        best.cost.power
    };
    let (short, long) = (of(2), of(200));
    assert!((short / long - 1.0).abs() < 0.001, "{short} and {long} USD");
}
