//! Servers that join, are drained, wear out and are replaced; the same bytes for the same seed.

use esker_core::jobs;

use super::super::copies::Cause;
use super::{Simulation, fifty, named, read, run};

const EVENTS: &str = "[copies]\nrate = \"10kB/s\"\nserver_rate = \"6kB/s\"\nbalancing_per_day = \"2GiB\"\n\
    [failures]\nannual_rate = \"60%\"\n[replacement]\nafter = \"3d\"\n[run]\nduration = \"200d\"\n\
    [[event]]\nat = \"20d\"\nevery = \"40d\"\nkind = \"join\"\ngroup = \"a\"\ncount = 2\n\
    [[event]]\nat = \"30d\"\nevery = \"45d\"\nkind = \"drain\"\ngroup = \"a\"\n";

/// The same bytes for the same seed, on any number of threads.
#[test]
fn the_same_seed_gives_the_same_results_on_any_number_of_threads() {
    let settings = read(&fifty(EVENTS));
    let names = ["none", "edm-like", "ewo", "life"];
    let on = |threads: usize| jobs::collect(threads, names.len(), |at| run(&settings, 5, names[at]));
    let alone = on(1);
    assert_eq!(alone, on(1));
    assert_eq!(alone, on(4));
    assert_ne!(alone[3], run(&settings, 6, "life"));
    let life = &alone[3];
    assert!(life.counts.failed > 5 && life.counts.replaced > 5 && life.counts.moves > 0, "{:?}", life.counts);
    for other in &alone {
        assert_eq!(other.counts.failed, life.counts.failed, "the same servers fail under each balancer");
    }
}

/// Every rule holds after each step, whatever happens to servers and whoever balances.
#[test]
fn places_room_and_loads_agree_at_every_step() {
    let settings = read(&fifty(EVENTS));
    for name in ["edm-like", "ewo", "life"] {
        let mut simulation = Simulation::new(&settings, 1, &named(name)).unwrap();
        let mut causes = [0; 3];
        for _ in 0..200 {
            simulation.step().unwrap();
            simulation.place.check();
            for (count, cause) in causes.iter_mut().zip([Cause::Rebuild, Cause::Member, Cause::Balance]) {
                *count += simulation.place.moving(cause);
            }
        }
        assert!(causes.iter().all(|count| *count > 20), "{name}: {causes:?}");
    }
}

/// A server that is drained is empty in the end, and what is written is what hosts write and what is copied.
#[test]
fn a_drained_server_leaves_and_life_is_used_by_hosts_and_copies() {
    let settings = read(&fifty(
        "written_objects = \"50%\"\n[run]\nduration = \"9d\"\n[[event]]\nat = \"2d\"\nkind = \"drain\"\nserver = 4\n\
         [[event]]\nat = \"3d\"\nkind = \"join\"\ngroup = \"a\"\n",
    ));
    let result = run(&settings, 2, "none");
    assert_eq!((result.servers.len(), result.servers[4].replicas), (51, 0));
    assert!(result.servers[4].left_ns.is_some() && result.servers[50].replicas > 20);
    // 80 GiB a day on two replicas each. Copies: what is never written of 40 slices that leave, and of those that come.
    assert!((result.written.host_bytes / (1440u64 << 30) as f64 - 1.0).abs() < 1e-6);
    assert!(result.written.member_bytes > 2000 << 20, "{:?}", result.written);
    let used: f64 = result
        .servers
        .iter()
        .zip(&result.snapshots.last().unwrap().life_used_by_server)
        .map(|(server, used)| (used - server.life_used_before) * server.rated_bytes as f64)
        .sum();
    let written = result.written.host_bytes + result.written.member_bytes as f64;
    assert!((used / written - 1.0).abs() < 1e-3, "{used} of {written}");
}

/// A server that has used up its life is replaced: it is drained once the new one is there.
#[test]
fn worn_out_servers_are_replaced() {
    let settings = read(
        &fifty("[replacement]\nafter = \"5d\"\n[run]\nduration = \"400d\"\n")
            .replace("drive_writes_per_day = 1", "endurance = \"2TB\""),
    );
    let result = run(&settings, 4, "none");
    assert!(result.counts.worn_out > 5, "{:?}", result.counts);
    let arrived = result.counts.replaced;
    assert!(arrived > 0 && arrived <= result.counts.worn_out && result.counts.joined == arrived);
    let left = result.servers.iter().filter(|server| server.left_ns.is_some() && !server.failed).count() as u64;
    assert!(left > 0 && left <= arrived, "{left} of {arrived}");
    assert_eq!(result.counts.slices_lost, 0);
    // Before servers are replaced, the first one wears out as its share of the bound says.
    let (first, bound) = (result.first_worn_out_ns.unwrap(), result.bound_ns.unwrap());
    assert!((result.share_of_bound.unwrap() - first as f64 / bound as f64).abs() < 1e-9 && first < bound);
}
