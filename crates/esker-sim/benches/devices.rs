//! Requests per second of processor time through the devices of this crate, over constant-time children.

use esker_core::{Arrival, Completion, Device, Lba, Nanos, Observer, ReplaySettings, Request, Rng, Verdict, replay};
use esker_sim::{Experiment, RunOptions, run_workload};
use esker_testkit::Bench;

const REQUESTS: u64 = 2_000_000;

struct Nothing;
impl<D: ?Sized> Observer<D> for Nothing {
    fn completed(&mut self, _: Nanos, _: &Request, _: &Completion) -> Verdict {
        Verdict::Continue
    }
}

fn experiment(devices: &str) -> Experiment {
    let text = format!(
        r#"
[workload]
synthetic = {{ requests = {REQUESTS}, size = "4KiB" }}
queue_depth = 32

[device.a]
kind = "constant"
service_time = "100us"
servers = 8
capacity = "16GiB"

[device.b]
kind = "constant"
service_time = "100us"
servers = 8
capacity = "16GiB"

{devices}

[run]
target = "d"
"#
    );
    Experiment::from_str(&text, "bench").unwrap()
}

/// Random 4 KiB requests, half of them writes, made so that drawing them costs next to nothing.
fn arrivals(device: &dyn Device) -> impl Iterator<Item = Arrival> + use<> {
    let (mut rng, pages) = (Rng::new(1), device.capacity().0 / 4096);
    (0..REQUESTS).map(move |_| {
        let draw = rng.below(2 * pages);
        let (start, length) = (Lba(draw / 2 * 8), esker_core::Bytes::kib(4));
        let request = if draw % 2 == 0 { Request::read(start, length) } else { Request::write(start, length) };
        Arrival { at: Nanos::ZERO, request }
    })
}

fn main() {
    let devices = [
        ("constant", "[device.d]\nkind = \"constant\"\nservice_time = \"100us\"\nservers = 8\ncapacity = \"16GiB\""),
        ("RAID-0 of two", "[device.d]\nkind = \"array\"\nlevel = \"0\"\nchildren = [\"a\", \"b\"]"),
        (
            "hybrid of two, static split",
            "[device.d]\n\
            kind = \"hybrid\"\n\
            children = [\"a\", \"b\"]\n\
            capacity = \"8GiB\"\n\
            policy = { kind = \"static-split\", weights = [3, 1] }",
        ),
    ];
    for (name, table) in devices {
        let experiment = experiment(table);
        Bench::new(format!("{name}, closed loop of 32, 4 KiB")).rate_with_setup(
            "requests",
            || experiment.assemble().unwrap().device,
            |mut device| {
                let arrivals = arrivals(&*device);
                replay(&mut *device, arrivals, &ReplaySettings::closed(32), &mut Nothing).unwrap().completed
            },
        );
    }
    // With everything around it: made-up requests, statistics, results.
    let experiment = experiment(devices[0].1);
    let workload = experiment.open_workload(&std::sync::atomic::AtomicBool::new(false)).unwrap();
    Bench::new("constant, a whole run with statistics")
        .rate("requests", || run_workload(&experiment, &workload, &RunOptions::default()).unwrap().workload.requests);
}
