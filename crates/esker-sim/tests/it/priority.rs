//! Priorities and streams in experiments: their effect on results, and what is refused.

use std::fmt::Write;

use esker_core::{Hint, Rng};
use esker_results::RunResults;
use esker_sim::{Experiment, RunOptions, run};

/// Reads of volume 0 and writes of volume 1 in turn, one per millisecond.
fn reads_and_writes() -> String {
    (0..1000).fold(String::new(), |mut text, index| {
        let at = f64::from(index) / 1000.0;
        let (volume, operation) = if index % 2 == 0 { (0, 'r') } else { (1, 'w') };
        writeln!(text, "{volume},{},4096,{operation},{at}", index * 7919 % 1000 * 512).unwrap();
        text
    })
}

/// Nine of ten writes go to 1 MiB of volume 0, the others to 9 MiB of volume 1.
fn hot_and_cold() -> String {
    let mut rng = Rng::new(5);
    let fill = (0..256).map(|page| (0, page)).chain((0..2304).map(|page| (1, page))).collect::<Vec<_>>();
    let overwrite = (0..40_000).map(|_| if rng.chance(9, 10) { (0, rng.below(256)) } else { (1, rng.below(2304)) });
    fill.into_iter().chain(overwrite).fold(String::new(), |mut text, (volume, page)| {
        writeln!(text, "{volume},{},4096,w,0.0", page * 8).unwrap();
        text
    })
}

fn try_run(trace: &str, workload: &str, device: &str) -> Result<RunResults, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.spc"), trace).unwrap();
    let text = format!("[workload]\ntrace = \"t.spc\"\n{workload}\n[device.d]\n{device}\n[run]\ntarget = \"d\"\n");
    let told = |error: &dyn std::error::Error, hint: Option<String>| format!("{error}; {}", hint.unwrap_or_default());
    let experiment = Experiment::from_str(&text, "x.toml").map_err(|error| told(&error, error.hint()))?;
    run(&experiment.in_folder(folder.path()), &RunOptions::default()).map_err(|error| told(&error, error.hint()))
}

fn results(trace: &str, workload: &str, device: &str) -> RunResults {
    try_run(trace, workload, device).unwrap_or_else(|error| panic!("{error}"))
}

const STATIONS: [&str; 2] = [
    // Here requests wait for a slot, there for the arm.
    "kind = \"constant\"\nservice_time = \"1500us\"\ncapacity = \"1GiB\"\nqueue_depth = 1",
    "preset = \"ibm-ultrastar-36z15\"\nqueue_depth = 1024\n\
     cache = { segments = 1, segment_size = \"64KiB\", read_ahead = \"0B\", write_back = \"0B\" }",
];

#[test]
fn user_requests_wait_less_the_others_more_and_all_are_served() {
    for station in STATIONS {
        let mean = |workload: &str| {
            let requests = results(&reads_and_writes(), workload, station).requests;
            assert_eq!((requests.all.count, requests.errors), (1000, 0));
            (requests.read.response_time.mean_us, requests.write.response_time.mean_us)
        };
        let (reads, writes) = mean("");
        assert_eq!(mean("priority = \"background\""), (reads, writes), "all alike");
        let (first, last) = mean("volumes = { 1 = { priority = \"background\" } }");
        assert!(first < 0.5 * reads && last > 1.2 * writes, "{station}: {reads} and {writes}, then {first} and {last}");
        let other = mean("priority = \"background\"\nvolumes = { 0 = { priority = \"user\" } }");
        assert_eq!(other, (first, last), "said the other way round");
        let (last, first) = mean("volumes = { 0 = { priority = \"background\" } }");
        assert!(first < 0.5 * writes && last > 1.2 * reads, "{station}");
    }
}

const FLASH: &str = "preset = \"samsung-k9xxg08-slc-32g\"\ncleaning = { threshold = \"2%\" }\n\
     over_provisioning = \"15%\"\n\
     geometry = { channels = 1, dies_per_package = 1, planes_per_die = 1, blocks_per_plane = 189, \
     pages_per_block = 16 }";

#[test]
fn streams_reach_a_drive_that_keeps_them_apart() {
    let trace = hot_and_cold();
    let amplification = |workload: &str, streams: &str| {
        let results = results(&trace, &format!("queue_depth = 1\n{workload}"), &format!("{FLASH}\n{streams}"));
        results.devices["d"].flash.as_ref().unwrap().write_amplification.unwrap()
    };
    let together = amplification("", "");
    let apart = amplification("", "streams = 2");
    assert!(apart < 0.9 * together, "{apart} against {together}");
    let same = |workload, streams| assert_eq!(amplification(workload, "streams = 2"), streams, "{workload}");
    same("stream = \"volume\"", apart);
    same("stream = 0", together);
    same("stream = 0\nvolumes = { 1 = { stream = 3 } }", apart);
    same("volumes = { 1 = { stream = 4 } }", together);
}

#[test]
fn mistakes_are_named() {
    let refused = |workload: &str| try_run(&reads_and_writes(), workload, STATIONS[0]).unwrap_err();
    assert_eq!(
        refused("[workload.volumes.7]\nstream = 1"),
        "x.toml:3:11: workload.volumes: what was read of the trace has no volume `7`; it has 0, 1"
    );
    assert!(refused("priority = \"usr\"").contains("workload.priority: `usr` is not one of the choices"));
    let stream = refused("stream = \"volumes\"");
    assert!(stream.contains("workload.stream: expected \"volume\" or a number from 0 to 65535"), "{stream}");
    let text = "[workload]\nsynthetic = { requests = 10 }\nvolumes = { 0 = { stream = 1 } }\n[device.d]\n\
                kind = \"constant\"\nservice_time = \"1ms\"\ncapacity = \"1GiB\"\n[run]\ntarget = \"d\"\n";
    let error = Experiment::from_str(text, "x.toml").unwrap_err().to_string();
    assert!(error.contains("workload.volumes: it goes with a `trace`"), "{error}");
}
