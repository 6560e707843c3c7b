//! A volume over emulated devices does what its simulation says. That takes minutes of real time on a machine at rest,
//! so that only `make soak` runs it.

mod emulated;
mod rates;

use std::path::Path;

use serde_json::Value;

use crate::support::esker_ok;
use emulated::{Emulated, Running};

const POLICIES: [&str; 4] = ["static-split", "migration", "wardrop", "throughput"];
const DEPTHS: [(u32, u32); 3] = [(1, 2000), (4, 5000), (16, 8000)];

/// What is compared.
#[derive(Clone, Copy, Debug)]
struct Figures {
    mean_us: f64,
    requests_per_s: f64,
    /// Share of the reads and writes that the faster device serves.
    fast: f64,
}

impl Figures {
    /// Of results, and the share of the faster device.
    fn of(results: &Value, fast: f64) -> Self {
        Self {
            mean_us: number(&results["requests"]["all"]["response_time"]["mean_us"]),
            requests_per_s: number(&results["throughput"]["requests_per_s"]),
            fast,
        }
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// A device that takes this long for every request.
fn constant(name: &str, service_time: &str) -> String {
    format!("[device.{name}]\nkind = \"constant\"\nservice_time = \"{service_time}\"\ncapacity = \"96MiB\"\n")
}

fn json(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
}

fn simulated(folder: &Path, policy: &str, (depth, requests): (u32, u32)) -> Figures {
    let text = format!(
        "[workload]\nqueue_depth = {depth}\n[workload.synthetic]\nrequests = {}\nread_fraction = 0.7\n{}{}\
         [device.volume]\nkind = \"hybrid\"\nchildren = [\"fast\", \"slow\"]\n\
         capacity = \"64MiB\"\nextent = \"64KiB\"\n\
         policy = {{ kind = \"{policy}\" }}\n[run]\ntarget = \"volume\"\nwarm_up_requests = {requests}\n",
        2 * requests,
        constant("fast", "500us"),
        constant("slow", "1ms"),
    );
    std::fs::write(folder.join("sim.toml"), text).unwrap();
    esker_ok(folder, &["sim", "sim.toml", "--json=sim.json", "--force"]);
    let results = json(folder, "sim.json");
    Figures::of(&results, number(&results["devices"]["volume"]["children"]["fast"]["share"]))
}

/// Serves a volume over these devices, runs the workload twice, and returns the figures of the second time.
fn live(folder: &Path, policy: &str, devices: &[&Emulated; 2], size: (u32, u32)) -> Figures {
    let place = |device: &Emulated| format!("{}={}", device.name, device.uri());
    let [fast, slow] = devices.map(place);
    let create = ["volume", "create", "live.volume", "--device", &fast, "--device", &slow, "--policy", policy];
    esker_ok(folder, &[&create[..], &["--set", "capacity=64MiB", "--set", "extent=64KiB", "--force"]].concat());
    // Filled by a program of its own: what the policy learns from that load is none of what is simulated.
    replay(folder, "live.volume", (1, 1), &["--fill"]);
    let server = Running::start(folder, &["volume", "serve", "live.volume"]);
    let uri = format!("nbd+unix:///live?socket={}/live.volume.nbd", folder.display());
    replay(folder, &uri, size, &[]);
    let before = devices.map(Emulated::served);
    replay(folder, &uri, size, &["--json=live.json", "--force", "--seed", "2"]);
    let after = devices.map(Emulated::served);
    server.stop();
    let [fast, slow] = [0, 1].map(|index| after[index] - before[index]);
    Figures::of(&json(folder, "live.json"), fast / (fast + slow))
}

fn replay(folder: &Path, uri: &str, (depth, requests): (u32, u32), options: &[&str]) {
    let depth = format!("queue_depth={depth}");
    let synthetic = format!("synthetic={{requests={requests},read_fraction=0.7}}");
    let replay = ["volume", "replay", uri, "--overwrite", "--set", &depth, "--set", &synthetic];
    esker_ok(folder, &[&replay[..], options].concat());
}

/// The time that a request takes over devices without service time.
fn round_trip(folder: &Path) -> f64 {
    let devices = ["free", "idle"].map(|name| Emulated::start(folder, name, &constant(name, "1ns")));
    live(folder, "static-split", &[&devices[0], &devices[1]], (1, 5000)).mean_us
}

#[test]
#[ignore = "minutes of real time, on a machine at rest: make soak"]
#[expect(clippy::print_stdout, reason = "the figures are for docs/performance.md")]
fn a_volume_over_emulated_devices_does_what_its_simulation_says() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let round_trip = round_trip(folder);
    println!("round trip {round_trip:.0} us");
    let fast = Emulated::start(folder, "fast", &constant("fast", "500us"));
    let slow = Emulated::start(folder, "slow", &constant("slow", "1ms"));
    let near = |found: f64, expected: f64| (found / expected - 1.0).abs() <= 0.1;
    let mut wrong = Vec::new();
    for size in DEPTHS {
        let mut order = [Vec::new(), Vec::new()];
        for policy in POLICIES {
            let (expected, found) = (simulated(folder, policy, size), live(folder, policy, &[&fast, &slow], size));
            let mean_us = found.mean_us - round_trip;
            // Depth and mean response fix the rate (Little).
            let requests_per_s = f64::from(size.0) * 1e6 / mean_us;
            println!(
                "{policy:14} depth {:2}: mean {:6.0} and {mean_us:6.0} us, {:5.0} and {:5.0} ({requests_per_s:5.0}) \
                 requests/s, fast {:.3} and {:.3}",
                size.0, expected.mean_us, expected.requests_per_s, found.requests_per_s, expected.fast, found.fast,
            );
            let are_near = near(mean_us, expected.mean_us)
                && near(requests_per_s, expected.requests_per_s)
                && near(found.fast, expected.fast);
            if !are_near {
                wrong.push(format!("{policy} at depth {}: {found:?}, and not {expected:?}", size.0));
            }
            order[0].push(expected.requests_per_s);
            order[1].push(found.requests_per_s);
        }
        // Policies that the simulation tells apart come in its order.
        for (one, other) in (0..POLICIES.len()).flat_map(|one| (0..one).map(move |other| (one, other))) {
            let apart = order[0][one] / order[0][other];
            if !(1.0 / 1.1..=1.1).contains(&apart) && (apart > 1.0) != (order[1][one] > order[1][other]) {
                wrong.push(format!("depth {}: {} and {} change places", size.0, POLICIES[one], POLICIES[other]));
            }
        }
    }
    println!("{}{}", fast.status(), slow.status());
    assert!(wrong.is_empty(), "{wrong:#?}");
}
