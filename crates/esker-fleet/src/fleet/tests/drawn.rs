//! Requests that are drawn: the same ones under each balancer, as many as are expected.

use super::{fifty, read, run};

fn drawn() -> crate::fleet::FleetSettings {
    let text = fifty("requests = \"drawn\"\nwrite = \"4MiB\"\n[run]\nduration = \"30d\"\n");
    read(&text)
}

#[test]
fn what_is_drawn_depends_on_the_seed_alone() {
    let settings = drawn();
    let host = |seed, balancer| run(&settings, seed, balancer).written.host_bytes;
    let all = ["none", "ewo", "life"].map(|balancer| host(1, balancer));
    assert!(all.iter().all(|bytes| *bytes == all[0]), "{all:?}");
    assert_ne!(all[0], host(2, "none"));
    assert_eq!(run(&settings, 1, "life"), run(&settings, 1, "life"));
    // 30 days of 80 GiB to two replicas, in writes of 1 MiB, which is an object: 0.1 % is one and a half deviations.
    let expected = 30.0 * 2.0 * 80.0 * f64::from(1 << 30);
    assert!((all[0] / expected - 1.0).abs() < 0.004, "{}", all[0] / expected);
    assert_eq!(all[0] % (2.0 * f64::from(1 << 20)), 0.0, "whole writes to both replicas");
}

/// Where slices are written often, chance does not matter: servers wear as if each were written as expected.
#[test]
fn many_requests_are_as_expected() {
    let text = |requests: &str| {
        let small = format!("requests = \"{requests}\"\nwrite = \"16KiB\"\n[run]\nduration = \"30d\"\n");
        read(&fifty(&small))
    };
    let [drawn, expected] = ["drawn", "expected"].map(|requests| run(&text(requests), 1, "none"));
    let used = |run: &esker_results::fleet::FleetRun| run.snapshots.last().unwrap().life_used_by_server.clone();
    for (one, two) in used(&drawn).iter().zip(used(&expected)) {
        assert!((one - two).abs() < 0.001, "{one} {two}");
    }
}
