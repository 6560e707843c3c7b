//! A volume over emulated devices does what its simulation says. That takes minutes of real time on a machine at rest,
//! so that only `make soak` runs it.

mod awake;
mod emulated;
mod pair;
mod rates;

use std::path::Path;

use serde_json::Value;

use crate::serving::clients::are_installed;
use awake::keep_awake;
use pair::{Figures, Load, Pair};

/// The simulation beforehand.
const SIMULATED: &str = "simulated";

const POLICIES: [&str; 4] = ["static-split", "migration", "wardrop", "throughput"];

/// Requests under way on the pair of constant devices, and how many are measured.
const SIZES: &[(u32, u32)] = &[(1, 5000), (4, 20_000), (16, 40_000)];

/// A run that may be more than a tenth apart, and why.
struct Apart {
    policy: &'static str,
    under_way: u32,
    /// Whether only from the simulation beforehand, which draws other requests.
    from_draw: bool,
    reason: &'static str,
}

/// Runs of the pair of the example.
const APART: &[Apart] = &[draw("wardrop"), draw("throughput")];

const fn draw(policy: &'static str) -> Apart {
    let reason = "simulations of five seeds are 25 % apart: a few extents move in the measured half, or none";
    Apart { policy, under_way: 16, from_draw: true, reason }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The devices `fast` and `slow`, which take these times for every request.
fn constant(fast: &str, slow: &str) -> String {
    let device = |(name, time)| {
        format!("[device.{name}]\nkind = \"constant\"\nservice_time = \"{time}\"\ncapacity = \"96MiB\"\n")
    };
    [("fast", fast), ("slow", slow)].map(device).concat()
}

fn json(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
}

/// Simulates, runs and simulates again what was recorded, for each policy and each of `sizes`: requests under way, and
/// how many are measured. Prints the rows of a table, and returns what is wrong, but for what is known to be `apart`.
#[expect(clippy::print_stdout, reason = "the figures are for docs/performance.md")]
fn compare(pair: &Pair, sizes: &[(u32, u32)], apart: &[Apart]) -> Vec<String> {
    let _awake = keep_awake();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let round_trip = pair.round_trip(folder);
    println!("round trip {round_trip:.0} us");
    let devices = pair.emulate(folder);
    let near = |found: f64, expected: f64| (found / expected - 1.0).abs() <= 0.1;
    let mut wrong = Vec::new();
    for &size in sizes {
        let depth = size.0;
        let mut all = Vec::new();
        for policy in POLICIES {
            let expected = pair.simulated(folder, policy, size);
            let measured = pair.live(folder, policy, &devices, size);
            let again = pair.replayed(folder, policy, size);
            let mean_us = measured.mean_us - round_trip;
            // Depth and mean response fix the rate (Little).
            let found = Figures { mean_us, requests_per_s: f64::from(depth) * 1e6 / mean_us, ..measured };
            let row = |what: fn(&Figures) -> f64, digits: usize| {
                let [expected, found, again] = [expected, found, again].map(|figures| what(&figures));
                format!("{expected:.digits$}, live {found:.digits$}, its trace {again:.digits$}")
            };
            println!(
                "| `{policy}` | {depth} | {} | {} | {} |",
                row(|figures| figures.mean_us, 0),
                row(|figures| figures.requests_per_s, 0),
                row(|figures| figures.first, 3),
            );
            for (other, what) in [(expected, SIMULATED), (again, "the trace of it, simulated")] {
                let is_near = near(found.mean_us, other.mean_us)
                    && near(found.requests_per_s, other.requests_per_s)
                    && near(found.first, other.first);
                let is_this = |one: &&Apart| {
                    (one.policy, one.under_way) == (policy, depth) && (!one.from_draw || what == SIMULATED)
                };
                match apart.iter().find(is_this) {
                    _ if is_near => {}
                    Some(Apart { reason, .. }) => println!("not within a tenth of {what}: {reason}"),
                    None => wrong.push(format!("{policy} at depth {depth}: live {found:?}, {what} {other:?}")),
                }
            }
            all.push((policy, expected.requests_per_s, found.requests_per_s));
        }
        wrong.extend(changed_places(depth, &all));
    }
    for device in devices {
        println!("{}", device.status());
    }
    wrong
}

/// Policies that the simulation tells apart, and that come in another order live.
fn changed_places(depth: u32, rates: &[(&str, f64, f64)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (index, (one, expected, found)) in rates.iter().enumerate() {
        for (other, other_expected, other_found) in &rates[..index] {
            let apart = expected / other_expected;
            if !(1.0 / 1.1..=1.1).contains(&apart) && (apart > 1.0) != (found > other_found) {
                wrong.push(format!("depth {depth}: {one} and {other} change places"));
            }
        }
    }
    wrong
}

#[test]
#[ignore = "minutes of real time, on a machine at rest: make soak"]
fn a_volume_over_emulated_devices_does_what_its_simulation_says() {
    let wrong = compare(&Pair::constant(), SIZES, &[]);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
#[ignore = "minutes of real time, on a machine at rest: make soak"]
fn a_volume_under_fio_does_what_its_simulation_says() {
    if !are_installed(&["fio"]) {
        return;
    }
    let pair = Pair { load: Load::Fio, ..Pair::constant() };
    let one = |policy, reason| Apart { policy, under_way: 1, from_draw: false, reason };
    let edge = "an extent moves if requests take more than twice as long, and they take twice as long";
    let mut apart = vec![one("migration", edge)];
    if keep_awake().is_none() {
        apart.extend(POLICIES.map(|policy| one(policy, "processors that sleep between two requests wake up late")));
    }
    let wrong = compare(&pair, SIZES, &apart);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
#[ignore = "minutes of real time, on a machine at rest: make soak"]
fn a_volume_over_the_pair_of_the_example_does_what_its_simulation_says() {
    let wrong = compare(&Pair::of_wu("256MiB"), &[(1, 10_000), (4, 20_000), (16, 20_000)], APART);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The way of the tests above in short: what it says of time depends on the machine, and is not looked at.
#[test]
fn a_volume_over_the_pair_of_the_example_serves_from_both_devices_as_its_simulation() {
    let folder = tempfile::tempdir().unwrap();
    let (pair, size) = (Pair::of_wu("64MiB"), (4, 500));
    let devices = pair.emulate(folder.path());
    let live = pair.live(folder.path(), "static-split", &devices, size);
    let again = pair.replayed(folder.path(), "static-split", size);
    assert!(again.first > 0.3 && (live.first - again.first).abs() < 0.02, "{live:?} {again:?}");
}
