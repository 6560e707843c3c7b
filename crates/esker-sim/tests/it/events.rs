//! `[[run.events]]`: devices that change in the middle of a run.

use esker_core::{Nanos, Ratio};
use esker_results::{RunResults, SeriesPoint};
use esker_sim::{Experiment, RunEvent, RunOptions, SweepOptions, run, sweep};

fn experiment(rate: &str, requests: u64, devices: &str, run_keys: &str) -> Experiment {
    let text = format!(
        "[workload]\n\
         synthetic = {{ requests = {requests}, arrivals = {rate} }}\n\
         [device.station]\n\
         kind = \"constant\"\n\
         service_time = \"100us\"\n\
         capacity = \"1GiB\"\n\
         queue_depth = 10000\n\
         {devices}\n\
         [run]\n\
         {run_keys}\n"
    );
    Experiment::from_str(&text, "x.toml").unwrap()
}

fn results(experiment: &Experiment) -> RunResults {
    run(experiment, &RunOptions::default()).unwrap()
}

const POISSON: &str = r#"{ kind = "poisson", rate = "800/s" }"#;

fn event(at: &str, device: &str, slow: &str) -> String {
    format!("[[run.events]]\nat = \"{at}\"\ndevice = \"{device}\"\nslow = {slow}\n")
}

/// Pollaczek and Khinchine: mean response time at a constant service time, in microseconds.
fn md1(rate_per_s: f64, service_us: f64) -> f64 {
    let load = rate_per_s * service_us / 1e6;
    service_us + load * service_us / (2.0 * (1.0 - load))
}

/// A load of 8 % becomes one of 80 %, and 8 % again.
#[test]
fn a_slower_station_is_the_queue_of_theory() {
    let keys = "target = \"station\"\nseries = \"200s\"\n".to_string();
    let events = event("1000s", "station", "1") + &event("200s", "station", "10");
    let slow = results(&experiment(POISSON, 960_000, "", &(keys.clone() + &events)));
    let mean = |points: &[SeriesPoint]| {
        let requests: u64 = points.iter().map(|point| point.requests).sum();
        points.iter().map(|point| point.mean_us * point.requests as f64).sum::<f64>() / requests as f64
    };
    let near = |found: f64, expected: f64, within: f64| {
        assert!((found / expected - 1.0).abs() < within, "{found} us, expected {expected}");
    };
    near(mean(&slow.series[..1]), md1(800.0, 100.0), 0.005);
    near(mean(&slow.series[1..5]), md1(800.0, 1000.0), 0.03);
    for (index, busy) in [0.08, 0.8, 0.8, 0.8, 0.8, 0.08].into_iter().enumerate() {
        near(slow.series[index].utilisation["server"], busy, 0.02);
    }
    near(slow.devices["station"].utilisation["server"], (0.08 + 4.0 * 0.8 + 0.08) / 6.0, 0.01);
    near(slow.devices["station"].utilisation_busiest["server"], (0.08 + 4.0 * 0.8 + 0.08) / 6.0, 0.01);
    assert!(slow.remarks.is_empty(), "{:?}", slow.remarks);
    // Before the first change nothing is different.
    let never = results(&experiment(POISSON, 960_000, "", &keys));
    assert_eq!(slow.series[0], never.series[0]);
}

const SPARSE: &str = r#"{ kind = "fixed", rate = "100/s" }"#;

const ARRAY: &str = "[device.raid]\nkind = \"array\"\nlevel = \"0\"\nchild = \"station\"\ncount = 4\n";

#[test]
fn one_of_several_devices_of_one_table_can_be_slow() {
    let keys = "target = \"raid\"\nseries = \"10s\"\n".to_string() + &event("10s", "station.2", "10");
    let results = results(&experiment(SPARSE, 3000, ARRAY, &keys));
    assert_eq!(results.series.len(), 3);
    for (index, point) in results.series.iter().enumerate() {
        assert_eq!(point.children.keys().collect::<Vec<_>>(), ["station.0", "station.1", "station.2", "station.3"]);
        assert_eq!(point.children.values().map(|child| child.requests).sum::<u64>(), point.requests);
        assert!((point.children.values().map(|child| child.share).sum::<f64>() - 1.0).abs() < 1e-9);
        for (name, child) in &point.children {
            let expected = if index > 0 && name == "station.2" { 1000.0 } else { 100.0 };
            assert_eq!(child.mean_us, expected, "{name} in {point:?}");
        }
    }
    // Each child works on its own: nothing but its utilisation changes in the report.
    assert!(
        results.devices["station.2"].utilisation["server"] > 5.0 * results.devices["station.1"].utilisation["server"]
    );
    assert_eq!(results.devices.len(), 5);
}

#[test]
fn a_whole_tree_can_be_slow() {
    let keys = "target = \"raid\"\nseries = \"10s\"\n".to_string() + &event("10s", "raid", "2.5");
    let results = results(&experiment(SPARSE, 3000, ARRAY, &keys));
    let means: Vec<f64> = results.series.iter().map(|point| point.mean_us).collect();
    assert_eq!(means, [100.0, 250.0, 250.0]);
    for child in results.series[2].children.values() {
        assert_eq!(child.mean_us, 250.0);
    }
}

/// For each device the last factor counts, whether it came with its own name or with that of a device above.
#[test]
fn factors_of_a_tree_and_of_its_parts_do_not_multiply() {
    let keys = "target = \"raid\"\nseries = \"10s\"\n".to_string()
        + &event("10s", "station.0", "5")
        + &event("20s", "raid", "2")
        + &event("30s", "station.0", "1");
    let results = results(&experiment(SPARSE, 4000, ARRAY, &keys));
    let means = |point: &SeriesPoint| ["station.0", "station.3"].map(|name| point.children[name].mean_us);
    let found: Vec<[f64; 2]> = results.series.iter().map(means).collect();
    assert_eq!(found, [[100.0, 100.0], [500.0, 100.0], [200.0, 200.0], [100.0, 200.0]]);
}

/// The time of an event is counted from the end of the warm-up.
#[test]
fn events_begin_when_measuring_does() {
    let keys = "target = \"station\"\nwarm_up_requests = 1000\nseries = \"5s\"\n".to_string();
    let results = results(&experiment(SPARSE, 2000, "", &(keys + &event("5s", "station", "10"))));
    let means: Vec<f64> = results.series.iter().map(|point| point.mean_us).collect();
    // A request ends at the very instant of the event, which does not delay it: it is the first of the second interval.
    assert_eq!((means.len(), means[0], means[1]), (3, 100.0, (499.0 * 1000.0 + 100.0) / 500.0));
}

#[test]
fn the_resolved_configuration_has_the_events_and_repeats_the_run() {
    let keys = "target = \"station\"\n".to_string() + &event("200s", "station", "10") + &event("1s", "station", "0.5");
    let first = results(&experiment(POISSON, 20_000, "", &keys));
    let events = &first.config["run"]["events"];
    assert_eq!(
        *events,
        serde_json::json!([
            { "at": "200s", "device": "station", "slow": "1000%" },
            { "at": "1s", "device": "station", "slow": "50%" },
        ])
    );
    assert_eq!(first.remarks, ["The event of `station` at 200s never happened: the run ended before it."]);
    let again = results(&Experiment::from_resolved(&first.config, "again").unwrap());
    assert_eq!(serde_json::to_string(&first).unwrap(), serde_json::to_string(&again).unwrap());
    // An experiment made by a program, with these events, gives the same results.
    let mut made = experiment(POISSON, 20_000, "", "target = \"station\"");
    made.run.events.push(RunEvent::slow(Nanos::from_secs(200), "station", Ratio::percent(1000)));
    made.run.events.push(RunEvent::slow(Nanos::from_secs(1), "station", Ratio::percent(50)));
    assert_eq!(results(&made).requests, first.requests);
}

#[test]
fn keys_of_events_can_be_swept() {
    let keys = "target = \"station\"\n".to_string()
        + &event("5s", "station", "1")
        + "[sweep]\n\"run.events.0.slow\" = [1, 3, 10]\n";
    let folder = tempfile::tempdir().unwrap();
    let done = sweep(&experiment(SPARSE, 1000, "", &keys), &SweepOptions::new(folder.path())).unwrap();
    let rows = done.table.to_json();
    let means: Vec<f64> = rows.as_array().unwrap().iter().map(|row| row["mean_us"].as_f64().unwrap()).collect();
    assert_eq!(means, [100.0, 200.0, 550.0]);
}

/// The error of an experiment with this event, and its hint.
fn message(event: &str) -> String {
    let text = format!(
        "[workload]\nsynthetic = {{ requests = 1 }}\n[device.station]\nkind = \"constant\"\nservice_time = \"1ms\"\
         \ncapacity = \"1GiB\"\n[device.other]\nkind = \"constant\"\nservice_time = \"1ms\"\ncapacity = \"1GiB\"\n\
         {ARRAY}[run]\ntarget = \"raid\"\n{event}"
    );
    match Experiment::from_str(&text, "x.toml") {
        Ok(_) => "no error".to_string(),
        Err(error) => {
            let hint = esker_core::Hint::hint(&error).map(|hint| format!(" ({hint})"));
            format!("{error}{}", hint.unwrap_or_default())
        }
    }
}

#[test]
fn mistakes_in_events_are_one_line_with_their_place() {
    let device = "device = \"raid\"";
    let good = format!("[[run.events]]\nat = \"1s\"\n{device}\nslow = 2\n");
    assert_eq!(message(&good), "no error");
    let cases = [
        (device, "device = \"station\""),
        (device, "device = \"station.4\""),
        (device, "device = \"other\""),
        (device, "devise = \"raid\""),
        (device, ""),
        ("at = \"1s\"\n", ""),
        ("\"1s\"", "1"),
        ("\"1s\"", "\"300y\""),
        ("slow = 2", ""),
        ("slow = 2", "slow = 0"),
        ("slow = 2", "slow = -3"),
        ("slow = 2", "slow = \"2s\""),
        ("slow = 2", "slo = 2"),
        ("[[run.events]]", "[run.events]"),
    ];
    let found: Vec<String> = cases.iter().map(|(from, to)| message(&good.replace(from, to))).collect();
    let no_device = "is no device of the target's tree";
    let known = "(there is: raid, station.0, station.1, station.2, station.3)";
    let expected = [
        &format!("x.toml:20:1: run.events[0].device: `station` {no_device}; did you mean `station.0`? {known}"),
        &format!("x.toml:20:1: run.events[0].device: `station.4` {no_device}; did you mean `station.0`? {known}"),
        &format!("x.toml:20:1: run.events[0].device: `other` {no_device} {known}"),
        "x.toml:20:1: run.events[0].devise: unknown key; did you mean `device`? \
         (its table knows: at, device, slow, join, drain, fail, pause, moved_bytes_per_day, \
         shrink)",
        "x.toml:18:1: run.events[0]: `device` is missing",
        "x.toml:18:1: run.events[0]: `at` is missing",
        "x.toml:19:6: run.events[0].at: `1` needs a unit: ns, µs (or us), ms, s, min, h, d or y (365 days)",
        "x.toml:19:1: run.events[0].at: it is later than 292 years after the start, where simulated time ends",
        "x.toml:18:1: run.events[0]: it changes nothing (say what changes: `slow = 10`, `join = true`, \
         `drain = true`, `fail = true`, `pause = true`, `moved_bytes_per_day = \"100GiB\"` or `shrink = \"4GiB\"`)",
        "x.toml:21:1: run.events[0].slow: it is 0, but no device works in no time (10 makes it ten times slower, 1 \
         restores its speed)",
        "x.toml:21:8: run.events[0].slow: `-3` does not begin with a number that is zero or more",
        "x.toml:21:8: run.events[0].slow: `2s` has the unknown unit `s`: use %, or none for a plain fraction",
        "x.toml:21:1: run.events[0].slo: unknown key; did you mean `slow`? \
         (its table knows: at, device, slow, join, drain, fail, pause, moved_bytes_per_day, \
         shrink)",
        "x.toml:18:1: run.events: expected a list in square brackets, found a table",
    ];
    assert_eq!(found, expected);
}

#[test]
fn an_event_to_sweep_has_to_be_there() {
    let keys = "target = \"station\"\n".to_string()
        + &event("5s", "station", "1")
        + "[sweep]\n\"run.events.1.slow\" = [1, 3]\n";
    let experiment = experiment(SPARSE, 10, "", &keys);
    let error = experiment.point(&[0]).unwrap_err().to_string();
    assert_eq!(error, "x.toml:16:1: run.events.1.slow: there is no item 1 of 1, from 0 on");
}
