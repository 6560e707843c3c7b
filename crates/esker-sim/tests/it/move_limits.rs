//! Limits of what moves to and from each child of a hybrid, on `examples/sleeping-disk.toml`.

use std::path::Path;

use esker_results::RunResults;
use esker_sim::{Experiment, RunOptions, run};

/// The example in short, with these limits.
fn results(limits: &str) -> Result<RunResults, String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sleeping-disk.toml");
    let text = std::fs::read_to_string(file).unwrap();
    let (text, _) = text.split_once("[sweep]").unwrap();
    let text = text.replace("requests = 40_000", "requests = 6_000").replace("requests = 10_000", "requests = 1_000");
    let text = text.replace("extent = \"1MiB\"", &format!("extent = \"1MiB\"\nlimits = {limits}"));
    let experiment = Experiment::from_str(&text, "x.toml").map_err(|error| error.to_string())?;
    run(&experiment, &RunOptions::default()).map_err(|error| error.to_string())
}

/// Starts of the disk, its energy in joules, and how many extents moved.
fn figures(limits: &str) -> (u64, f64, u64) {
    let results = results(limits).unwrap();
    let power = results.devices["disk"].disk.as_ref().unwrap().power.as_ref().unwrap();
    let moved = results.devices["volume"].placement.as_ref().unwrap().moved_extents;
    (power.spin_ups, power.energy_j, moved)
}

#[test]
fn a_disk_that_is_left_asleep_starts_only_for_the_host() {
    let [none, fills, sleeps, both] = [
        "[]",
        "[{ leave_above = \"80%\" }]",
        "[{}, { asleep_after = \"5min\" }]",
        "[{ leave_above = \"80%\" }, { asleep_after = \"5min\" }]",
    ]
    .map(figures);
    let wanted = results("[]").unwrap().requests.read.count;
    assert!(none.0 > wanted && sleeps.0 <= wanted && both.0 <= wanted, "{none:?} {sleeps:?} {both:?} {wanted}");
    assert!(sleeps.1 < 0.9 * none.1, "{none:?} {sleeps:?}");
    assert!(fills.2 < none.2 && both.2 < sleeps.2, "{none:?} {fills:?} {sleeps:?} {both:?}");
}

#[test]
fn impossible_limits_are_named_with_their_place() {
    let said = |limits: &str| results(limits).unwrap_err();
    let place = "x.toml:39:1: device.volume.limits: `limits";
    assert_eq!(said("[{}, {}, {}]"), format!("{place}` has entries for 3 devices; there are 2"));
    assert_eq!(
        said("[{ leave_above = \"100%\" }]"),
        format!("{place}[0].leave_above` is not less than 100%, so nothing could leave the device")
    );
    assert_eq!(
        said("[{}, { asleep_after = \"0s\" }]"),
        format!("{place}[1].asleep_after` is 0, so the device would never be in use")
    );
}
