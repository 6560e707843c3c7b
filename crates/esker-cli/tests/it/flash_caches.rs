//! Flash caches as `esker sim` shows them, and what it refuses to run.

use tempfile::TempDir;

use crate::support::{esker_ok, esker_refuses};

/// A folder with `cache.toml`: 4 KiB requests to a cache on a small drive. `synthetic` are more keys of the requests,
/// `workload` of the workload, `keys` of the cache.
fn folder(synthetic: &str, workload: &str, keys: &str) -> TempDir {
    let experiment = format!(
        r#"
[workload]
synthetic = {{ {synthetic}, size = "4KiB", alignment = "4KiB", footprint = "8MiB" }}
{workload}

[device.flash]
kind = "ssd"
preset = "samsung-k9xxg08-slc-32g"
over_provisioning = "25%"

[device.flash.geometry]
channels = 1
packages_per_channel = 1
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 32

[device.disk]
kind = "constant"
service_time = "5ms"
capacity = "16MiB"

[device.volume]
kind = "cache"
flash = "flash"
backing = "disk"
{keys}

[run]
target = "volume"
"#
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("cache.toml"), experiment).expect("the folder can be written");
    folder
}

/// Writes alone, one at a time, to a write cache with this table `allocation`.
fn writes(allocation: &str, requests: u64) -> TempDir {
    folder(
        &format!("requests = {requests}, read_fraction = \"0%\""),
        "queue_depth = 1",
        &format!("role = \"write\"\nwrite = \"write-back\"\ntrim_freed = true\nallocation = {{ {allocation} }}"),
    )
}

/// What the run of `folder` printed; its page shows windows if that does.
fn printed(folder: &TempDir) -> String {
    let printed = esker_ok(folder.path(), &["sim", "cache.toml", "--no-cost"]).stdout;
    esker_ok(folder.path(), &["sim", "cache.toml", "--no-cost", "--json=run.json"]);
    esker_ok(folder.path(), &["report", "run.json", "-o", "report.html"]);
    let page = std::fs::read_to_string(folder.path().join("report.html")).expect("the page is written");
    assert_eq!(page.contains("id=\"windows\""), printed.contains("what it chose in"), "{printed}");
    assert_eq!(page.contains("id=\"parts\""), printed.contains("its parts"), "{printed}");
    printed
}

fn refused(folder: &TempDir) -> String {
    let error = esker_refuses(folder.path(), &["sim", "cache.toml"]);
    error.replace('\u{a0}', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_cache_shows_what_it_chose_in_each_window() {
    let printed = printed(&writes("", 20_000));
    assert!(printed.contains("what it chose in") && printed.contains("left to cleaning"), "{printed}");
    assert!(printed.contains("at 85 %") && !printed.contains("note: volume"), "{printed}");
}

/// Without arrival times, it is unknown before the run how much comes in a day.
#[test]
fn budgets_that_no_size_keeps_are_remarked() {
    let printed = printed(&writes("lifetime = { years = 50, cycles = 100 }", 20_000));
    assert!(printed.contains("note: volume: no size of the cache keeps `allocation.lifetime`"), "{printed}");
    assert!(printed.contains("over its budget"), "{printed}");
}

#[test]
fn windows_longer_than_the_workload_are_refused() {
    let error = refused(&writes("window = \"1GiB\"", 2_000));
    let message = "`allocation.window` is 1GiB, 262 144 writes of lines of 4KiB, and the workload has 2 000: no window \
                   would end, and nothing would be chosen";
    assert!(error.contains(message), "{error}");
    assert!(error.contains("cache.toml:30:") && error.contains("take a shorter `allocation.window`"), "{error}");
    let error = refused(&writes("", 100));
    assert!(error.contains("(twice the flash), "), "{error}");
    // Just long enough: as many lines as are written.
    printed(&writes("window = \"8000KiB\"", 2_000));
    assert!(refused(&writes("window = \"8004KiB\"", 2_000)).contains("no window would end"));
    // Reads are no writes.
    let reads = folder(
        "requests = 20000, read_fraction = \"100%\"",
        "",
        "write = \"write-back\"\ntrim_freed = true\nallocation = {}",
    );
    assert!(refused(&reads).contains("and the workload has 0: "), "{}", refused(&reads));
    let parts =
        folder("requests = 100", "", "write = \"write-back\"\npartition = { by = \"access\", window = \"1MiB\" }");
    assert!(
        refused(&parts).contains("256 reads and writes of lines of 4KiB, and the workload has 100"),
        "{}",
        refused(&parts)
    );
}

#[test]
fn budgets_that_nobody_can_keep_are_refused() {
    let of = |years: u32| {
        folder(
            "requests = 20000, read_fraction = \"0%\", arrivals = { kind = \"fixed\", rate = \"100/s\" }",
            "",
            &format!(
                "role = \"write\"\nwrite = \"write-back\"\ntrim_freed = true\n\
                 allocation = {{ lifetime = {{ years = {years}, cycles = 30000 }} }}"
            ),
        )
    };
    // 34.6 GB a day are 135,007 blocks of 256 KiB; 6 MiB of them, each erased 30,000 times, last for less than a week.
    let error = refused(&of(1));
    let message = "`allocation.lifetime` allows 1 972 erases a day, and the workload writes 33 GiB a day, which takes \
                   135 006 even if cleaning never has to copy anything: no size of the cache keeps it";
    assert!(error.contains(message) && error.contains("cache.toml:30:"), "{error}");
    assert!(error.contains("take fewer `years`"), "{error}");
}

#[test]
fn parts_are_shown_with_what_was_chosen() {
    let keys = "write = \"write-back\"\ndirty_low = \"100%\"\ndirty_high = \"100%\"\npartition = { by = \"access\" }";
    let printed = printed(&folder("requests = 20000, read_fraction = \"50%\"", "queue_depth = 1", keys));
    assert!(printed.contains("its parts, shares as chosen after") && printed.contains("dirty, writes"), "{printed}");
    assert!(printed.contains("the share of dirty lines"), "{printed}");
}

#[test]
fn impossible_parts_are_refused() {
    let of = |keys: &str| refused(&folder("requests = 100", "", keys));
    for (keys, problem) in [
        (
            "partition = { by = \"access\" }",
            "there are not both with `role = \"unified\"` and `write = \"write-through\"`",
        ),
        (
            "write = \"write-back\"\npartition = { by = \"access\", shares = [\"50%\", \"40%\"] }",
            "`shares` sum to 90.0%; they have to sum to 100%",
        ),
        (
            "write = \"write-back\"\npartition = { by = \"access\", shares = [\"100%\"] }",
            "`shares` has 1; `by = \"access\"` takes two",
        ),
        ("policy = \"arc\"\npartition = { by = \"volume\" }", "and `policy` is \"arc\""),
        ("partition = { by = \"volume\", least = \"200%\" }", "`least` is 200% of an equal share"),
        ("partition = { by = \"volume\", window = \"4KiB\" }", "less than two lines of 4KiB"),
        (
            "role = \"write\"\ntrim_freed = true\nallocation = {}\npartition = { by = \"volume\" }",
            "leave one of them out",
        ),
        ("partition = {}", "by"),
    ] {
        let error = of(keys);
        assert!(error.contains(problem) && error.contains("cache.toml:"), "{keys}: {error}");
    }
}
