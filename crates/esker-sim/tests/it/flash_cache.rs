//! Flash caches over devices whose times are known.

use esker_results::{FlashCacheReport, RunResults};
use esker_sim::{Experiment, RunOptions, run};

/// 4 KiB requests, one at a time, on a disk of 5 ms a request behind flash of 100 µs. `requests` and `cache` are more
/// keys of the requests and of the cache.
fn results(requests: &str, cache: &str) -> RunResults {
    run(&experiment(requests, cache), &RunOptions::default()).unwrap()
}

fn experiment(requests: &str, cache: &str) -> Experiment {
    Experiment::from_str(&text(requests, cache, ""), "x.toml").unwrap()
}

/// The file of that experiment, with `more` at its end.
fn text(requests: &str, cache: &str, more: &str) -> String {
    format!(
        "[workload]\n\
         queue_depth = 1\n\
         synthetic = {{ {requests} }}\n\
         [device.flash]\n\
         kind = \"constant\"\n\
         service_time = \"100us\"\n\
         capacity = \"8MiB\"\n\
         [device.disk]\n\
         kind = \"constant\"\n\
         service_time = \"5ms\"\n\
         capacity = \"64MiB\"\n\
         [device.volume]\n\
         kind = \"cache\"\n\
         flash = \"flash\"\n\
         backing = \"disk\"\n\
         {cache}\n\
         [run]\n\
         target = \"volume\"\n\
         warm_up_requests = 20000\n\
         {more}"
    )
}

fn cache(results: &RunResults) -> FlashCacheReport {
    results.devices["volume"].flash_cache.clone().unwrap()
}

/// What fits is read from the flash after a while, and from nowhere else.
#[test]
fn hits_take_as_long_as_the_flash() {
    let all = results("requests = 30000, read_fraction = 1.0, footprint = \"4MiB\"", "");
    assert_eq!((cache(&all).hits, cache(&all).misses, cache(&all).held_lines), (10_000, 0, 1024));
    assert!((all.requests.all.response_time.mean_us - 100.0).abs() < 0.01, "{:?}", all.requests.all.response_time);
    assert!((all.devices["volume"].children["flash"].share - 1.0).abs() < f64::EPSILON);
}

/// A miss takes as long as the backing device: the line goes to the flash after the answer. Of a footprint eight times
/// as large as the flash, an eighth hits at most.
#[test]
fn misses_take_as_long_as_the_backing_device() {
    let all = results("requests = 30000, read_fraction = 1.0", "");
    let ratio = cache(&all).hit_ratio;
    assert!((0.105..0.130).contains(&ratio), "{ratio}");
    let mean = ratio * 100.0 + (1.0 - ratio) * 5000.0;
    // The next request may find the flash at work on the line before it.
    let found = all.requests.all.response_time.mean_us;
    assert!((found / mean - 1.0).abs() < 0.01, "{found} instead of {mean}");
    assert_eq!(cache(&all).filled_bytes, cache(&all).misses * 4096);
}

#[test]
fn writes_take_as_long_as_the_devices_that_they_wait_for() {
    let write_us = |cache: &str| {
        let all = results("requests = 30000, read_fraction = 0.0, footprint = \"4MiB\"", cache);
        all.requests.write.response_time.mean_us
    };
    let back = write_us("write = \"write-back\"\ndirty_low = \"100%\"\ndirty_high = \"100%\"");
    assert!((back - 100.0).abs() < 0.01, "{back}");
    let through = write_us("write = \"write-through\"");
    // Once for 128 lines, the cache has the backing device flush, so that they can be recorded as clean.
    assert!((through - 5000.0 * (1.0 + 1.0 / 128.0)).abs() < 1.0, "{through}");
    let around = write_us("write = \"write-around\"\nrole = \"read\"");
    assert!((around - 5000.0).abs() < 0.01, "{around}");
}

/// More dirty data than the flash holds go back to the disk: as many lines as come in.
#[test]
fn a_write_cache_that_is_too_small_copies_back_what_comes_in() {
    let all = results("requests = 60000, read_fraction = 0.0", "write = \"write-back\"\nrole = \"write\"");
    let cache = cache(&all);
    let copied = cache.copied_back_bytes / 4096;
    assert!(copied + cache.without_slot + cache.hits + 100 > 40_000, "{cache:?}");
    assert!(cache.dirty_lines <= 2048 && cache.hit_ratio < 0.13, "{cache:?}");
}

#[test]
fn contradictions_are_shown_where_they_stand() {
    let text = "[workload]\nsynthetic = { requests = 1 }\n[device.flash]\nkind = \"constant\"\nservice_time = \"1us\"\n\
                capacity = \"1MiB\"\n[device.volume]\nkind = \"cache\"\nflash = \"flash\"\nbacking = \"disk\"\n\
                policy = \"lru\"\nrole = \"read\"\nwrite = \"write-back\"\n[device.disk]\nkind = \"constant\"\n\
                service_time = \"1us\"\ncapacity = \"1MiB\"\n[run]\ntarget = \"volume\"\n";
    let error = |text: &str| Experiment::from_str(text, "x.toml").unwrap().assemble().err().unwrap();
    let contradiction = error(text);
    assert_eq!(contradiction.key, "device.volume.write");
    assert!(contradiction.to_string().contains("contradict each other"), "{contradiction}");
    let unknown = error(&text.replace("\"lru\"", "\"lrv\"").replace("\"read\"", "\"unified\""));
    assert_eq!(unknown.key, "device.volume.policy");
    let lark = error(&text.replace("\"lru\"", "\"lru\"\nadmission = \"lark\"").replace("\"read\"", "\"unified\""));
    assert_eq!(lark.key, "device.volume.admission");
    assert!(lark.to_string().contains("`lark` is no admission policy; did you mean `larc`?"), "{lark}");
}

/// Of random reads of eight times as much as the flash holds, few come back while they are remembered: second-hit
/// refuses most. What it refuses is neither filled nor written, and the cache still hits what it holds.
#[test]
fn what_is_refused_is_not_written() {
    let run = |cache_keys| cache(&results("requests = 60000, read_fraction = 1.0", cache_keys));
    let (all, some) = (run(""), run("admission = { kind = \"second-hit\", window = \"50%\" }"));
    assert_eq!((all.refused, all.filled_bytes), (0, all.misses * 4096));
    assert_eq!(some.filled_bytes, (some.misses - some.refused) * 4096);
    assert_eq!(some.flash_written_bytes, some.filled_bytes);
    assert!(some.refused * 10 > some.misses * 9, "{some:?}");
    assert!(some.flash_written_bytes * 10 < all.flash_written_bytes, "{some:?} {all:?}");
    // Every line is as likely as any other: those that are held hit as often.
    assert!((some.hit_ratio / all.hit_ratio - 1.0).abs() < 0.1, "{some:?} {all:?}");
}

fn shrinking(device: &str, shrink: &str, at: &str) -> String {
    let event = format!("[[run.events]]\nat = \"{at}\"\ndevice = \"{device}\"\nshrink = \"{shrink}\"\n");
    let write_back = "write = \"write-back\"\ndirty_low = \"100%\"\ndirty_high = \"100%\"";
    text("requests = 30000, read_fraction = 0.5, footprint = \"7MiB\"", write_back, &event)
}

/// Half of the flash is enough for half of the lines: those beyond leave, dirty ones go to the disk.
#[test]
fn a_cache_uses_less_of_its_flash_after_an_event() {
    let run = |text: &str| run(&Experiment::from_str(text, "x.toml").unwrap(), &RunOptions::default()).unwrap();
    let (before, after) = (run(&shrinking("flash", "4MiB", "10h")), run(&shrinking("flash", "4MiB", "100ms")));
    assert_eq!((cache(&before).slots, cache(&before).copied_back_bytes), (2048, 0));
    assert!(before.remarks[0].contains("never happened"), "{:?}", before.remarks);
    let report = cache(&after);
    assert_eq!((report.slots, report.beyond_lines), (1024, 0));
    assert!((900..=1024).contains(&report.held_lines), "{report:?}");
    assert!(report.copied_back_bytes >= 700 * 4096, "{report:?}");
    let again = Experiment::from_resolved(&after.config, "again").unwrap();
    assert_eq!(run_again(&again), serde_json::to_string(&after).unwrap());
}

fn run_again(experiment: &Experiment) -> String {
    serde_json::to_string(&run(experiment, &RunOptions::default()).unwrap()).unwrap()
}

#[test]
fn only_the_flash_of_a_cache_shrinks_and_not_below_two_lines() {
    let error = |text: &str| match Experiment::from_str(text, "x.toml") {
        Err(error) => error.to_string(),
        Ok(experiment) => run(&experiment, &RunOptions::default()).unwrap_err().to_string(),
    };
    for device in ["disk", "volume"] {
        let found = error(&shrinking(device, "4MiB", "1s"));
        assert!(found.contains(&format!("`{device}` is not the flash of a cache; only that shrinks")), "{found}");
    }
    let small = error(&shrinking("flash", "4KiB", "1s"));
    assert!(small.contains("a cache needs two lines of 4KiB, more than 4KiB"), "{small}");
    let large = error(&shrinking("flash", "16MiB", "1s"));
    assert!(large.contains("the cache uses 8MiB of its flash, and does not grow to 16MiB"), "{large}");
}

/// Lines take no more of the flash than they may: 2 MiB of 8.
#[test]
fn lines_take_as_much_of_the_flash_as_they_may() {
    let all = results("requests = 30000, read_fraction = 1.0", "flash_capacity = \"2MiB\"");
    // The policy holds a little less than there are slots, a thirty-second; the last line may be on its way.
    assert!((495..=496).contains(&cache(&all).held_lines), "{:?}", cache(&all));
    assert!((0.025..0.035).contains(&cache(&all).hit_ratio), "{}", cache(&all).hit_ratio);
}

#[test]
fn lines_cannot_take_more_of_the_flash_than_there_is() {
    let experiment = experiment("requests = 1", "flash_capacity = \"9MiB\"");
    let Err(error) = experiment.assemble() else { panic!("9 MiB of 8 were taken") };
    let text = error.to_string();
    assert!(text.contains("`flash_capacity` is 9MiB, more than the 8MiB of `flash`"), "{text}");
}

/// Reads fill a cache of reads, and so count for the wear of its flash; they fill none of writes.
#[test]
fn reads_change_the_flash_of_caches_that_they_fill() {
    let changes = |cache: &str| experiment("requests = 1", cache).system.reads_change_flash();
    assert!(changes("") && changes("role = \"read\"") && !changes("role = \"write\""));
}

/// Programs per page written of a drive that a cache uses: reads of 64 KiB all over the volume bring in large segments,
/// and four times as many writes of 4 KiB go to a small part of the volume, again and again. `keys` are keys of the
/// cache, `spare` is the over-provisioning of the drive in percent.
fn drive_write_amplification(requests: u64, spare: u64, keys: &str) -> (f64, FlashCacheReport) {
    let text = format!(
        "[workload]\n\
         synthetic = {{ requests = {requests}, read_fraction = \"20%\", size = \"64KiB\", write_size = \"4KiB\", \
         write_area = \"1%\", alignment = \"4KiB\", arrivals = {{ kind = \"poisson\", rate = \"400/s\" }} }}\n\
         [device.flash]\nkind = \"ssd\"\npreset = \"samsung-k9xxg08-slc-32g\"\nstreams = 3\n\
         over_provisioning = \"{spare}%\"\n\
         geometry = {{ channels = 2, blocks_per_plane = 32 }}\n\
         [device.disk]\nkind = \"constant\"\nservice_time = \"1ms\"\nservers = 64\ncapacity = \"2GiB\"\n\
         [device.volume]\nkind = \"cache\"\nflash = \"flash\"\nbacking = \"disk\"\n{keys}\n\
         [run]\ntarget = \"volume\"\nwarm_up_requests = {}\n",
        requests / 2
    );
    let results = run(&Experiment::from_str(&text, "x.toml").unwrap(), &RunOptions::default()).unwrap();
    let flash = results.devices["flash"].flash.as_ref().unwrap();
    (flash.write_amplification.unwrap(), cache(&results))
}

/// A log makes the drive copy less, and even less if its writes are in separate streams by purpose. With `ESKER_PRINT`
/// set, prints the table of docs/flash-cache-device.md.
#[test]
#[expect(clippy::print_stdout, reason = "it prints where that is asked for")]
fn a_log_in_streams_makes_the_drive_copy_less() {
    let print = std::env::var_os("ESKER_PRINT").is_some();
    let of = |spare: u64, handling: &str, slots: &str, streams: &str| {
        let (role, write) = handling.split_once('/').unwrap();
        let policy = if slots == "any" { "lru" } else { "fifo" };
        let keys = format!(
            "role = \"{role}\"\nwrite = \"{write}\"\npolicy = \"{policy}\"\nslots = \"{slots}\"\n\
             streams = \"{streams}\""
        );
        let (amplification, cache) = drive_write_amplification(100_000, spare, &keys);
        if print {
            println!(
                "| {spare} % | `{role}`, `{write}` | `{policy}` | `{slots}` | `{streams}` | {amplification:.3} \
                 | {:.2} % |",
                100.0 * cache.hit_ratio
            );
        }
        assert!(cache.evictions > 10_000, "{cache:?}");
        amplification
    };
    let read = "read/write-around";
    let (any, log) = (of(15, read, "any", "none"), of(15, read, "log", "none"));
    assert!(log < 1.01 && log < any, "{log} against {any}");
    let spares: &[u64] = if print { &[15, 20, 30] } else { &[15] };
    for &spare in spares {
        let [any, together, apart, appended] =
            [("any", "none"), ("log", "none"), ("log", "by-purpose"), ("append-only", "none")]
                .map(|(slots, streams)| of(spare, "unified/write-back", slots, streams));
        assert!(appended < 1.01, "{appended}");
        assert!(apart <= together && together < any, "{apart} against {together} and {any}");
        assert!(spare > 15 || apart < 0.8 * together, "{apart} against {together}");
    }
}
