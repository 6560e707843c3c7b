//! Runs every file in `examples/`, and checks what its comment says.

use std::path::{Path, PathBuf};

use esker_core::Nanos;
use esker_results::RunResults;
use esker_sim::{Experiment, RunOptions, SweepOptions, System, run, sweep};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn load(name: &str) -> Experiment {
    Experiment::load(&example(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn run_example(name: &str, change: impl Fn(&mut Experiment)) -> RunResults {
    let mut experiment = load(name);
    change(&mut experiment);
    run_changed(name, &experiment)
}

/// Sets the number of synthetic requests.
fn requests(experiment: &mut Experiment, count: u64) {
    experiment.workload.synthetic.as_mut().expect("the example has made-up requests").requests = count;
}

fn run_changed(name: &str, experiment: &Experiment) -> RunResults {
    let results = run(experiment, &RunOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    // For example, reads of pages that were never written would make all response times look too good.
    assert_eq!(esker_results::remarks(&results.devices), Vec::<String>::new(), "{name}");
    results
}

#[test]
fn no_example_is_forgotten() {
    let names = std::fs::read_dir(example("")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(
        names,
        [
            "agrawal.toml",
            "cache-allocation.toml",
            "cache-parts.toml",
            "cache-ranking.toml",
            "cloud.toml",
            "cluster.toml",
            "disk.toml",
            "flash-cache.toml",
            // A fleet, which `esker cluster sim` reads.
            "fleet-unlike.toml",
            "hybrid-map.toml",
            "hybrid-policies.toml",
            "hybrid.toml",
            "mixed-sim.toml",
            "orthus.toml",
            "owned-flash.toml",
            "raid-0.toml",
            "shingled-disk.toml",
            // See `move_limits.rs`.
            "sleeping-disk.toml",
            "slow-disk.toml",
            "ssd-model.toml",
            "sweep.toml",
            "translation-layers.toml",
            "write-modes.toml",
            "wu-pair.toml"
        ]
    );
}

#[test]
fn agrawal() {
    let results = run_example("agrawal.toml", |experiment| {
        requests(experiment, 20_000);
        experiment.run.series = Some(Nanos::from_secs(1));
    });
    assert_eq!(results.requests.all.count, 20_000);
    // Table 3: 130.6 us for a read of an idle package; at a third of its load, it waits a little.
    let read = results.requests.read.response_time;
    assert!((130.6..300.0).contains(&read.mean_us), "{read:?}");
    assert!(results.series.len() >= 4 && results.series[1].utilisation.contains_key("die"));
    assert_eq!(results.series.iter().map(|point| point.requests).sum::<u64>(), 20_000);
}

/// The points of the sample are as far apart as its comment says.
#[test]
fn ssd_model() {
    let experiment = load("ssd-model.toml");
    let [size, .., fullness, footprint, _] = experiment.dimensions() else { panic!("nine keys") };
    let number = |value: &serde_json::Value, unit: &str| {
        value.as_str().and_then(|text| text.strip_suffix(unit)).expect("its unit").parse::<f64>().expect("a number")
    };
    let all = |of: &esker_sim::Dimension, unit: &str| -> Vec<f64> {
        of.values().iter().map(|value| number(value, unit)).collect()
    };
    let (sizes, fullness, footprints) = (all(size, "KiB"), all(fullness, "%"), all(footprint, "KiB"));
    assert_eq!(sizes.len(), 900);
    assert!(sizes.contains(&2.0) && sizes.contains(&64.0));
    for (full, footprint) in fullness.iter().zip(&footprints) {
        let filled = full / 100.0 * 254_278.0;
        assert!(*footprint <= filled && *footprint > 0.99 * filled, "{footprint} KiB of {filled}");
    }
    let results = run_example("ssd-model.toml", |experiment| requests(experiment, 25_000));
    assert_eq!(results.requests.all.count, 5_000);
}

#[test]
fn cache_allocation() {
    let results = run_example("cache-allocation.toml", |experiment| requests(experiment, 600_000));
    let cache = results.devices["volume"].flash_cache.as_ref().unwrap();
    let chosen: Vec<f64> = cache.windows.iter().map(|window| window.left_to_cleaning).collect();
    // Nothing is cleaned in the first window: the cache stays as it is. Then misses cost more than cleaning.
    assert!(chosen.len() >= 3 && chosen[0] == 0.35 && chosen[chosen.len() - 1] < 0.35, "{chosen:?}");
    assert!(cache.windows.iter().all(|window| window.expected.len() == 8));
}

/// The plain cache and the one that routes serve what the comment says.
#[test]
fn orthus() {
    for (routing, least, most) in [("none", 1_980.0, 2_020.0), ("orthus", 2_800.0, 2_900.0)] {
        let text = std::fs::read_to_string(example("orthus.toml")).unwrap();
        let text = text.replace("routing = \"orthus\"", &format!("routing = \"{routing}\""));
        let results = run_changed("orthus.toml", &Experiment::from_str(&text, "orthus.toml").unwrap());
        let found = results.throughput.requests_per_s;
        assert!((least..most).contains(&found), "{routing}: {found}, {:?}", results.devices["volume"].flash_cache);
    }
}

#[test]
fn cache_parts() {
    let results = run_example("cache-parts.toml", |_| {});
    let partition = results.devices["volume"].flash_cache.as_ref().unwrap().partition.as_ref().unwrap();
    assert!(partition.windows.len() >= 40 && partition.windows.iter().all(|window| window.splits.len() == 19));
    // Reads and writes go to the same lines: a dirty line serves both, and is not copied back again.
    let share = partition.windows.last().unwrap().shares[1];
    assert!(share > 0.5, "{share}");
}

#[test]
fn cloud() {
    let results = run_example("cloud.toml", |_| {});
    assert_eq!(results.requests.all.count, 330_000);
    let volumes = ["volume.0", "volume.1"].map(|name| results.devices[name].cloud_volume.as_ref().unwrap());
    let dry = volumes.iter().filter_map(|volume| volume.credits["throughput"].first_dry_s).reduce(f64::min);
    let minutes = dry.expect("the credits run dry") / 60.0;
    // 83.3 of them at the full rate of both: what one saves up while it waits for the other is soon lost.
    assert!((minutes - 86.0).abs() < 1.0, "{minutes}");
    // Requests of the tenth minute, and of the second last.
    let (before, after) = (results.series[10].requests, results.series[results.series.len() - 2].requests);
    assert!((57..=61).contains(&(before / 60)) && (8..10).contains(&(after / 60)), "{before}, {after}");
}

#[test]
fn disk() {
    let results = run_example("disk.toml", |experiment| experiment.workload.head = Some(4000));
    assert_eq!(results.requests.all.count, 4000);
    let disk = results.devices["disk"].disk.clone().unwrap();
    // Half a turn at 15,000 rpm is 2 ms; a third of the requests needs less.
    assert!(disk.mean_seek_us > 0.0 && (800.0..2200.0).contains(&disk.mean_rotation_us), "{disk:?}");
}

/// Most requests go to what the flash holds after a while, and need no arm.
/// Cleaning copies next to nothing, though most of the lines are clean data that a drive would have to copy.
#[test]
fn owned_flash() {
    let results = run_example("owned-flash.toml", |experiment| requests(experiment, 100_000));
    let (cache, flash) = (results.devices["volume"].flash_cache.as_ref(), results.devices["flash"].flash.as_ref());
    let (cache, flash) = (cache.unwrap(), flash.unwrap());
    assert!(cache.dropped_lines > 10_000 && cache.hit_ratio > 0.5, "{cache:?}");
    assert!(flash.programs.cleaning * 50 < flash.programs.host, "{flash:?}");
}

#[test]
fn flash_cache() {
    let results = run_example("flash-cache.toml", |_| {});
    let cache = results.devices["volume"].flash_cache.as_ref().unwrap();
    assert!(cache.hit_ratio > 0.3 && cache.read_hits > 0 && cache.lost == 0, "{cache:?}");
    // It is full, and lines leave for others.
    assert!(cache.evictions > 5_000 && cache.held_lines * 100 > cache.slots * 95, "{cache:?}");
    let disk = run_example("flash-cache.toml", |experiment| {
        experiment.system = System::of(experiment.system.devices().clone(), "disk").unwrap();
    });
    let mean = |results: &RunResults| results.requests.all.response_time.mean_us;
    assert!(mean(&results) < 0.7 * mean(&disk), "{} and {}", mean(&results), mean(&disk));
}

#[test]
fn raid_0() {
    let results = run_example("raid-0.toml", |experiment| requests(experiment, 2000));
    assert_eq!(results.requests.all.count, 2000);
    let disks: Vec<&str> = results.devices.keys().map(String::as_str).collect();
    assert_eq!(disks, ["disk.0", "disk.1", "disk.2", "disk.3", "raid"]);
    for share in results.devices["raid"].children.values() {
        assert!((share.share - 0.25).abs() < 0.03, "{share:?}");
    }
    let one = run_example("raid-0.toml", |experiment| {
        requests(experiment, 2000);
        experiment.system = System::of(experiment.system.devices().clone(), "disk").unwrap();
    });
    let speed = results.throughput.requests_per_s / one.throughput.requests_per_s;
    assert!((2.0..4.5).contains(&speed), "four disks serve {speed} times as much as one");
}

#[test]
fn shingled_disk() {
    let results = run_example("shingled-disk.toml", |_| {});
    let shingled = results.devices["disk"].disk.clone().unwrap().shingled.unwrap();
    assert_eq!((shingled.direct_write_bytes, shingled.cached_write_bytes), (0, 4150 << 12));
    assert!(shingled.waited_writes > 40 && shingled.cleaned_zones > 40, "{shingled:?}");
    // A zone's worth is read and written for each; the last one may be under way.
    assert!(shingled.cleaning_write_bytes >= shingled.cleaned_zones << 28, "{shingled:?}");
    let (first, last) = (results.series[0].requests, results.series[results.series.len() - 2].requests);
    assert!(first > 1000 && last < 10, "{first} in the first second, {last} in the second last");
}

#[test]
fn slow_disk() {
    let results = run_example("slow-disk.toml", |_| {});
    let minute = |number: usize| &results.series[6 * number + 1..6 * number + 6];
    let rate = |number: usize| minute(number).iter().map(|point| point.requests).sum::<u64>() as f64 / 50.0;
    let (before, during, after) = (rate(0), rate(1), rate(2));
    assert!(during < 0.6 * before && (after / before - 1.0).abs() < 0.05, "{before}, {during}, {after} per second");
    let disk = |number: usize, name: &str| minute(number)[2].children[name].mean_us;
    assert!(disk(1, "disk.0") > 8.0 * disk(0, "disk.0") && disk(1, "disk.1") <= disk(0, "disk.1"));
}

#[test]
fn hybrid() {
    let results = run_example("hybrid.toml", |experiment| requests(experiment, 5000));
    assert_eq!(results.requests.all.count, 5000);
    let children = &results.devices["volume"].children;
    assert!((children["flash"].share - 0.8).abs() < 0.02, "{children:?}");
    assert!(results.devices["flash"].flash.as_ref().unwrap().programs.host > 0);
}

/// The drive has most of the requests, loses many of them while it is slow, and gets them back.
#[test]
fn hybrid_map() {
    let results = run_example("hybrid-map.toml", |_| {});
    let share = |second: usize| results.series[second].children["flash"].share;
    let (before, during, after) = (share(55), share(115), share(results.series.len() - 5));
    assert!(before > 0.75 && during < 0.65 && after > 0.75, "{before}, {during}, {after}");
    let map = results.placement_map.expect("it has a series");
    let on_flash = |frame: usize| map.frames[frame].extents[0].iter().sum::<u32>();
    assert!(on_flash(119) + 200 < on_flash(59), "{} and {} extents on flash", on_flash(119), on_flash(59));
}

/// Flash answers faster than the disk, and MixDyn faster than flash: writes that would wait for a cleaning go to the
/// disk. Diverted writes spare the flash: a quarter of them, or as many as make it last 15 years.
#[test]
fn mixed_sim() {
    let folder = tempfile::tempdir().unwrap();
    let done = sweep(&load("mixed-sim.toml"), &SweepOptions::new(folder.path())).unwrap();
    assert_eq!((done.run, done.failed), (6, 0));
    let rows = done.table.to_json();
    let column = |name: &str| -> Vec<f64> {
        rows.as_array().unwrap().iter().map(|row| row[name].as_f64().unwrap_or(0.0)).collect()
    };
    let (times, erases, lives) = (column("mean_us"), column("erases"), column("projected_lifetime_years"));
    let [disk, flash, mixdyn, diverted, _, marginal] = times[..] else { panic!("six policies") };
    assert!(disk > diverted && diverted > mixdyn && flash > marginal && mixdyn > marginal, "{times:?}");
    assert!(erases[3] < 0.8 * erases[2], "{erases:?}");
    assert!(lives[2] < 10.0 && (lives[4] / 15.0 - 1.0).abs() < 0.05, "{lives:?}");
}

/// Flash is faster at this depth even with all of the load: policies that measure find that out.
#[test]
fn policies_that_measure_find_the_better_device() {
    let folder = tempfile::tempdir().unwrap();
    let done = sweep(&load("hybrid-policies.toml"), &SweepOptions::new(folder.path())).unwrap();
    assert_eq!((done.run, done.failed), (6, 0));
    let rows = done.table.to_json();
    let rates = rows.as_array().unwrap().iter().map(|row| row["requests_per_s"].as_f64().unwrap());
    let [flash, disk, stripes, weighted, migration, wardrop] = <[f64; 6]>::try_from(rates.collect::<Vec<_>>()).unwrap();
    assert!(disk < stripes && stripes < weighted && weighted < flash / 5.0, "{rows}");
    assert!(migration > 0.97 * flash && wardrop > 0.97 * flash, "{rows}");
}

/// A shorter run than the example's: striping over both devices beats each of them alone all the same.
#[test]
fn the_pair_of_wu_serves_more_than_either_device() {
    let text = std::fs::read_to_string(example("wu-pair.toml")).unwrap();
    let shorter = text.replace("requests = 300_000", "requests = 6_000").replace("= 270_000", "= 3_000");
    let folder = tempfile::tempdir().unwrap();
    let experiment = Experiment::from_str(&shorter, "wu-pair.toml").unwrap();
    assert_eq!(experiment.run.warm_up_requests, 3_000);
    let done = sweep(&experiment, &SweepOptions::new(folder.path())).unwrap();
    assert_eq!((done.run, done.failed), (5, 0));
    let rows = done.table.to_json();
    let rates = rows.as_array().unwrap().iter().map(|row| row["requests_per_s"].as_f64().unwrap());
    let [flash, disk, stripes, _, wardrop] = <[f64; 5]>::try_from(rates.collect::<Vec<_>>()).unwrap();
    assert!(stripes > 1.1 * flash.max(disk) && wardrop > 1.1 * flash.max(disk), "{rows}");
}

#[test]
fn a_sweep_agrees_with_the_closed_form() {
    let folder = tempfile::tempdir().unwrap();
    let done = sweep(&load("sweep.toml"), &SweepOptions::new(folder.path())).unwrap();
    assert_eq!((done.run, done.reused, done.failed), (12, 0, 0));
    let rows = done.table.to_json();
    for row in rows.as_array().unwrap() {
        let rate: f64 =
            row["workload.synthetic.arrivals.rate"].as_str().unwrap().strip_suffix("/s").unwrap().parse().unwrap();
        let wait = row["queue_mean_us"].as_f64().unwrap();
        let load = rate * 1e-3;
        let one = load / (2.0 * (1.0 - load)) * 1000.0;
        let servers = row["device.station.servers"].as_u64().unwrap();
        match servers {
            1 => assert!((wait / one - 1.0).abs() < 0.08, "load {load}: {wait} us, expected {one}"),
            _ => assert!(wait < one / 4.0, "two servers at load {load}: {wait} us"),
        }
        let busy = row["utilisation_busiest"].as_f64().unwrap();
        assert!((busy - load / servers as f64).abs() < 0.02, "load {load} on {servers} servers: busy {busy}");
    }
}

/// Table V of Wu 2011 at ten processes: 36.86 MB/s, and 55.08 % on flash. Nothing was fitted to that.
#[test]
fn the_pair_of_wu_is_balanced_as_published() {
    let results = run_example("wu-pair.toml", |_| {});
    let mb_per_s = results.throughput.bytes_per_s / 1e6;
    assert!((mb_per_s / 36.8594 - 1.0).abs() < 0.05, "{mb_per_s} MB/s");
    let share = results.devices["volume"].children["flash"].share;
    assert!((share - 0.5508).abs() < 0.05, "{share} on flash");
}

#[test]
fn translation_layers() {
    const NAME: &str = "translation-layers.toml";
    let text = std::fs::read_to_string(example(NAME)).unwrap();
    let flash = |ftl: &str| {
        let swept = text.find("\"device.flash.ftl\"").unwrap();
        let text = format!("{}\"device.flash.ftl\" = [{ftl}]\n", &text[..swept]);
        let mut point = Experiment::from_str(&text, NAME).unwrap().point(&[0]).unwrap();
        requests(&mut point, 20_000);
        run_changed(NAME, &point).devices["flash"].flash.clone().unwrap()
    };
    let (page, fast, bast) = (flash("\"page\""), flash("\"fast\""), flash("\"bast\""));
    // Controller memory that is saved is paid for in erases.
    assert!(2 * page.erases < fast.erases && 2 * fast.erases < bast.erases, "{page:?} {fast:?} {bast:?}");
    assert!(page.map_bytes > 20 * fast.map_bytes, "{page:?} {fast:?}");
    assert!(page.merges.full == 0 && page.full_merge_data_blocks.is_empty());
    assert_eq!(fast.full_merge_data_blocks.values().sum::<u64>(), fast.merges.full);
    assert_eq!(bast.full_merge_data_blocks.keys().collect::<Vec<_>>(), [&1]);
    let small = flash("{ kind = \"fast\", log = \"1%\" }");
    assert!(small.map_bytes < fast.map_bytes && small.erases > fast.erases);
}

/// Pages that are written more than read are programmed at low cost, and answers are sooner than without modes.
#[test]
fn write_modes_make_writes_faster_without_slower_reads() {
    const NAME: &str = "write-modes.toml";
    let text = std::fs::read_to_string(example(NAME)).unwrap();
    let run = |policy: &str| {
        let chosen = "{ kind = \"differentiated\", m = -1, n = 3 }";
        assert!(text.contains(chosen), "the example chooses a policy");
        let mut experiment = Experiment::from_str(&text.replace(chosen, &format!("\"{policy}\"")), NAME).unwrap();
        requests(&mut experiment, 60_000);
        let results = run_changed(NAME, &experiment);
        let [read, write] = [results.requests.read, results.requests.write].map(|class| class.response_time.mean_us);
        (read, write, results.devices["flash"].flash.clone().unwrap())
    };
    let (normal_read, normal_write, normal) = run("normal");
    let (read, write, flash) = run("differentiated");
    assert!(write < 0.6 * normal_write && read < normal_read, "{write} {normal_write} {read} {normal_read}");
    assert!(flash.erases as f64 <= 1.02 * normal.erases as f64, "{} {}", flash.erases, normal.erases);
    let low_cost = &flash.write_modes.unwrap().modes[1];
    assert_eq!(low_cost.mode, "low-cost");
    assert!(10 * low_cost.programs.host > 9 * flash.programs.host, "{low_cost:?}");
}

/// Wear is more even with each policy than with none; `edm-like` copies less than `ewo`, and `life` least.
#[test]
fn cluster() {
    const NAME: &str = "cluster.toml";
    let found = [0, 1, 2, 3].map(|index| {
        let mut point = load(NAME).point(&[index]).unwrap();
        requests(&mut point, 60_000);
        let cluster = run_changed(NAME, &point).devices["servers"].cluster.clone().unwrap();
        let copied: u64 = cluster.servers.iter().map(|server| server.copied_bytes).sum();
        (cluster.erases_sd, copied)
    });
    let [none, edm_like, ewo, life] = found;
    assert!([edm_like, ewo, life].iter().all(|(sd, _)| *sd < 0.5 * none.0), "{found:?}");
    assert!(none.1 == 0 && life.1 < edm_like.1 && edm_like.1 < ewo.1, "{found:?}");
}
