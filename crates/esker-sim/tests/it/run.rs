//! Runs: measurements, and how runs end.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use esker_core::{Arrival, Bytes, Lba, Nanos, ReplayEnd, ReplaySettings, Request, replay};
use esker_disk::DiskSettings;
use esker_results::{RunResults, Settling};
use esker_sim::{
    ArraySettings, Constant, ConstantSettings, DeviceDescription, Experiment, RunError, RunMeasurements, RunOptions,
    RunSettings, System, WorkloadSettings, preset, run,
};

fn experiment(workload: &str, station: &str, run: &str) -> Experiment {
    let text = format!(
        "[workload]\n\
         {workload}\n\
         [device.d]\n\
         kind = \"constant\"\n\
         service_time = \"1ms\"\n\
         capacity = \"1GiB\"\n\
         {station}\n\
         [run]\n\
         target = \"d\"\n\
         {run}\n"
    );
    Experiment::from_str(&text, "x.toml").unwrap()
}

fn results(workload: &str, station: &str, run_keys: &str) -> RunResults {
    run(&experiment(workload, station, run_keys), &RunOptions::default()).unwrap()
}

const FIXED: &str = r#"synthetic = { requests = 1000, arrivals = { kind = "fixed", rate = "500/s" } }"#;

#[test]
fn an_idle_station_answers_in_its_service_time() {
    let results = results(FIXED, "", "");
    let all = results.requests.all;
    assert_eq!((all.count, all.response_time.mean_us, all.response_time.max_us), (1000, 1000.0, 1000.0));
    assert_eq!((all.queue_time.max_us, all.device_time.p50_us), (0.0, 1000.0));
    assert_eq!(results.requests.read.count + results.requests.write.count, 1000);
    let workload = &results.workload;
    assert_eq!((workload.requests, workload.read_bytes + workload.write_bytes), (1000, 1000 * 4096));
    assert!((workload.duration_s - 999.0 * 0.002).abs() < 1e-9);
    // From the first arrival to the last completion.
    let elapsed = 999.0 * 0.002 + 0.001;
    assert!((results.throughput.requests_per_s - 1000.0 / elapsed).abs() < 1e-6);
    assert!((results.devices["d"].utilisation["server"] - 0.5).abs() < 1e-3);
}

/// Writes end in the buffer of a disk, whose arm then still works.
#[test]
fn what_is_not_done_by_the_end_makes_nothing_busy() {
    let text = "[workload]\nsynthetic = { requests = 2, read_fraction = \"0%\" }\nqueue_depth = 1\n\
                [device.d]\npreset = \"nearline-7200-20t\"\n[run]\ntarget = \"d\"\n";
    let results = run(&Experiment::from_str(text, "x.toml").unwrap(), &RunOptions::default()).unwrap();
    let arm = results.devices["d"].utilisation["arm"];
    assert!(arm > 0.0 && arm <= 1.0, "{arm}");
}

#[test]
fn a_series_divides_the_run_into_intervals() {
    let results = results(FIXED, "", "series = \"100ms\"");
    assert_eq!(results.series.len(), 20);
    for (index, point) in results.series.iter().enumerate() {
        assert!((point.start_s - index as f64 * 0.1).abs() < 1e-9);
        assert!((49..=51).contains(&point.requests) && point.mean_us == 1000.0, "{point:?}");
        assert!((point.utilisation["server"] - 0.5).abs() < 0.02, "{point:?}");
    }
    assert_eq!(results.series.iter().map(|point| point.requests).sum::<u64>(), 1000);
}

#[test]
fn a_series_without_measure_is_refused() {
    let long = experiment(FIXED, "", "series = \"1us\"");
    let message = run(&long, &RunOptions::default()).unwrap_err().to_string();
    assert_eq!(message, "x.toml:10:1: run.series: the run has more than 1000000 of these intervals");
}

/// The load of two servers arrives at one: the queue grows by one request per 2 ms until the limit.
#[test]
fn a_station_that_cannot_keep_up_is_given_up() {
    let workload = r#"synthetic = { requests = 100_000, arrivals = { kind = "fixed", rate = "2000/s" } }"#;
    let results = results(workload, "queue_depth = 4", "backlog_limit = 100");
    let saturated = results.saturated.unwrap();
    assert_eq!(saturated.backlog_requests, 101);
    assert!(saturated.since_s < 0.01 && (0.1..0.12).contains(&saturated.stopped_s), "{saturated:?}");
    assert!(results.requests.all.count < 120);
}

/// However many requests come at one time, no more are held than the limit, plus the one that exceeds it.
#[test]
fn a_burst_is_held_only_up_to_the_limit() {
    let settings = |servers, backlog_limit| {
        let constant = ConstantSettings {
            service: Default::default(),
            service_time: Nanos::from_millis(1),
            servers,
            capacity: Bytes::gib(1),
            queue_depth: None,
        };
        (Constant::new("d", &constant), ReplaySettings { backlog_limit, ..ReplaySettings::OPEN })
    };
    let taken = std::cell::Cell::new(0u32);
    let burst = |count| {
        taken.set(0);
        (0..count).map(|number: u64| {
            taken.set(taken.get() + 1);
            Arrival { at: Nanos::from_secs(1), request: Request::read(Lba(number * 8), Bytes(4096)) }
        })
    };
    let (mut device, limited) = settings(1, 100);
    let replayed = replay(&mut device, burst(1_000_000), &limited, &mut RunMeasurements::new()).unwrap();
    assert!(matches!(replayed.end, ReplayEnd::Saturated { backlog: 101, .. }), "{replayed:?}");
    // 32 in the device, and the next one to come.
    assert_eq!(taken.get(), 32 + 101 + 1);
    // Requests that fit into the device and the limit together are served, although they come at once.
    let (mut device, limited) = settings(1000, 100);
    let replayed = replay(&mut device, burst(1000), &limited, &mut RunMeasurements::new()).unwrap();
    assert_eq!((replayed.end, replayed.completed), (ReplayEnd::Complete, 1000));
    assert_eq!(replayed.last_event, Nanos::from_millis(1001));
}

#[test]
fn waiting_too_long_ends_a_run_too() {
    let workload = r#"synthetic = { requests = 100_000, arrivals = { kind = "fixed", rate = "2000/s" } }"#;
    let results = results(workload, "queue_depth = 1", "wait_limit = \"50ms\"");
    assert!((0.09..0.12).contains(&results.saturated.unwrap().stopped_s));
}

#[test]
fn without_arrival_times_requests_come_one_at_a_time() {
    let alone = results("synthetic = { requests = 100 }", "servers = 8", "");
    assert_eq!(alone.throughput.requests_per_s, 1000.0);
    let deep = results("synthetic = { requests = 800 }\nqueue_depth = 8", "servers = 8", "");
    assert_eq!(deep.throughput.requests_per_s, 8000.0);
}

#[test]
fn time_scale_stretches_arrivals() {
    for (scale, load) in [("2", 0.25), ("\"50%\"", 1.0)] {
        let results = results(&format!("{FIXED}\ntime_scale = {scale}"), "", "");
        assert!((results.devices["d"].utilisation["server"] - load).abs() < 2e-3, "{scale}");
    }
}

/// Two halves of a recording of 1992, in a format with absolute times: they keep the time between them, and are of one
/// volume.
#[test]
fn recordings_of_any_year_keep_their_times() {
    let folder = tempfile::tempdir().unwrap();
    for (name, seconds) in [("half1.csv", [0, 10]), ("half2.csv", [20, 30])] {
        // 100 ns since 1601.
        let line = |second: u64| {
            format!("{},host,0,Write,4096,4096,0\n", (11_644_473_600 + 694_224_000 + second) * 10_000_000)
        };
        std::fs::write(folder.path().join(name), seconds.map(line).concat()).unwrap();
    }
    let experiment = experiment("trace = [\"half1.csv\", \"half2.csv\"]", "", "").in_folder(folder.path());
    let results = run(&experiment, &RunOptions::default()).unwrap();
    assert_eq!((results.workload.requests, results.workload.duration_s), (4, 30.0));
    let remark = "Traces that follow each other are taken to be of one system: volume host.0 is one volume.";
    assert_eq!(results.remarks, [remark]);
}

/// 200 requests arrive twice as fast as they are served. The rest arrives when they are done, and finds the device
/// idle.
#[test]
fn warming_up_is_not_measured() {
    let workload = r#"synthetic = { requests = 300, arrivals = { kind = "fixed", rate = "2000/s" } }"#;
    let all = results(workload, "servers = 2", "warm_up_requests = 200");
    assert_eq!((all.workload.requests, all.devices["d"].requests), (100, 100));
    assert_eq!(all.requests.all.queue_time.max_us, 0.0);
    assert!((all.workload.duration_s - 99.0 * 0.0005).abs() < 1e-9);
    let late = results(workload, "", "warm_up_requests = 200\nseries = \"10ms\"");
    // The measured part begins with an empty queue, whatever the warm-up left behind.
    assert_eq!(late.requests.all.response_time.max_us, 1000.0 + 99.0 * 500.0);
    assert!(late.series[0].start_s >= 0.2 && late.series[0].utilisation["server"] > 0.99, "{:?}", late.series[0]);
}

#[test]
fn a_warm_up_that_leaves_nothing_to_measure_is_remarked() {
    let remarked = |warm_up: u32| {
        let results = results(FIXED, "", &format!("warm_up_requests = {warm_up}"));
        results.remarks.iter().any(|remark| remark.starts_with("No request was measured: all of them were the warm-up"))
    };
    assert_eq!([remarked(0), remarked(999), remarked(1000), remarked(5000)], [false, false, true, true]);
}

#[test]
fn the_caller_hears_of_progress_and_can_stop() {
    let heard = Mutex::new(Vec::new());
    let progress = |done, total| heard.lock().unwrap().push((done, total));
    let long = experiment("synthetic = { requests = 50_000 }\nqueue_depth = 4", "", "");
    run(&long, &RunOptions { progress: Some(&progress), ..RunOptions::default() }).unwrap();
    let heard = heard.into_inner().unwrap();
    assert_eq!(heard, [8192, 16384, 24576, 32768, 40960, 49152].map(|done| (done, 50_000)));

    let cancel = AtomicBool::new(false);
    let progress = |done, _| cancel.store(done > 20_000, Ordering::Relaxed);
    let options = RunOptions { progress: Some(&progress), cancel: Some(&cancel), ..RunOptions::default() };
    assert!(matches!(run(&long, &options), Err(RunError::Cancelled)));
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let workload = r#"synthetic = { requests = 5000, arrivals = { kind = "poisson", rate = "800/s" } }"#;
    let bytes = |keys: &str| serde_json::to_string(&results(workload, "", keys)).unwrap();
    assert_eq!(bytes("seed = 7"), bytes("seed = 7"));
    assert_ne!(bytes("seed = 7"), bytes("seed = 8").replace("\"seed\":8", "\"seed\":7"));
}

#[test]
fn traces_are_filtered_and_cut_and_their_volumes_lie_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("t.spc"),
        "0,0,4096,r,10.0\n1,0,8192,w,10.5\n0,8,4096,w,11.0\n1,2000,512,r,12.0\n0,0,4096,r,13.0\n",
    )
    .unwrap();
    let run_trace = |keys: &str| {
        let experiment = experiment(&format!("trace = \"t.spc\"\n{keys}"), "", "").in_folder(folder.path());
        run(&experiment, &RunOptions::default()).unwrap().workload
    };
    let all = run_trace("");
    assert_eq!((all.requests, all.read_bytes, all.write_bytes, all.duration_s), (5, 8704, 12288, 3.0));
    assert_eq!(run_trace("head = 2").requests, 2);
    let one = run_trace("filter = { volumes = [\"1\"] }");
    assert_eq!((one.requests, one.duration_s), (2, 1.5));
    let none = experiment("trace = \"t.spc\"\nfilter = { volumes = [\"7\"] }", "", "").in_folder(folder.path());
    let message = run(&none, &RunOptions::default()).unwrap_err().to_string();
    assert!(message.starts_with("x.toml:3:1: workload.filter: "), "{message}");
}

#[test]
fn a_window_keeps_the_times_of_its_arrivals() {
    let settings = ConstantSettings {
        service: Default::default(),
        service_time: Nanos::from_millis(1),
        servers: 1,
        capacity: Bytes::gib(1),
        queue_depth: None,
    };
    let mut device = Constant::new("d", &settings);
    // Ten requests at once every second wait 0 to 9 ms.
    let arrivals = (0..5u64).flat_map(|second| {
        (0..10).map(move |_| Arrival { at: Nanos::from_secs(second), request: Request::read(Lba(0), Bytes(512)) })
    });
    let mut measured = RunMeasurements::new();
    let number = measured.add_window(Nanos::from_secs(2), Nanos::from_secs(4));
    let end = replay(&mut device, arrivals, &ReplaySettings::OPEN, &mut measured).unwrap();
    let window = measured.window(number).unwrap();
    assert_eq!((window.response().count(), measured.statistics().response().count()), (20, 50));
    assert_eq!(window.response().max(), Nanos::from_millis(10));
    assert_eq!(measured.workload(&end).requests, 50);
}

#[test]
fn a_system_can_be_made_without_text() {
    let disk = |capacity: Bytes| {
        let preset: DiskSettings = preset("ibm-ultrastar-36z15").unwrap();
        DeviceDescription::new(DiskSettings { capacity: Some(capacity), ..preset })
    };
    let device = System::single("d", disk(Bytes::gib(1))).unwrap().assemble(1).unwrap().device;
    assert_eq!(device.capacity(), Bytes::gib(1));
    let error = System::single("d", disk(Bytes::gib(1024))).unwrap().assemble(1).err().unwrap().to_string();
    assert!(error.starts_with("device.d: `capacity` is 1TiB"), "{error}");

    let pair = |child: &str| {
        let pair = DeviceDescription::new(ArraySettings::alike(child, 2));
        System::of([("d".to_string(), disk(Bytes::gib(1))), ("pair".to_string(), pair)], "pair")
    };
    assert_eq!(pair("d").unwrap().assemble(1).unwrap().device.capacity(), Bytes::gib(2));
    let error = pair("disk").unwrap_err();
    assert_eq!(error.to_string(), "device.pair.child: `disk` is no device of this experiment");
    let error = System::single("d", disk(Bytes::gib(1))).and_then(|_| System::of([], "d")).unwrap_err();
    assert_eq!(error.to_string(), "run.target: `d` is no device of this experiment");

    let workload = WorkloadSettings {
        synthetic: Some(serde_json::from_str(r#"{"requests": 10}"#).unwrap()),
        ..WorkloadSettings::default()
    };
    let experiment = |workload| Experiment::of(pair("d").unwrap(), workload, RunSettings::default());
    let typed = experiment(workload).unwrap();
    let results = run(&typed, &RunOptions::default()).unwrap();
    assert_eq!(results.requests.all.count, 10);
    let read = Experiment::from_resolved(&results.config, "x").unwrap();
    assert_eq!(read.resolved(), results.config);
    let again = run(&read, &RunOptions::default()).unwrap();
    assert_eq!((again.requests, again.devices), (results.requests, results.devices));
    let error = experiment(WorkloadSettings::default()).unwrap_err();
    assert_eq!(error.to_string(), "workload: it needs a `trace` or a `synthetic` workload");
}

/// Commands reach drives inside composite devices.
#[test]
fn a_timeline_shows_the_first_requests_with_their_flash_operations() {
    let text = r#"
[workload]
synthetic = { requests = 200, read_fraction = "50%", arrivals = { kind = "fixed", rate = "1000/s" } }
[device.drive]
kind = "ssd"
preset = "samsung-k9xxg08-slc-32g"
[device.d]
kind = "array"
level = "0"
child = "drive"
count = 2
stripe = "64KiB"
[run]
target = "d"
warm_up_requests = 50
"#;
    let with = |timeline: &str| {
        let experiment = Experiment::from_str(&format!("{text}{timeline}"), "x.toml");
        run(&experiment.unwrap(), &RunOptions::default()).unwrap()
    };
    let (plain, told) = (with(""), with("timeline = 20"));
    assert_eq!(plain.requests, told.requests, "looking changed something");
    for name in ["drive.0", "drive.1"] {
        assert_eq!(plain.devices[name].flash.as_ref().unwrap().timeline, None);
        let timeline = told.devices[name].flash.as_ref().unwrap().timeline.as_ref().unwrap();
        assert_eq!((timeline.requests.len(), timeline.operations_left_out), (20, 0));
        for request in &timeline.requests {
            let (start, end) = (request.start_ns.unwrap(), request.end_ns.unwrap());
            assert!(request.arrival_ns <= start && start <= end && request.arrival_ns >= 50_000_000);
        }
        for operation in &timeline.operations {
            let request = &timeline.requests[operation.request.expect("nothing is cleaned here") as usize];
            assert!(request.arrival_ns <= operation.begin_ns && operation.end_ns <= request.end_ns.unwrap());
            assert!(matches!(operation.kind.as_str(), "read" | "program") && operation.cause == "host");
        }
        let writes = timeline.requests.iter().filter(|request| request.kind == "write").count();
        assert_eq!(timeline.operations.iter().filter(|operation| operation.kind == "program").count(), writes);
    }
    let error = Experiment::from_str(&format!("{text}timeline = 10001"), "x.toml").unwrap_err();
    assert!(error.to_string().ends_with("run.timeline: 10001 requests are more than 10000"), "{error}");
}

/// Repeated, a pass that fits the write buffer overwrites itself there: that is no property of the workload.
#[test]
fn writes_that_mostly_stay_in_the_write_buffer_are_not_repeated() {
    // 2000 pages of 4 KiB, all over the drive: 8 MB.
    let settled = |buffer: &str| {
        let text = format!(
            "[workload]\n\
             synthetic = {{ requests = 2000, read_fraction = \"0%\", arrivals = {{ kind = \"fixed\", \
             rate = \"100/s\" }} }}\n\
             [device.d]\n\
             kind = \"ssd\"\n\
             preset = \"samsung-k9xxg08-slc-32g\"\n\
             geometry = {{ channels = 1, blocks_per_plane = 32 }}\n\
             {buffer}\n\
             [run]\n\
             target = \"d\"\n\
             settle = {{}}\n"
        );
        let experiment = Experiment::from_str(&text, "x.toml").unwrap();
        run(&experiment, &RunOptions::default()).unwrap().settled.unwrap()
    };
    let unbuffered = settled("");
    assert!(unbuffered.outcome == Settling::Settled && unbuffered.passes > 1, "{unbuffered:?}");
    let a_tenth = settled("write_buffer = { size = \"800KiB\", latency = \"1us\" }");
    assert!(a_tenth.outcome == Settling::Settled && a_tenth.passes > 1, "{a_tenth:?}");
    let more = settled("write_buffer = { size = \"804KiB\", latency = \"1us\" }");
    assert!(more.outcome == Settling::MostlyBuffered && more.passes == 1, "{more:?}");
}
