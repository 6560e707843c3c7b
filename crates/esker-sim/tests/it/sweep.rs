//! Sweeps: the same bytes on any number of threads, resumable, in shards.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use esker_sim::{Experiment, SweepError, SweepOptions, sweep};

const GRID: &str = r#"
[workload]
synthetic = { requests = 2000, arrivals = { kind = "poisson", rate = "500/s" } }

[device.station]
kind = "constant"
service_time = "1ms"
capacity = "1GiB"

[device.pair]
kind = "array"
level = "0"
child = "station"
count = 2

[run]
target = "station"

[sweep]
"run.target" = ["station", "pair"]
"workload.synthetic.seed" = [1, 2, 3]
device.station.service_time = ["1ms", "500us"]
"#;

fn grid() -> Experiment {
    Experiment::from_str(GRID, "grid.toml").unwrap()
}

fn threads(count: usize) -> Option<NonZeroUsize> {
    NonZeroUsize::new(count)
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn bytes_do_not_depend_on_threads_and_shards_add_up() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let one = sweep(&grid(), &SweepOptions { threads: threads(1), ..SweepOptions::new(folders[0].path()) }).unwrap();
    let four = sweep(&grid(), &SweepOptions { threads: threads(4), ..SweepOptions::new(folders[1].path()) }).unwrap();
    assert_eq!(files(folders[0].path()), files(folders[1].path()));
    assert_eq!(one.table.to_csv(), four.table.to_csv());
    assert_eq!((one.run, one.table.rows.len()), (12, 12));

    let mut rows = Vec::new();
    for shard in 0..5 {
        let options = SweepOptions { shard: Some((shard, 5)), ..SweepOptions::new(folders[2].path()) };
        rows.extend(sweep(&grid(), &options).unwrap().table.rows);
    }
    assert_eq!(files(folders[0].path()), files(folders[2].path()));
    rows.sort_by_key(|row| row[0].as_u64());
    assert_eq!(rows, one.table.rows);
    let wrong = sweep(&grid(), &SweepOptions { shard: Some((5, 5)), ..SweepOptions::new(folders[2].path()) });
    assert_eq!(wrong.unwrap_err().to_string(), "there is no shard 5 of 5; they are numbered from 0");
}

#[test]
fn what_is_there_is_not_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let options = SweepOptions::new(folder.path());
    let first = sweep(&grid(), &options).unwrap();
    let before = files(folder.path());
    // One file is lost, one damaged, one of another configuration, one of another schema.
    let names: Vec<&String> = before.keys().collect();
    std::fs::remove_file(folder.path().join(names[0])).unwrap();
    std::fs::write(folder.path().join(names[1]), &before[names[1]][..100]).unwrap();
    std::fs::write(folder.path().join(names[2]), &before[names[3]]).unwrap();
    let other_schema = String::from_utf8_lossy(&before[names[4]]).replacen("\"schema\": 1", "\"schema\": 2", 1);
    assert_ne!(other_schema.as_bytes(), before[names[4]]);
    std::fs::write(folder.path().join(names[4]), other_schema).unwrap();
    let second = sweep(&grid(), &options).unwrap();
    assert_eq!((second.run, second.reused), (4, 8));
    assert_eq!(files(folder.path()), before);
    assert_eq!(first.table.to_csv(), second.table.to_csv());
}

#[test]
fn a_cancelled_sweep_goes_on_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let (cancel, seen) = (AtomicBool::new(false), AtomicUsize::new(0));
    let progress = |done: usize, total: usize| {
        assert_eq!(total, 12);
        seen.store(done, Ordering::Relaxed);
        cancel.store(done == 4, Ordering::Relaxed);
    };
    let options = SweepOptions {
        threads: threads(1),
        progress: Some(&progress),
        cancel: Some(&cancel),
        ..SweepOptions::new(folder.path())
    };
    assert!(matches!(sweep(&grid(), &options), Err(SweepError::Cancelled)));
    assert_eq!((seen.load(Ordering::Relaxed), files(folder.path()).len()), (4, 4));
    let rest = sweep(&grid(), &SweepOptions::new(folder.path())).unwrap();
    assert_eq!((rest.run, rest.reused), (8, 4));
}

/// Swept kinds replace their table, so that the keys of other kinds cause no errors. Points with equal configurations
/// run once. Impossible points are reported, and cost the others nothing.
#[test]
fn kinds_can_be_swept_and_impossible_points_say_why() {
    let text = r#"
[workload]
synthetic = { requests = 10, footprint = "1MiB" }

[device.flash]
preset = "samsung-k9xxg08-slc-32g"
cleaning = { victim = { kind = "greedy" } }
geometry = { blocks_per_plane = 64 }

[run]
target = "flash"

[sweep]
"device.flash.cleaning.victim.kind" = ["greedy"]
"device.flash.over_provisioning" = ["15%", "15.0%", "99.9999%"]
"#;
    let folder = tempfile::tempdir().unwrap();
    let experiment = Experiment::from_str(text, "kinds.toml").unwrap();
    let done = sweep(&experiment, &SweepOptions::new(folder.path())).unwrap();
    assert_eq!((done.run, done.failed, files(folder.path()).len()), (1, 1, 1));
    let rows = done.table.to_json();
    assert_eq!(rows[0]["file"], rows[1]["file"]);
    assert_eq!(rows[0]["error"], serde_json::Value::Null);
    let error = rows[2]["error"].as_str().unwrap();
    assert!(error.starts_with("kinds.toml:5:9: device.flash: "), "{error}");
    assert_eq!(rows[2]["file"], serde_json::Value::Null);
    assert_eq!(done.table.to_csv().lines().count(), 4);
}

#[test]
fn a_mistake_in_any_point_shows_before_anything_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let text = GRID.replace("[\"1ms\", \"500us\"]", "[\"1ms\", \"500\"]");
    let error =
        sweep(&Experiment::from_str(&text, "grid.toml").unwrap(), &SweepOptions::new(folder.path())).unwrap_err();
    assert!(
        error.to_string().starts_with("grid.toml:22:39: device.station.service_time: `500` needs a unit: "),
        "{error}"
    );
    assert_eq!(files(folder.path()).len(), 0);
}

const SAMPLE: &str = r#"
[workload]
synthetic = { requests = 100, footprint = "1MiB", arrivals = { kind = "poisson", rate = "500/s" } }

[device.station]
kind = "constant"
service_time = "1ms"
capacity = "1GiB"

[run]
target = "station"

[sweep]
sample = { points = 40, seed = 7 }
"workload.synthetic.size" = { from = "2KiB", to = "64KiB", scale = "log", step = "2KiB" }
"workload.synthetic.arrivals.rate" = { from = "1/s", to = "1000/s", scale = "log" }
device.station.servers = [1, 2]
"#;

fn rows_of(text: &str) -> Vec<Vec<serde_json::Value>> {
    let folder = tempfile::tempdir().unwrap();
    let done = sweep(&Experiment::from_str(text, "sample.toml").unwrap(), &SweepOptions::new(folder.path())).unwrap();
    assert_eq!(done.failed, 0, "{}", done.table.to_csv());
    done.table.rows
}

#[test]
fn a_sample_has_its_points_in_its_ranges_and_repeats_with_its_seed() {
    let rows = rows_of(SAMPLE);
    assert_eq!(rows.len(), 40);
    let column = |rows: &[Vec<serde_json::Value>], at: usize| -> Vec<String> {
        rows.iter().map(|row| row[at].as_str().map_or_else(|| row[at].to_string(), str::to_string)).collect()
    };
    let number = |text: &String, unit: &str| text.strip_suffix(unit).unwrap().parse::<f64>().unwrap();
    for size in column(&rows, 1) {
        let kib = number(&size, "KiB");
        assert!((2.0..=64.0).contains(&kib) && (kib / 2.0).fract() == 0.0, "{size}");
    }
    assert!(column(&rows, 2).iter().all(|rate| (1.0..=1000.0).contains(&number(rate, "/s"))));
    let servers = column(&rows, 3);
    assert!(servers.contains(&"1".to_string()) && servers.contains(&"2".to_string()));
    assert_eq!(rows_of(SAMPLE), rows);
    assert_ne!(rows_of(&SAMPLE.replace("seed = 7", "seed = 8")), rows);
}

#[test]
fn more_points_and_other_keys_change_none_of_the_points_that_there_were() {
    let rows = rows_of(SAMPLE);
    let more = rows_of(&SAMPLE.replace("points = 40", "points = 50"));
    assert_eq!(more[..40], rows[..]);
    let other = rows_of(&SAMPLE.replace("[1, 2]\n", "[1, 2]\n\"run.seed\" = { from = 1, to = 9 }\n"));
    let same = |row: &Vec<serde_json::Value>| row[1..4].to_vec();
    assert_eq!(other.iter().map(same).collect::<Vec<_>>(), rows.iter().map(same).collect::<Vec<_>>());
}

#[test]
fn ranges_that_share_a_draw_go_together() {
    let shared = SAMPLE
        .replace("step = \"2KiB\" }", "step = \"2KiB\", draw = \"load\" }")
        .replace("to = \"1000/s\", scale = \"log\" }", "to = \"1000/s\", scale = \"log\", draw = \"load\" }");
    let number = |value: &serde_json::Value, unit: &str| {
        value.as_str().unwrap().strip_suffix(unit).unwrap().parse::<f64>().unwrap()
    };
    for row in rows_of(&shared) {
        // Both are on a logarithmic scale, so that the same draw is the same part of it.
        let (size, rate) = (number(&row[1], "KiB"), number(&row[2], "/s"));
        let expected = 2.0 * 32f64.powf(rate.log10() / 3.0);
        assert!((size - expected).abs() <= 1.01, "{size} KiB at {rate}/s, not {expected}");
    }
}

#[test]
fn mistakes_of_a_sample_name_their_place() {
    let wrong = |from: &str, to: &str| {
        assert!(SAMPLE.contains(from), "{from}");
        Experiment::from_str(&SAMPLE.replace(from, to), "sample.toml").unwrap_err().to_string()
    };
    let no_sample = wrong("sample = { points = 40, seed = 7 }\n", "");
    assert!(
        no_sample.starts_with("sample.toml:15:38: sweep.workload.synthetic.arrivals.rate: a range is for"),
        "{no_sample}"
    );
    assert!(wrong("points = 40", "points = 0").contains("sweep.sample.points: 0 points are not between 1 and 1000000"));
    assert!(wrong("points = 40", "points = 1000001").contains("sweep.sample.points"));
    assert!(wrong("points = 40", "point = 40").contains("did you mean `points`?"));
    assert!(wrong("from = \"1/s\"", "from = \"1/m\"").contains("sweep.workload.synthetic.arrivals.rate: give `from`"));
}

/// What is made up by settings has them in its profile, without what only warms up.
#[test]
fn a_profile_has_what_the_settings_ask_for() {
    let text = SAMPLE.split("[sweep]").next().unwrap().replace(
        "requests = 100,",
        "requests = 30000, read_fraction = \"30%\", size = \"8KiB\", sequential_fraction = \"25%\",",
    );
    let text = text.replace("target = \"station\"", "target = \"station\"\nwarm_up_requests = 10000");
    let experiment = Experiment::from_str(&text, "profile.toml").unwrap();
    let profile = experiment.profile(&AtomicBool::new(false)).unwrap();
    assert_eq!(profile.requests, 20_000);
    let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.05, "{found}, not {expected}");
    near(profile.read_requests as f64, 6_000.0);
    near(profile.mean_size_bytes, 8192.0);
    near(profile.sequential_fraction, 0.25);
    near(profile.requests_per_s.unwrap(), 500.0);
    near(profile.inter_arrival.unwrap().squared_coefficient_of_variation, 1.0);
    let cancelled = experiment.profile(&AtomicBool::new(true)).unwrap_err();
    assert_eq!(cancelled.to_string(), esker_sim::RunError::Cancelled.to_string());
}
