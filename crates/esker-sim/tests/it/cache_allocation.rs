//! Caches that choose how much of the flash their lines take.

use std::path::Path;

use esker_results::RunResults;
use esker_sim::{Experiment, RunOptions, run};

/// Addresses of the stand-ins.
const WORKLOADS: [(&str, &str); 4] = [
    ("hot", "footprint = \"1GiB\", address = { kind = \"hot-cold\", hot_share = \"2%\", hot_accesses = \"95%\" }"),
    ("zipf", "footprint = \"512MiB\", address = { kind = \"zipf\", exponent = 0.9 }"),
    ("steep", "footprint = \"512MiB\", address = { kind = \"zipf\", exponent = 1.2 }"),
    ("uniform", "footprint = \"96MiB\""),
];

/// Writes of 4 KiB, one at a time, to a write cache on a flash drive in front of a disk of 5 ms. `keys` are more keys
/// of the cache.
fn text(requests: u64, addresses: &str, keys: &str) -> String {
    format!(
        "[workload]\nqueue_depth = 1\n\
         synthetic = {{ requests = {requests}, read_fraction = 0.0, size = \"4KiB\", alignment = \"4KiB\", \
         {addresses} }}\n\
         [device.flash]\nkind = \"ssd\"\npreset = \"samsung-k9xxg08-slc-32g\"\nover_provisioning = \"10%\"\n\
         geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1, \
         blocks_per_plane = 512 }}\n\
         [device.disk]\nkind = \"constant\"\nservice_time = \"5ms\"\ncapacity = \"1GiB\"\n\
         [device.volume]\nkind = \"cache\"\nflash = \"flash\"\nbacking = \"disk\"\nrole = \"write\"\n\
         write = \"write-back\"\ndirty_low = \"100%\"\ndirty_high = \"100%\"\ntrim_freed = true\n{keys}\n\
         [run]\ntarget = \"volume\"\n"
    )
}

fn results(requests: u64, addresses: &str, keys: &str) -> RunResults {
    run(&Experiment::from_str(&text(requests, addresses, keys), "x.toml").unwrap(), &RunOptions::default()).unwrap()
}

fn mean_us(results: &RunResults) -> f64 {
    results.requests.all.response_time.mean_us
}

/// Mean response time with a fixed over-provisioning of the 115 MiB that the drive offers, in percent.
fn fixed(requests: u64, addresses: &str, percent: u64) -> f64 {
    let bytes = 115 * (100 - percent) / 100;
    mean_us(&results(requests, addresses, &format!("flash_capacity = \"{bytes}MiB\"")))
}

/// The cache's own choice against every fixed one, training included; docs/flash-cache-device.md has the table, which
/// `ESKER_SOAK=2` prints. Without that, one workload and the best of these sizes for it.
#[test]
#[expect(clippy::print_stdout, reason = "`--nocapture` shows the table")]
fn a_cache_finds_its_size() {
    let (workloads, sizes, requests): (&[_], &[u64], u64) = match esker_testkit::soak() > 1 {
        true => (&WORKLOADS, &[15, 25, 35, 45, 55, 65, 75, 85], 1_000_000),
        false => (&WORKLOADS[3..], &[25], 1_000_000),
    };
    for &(name, addresses) in workloads {
        let fixed: Vec<f64> = sizes.iter().map(|&percent| fixed(requests, addresses, percent)).collect();
        let best = fixed.iter().copied().fold(f64::INFINITY, f64::min);
        // With the drive's transfers: 100 us for a page.
        let run = results(requests, addresses, "allocation = { read = \"125us\", program = \"300us\" }");
        let windows = &run.devices["volume"].flash_cache.as_ref().unwrap().windows;
        let chosen: Vec<f64> = windows.iter().map(|window| window.left_to_cleaning).collect();
        let fixed: Vec<f64> = fixed.iter().map(|mean| mean.round()).collect();
        println!("{name}: fixed {fixed:?} us, its own choice {:.0} us: {chosen:?}", mean_us(&run));
        assert!(windows.len() >= 5, "{name}: {windows:?}");
        assert!(windows.iter().all(|window| window.expected.len() == 8 && window.write_share == 1.0));
        let within = if name == "hot" { 1.05 } else { 1.03 };
        assert!(mean_us(&run) < within * best, "{name}: {} us, {best} with the best fixed size", mean_us(&run));
    }
}

/// The example fills its cache in the middle of the run, so that the sizes that it chooses meanwhile count. Compares
/// them with fixed sizes around the best one, in percent of the drive's capacity; with `ESKER_SOAK=2`, with more of
/// them.
#[test]
#[expect(clippy::print_stdout, reason = "`--nocapture` shows the sizes")]
fn the_example_comes_near_the_best_fixed_size() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cache-allocation.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let keys = text.lines().find(|line| line.starts_with("allocation = ")).unwrap();
    let mean_with = |keys_instead: &str| {
        let experiment = Experiment::from_str(&text.replace(keys, keys_instead), "x.toml").unwrap();
        mean_us(&run(&experiment, &RunOptions::default()).unwrap())
    };
    let sizes = if esker_testkit::soak() > 1 { 15..=30 } else { 17..=17 };
    let fixed: Vec<(u64, f64)> = sizes
        .map(|percent| {
            // A die of 4,608 blocks of 256 KiB; the drive keeps a tenth of it.
            let pages = 4_608 * 64 * 9 / 10 * (100 - percent) / 100;
            (percent, mean_with(&format!("flash_capacity = \"{}KiB\"", 4 * pages)))
        })
        .collect();
    let (percent, best) = fixed.iter().copied().min_by(|one, other| one.1.total_cmp(&other.1)).unwrap();
    let own = mean_with(keys);
    println!("fixed {fixed:.1?} us, its own choice {own:.1} us: {:.3}", own / best);
    assert!(own < 1.03 * best, "{own} us, {best} with {percent} % left to cleaning");
}

/// Where its settings are wrong, the file is named with the key.
#[test]
fn impossible_allocations_say_where() {
    for (keys, problem, key) in [
        ("allocation = { window = \"1KiB\" }", "`window` is 1KiB, less than two lines of 4KiB", "window"),
        ("allocation = { first = \"5%\" }", "`first` is 5%; it can be 15% to 85%", "first"),
        ("allocation = { lifetime = { years = 0, cycles = 3000 } }", "both have to be more", "lifetime"),
        ("slots = \"log\"\npolicy = \"fifo\"\nallocation = {}", "uses all slots in turn", "slots"),
    ] {
        let experiment = Experiment::from_str(&text(1, WORKLOADS[0].1, keys), "x.toml").unwrap();
        let Err(error) = experiment.assemble() else { panic!("{keys} was taken") };
        let text = error.to_string();
        assert!(text.contains(problem) && text.contains(key) && text.contains("x.toml:"), "{text}");
    }
}

/// The size follows from what has been written, whenever measuring began.
#[test]
fn a_choice_does_not_depend_on_when_measuring_begins() {
    let windows = |warm_up: u64| {
        let text = format!(
            "[workload]\nqueue_depth = 1\nsynthetic = {{ requests = 8000, read_fraction = 0.0, size = \"4KiB\", \
             footprint = \"16MiB\", alignment = \"4KiB\", address = {{ kind = \"zipf\", exponent = 0.9 }} }}\n\
             [device.flash]\nkind = \"ssd\"\npreset = \"samsung-k9xxg08-slc-32g\"\nover_provisioning = \"15%\"\n\
             geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1, \
             blocks_per_plane = 40 }}\n\
             [device.disk]\nkind = \"constant\"\nservice_time = \"1ms\"\ncapacity = \"64MiB\"\n\
             [device.volume]\nkind = \"cache\"\nflash = \"flash\"\nbacking = \"disk\"\nrole = \"write\"\n\
             write = \"write-back\"\ntrim_freed = true\nallocation = {{ window = \"8MiB\" }}\n\
             [run]\ntarget = \"volume\"\nwarm_up_requests = {warm_up}\n"
        );
        let results = run(&Experiment::from_str(&text, "x.toml").unwrap(), &RunOptions::default()).unwrap();
        results.devices["volume"].flash_cache.as_ref().unwrap().windows.clone()
    };
    let all = windows(0);
    assert!(all.len() >= 3, "{all:?}");
    // In the first and in the second half of a window.
    for warm_up in [700, 1_500, 3_700] {
        assert_eq!(windows(warm_up), all, "after {warm_up} requests");
    }
}
