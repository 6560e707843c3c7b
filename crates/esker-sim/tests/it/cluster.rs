//! Clusters in runs: what is written where, servers that fail, join and are drained, and even wear.

use esker_results::{ChildState, ClusterReport, RunResults};
use esker_sim::{Experiment, RunOptions, run};

/// A cluster of constant devices of 64 MiB under writes of `size` by Zipf's law, for 200 seconds.
fn experiment(servers: u32, size: &str, keys: &str, run_keys: &str) -> Experiment {
    let text = format!(
        "[workload]\n\
         synthetic = {{ requests = 10_000, read_fraction = \"30%\", size = \"{size}\", \
         address = {{ kind = \"zipf\", exponent = 0.9 }}, arrivals = {{ kind = \"poisson\", rate = \"50/s\" }} }}\n\
         [device.drive]\n\
         kind = \"constant\"\n\
         service_time = \"100us\"\n\
         capacity = \"64MiB\"\n\
         [device.servers]\n\
         kind = \"cluster\"\n\
         child = \"drive\"\n\
         count = {servers}\n\
         objects_per_slice = 4\n\
         object = \"64KiB\"\n\
         epoch = \"10s\"\n\
         {keys}\n\
         [run]\n\
         target = \"servers\"\n\
         {run_keys}\n"
    );
    Experiment::from_str(&text, "cluster.toml").unwrap()
}

fn results(experiment: &Experiment) -> RunResults {
    run(experiment, &RunOptions::default()).unwrap()
}

fn cluster(results: &RunResults) -> &ClusterReport {
    results.devices["servers"].cluster.as_ref().unwrap()
}

fn written(report: &ClusterReport) -> u64 {
    report.servers.iter().map(|server| server.written_bytes).sum()
}

#[test]
fn every_copy_is_written_once() {
    for replicas in 1..=3 {
        let keys = format!("balancer = \"none\"\nreplicas = {replicas}");
        let done = results(&experiment(5, "4KiB", &keys, ""));
        let report = cluster(&done);
        assert_eq!(written(report), replicas * done.workload.write_bytes, "{replicas} copies");
        assert_eq!((report.moves_begun, report.objects_copied, report.rounds), (0, 0, 0));
        let slices: u32 = report.servers.iter().map(|server| server.slices).sum();
        assert_eq!(slices, report.slices * replicas as u32);
    }
}

#[test]
fn a_server_that_fails_is_rebuilt_from_the_others_and_nobody_notices() {
    let event = "[[run.events]]\nat = \"50s\"\ndevice = \"drive.2\"\nfail = true\n";
    let keys = "balancer = \"none\"\nreplicas = 2\nreserve = \"40%\"\ncopied_bytes_per_second = \"4MiB\"";
    let done = results(&experiment(5, "4KiB", keys, event));
    assert_eq!(done.devices["servers"].children["drive.2"].state, Some(ChildState::Failed));
    let report = cluster(&done);
    let lost = report.copies_lost;
    assert!(lost > 50 && report.moves_done == lost && report.moves_begun == 0, "{report:?}");
    assert_eq!(report.servers[2].slices, 0);
    let slices: u32 = report.servers.iter().map(|server| server.slices).sum();
    assert_eq!(slices, report.slices * 2, "each slice has two copies again");
    assert_eq!(done.requests.errors, 0);
}

#[test]
fn with_one_copy_a_server_that_fails_takes_its_writes_with_it() {
    let event = "[[run.events]]\nat = \"100s\"\ndevice = \"drive.2\"\nfail = true\n";
    let done = results(&experiment(5, "4KiB", "balancer = \"none\"", event));
    assert!(done.requests.errors > 100, "{}", done.requests.errors);
    assert_eq!(cluster(&done).copies_lost, 0, "it is still read");
}

#[test]
fn a_drained_server_is_empty_and_one_that_joins_takes_its_share() {
    let event = "[[run.events]]\nat = \"20s\"\ndevice = \"drive.0\"\ndrain = true\n\
                 [[run.events]]\nat = \"20s\"\ndevice = \"drive.4\"\njoin = true\n";
    let keys = "balancer = \"none\"\nreserve = \"40%\"\ncopied_bytes_per_second = \"4MiB\"";
    let done = results(&experiment(5, "4KiB", keys, event));
    let report = cluster(&done);
    assert_eq!((report.servers[0].slices, report.moves_refused), (0, 0));
    assert!(report.servers[4].slices > report.slices / 20, "{report:?}");
    assert!(done.devices["servers"].children["drive.0"].drained_at_s.is_some_and(|at| at > 20.0));
    assert_eq!(done.requests.errors, 0);
}

/// Whole objects are written, so that moves cost nothing but what is cold.
#[test]
fn off_loading_evens_erases_and_copies_stay_within_their_rate() {
    let with = |balancer: &str| {
        let keys = format!("balancer = {balancer}\ncopied_bytes_per_second = \"256KiB\"\nreserve = \"20%\"");
        results(&experiment(8, "64KiB", &keys, ""))
    };
    let (none, ewo) = (with("\"none\""), with("{ kind = \"ewo\", sigma_c = 1 }"));
    let (none, ewo) = (cluster(&none), cluster(&ewo));
    assert!(ewo.rounds > 1 && ewo.objects_moved_by_requests > 0, "{ewo:?}");
    assert!(ewo.erases_sd < 0.6 * none.erases_sd, "{} against {}", ewo.erases_sd, none.erases_sd);
    let copied: u64 = ewo.servers.iter().map(|server| server.copied_bytes).sum();
    assert!(copied <= 200 * (256 << 10), "{copied}");
    assert_eq!(copied, ewo.objects_copied * (64 << 10));
}

#[test]
fn impossible_clusters_say_what_is_wrong() {
    let error = |servers, keys: &str| {
        let built = experiment(servers, "4KiB", keys, "").assemble().map(|_| ());
        built.unwrap_err().to_string()
    };
    let too_large = error(5, "capacity = \"1GiB\"");
    assert!(too_large.contains("the servers hold") && too_large.contains("cluster.toml:"), "{too_large}");
    assert!(error(2, "replicas = 3").contains("3 replicas need as many failure domains, and the servers have 2"));
    assert!(error(3, "domains = [1, 2]").contains("`domains` has 2, and there are 3 servers"));
}
