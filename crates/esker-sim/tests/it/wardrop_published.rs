//! The policy `wardrop-published`: how near the published constants of equation 3.1 come to an equilibrium, beside
//! `wardrop`.

use esker_sim::{Experiment, RunOptions, run};

/// How the second half of a run ended.
#[derive(Debug)]
struct Found {
    /// Mean response times of both devices and of all requests, us.
    means: [f64; 2],
    all: f64,
    /// Moved bytes per byte of the host.
    moved: f64,
}

impl Found {
    /// By how much the slower device is slower than the other.
    fn apart(&self) -> f64 {
        let [one, other] = self.means;
        one.max(other) / one.min(other) - 1.0
    }
}

/// Runs `policy` on two stations with exponential service times of 100 and 200 us, at 75 % of the rate that they can
/// serve; 1 GiB in extents of 128 KiB, requests of 4 KiB. At first, each station has a share of the extents in
/// proportion to its rate.
fn second_half(policy: &str) -> Found {
    let requests = if esker_testkit::soak() > 1 { 10_000_000 } else { 1_500_000 };
    let device = |name: &str, micros: u32| {
        format!(
            "[device.{name}]\nkind = \"constant\"\nservice_time = \"{micros}us\"\nservice = \"exponential\"\n\
             capacity = \"1GiB\"\nqueue_depth = 10000\n"
        )
    };
    let text = format!(
        "[workload]\n\
         synthetic.requests = {requests}\n\
         synthetic.arrivals = {{ kind = \"poisson\", rate = \"11250/s\" }}\n\
         {}{}\
         [device.volume]\nkind = \"hybrid\"\nchildren = [\"fast\", \"slow\"]\n\
         extent = \"128KiB\"\ncapacity = \"1GiB\"\n\
         policy = {{ {policy}, weights = [100, 50] }}\n\
         [run]\ntarget = \"volume\"\nwarm_up_requests = {}\n",
        device("fast", 100),
        device("slow", 200),
        requests / 2
    );
    let results = run(&Experiment::from_str(&text, "x.toml").unwrap(), &RunOptions::default()).unwrap();
    let volume = &results.devices["volume"];
    let bytes = results.workload.read_bytes + results.workload.write_bytes;
    Found {
        means: ["fast", "slow"].map(|name| volume.children[name].response_time.mean_us),
        all: results.requests.all.response_time.mean_us,
        moved: volume.placement.as_ref().unwrap().moved_bytes as f64 / bytes as f64,
    }
}

/// A short period moves as much as the host writes and reads, which slows all requests down; a long one is still far
/// from equal after two minutes. `wardrop` moves next to nothing.
#[test]
#[expect(clippy::print_stdout, reason = "`--nocapture` shows how near it comes")]
fn the_published_constants_move_much_or_take_long() {
    let ours = second_half("kind = \"wardrop\"");
    println!("wardrop: {ours:?}, {:.3} apart", ours.apart());
    assert!(ours.apart() < 0.1 && ours.moved < 0.01, "{ours:?}");
    let by_period = ["10ms", "100ms", "1s", "10s"].map(|period| {
        let found = second_half(&format!("kind = \"wardrop-published\", period = \"{period}\""));
        println!("published, {period}: {found:?}, {:.3} apart", found.apart());
        found
    });
    let [shortest, short, second, long] = &by_period;
    assert!(shortest.moved > 1.0 && short.moved > 0.3, "{shortest:?} {short:?}");
    assert!(shortest.all > 1.5 * ours.all && short.all > 1.15 * ours.all, "{shortest:?} {short:?}");
    assert!(second.moved > 0.03, "{second:?}");
    // Ten million requests are a quarter of an hour.
    let expected = if esker_testkit::soak() > 1 { 0.0..0.1 } else { 0.2..1.0 };
    assert!(long.moved < 0.02 && expected.contains(&long.apart()), "{long:?}");
}

/// Measuring starts when the host's requests have ended, and a copy may then still be under way on a drive.
#[test]
fn measuring_may_start_during_a_copy() {
    let policy = "kind = \"wardrop-published\", period = \"2ms\", background = false";
    let mut moved = 0;
    for warm_up in 300..340 {
        let text = format!(
            "[workload]\nqueue_depth = 4\nsynthetic = {{ requests = 600, size = \"64KiB\", footprint = \"16MiB\" }}\n\
             [device.flash]\npreset = \"transcend-ts16gssd25s-16g\"\n\
             [device.slow]\nkind = \"constant\"\nservice_time = \"200us\"\ncapacity = \"1GiB\"\n\
             [device.volume]\nkind = \"hybrid\"\nchildren = [\"flash\", \"slow\"]\nextent = \"128KiB\"\n\
             capacity = \"64MiB\"\npolicy = {{ {policy} }}\n\
             [run]\ntarget = \"volume\"\nwarm_up_requests = {warm_up}\n"
        );
        let results = run(&Experiment::from_str(&text, "x.toml").unwrap(), &RunOptions::default()).unwrap();
        moved += results.devices["volume"].placement.as_ref().unwrap().moved_extents;
        let classes = &results.requests;
        assert_eq!(classes.all.count, 600 - warm_up);
    }
    assert!(moved > 40, "{moved} extents");
}
