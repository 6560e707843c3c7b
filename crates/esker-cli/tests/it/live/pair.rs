//! Pairs of devices below a volume, simulated and live.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::emulated::{Emulated, Running};
use super::{constant, json, number};
use crate::support::esker_ok;

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    pub(super) mean_us: f64,
    pub(super) requests_per_s: f64,
    /// Share of the reads and writes that the first device serves.
    pub(super) first: f64,
}

impl Figures {
    /// Of results, and the share of the first device.
    fn of(results: &Value, first: f64) -> Self {
        Self {
            mean_us: number(&results["requests"]["all"]["response_time"]["mean_us"]),
            requests_per_s: number(&results["throughput"]["requests_per_s"]),
            first,
        }
    }
}

/// An experiment with a hybrid of two devices, its target `volume`, whose devices keep its map as those of a volume
/// do. Each run is measured in the second half of its requests.
#[derive(Clone)]
pub(super) struct Pair {
    pub(super) experiment: toml::Table,
    /// What makes the live load.
    pub(super) load: Load,
}

/// What makes a live load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// `esker volume replay`, with the workload of the experiment.
    Replay,
    /// fio: 4 KiB anywhere in 64 MiB, 70 % reads.
    Fio,
}

/// Sets the value of the last key, below the tables of the others.
fn set(mut table: &mut toml::Table, keys: &[&str], value: impl Into<toml::Value>) {
    let (last, above) = keys.split_last().unwrap();
    for key in above {
        table = table[*key].as_table_mut().unwrap();
    }
    table.insert((*last).to_string(), value.into());
}

impl Pair {
    /// Two devices of constant service times.
    pub(super) fn constant() -> Self {
        let text = format!(
            "[workload]\n[workload.synthetic]\nread_fraction = 0.7\n{}[device.volume]\nkind = \"hybrid\"\n\
             children = [\"fast\", \"slow\"]\ncapacity = \"64MiB\"\nextent = \"64KiB\"\n\
             journal = true\n[run]\ntarget = \"volume\"\n",
            constant("500us", "1ms")
        );
        Self { experiment: text.parse().unwrap(), load: Load::Replay }
    }

    /// The pair of `examples/wu-pair.toml`, below a volume of this capacity.
    pub(super) fn of_wu(capacity: &str) -> Self {
        let mut experiment: toml::Table = include_str!("../../../../../examples/wu-pair.toml").parse().unwrap();
        experiment.remove("sweep");
        set(&mut experiment, &["device", "volume", "capacity"], capacity);
        set(&mut experiment, &["device", "volume", "journal"], true);
        Self { experiment, load: Load::Replay }
    }

    /// The same with devices that take no time.
    fn without_service_time(&self) -> Self {
        let mut idle = self.clone();
        set(&mut idle.experiment, &["device", "volume", "capacity"], "64MiB");
        for name in self.names() {
            let text = "kind = \"constant\"\nservice_time = \"1ns\"\ncapacity = \"1GiB\"\n";
            set(&mut idle.experiment, &["device", name], text.parse::<toml::Table>().unwrap());
        }
        idle
    }

    /// The devices, in the order of the volume.
    fn names(&self) -> [&str; 2] {
        let children = &self.experiment["device"]["volume"]["children"];
        [0, 1].map(|index| children[index].as_str().unwrap())
    }

    /// Emulates both devices.
    pub(super) fn emulate(&self, folder: &Path) -> [Emulated; 2] {
        let experiment = self.with("static-split", (1, 1));
        std::fs::write(folder.join("devices.toml"), experiment.to_string()).unwrap();
        Emulated::pair(folder, "devices.toml", self.names())
    }

    /// The experiment with this policy, this many requests under way, and this many measured.
    fn with(&self, policy: &str, (depth, requests): (u32, u32)) -> toml::Table {
        let mut experiment = self.experiment.clone();
        set(&mut experiment, &["workload", "queue_depth"], i64::from(depth));
        set(&mut experiment, &["workload", "synthetic", "requests"], 2 * i64::from(requests));
        set(
            &mut experiment,
            &["device", "volume", "policy"],
            toml::Table::from_iter([("kind".to_string(), policy.into())]),
        );
        set(&mut experiment, &["run", "warm_up_requests"], i64::from(requests));
        experiment
    }

    /// What `esker sim` says beforehand.
    pub(super) fn simulated(&self, folder: &Path, policy: &str, size: (u32, u32)) -> Figures {
        self.simulate(folder, &self.with(policy, size))
    }

    /// What `esker sim` says of the recording of the last live run, as many of its requests always under way. Its
    /// flushes are left out: they come between the two passes, where nothing is measured.
    pub(super) fn replayed(&self, folder: &Path, policy: &str, size: (u32, u32)) -> Figures {
        let mut experiment = self.with(policy, size);
        experiment["workload"].as_table_mut().unwrap().remove("synthetic");
        set(&mut experiment, &["workload", "trace"], "live.esker");
        let operations = toml::Value::Array(vec!["read".into(), "write".into()]);
        set(&mut experiment, &["workload", "filter"], toml::Table::from_iter([("operations".to_string(), operations)]));
        self.simulate(folder, &experiment)
    }

    fn simulate(&self, folder: &Path, experiment: &toml::Table) -> Figures {
        std::fs::write(folder.join("sim.toml"), experiment.to_string()).unwrap();
        esker_ok(folder, &["sim", "sim.toml", "--json=sim.json", "--force"]);
        let results = json(folder, "sim.json");
        Figures::of(&results, number(&results["devices"]["volume"]["children"][self.names()[0]]["share"]))
    }

    /// Serves a volume over these devices, runs the workload twice, and returns the figures of the second time. All of
    /// it is recorded.
    pub(super) fn live(&self, folder: &Path, policy: &str, devices: &[Emulated; 2], size: (u32, u32)) -> Figures {
        let places = devices.each_ref().map(|device| format!("{}={}", device.name, device.uri()));
        let volume = &self.experiment["device"]["volume"];
        let settings = ["capacity", "extent"].map(|key| format!("{key}={}", volume[key].as_str().unwrap()));
        let create = ["volume", "create", "live.volume", "--device", &places[0], "--device", &places[1], "--force"];
        let with = ["--policy", policy, "--set", &settings[0], "--set", &settings[1]];
        esker_ok(folder, &[&create[..], &with].concat());
        // Filled by a program of its own: what the policy learns from that load is none of what is simulated.
        self.replay(folder, "live.volume", (1, 1), &["--fill"]);
        let server = Running::start(folder, &["volume", "serve", "live.volume", "--record", "live.esker", "--force"]);
        let uri = format!("nbd+unix:///live?socket={}/live.volume.nbd", folder.display());
        self.load(folder, &uri, size, 1);
        let before = devices.each_ref().map(Emulated::served);
        let (mean_us, requests_per_s) = self.load(folder, &uri, size, 2);
        let after = devices.each_ref().map(Emulated::served);
        server.stop();
        let [first, second] = [0, 1].map(|index| after[index] - before[index]);
        Figures { mean_us, requests_per_s, first: first / (first + second) }
    }

    /// Puts the load on what is served at `uri`. Returns its mean response in us, and its requests a second.
    fn load(&self, folder: &Path, uri: &str, size: (u32, u32), seed: u32) -> (f64, f64) {
        if self.load == Load::Fio {
            return fio(uri, size, seed);
        }
        self.replay(folder, uri, size, &["--json=live.json", "--force", "--seed", &seed.to_string()]);
        let Figures { mean_us, requests_per_s, .. } = Figures::of(&json(folder, "live.json"), 0.0);
        (mean_us, requests_per_s)
    }

    fn replay(&self, folder: &Path, uri: &str, (depth, requests): (u32, u32), options: &[&str]) {
        let depth = format!("queue_depth={depth}");
        let mut synthetic = self.experiment["workload"]["synthetic"].as_table().unwrap().clone();
        set(&mut synthetic, &["requests"], i64::from(requests));
        let synthetic = format!("synthetic={}", toml::Value::Table(synthetic));
        let replay = ["volume", "replay", uri, "--overwrite", "--set", &depth, "--set", &synthetic];
        esker_ok(folder, &[&replay[..], options].concat());
    }

    /// The time that a request takes over devices without service time, in us.
    pub(super) fn round_trip(&self, folder: &Path) -> f64 {
        let idle = self.without_service_time();
        let devices = idle.emulate(folder);
        idle.live(folder, "static-split", &devices, (1, 5000)).mean_us
    }
}

/// Has fio put its load on what is served at `uri`. Returns its mean response in us, and its requests a second.
fn fio(uri: &str, (depth, requests): (u32, u32), seed: u32) -> (f64, f64) {
    let own = [
        format!("--uri={uri}"),
        format!("--iodepth={depth}"),
        format!("--number_ios={requests}"),
        format!("--randseed={seed}"),
    ];
    // Less would be done otherwise: a pass over the size, each block once.
    let load = ["--rw=randrw", "--rwmixread=70", "--bs=4k", "--size=64m", "--norandommap", "--io_size=1t"];
    let mut fio = Command::new("fio");
    fio.args(["--name=load", "--ioengine=nbd", "--output-format=json"]).args(load).args(own);
    let output = fio.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // The engine says first that it has connected.
    let shown = String::from_utf8(output.stdout).unwrap();
    let results: Value = serde_json::from_str(&shown[shown.find('{').unwrap()..]).unwrap();
    let job = &results["jobs"][0];
    let [reads, writes] = ["read", "write"].map(|kind| {
        let of = &job[kind];
        (number(&of["total_ios"]), number(&of["lat_ns"]["mean"]), number(&of["iops"]))
    });
    assert_eq!(reads.0 + writes.0, f64::from(requests), "fio did another number of requests");
    let mean_ns = (reads.0 * reads.1 + writes.0 * writes.1) / (reads.0 + writes.0);
    (mean_ns / 1e3, reads.2 + writes.2)
}
