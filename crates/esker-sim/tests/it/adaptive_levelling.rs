//! A policy of a hybrid has its flash pause wear-levelling: what it asks for reaches the drive while requests are under
//! way.

use esker_results::RunResults;
use esker_sim::{Experiment, RunOptions};

/// 500 requests a second for two minutes on a store with 8 MiB of flash, of which some are never written. At this rate
/// the flash lasts some hours. Levelling begins after the first twenty seconds, in which the policy has seen that.
fn run(wear: &str, policy: &str) -> RunResults {
    let file = format!(
        r#"
[workload.synthetic]
requests = 60_000
read_fraction = "10%"
size = "4KiB"
footprint = "4MiB"
address = {{ kind = "hot-cold", hot_share = "25%", hot_accesses = "98%" }}
arrivals = {{ kind = "fixed", rate = "500/s" }}

[device.flash]
preset = "kim-slc-32g"
geometry = {{ blocks_per_plane = 64 }}
endurance_cycles = 10_000
precondition = "filled"
utilisation = "60%"
{wear}

[device.disk]
preset = "ibm-ultrastar-36z15"

[device.store]
kind = "hybrid"
children = ["flash", "disk"]
extent = "4KiB"
capacity = "4MiB"
policy = {{ kind = "mixdyn", training = 500, prolonged = "10s", {policy} }}

[run]
target = "store"
"#
    );
    let experiment = Experiment::from_str(&file, "store.toml").unwrap();
    esker_sim::run(&experiment, &RunOptions::default()).unwrap()
}

/// Blocks that were erased only to level wear, and all erases.
fn erases(results: &RunResults) -> (u64, u64) {
    let flash = results.devices["flash"].flash.as_ref().unwrap();
    (flash.wear.unwrap().migrated_blocks, flash.erases)
}

#[test]
fn levelling_pauses_while_the_flash_would_not_last() {
    for levelling in [r#""static", spread = 15"#, r#""migration", retirement_age = "99.85%""#] {
        let wear = format!("wear = {{ levelling = {levelling} }}");
        let normal = erases(&run(&wear, ""));
        assert!(normal.0 > 20 && normal.1 > 1_000, "{levelling}: {normal:?}");
        let paused = erases(&run(&wear, r#"life = "1y", regulate = "levelling""#));
        assert_eq!(paused.0, 0, "{levelling}");
        assert!(paused.1 > 1_000, "{levelling}: {paused:?}");
        // A life that the flash reaches anyway.
        let kept = erases(&run(&wear, r#"life = "10s", regulate = "levelling""#));
        assert_eq!(kept, normal, "{levelling}");
    }
}

/// The flash answers that it does not know the command, and everything goes on as without it.
#[test]
fn flash_that_levels_nothing_is_not_disturbed() {
    for wear in ["", r#"wear = { levelling = "rate-limit" }"#] {
        let [plain, adaptive] = ["", r#"life = "1y", regulate = "levelling""#].map(|policy| run(wear, policy));
        assert_eq!(plain.requests, adaptive.requests, "{wear}");
        assert_eq!(plain.devices, adaptive.devices, "{wear}");
    }
}
