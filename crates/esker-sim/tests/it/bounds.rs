//! Times out of bounds are errors that name their cause. Requests that a run leaves out are counted and reported.

use esker_core::Nanos;
use esker_results::{LeftOut, RunResults};
use esker_sim::{Experiment, RunOptions, Workload, run, run_workload};
use esker_trace::{Operation, Record, VolumeIndex};

fn experiment(workload: &str, device: &str, run: &str) -> Experiment {
    let text =
        format!("[workload]\n{workload}\n[device.d]\nkind = \"constant\"\n{device}\n[run]\ntarget = \"d\"\n{run}\n");
    Experiment::from_str(&text, "x.toml").unwrap()
}

fn error(workload: &str, device: &str, run_keys: &str) -> String {
    run(&experiment(workload, device, run_keys), &RunOptions::default()).unwrap_err().to_string()
}

const STATION: &str = "service_time = \"1ms\"\ncapacity = \"1GiB\"";

#[test]
fn arrivals_end_with_simulated_time() {
    // One request per thousand hours: 2,562 of them take 292 years.
    let rare = "synthetic = { requests = 3000, arrivals = { kind = \"fixed\", rate = \"0.001/h\" } }";
    assert_eq!(
        error(rare, STATION, ""),
        "x.toml:2:32: workload.synthetic.arrivals: request 2564 arrives later than 292 years after the start of the \
         run, where simulated time ends"
    );
    let slow =
        "synthetic = { requests = 30, arrivals = { kind = \"fixed\", rate = \"1/h\" } }\ntime_scale = 1000000000";
    assert!(error(slow, STATION, "").contains(": workload.time_scale: request "), "{}", error(slow, STATION, ""));
}

#[test]
fn service_ends_with_simulated_time() {
    let forever = "synthetic = { requests = 1000 }";
    let slow = "service_time = \"300d\"\ncapacity = \"1GiB\"";
    assert_eq!(
        error(forever, slow, ""),
        "x.toml:3:9: device.d: after 355 requests the next ends later than 292 years after the start of the run, where \
         simulated time ends"
    );
    // A queue so long that its end is out of bounds.
    let queue = format!("{slow}\nqueue_depth = 1000");
    assert!(error(&format!("{forever}\nqueue_depth = 1000"), &queue, "").contains("after 355 requests"));
    let endless = "service_time = \"300y\"\ncapacity = \"1GiB\"";
    assert!(error(forever, endless, "").ends_with("`service_time` is 300y, longer than 1y"));
}

#[test]
fn traces_end_with_simulated_time() {
    let folder = tempfile::tempdir().unwrap();
    let error = |seconds: &str, keys: &str| {
        std::fs::write(folder.path().join("t.spc"), format!("0,0,4096,r,0.0\n0,8,4096,w,{seconds}\n")).unwrap();
        let experiment = experiment(&format!("trace = \"t.spc\"\n{keys}"), STATION, "").in_folder(folder.path());
        run(&experiment, &RunOptions::default()).map(|_| ()).map_err(|error| error.to_string())
    };
    let century = "3153600000.0";
    assert_eq!(error(century, ""), Ok(()));
    assert!(error("10000000000.0", "").unwrap_err().contains("workload.trace: its last request comes 317 years"));
    assert!(error(century, "passes = 2").unwrap_err().contains("workload.passes: the last request would arrive"));
    assert!(error(century, "time_scale = 3").unwrap_err().contains("workload.time_scale: the last request"));
}

/// A year between two requests, in intervals of a microsecond: the run ends at the first million of them.
#[test]
fn a_series_is_given_up_between_two_requests() {
    let sparse = "synthetic = { requests = 2, arrivals = { kind = \"fixed\", rate = \"0.1/h\" } }\ntime_scale = 1000";
    assert!(error(sparse, STATION, "series = \"1us\"").ends_with("the run has more than 1000000 of these intervals"));
}

fn record(micros: u64, operation: Operation, offset: u64, length: u32) -> Record {
    Record { at: Nanos::from_micros(micros), offset, length, volume: VolumeIndex(0), operation, response: None }
}

fn replayed(records: Vec<Record>, keys: &str) -> RunResults {
    let experiment = experiment(&format!("trace = \"none\"\n{keys}"), STATION, "");
    let workload = Workload::from_records(records, vec!["0".into()]).unwrap();
    run_workload(&experiment, &workload, &RunOptions::default()).unwrap()
}

#[test]
fn what_is_left_out_is_counted_and_said() {
    let records = vec![
        record(0, Operation::Read, 0, 0),
        record(10, Operation::Write, 512, 1000),
        record(20, Operation::Trim, 700, 600),
        record(30, Operation::Read, (1 << 30) - 512, 4096),
        record(40, Operation::Read, 1 << 30, 4096),
        record(50, Operation::Flush, 0, 0),
    ];
    let results = replayed(records, "beyond_capacity = \"clip\"");
    let left_out = LeftOut { empty_requests: 1, requests_past_the_end: 1, requests_cut_short: 1, trims_of_nothing: 1 };
    assert_eq!((results.workload.left_out, results.workload.requests), (left_out, 3));
    assert_eq!(results.remarks.len(), 4, "{:?}", results.remarks);
    assert!(results.remarks[0].starts_with("1 request of no bytes left out"), "{:?}", results.remarks);
    let whole = replayed(vec![record(0, Operation::Read, 0, 512), record(9, Operation::Read, 0, 512)], "");
    assert!(whole.remarks.is_empty() && whole.workload.left_out.is_nothing());
}

#[test]
fn a_rate_that_no_drive_has_is_remarked_on() {
    // 12 MB each: 24 GB/s; then a thousand times slower.
    let records = |gap: u64| (0..2000).map(|index| record(index * gap, Operation::Read, 0, 12_000_000)).collect();
    let remarks = replayed(records(500), "").remarks;
    assert!(remarks.len() == 1 && remarks[0].contains("esker trace filter --speed"), "{remarks:?}");
    assert!(replayed(records(500_000), "").remarks.is_empty());
    assert!(replayed(records(500), "queue_depth = 4").remarks.is_empty(), "times do not matter in a closed loop");
}

#[test]
fn a_power_failure_that_never_happens_is_reported() {
    let with = |at: &str| {
        let text = format!(
            "[workload]\n\
             synthetic = {{ requests = 200, read_fraction = \"0%\", \
             arrivals = {{ kind = \"fixed\", rate = \"1000/s\" }} }}\n\
             [device.d]\n\
             preset = \"samsung-k9xxg08-slc-32g\"\n\
             geometry = {{ blocks_per_plane = 64 }}\n\
             power_failure = {{ at = \"{at}\" }}\n\
             [run]\n\
             target = \"d\"\n"
        );
        run(&Experiment::from_str(&text, "x.toml").unwrap(), &RunOptions::default()).unwrap()
    };
    let missed = with("1h");
    assert!(missed.devices["d"].flash.as_ref().unwrap().power_failure_missed);
    assert_eq!(missed.remarks, ["The power failure of `d` never happened: the run ended before it."]);
    let met = with("100ms");
    assert!(met.remarks.is_empty() && met.devices["d"].flash.as_ref().unwrap().recovery.is_some());
}
