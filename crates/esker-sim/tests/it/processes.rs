//! Closed loops of independent processes, against the laws of interactive systems.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicBool;

use esker_core::{Bytes, Feed, Nanos};
use esker_results::RunResults;
use esker_sim::{Experiment, RunOptions, run};

fn experiment(synthetic: &str, workload: &str, run_keys: &str) -> Experiment {
    let text = format!(
        "[workload]\n\
         {workload}\n\
         [workload.synthetic]\n\
         {synthetic}\n\
         [device.station]\n\
         kind = \"constant\"\n\
         service_time = \"1ms\"\n\
         capacity = \"1GiB\"\n\
         [run]\n\
         target = \"station\"\n\
         {run_keys}\n"
    );
    Experiment::from_str(&text, "x.toml").unwrap()
}

fn results(workload: &str, requests: u64, run_keys: &str) -> RunResults {
    let experiment = experiment(&format!("requests = {requests}"), workload, run_keys);
    run(&experiment, &RunOptions::default()).unwrap()
}

/// N processes that think for Z on a station of service time S: with N S <= S + Z nobody waits after the first round,
/// each round takes S + Z, and the throughput tends to N / (S + Z). With more processes the station is always busy:
/// throughput 1 / S, response time N S - Z.
#[test]
fn throughput_and_response_time_are_those_of_the_interactive_law() {
    const ROUNDS: u64 = 1000;
    for (processes, think_ms) in [(1u64, 0u64), (1, 7), (4, 9), (10, 9), (11, 9), (25, 9), (3, 0)] {
        let (n, z) = (processes as f64, think_ms as f64);
        let workload = format!("processes = {processes}\nthink_time = \"{think_ms}ms\"");
        let results = results(&workload, processes * ROUNDS, "");
        let (all, rate) = (results.requests.all, results.throughput.requests_per_s / 1000.0);
        assert_eq!(all.count, processes * ROUNDS);
        let context = format!("{processes} processes that think for {think_ms} ms: {all:?}, {rate}/ms");
        if n <= 1.0 + z {
            // The first requests come at once, and the last end comes after N S + (ROUNDS - 1) (S + Z).
            let elapsed = n + (ROUNDS - 1) as f64 * (1.0 + z);
            assert!((rate - n * ROUNDS as f64 / elapsed).abs() < 1e-9, "{context}");
            assert!((rate / (n / (1.0 + z)) - 1.0).abs() < 0.002, "{context}");
            // The k-th of the first round waits for k - 1 others.
            let mean_us = 1000.0 + 1000.0 * (n - 1.0) / 2.0 / ROUNDS as f64;
            assert!((all.response_time.mean_us / mean_us - 1.0).abs() < 1e-9, "{context}");
        } else {
            assert!((rate - 1.0).abs() < 1e-9, "{context}");
            let expected = (n - z) * 1000.0;
            assert!((all.response_time.p50_us / expected - 1.0).abs() < 0.01, "{context}");
            // Little's law for the interactive system: N = X (R + Z).
            assert!((rate * (all.response_time.mean_us / 1000.0 + z) / n - 1.0).abs() < 0.02, "{context}");
        }
    }
}

#[test]
fn one_process_without_thinking_is_a_queue_depth_of_one() {
    let all = |workload: &str| {
        let results = results(workload, 500, "warm_up_requests = 100");
        (results.requests, results.throughput, results.workload)
    };
    assert_eq!(all("processes = 1"), all("queue_depth = 1"));
}

/// A warm-up takes its requests from the total; afterwards all processes begin again at once.
#[test]
fn a_warm_up_comes_before_the_processes_begin_again() {
    let results = results("processes = 4\nthink_time = \"9ms\"\nhead = 50", 1000, "warm_up_requests = 10");
    assert_eq!(results.requests.all.count, 40);
    assert_eq!(results.requests.all.response_time.max_us, 4000.0);
}

#[test]
fn each_process_has_requests_of_its_own() {
    let synthetic = "requests = 4000\nsequential_fraction = \"75%\"\nfootprint = \"64MiB\"";
    let experiment = experiment(synthetic, "processes = 4", "");
    let workload = experiment.open_workload(&AtomicBool::new(false)).unwrap();
    let left_out = Cell::default();
    let four = NonZeroU32::new(4).unwrap();
    let draw = || {
        let mut processes = workload.processes(Bytes::gib(1), four, Nanos::ZERO, &left_out).unwrap();
        let mut feed = &mut processes;
        feed.begin(Nanos::ZERO);
        let mut taken = vec![Vec::new(); 4];
        while feed.is_due(Nanos::ZERO, 0) {
            let (process, request) = feed.take().unwrap();
            taken[process as usize].push(request);
            feed.ended(process, Nanos::ZERO);
        }
        taken
    };
    let taken = draw();
    assert_eq!(taken, draw(), "the same each time");
    assert!(taken.iter().all(|requests| requests.len() == 1000));
    let distinct: BTreeSet<Vec<u64>> =
        taken.iter().map(|requests| requests.iter().map(|request| request.start.0).collect()).collect();
    assert_eq!(distinct.len(), 4);
    for requests in &taken {
        let follows = requests.windows(2).filter(|pair| pair[1].start.byte_offset() == pair[0].end_byte()).count();
        assert!((680..820).contains(&follows), "three of four continue the run of their process: {follows}");
    }
}

#[test]
fn sequential_processes_share_the_footprint() {
    let experiment = experiment(
        "requests = 8\naddress = \"sequential\"\nfootprint = \"64MiB\"\nsize = \"64KiB\"",
        "processes = 4",
        "",
    );
    let workload = experiment.open_workload(&AtomicBool::new(false)).unwrap();
    let left_out = Cell::default();
    let mut processes = workload.processes(Bytes::gib(1), NonZeroU32::new(4).unwrap(), Nanos::ZERO, &left_out).unwrap();
    let mut feed = &mut processes;
    feed.begin(Nanos::ZERO);
    let mut starts = Vec::new();
    while feed.is_due(Nanos::ZERO, 0) {
        let (process, request) = feed.take().unwrap();
        starts.push(request.start.byte_offset() >> 16);
        feed.ended(process, Nanos::ZERO);
    }
    assert_eq!(starts, [0, 256, 512, 768, 1, 257, 513, 769]);
}

#[test]
fn keys_that_contradict_processes_are_refused() {
    let message = |workload: &str, run: &str| {
        let text = format!(
            "[workload]\n{workload}\n[device.d]\nkind = \"constant\"\nservice_time = \"1ms\"\ncapacity = \"1GiB\"\n\
             [run]\ntarget = \"d\"\n{run}\n"
        );
        Experiment::from_str(&text, "x.toml").map_or_else(|error| error.to_string(), |_| "no error".to_string())
    };
    let synthetic = "synthetic = { requests = 9 }";
    let arrivals = r#"synthetic = { requests = 9, arrivals = { kind = "fixed", rate = "1/s" } }"#;
    let found = [
        message("trace = \"t.spc\"\nprocesses = 4", ""),
        message(&format!("{synthetic}\nprocesses = 4\nqueue_depth = 3"), ""),
        message(&format!("{synthetic}\nprocesses = 4\ntime_scale = 3"), ""),
        message(&format!("{arrivals}\nprocesses = 4"), ""),
        message(&format!("{synthetic}\nprocesses = 0"), ""),
        message(&format!("{synthetic}\nprocesses = 100_000"), ""),
        message(&format!("{synthetic}\nthink_time = \"1ms\""), ""),
        message(&format!("{synthetic}\nprocesses = 4\nthink_time = 5"), ""),
        message(&format!("{synthetic}\nprocesses = 4"), "settle = {}"),
    ];
    assert_eq!(
        found,
        [
            "x.toml:3:1: workload.processes: processes need requests of their own, but a `trace` is one stream; keep \
             several of its requests under way with `queue_depth`, or use a `synthetic` workload",
            "x.toml:4:1: workload.queue_depth: it excludes `processes`, each of which has one request under way",
            "x.toml:4:1: workload.time_scale: it means nothing in a closed loop, and `processes` asks for one",
            "x.toml:2:29: workload.synthetic.arrivals: it means nothing with `processes`, which send when their last \
             request has ended; give them a `think_time`",
            "x.toml:3:13: workload.processes: expected a whole number that is one or more, found `0`",
            "x.toml:3:1: workload.processes: there are at most 65536",
            "x.toml:3:1: workload.think_time: it goes with `processes`, which think between requests",
            "x.toml:4:14: workload.think_time: `5` needs a unit: ns, µs (or us), ms, s, min, h, d or y (365 days)",
            "x.toml:10:1: run.settle: it repeats one stream of requests, but `workload.processes` asks for several",
        ]
    );
}
