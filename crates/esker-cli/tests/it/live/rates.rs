//! What a pair of emulated devices gives: 2,000 and 1,000 requests a second, 64 MiB that are all hot, depth 16. A cache
//! of the faster one in front of the other stops at 2,050 reads a second; stations with exponential service times
//! would give 2,824.

use std::path::Path;
use std::time::Duration;

use esker_core::Nanos;
use esker_volume::{Clock, SystemClock};
use serde_json::Value;

use super::constant;
use super::emulated::{Emulated, Running};
use crate::support::{command, esker_ok};

const POLICIES: [&str; 2] = ["wardrop", "throughput"];
/// Seconds over which rates are taken.
const WINDOW: usize = 10;

/// A volume over both devices that is served, and how many requests it had answered at each second.
struct Observed<'a> {
    folder: &'a Path,
    clock: SystemClock,
    answered: Vec<(Nanos, u64)>,
}

impl<'a> Observed<'a> {
    fn new(folder: &'a Path) -> Self {
        Self { folder, clock: SystemClock::start(), answered: Vec::new() }
    }

    fn look(&mut self) {
        let shown = esker_ok(self.folder, &["volume", "status", "live.volume", "--json"]).stdout;
        let status: Value = serde_json::from_str(&shown).unwrap();
        let requests = ["reads", "writes"].map(|kind| status["requests"][kind].as_u64().unwrap());
        self.answered.push((self.clock.now(), requests.iter().sum()));
    }

    /// Looks once a second, until `done` says that it is enough or this many seconds are over.
    fn watch(&mut self, seconds: usize, mut done: impl FnMut(&Self) -> bool) -> bool {
        self.answered.clear();
        self.look();
        for _ in 0..seconds {
            std::thread::sleep(Duration::from_secs(1));
            self.look();
            if done(self) {
                return true;
            }
        }
        false
    }

    /// Requests/s in each window that ends at a look.
    fn rates(&self) -> Vec<f64> {
        let rate = |window: &[(Nanos, u64)]| {
            let ((begin, before), (end, after)) = (window[0], window[window.len() - 1]);
            (after - before) as f64 / (end - begin).as_secs_f64()
        };
        self.answered.windows(WINDOW + 1).map(rate).collect()
    }

    fn last_rate(&self) -> f64 {
        self.rates().last().copied().unwrap_or(0.0)
    }
}

/// A load of 16 requests under way, until it is dropped.
struct Load(std::process::Child);

impl Load {
    fn start(folder: &Path, reads: f64) -> Self {
        let uri = format!("nbd+unix:///live?socket={}/live.volume.nbd", folder.display());
        let synthetic = format!("synthetic={{requests=100000000,read_fraction={reads}}}");
        let replay = ["volume", "replay", &uri, "--overwrite", "--depth", "16", "--set", &synthetic, "--quiet"];
        Self(command(folder, &replay).spawn().unwrap())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A volume on the slower device alone, full, which the faster one has just joined; served.
fn cold(folder: &Path, policy: &str, [fast, slow]: [&Emulated; 2]) -> Running {
    let place = |device: &Emulated| format!("{}={}", device.name, device.uri());
    let create = ["volume", "create", "live.volume", "--device", &place(slow), "--policy", policy, "--force"];
    esker_ok(folder, &[&create[..], &["--set", "capacity=64MiB", "--set", "extent=64KiB"]].concat());
    let fill = ["--fill", "--overwrite", "--set", "synthetic={requests=1}"];
    esker_ok(folder, &[&["volume", "replay", "live.volume"], &fill[..]].concat());
    esker_ok(folder, &["volume", "add-device", "live.volume", "--device", &place(fast), "--force"]);
    Running::start(folder, &["volume", "serve", "live.volume"])
}

#[test]
#[ignore = "minutes of real time, on a machine at rest: make soak"]
#[expect(clippy::print_stdout, reason = "the figures are for docs/performance.md")]
fn both_devices_serve_from_a_cold_start_and_after_one_was_slow() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("devices.toml"), constant("500us", "1ms")).unwrap();
    let [fast, slow] = Emulated::pair(folder, "devices.toml", ["fast", "slow"]);
    let mut wrong = Vec::new();
    let mut expect = |is_right: bool, text: String| {
        println!("{text}");
        if !is_right {
            wrong.push(text);
        }
    };
    for policy in POLICIES {
        let server = cold(folder, policy, [&fast, &slow]);
        let mut observed = Observed::new(folder);
        let load = Load::start(folder, 1.0);
        let is_warm = observed.watch(300, |observed| observed.last_rate() >= 2700.0);
        let least = observed.rates().into_iter().fold(f64::INFINITY, f64::min);
        let after = observed.answered.len() - 1;
        expect(is_warm && least >= 950.0, format!("{policy}: cold, {least:.0} reads/s at least; warm after {after} s"));
        observed.watch(30, |_| false);
        let rate = observed.last_rate();
        expect(rate >= 2700.0, format!("{policy}: warm, {rate:.0} reads/s"));
        fast.operate(&["slow", "10"]);
        observed.watch(60, |_| false);
        let rate = observed.last_rate();
        fast.operate(&["slow", "1"]);
        let is_back = observed.watch(300, |observed| observed.last_rate() >= 2700.0);
        let after = observed.answered.len() - 1;
        expect(is_back, format!("{policy}: {rate:.0} reads/s while the fast device was slow; back {after} s later"));
        drop(load);
        for (reads, kind) in [(0.0, "writes"), (0.7, "70 % reads")] {
            let _load = Load::start(folder, reads);
            observed.watch(40, |_| false);
            let rate = observed.last_rate();
            expect(rate >= 2500.0, format!("{policy}: {kind}, {rate:.0} requests/s"));
        }
        server.stop();
    }
    println!("{}{}", fast.status(), slow.status());
    assert!(wrong.is_empty(), "{wrong:#?}");
}
