//! What is counted when work is under way as measuring begins, and when the clock of a device is not that of the run.

use esker_results::RunResults;
use esker_sim::{Experiment, RunOptions, run};

/// A drive with one die, whose programs and erases wait for reads, and `workload`, with more keys of the run.
fn drive(workload: &str, run_keys: &str) -> RunResults {
    let text = format!(
        "[workload]\n{workload}\n\
         [device.drive]\nkind = \"ssd\"\nqueue_depth = 32\nendurance_cycles = 1000\nover_provisioning = \"25%\"\n\
         geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1, \
         blocks_per_plane = 64, pages_per_block = 64, page_size = \"4KiB\", spare_size = \"128B\" }}\n\
         timing = {{ page_read = \"25us\", page_program = \"800us\", block_erase = \"1500us\", \
         bus_rate = \"400MB/s\" }}\n\
         write_buffer = {{ size = \"1MiB\", latency = \"5us\", high_water = \"0%\", low_water = \"0%\" }}\n\
         array = {{ scheduling = \"reads-first\", \
         suspend = {{ suspend = \"20us\", resume = \"20us\", limit = 3 }} }}\nprecondition = \"filled\"\n\
         [run]\ntarget = \"drive\"\n{run_keys}\n"
    );
    run(&Experiment::from_str(&text, "x.toml").unwrap(), &RunOptions::default()).unwrap()
}

const MIXED: &str = "synthetic = { requests = 300, read_fraction = 0.6, size = \"4KiB\", \
                     arrivals = { kind = \"poisson\", rate = \"1500/s\" } }";

/// A program that is under way when measuring begins has not been counted when it is suspended.
#[test]
fn work_from_before_measuring_may_be_suspended() {
    for warm_up in 0..60 {
        let results = drive(MIXED, &format!("warm_up_requests = {warm_up}"));
        let busy = results.devices["drive"].utilisation["die"];
        assert!((0.2..1.0).contains(&busy), "{busy} after {warm_up}");
    }
}

/// Work that is suspended is taken back and counted again, but not twice.
#[test]
fn intervals_add_up_to_the_run() {
    for (interval, width_s) in [("20us", 20e-6), ("300us", 300e-6), ("10ms", 10e-3)] {
        let results = drive(MIXED, &format!("series = \"{interval}\""));
        let of_run = results.devices["drive"].utilisation["die"] * results.workload.duration_s;
        let whole = &results.series[..results.series.len() - 1];
        let of_intervals: f64 = whole.iter().map(|point| point.utilisation["die"] * width_s).sum();
        // The last interval is shorter, and has a few operations at most. One may be suspended when the run ends.
        assert!((of_run - 0.01..=of_run + 0.001).contains(&of_intervals), "{interval}: {of_intervals} of {of_run} s");
    }
}

/// The run's clock is ahead of that of a slow drive: what the drive is about to do has not happened when it reports.
#[test]
fn a_slow_drive_reports_at_its_own_time() {
    let writes = "queue_depth = 8\nsynthetic = { requests = 300, read_fraction = 0.0, size = \"4KiB\" }";
    for slow in ["0.5", "1.5", "2", "10"] {
        let event = format!("[[run.events]]\nat = \"10ms\"\ndevice = \"drive\"\nslow = {slow}");
        let results = drive(writes, &format!("settle = {{ requests_max = 20000 }}\n{event}"));
        assert_eq!(results.requests.all.count, 300, "slow = {slow}");
    }
}

/// One request at a time meets the same disk, whatever its clock.
#[test]
fn a_slow_disk_takes_as_much_energy_by_its_own_clock() {
    let disk = |event: &str| {
        let text = format!(
            "[workload]\nqueue_depth = 1\nsynthetic = {{ requests = 500, size = \"4KiB\" }}\n\
             [device.disk]\nkind = \"hdd\"\npreset = \"nearline-7200-20t\"\n\
             power = {{ active = \"9W\", idle = \"5W\", standby = \"1W\" }}\n[run]\ntarget = \"disk\"\n{event}"
        );
        let results = run(&Experiment::from_str(&text, "x.toml").unwrap(), &RunOptions::default()).unwrap();
        let disk = results.devices["disk"].disk.clone().unwrap();
        (results.workload.duration_s, disk.power.unwrap())
    };
    let (plain, slow) = (disk(""), disk("[[run.events]]\nat = \"0s\"\ndevice = \"disk\"\nslow = 4"));
    assert!((slow.0 / plain.0 - 4.0).abs() < 1e-6, "{slow:?}, {plain:?}");
    assert!((slow.1.energy_j / plain.1.energy_j - 1.0).abs() < 1e-6, "{slow:?}, {plain:?}");
    assert!((slow.1.idle_s - plain.1.idle_s).abs() < 1e-6, "{slow:?}, {plain:?}");
}
