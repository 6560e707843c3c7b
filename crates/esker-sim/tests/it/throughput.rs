//! The policy `throughput` in closed loops, against every fixed split. With `ESKER_SOAK=2` with more processes, too.

use esker_sim::{Experiment, RunOptions, run};

/// Requests per second of the last 70,000 of `requests` requests on the stand-ins for Wu's pair.
fn per_s_of_pair(depth: u32, policy: &str, requests: u64) -> f64 {
    let text = format!(
        "[workload]\nqueue_depth = {depth}\nsynthetic = {{ preset = \"wu-netapp\", requests = {requests} }}\n\
         [device.flash]\npreset = \"intel-x25m-80g\"\nprecondition = \"steady\"\n\
         [device.disk]\npreset = \"fujitsu-mba3073np-73g\"\n\
         [device.volume]\nkind = \"hybrid\"\nchildren = [\"flash\", \"disk\"]\nextent = \"128KiB\"\n\
         capacity = \"16GiB\"\npolicy = {policy}\n\
         [run]\ntarget = \"volume\"\nwarm_up_requests = {}\n",
        requests - 70_000
    );
    let results = run(&Experiment::from_str(&text, "x.toml").unwrap(), &RunOptions::default()).unwrap();
    results.throughput.requests_per_s
}

/// The policy keeps up with fixed splits on devices whose times depend on what they did before, too: flash with a
/// buffer, and a disk.
#[test]
#[expect(clippy::print_stdout, reason = "`--nocapture` shows how near it comes")]
fn it_comes_near_the_best_fixed_split_of_a_drive_and_a_disk() {
    let depths: &[u32] = if esker_testkit::soak() > 1 { &[1, 2, 4, 10, 32] } else { &[4] };
    for &depth in depths {
        let fixed = (0..=9).map(|disk| {
            let policy = format!("{{ kind = \"static-split\", weights = [{}, {disk}] }}", 10 - disk);
            per_s_of_pair(depth, &policy, 130_000)
        });
        let best = fixed.fold(0.0, f64::max);
        let part = |policy: &str| per_s_of_pair(depth, &format!("{{ kind = \"{policy}\" }}"), 400_000) / best;
        let (throughput, wardrop) = (part("throughput"), part("wardrop"));
        println!("{depth} under way: {throughput:.3} of the best fixed split; wardrop {wardrop:.3}");
        assert!(throughput > 0.97, "{depth} under way: {throughput}");
    }
}

/// Requests per second of the last quarter of `requests` requests, on two stations with exponential service times, the
/// second one three times as slow.
fn per_s(processes: u32, policy: &str, requests: u64) -> f64 {
    per_s_with(processes, policy, requests, "")
}

/// [`per_s`] of an experiment with more lines at its end.
fn per_s_with(processes: u32, policy: &str, requests: u64, more: &str) -> f64 {
    let device = |name: &str, micros: u32| {
        format!(
            "[device.{name}]\nkind = \"constant\"\nservice_time = \"{micros}us\"\nservice = \"exponential\"\n\
             capacity = \"1GiB\"\n"
        )
    };
    let text = format!(
        "[workload]\nprocesses = {processes}\nsynthetic = {{ requests = {requests} }}\n{}{}\
         [device.volume]\nkind = \"hybrid\"\nchildren = [\"fast\", \"slow\"]\nextent = \"128KiB\"\n\
         capacity = \"512MiB\"\npolicy = {policy}\n\
         [run]\ntarget = \"volume\"\nwarm_up_requests = {}\n{more}",
        device("fast", 100),
        device("slow", 300),
        requests * 3 / 4
    );
    let results = run(&Experiment::from_str(&text, "x.toml").unwrap(), &RunOptions::default()).unwrap();
    results.throughput.requests_per_s
}

#[test]
#[expect(clippy::print_stdout, reason = "`--nocapture` shows how near it comes")]
fn it_comes_near_the_best_fixed_split() {
    let (processes, requests): (&[u32], _) =
        if esker_testkit::soak() > 1 { (&[1, 2, 4, 10, 32], 4_000_000) } else { (&[2], 800_000) };
    for &processes in processes {
        let fixed = (0..=8).map(|slow| {
            let policy = format!("{{ kind = \"static-split\", weights = [{}, {slow}] }}", 20 - slow);
            per_s(processes, &policy, 200_000)
        });
        let best = fixed.fold(0.0, f64::max);
        let part = |policy: &str| per_s(processes, &format!("{{ kind = \"{policy}\" }}"), requests) / best;
        let (throughput, wardrop) = (part("throughput"), part("wardrop"));
        println!("{processes} processes: {throughput:.3} of the best fixed split; wardrop {wardrop:.3}");
        assert!(throughput > 0.97, "{processes} processes: {throughput}");
    }
}

/// The fast device then does 1,000 requests/s, and the slow one 3,333: it is the fast one that is left.
#[test]
fn a_device_that_has_become_far_slower_is_left() {
    let slows = "[[run.events]]\nat = \"8s\"\ndevice = \"fast\"\nslow = 10\n";
    for policy in ["throughput", "wardrop"] {
        let found = per_s_with(16, &format!("{{ kind = \"{policy}\" }}"), 200_000, slows);
        assert!(found > 3600.0, "{policy}: {found} requests/s");
    }
}
