//! Cloud volumes in experiments: every preset, arrays of them, errors with their places.

use esker_results::RunResults;
use esker_sim::{DEVICE_KINDS, Experiment, RunOptions, run};

fn simulated(text: &str) -> RunResults {
    let experiment = Experiment::from_str(text, "x.toml").unwrap_or_else(|error| panic!("{error}"));
    run(&experiment, &RunOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_preset_serves_a_workload_and_repeats_it_to_the_byte() {
    let kind = DEVICE_KINDS.iter().find(|kind| kind.name == "cloud-volume").unwrap();
    let presets = (kind.build.presets)();
    assert_eq!(presets.len(), 12);
    for preset in presets {
        let text = format!(
            "[workload.synthetic]\nrequests = 3000\nread_fraction = \"60%\"\n\
             arrivals = {{ kind = \"poisson\", rate = \"100/s\" }}\n\
             [device.d]\npreset = \"{}\"\n[run]\ntarget = \"d\"\nseries = \"5s\"\n",
            preset.name
        );
        let results = simulated(&text);
        assert_eq!(results.requests.all.count, 3000, "{}", preset.name);
        let volume = results.devices["d"].cloud_volume.as_ref().unwrap();
        assert!(volume.operations > 0 && volume.operations <= 3000, "{}: {volume:?}", preset.name);
        assert!(results.series[0].utilisation.contains_key("operations"));
        let used = results.devices["d"].utilisation["operations"];
        assert!(used > 0.0 && used <= 1.0, "{}: {used}", preset.name);
        let bytes = |results: &RunResults| serde_json::to_string(results).unwrap();
        assert_eq!(bytes(&results), bytes(&simulated(&text)), "{}", preset.name);
    }
}

/// Four striped volumes do four times the operations of one; each of them is held back alike.
#[test]
fn striped_volumes_add_up() {
    let rate = |count: u32| {
        let results = simulated(&format!(
            "[workload]\nqueue_depth = 128\n[workload.synthetic]\nrequests = 100000\nsize = \"4KiB\"\n\
             [device.v]\npreset = \"aws-ebs-gp3\"\nlatency = {{ read = {{ median = \"500us\", p99 = \"500us\" }} }}\n\
             [device.s]\nkind = \"array\"\nlevel = \"0\"\nchild = \"v\"\ncount = {count}\n[run]\ntarget = \"s\"\n"
        ));
        assert!(results.devices["v.0"].cloud_volume.as_ref().unwrap().throttled_requests > 0);
        // Without the 10 ms that the buckets saved up.
        (100_000.0 - 30.0 * f64::from(count)) / (100_000.0 / results.throughput.requests_per_s)
    };
    let (one, four) = (rate(1), rate(4));
    assert!((one - 3000.0).abs() < 30.0, "{one}");
    assert!((four - 12_000.0).abs() < 250.0, "{four}");
}

#[test]
fn errors_say_where_and_what_would_work() {
    let error = |device: &str| {
        let text = format!("[workload]\nsynthetic = {{ requests = 1 }}\n[device.d]\n{device}\n[run]\ntarget = \"d\"\n");
        let experiment = Experiment::from_str(&text, "x.toml").map_err(|error| error.to_string());
        experiment.and_then(|experiment| experiment.assemble().map_err(|error| error.to_string())).err().unwrap()
    };
    let more = "preset = \"aws-ebs-gp3\"\nsize = \"8GiB\"\nprovisioned = { operations = \"9000/s\" }";
    assert_eq!(
        error(more),
        "x.toml:6:17: device.d.provisioned.operations: `provisioned.operations` is 9000/s, but a volume of 8GiB can \
         have 3000/s to 4000/s"
    );
    let small = error("preset = \"aws-ebs-st1\"\nsize = \"100GiB\"");
    assert_eq!(small, "x.toml:5:1: device.d.size: `size` is 100GiB, but the type has sizes from 125GiB to 16TiB");
    let nothing = error("preset = \"aws-ebs-gp2\"\nprovisioned = { operations = \"1000/s\" }");
    assert!(nothing.contains("device.d.provisioned.operations: `provisioned.operations` is given, but"), "{nothing}");
    assert!(error("preset = \"aws-ebs-gp3\"\nsize = \"8\"").contains("needs a unit"));
}
