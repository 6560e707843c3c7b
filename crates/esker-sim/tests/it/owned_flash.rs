//! Caches that own their flash: what the flash drops, what comes back, and what cannot be owned.

use esker_results::{CacheRoomLeft, DeviceReport, FlashCacheReport, RunResults};
use esker_sim::{Experiment, RunOptions};

/// A cache before a disk that takes 5 ms, over an eighth of the flash of a preset: 11,520 lines.
fn text(workload: &str, flash_keys: &str, cache_keys: &str) -> String {
    format!(
        "[workload.synthetic]\nsize = \"4KiB\"\nfootprint = \"256MiB\"\n\
         address = {{ kind = \"zipf\", exponent = 0.9 }}\n\
         arrivals = {{ kind = \"poisson\", rate = \"300/s\" }}\n{workload}\n\
         [device.flash]\nkind = \"ssd\"\npreset = \"xia-cache-3g\"\ngeometry = {{ blocks_per_plane = 16 }}\n\
         over_provisioning = \"25%\"\n{flash_keys}\n\
         [device.disk]\nkind = \"constant\"\nservice_time = \"5ms\"\nservers = 8\ncapacity = \"512MiB\"\n\
         [device.volume]\nkind = \"cache\"\nflash = \"flash\"\nbacking = \"disk\"\ntrim_freed = true\n{cache_keys}\n\
         [run]\ntarget = \"volume\"\n"
    )
}

fn run(workload: &str, cache_keys: &str) -> RunResults {
    let text = text(workload, "", cache_keys);
    let experiment = Experiment::from_str(&text, "owned.toml").unwrap_or_else(|error| panic!("{error}"));
    esker_sim::run(&experiment, &RunOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn device<'a>(results: &'a RunResults, name: &str) -> &'a DeviceReport {
    &results.devices[name]
}

/// The policy's own lines evolve as over a plain drive, and what has left comes on top: a hit there is one here.
#[test]
fn a_cache_that_owns_its_flash_hits_no_less() {
    for policy in ["lru", "s3-fifo", "arc"] {
        let reads = "requests = 40_000\nread_fraction = 1.0";
        let role = format!("policy = \"{policy}\"\nrole = \"read\"\nwrite = \"write-around\"");
        let plain = run(reads, &role);
        let owned = run(reads, &format!("{role}\nown_flash = \"migrate\""));
        let hits = |results: &RunResults| device(results, "volume").flash_cache.clone().unwrap();
        let (plain, owned) = (hits(&plain), hits(&owned));
        assert_eq!(owned.dropped_lines, 0, "{policy}");
        assert!(owned.revived_suspects > 100, "{policy}: {owned:?}");
        assert!(owned.hits >= plain.hits + owned.revived_suspects / 2, "{policy}: {owned:?} {plain:?}");
    }
}

/// Clean lines are dropped, dirty ones are copied: fewer erases, in every role that caches.
#[test]
fn zero_migration_copies_only_what_is_dirty() {
    for (role, reads) in [("read", 1.0), ("unified", 0.5), ("write", 0.2)] {
        let workload = format!("requests = 60_000\nread_fraction = {reads:?}");
        let write = if role == "read" { "write-around" } else { "write-back" };
        let keys = format!("role = \"{role}\"\nwrite = \"{write}\"\ndirty_low = \"10%\"\ndirty_high = \"20%\"");
        let plain = run(&workload, &keys);
        let owned = run(&workload, &format!("{keys}\nown_flash = \"zero-migration\""));
        let flash = |results: &RunResults| device(results, "flash").flash.clone().unwrap();
        let cache = device(&owned, "volume").flash_cache.clone().unwrap();
        assert!(cache.dropped_lines > 1000, "{role}: {cache:?}");
        assert_eq!((cache.lost, cache.flash_errors), (0, 0), "{role}");
        let (copied, before) = (flash(&owned).programs.cleaning, flash(&plain).programs.cleaning);
        assert!(copied * 2 < before, "{role}: {copied} copies, {before} over a drive");
        assert!(role != "read" || copied == 0, "nothing of a read cache is dirty: {copied}");
        assert!(flash(&owned).erases < flash(&plain).erases, "{role}");
        let conditional = run(&workload, &format!("{keys}\nown_flash = \"conditional\""));
        let between = flash(&conditional).programs.cleaning;
        assert!(copied < between && between < before, "{role}: {copied}, {between}, {before}");
        let hits = |results: &RunResults| device(results, "volume").flash_cache.as_ref().unwrap().hits;
        assert!(hits(&conditional) > hits(&owned), "{role}");
    }
}

/// Blocks that fail in one of ten erases.
const FAILING: &str = "endurance_cycles = 20\nwear = { end_of_life = \"retire\", erase_failures = \"10%\" }";

/// A cache over 128 blocks that wear out after a few erases. Its results, at 300 requests/s.
fn worn(own_flash: &str, requests: u64, warm_up: u64, reads: &str, cache_keys: &str) -> RunResults {
    worn_out(FAILING, own_flash, requests, warm_up, reads, cache_keys)
}

fn worn_out(
    flash_keys: &str,
    own_flash: &str,
    requests: u64,
    warm_up: u64,
    reads: &str,
    cache_keys: &str,
) -> RunResults {
    let workload = format!("requests = {requests}\nread_fraction = {reads}");
    let cache_keys = format!("own_flash = \"{own_flash}\"\n{cache_keys}");
    let text = text(&workload, flash_keys, &cache_keys).replace("256MiB", "64MiB");
    let text = format!("{text}warm_up_requests = {warm_up}\n");
    let experiment = Experiment::from_str(&text, "worn.toml").unwrap_or_else(|error| panic!("{error}"));
    esker_sim::run(&experiment, &RunOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn cache(results: &RunResults) -> &FlashCacheReport {
    device(results, "volume").flash_cache.as_ref().unwrap()
}

/// Returns when the room fell below the share `share` of its first value, in seconds.
fn below(room: &CacheRoomLeft, share: f64) -> f64 {
    let is_less = |slots: u64| slots as f64 <= share * room.slots_at_first as f64;
    room.shrank.iter().find(|shrank| is_less(shrank.slots)).map_or(f64::INFINITY, |shrank| shrank.at_s)
}

const WRITE_BACK: &str = "write = \"write-back\"\ndirty_low = \"10%\"\ndirty_high = \"20%\"";

/// Block by block the cache holds less, until nothing is left. No request fails, nothing dirty is lost, and hits go
/// down with the room. If clean lines are dropped instead of copied, the same flash serves more reads until then. With
/// `ESKER_PRINT` set, prints the table of docs/flash-cache-device.md.
#[test]
#[expect(clippy::print_stdout, reason = "it prints where that is asked for")]
fn a_cache_shrinks_with_its_flash_to_nothing() {
    let roles = [("unified", 150_000, "0.7"), ("read", 250_000, "0.95"), ("write", 200_000, "0.5")];
    let prints = std::env::var_os("ESKER_PRINT").is_some();
    for (role, requests, reads) in roles.into_iter().take(if prints || esker_testkit::soak() > 1 { 3 } else { 1 }) {
        let handling = if role == "read" { "" } else { WRITE_BACK };
        let keys = format!("role = \"{role}\"\n{handling}");
        let mut served = Vec::new();
        for own_flash in ["migrate", "conditional", "zero-migration"] {
            let life = worn(own_flash, requests, 0, reads, &keys);
            let (report, what) = (cache(&life), format!("{role}, {own_flash}"));
            let room = report.room.clone().unwrap_or_else(|| panic!("{what}: it does not wear out"));
            assert_eq!((report.slots, report.held_lines, report.dirty_lines), (0, 0, 0), "{what}: {report:?}");
            assert_eq!((life.requests.errors, report.lost, report.flash_errors), (0, 0, 0), "{what}");
            assert!(room.shrank.is_sorted_by(|one, next| one.slots > next.slots), "{what}: {room:?}");
            let after = |share: f64| (below(&room, share) * 300.0) as u64;
            let hits = |from: u64| cache(&worn(own_flash, from + 10_000, from, reads, &keys)).hit_ratio;
            let (new, half, gone) = (hits(15_000), hits(after(0.5)), hits(after(0.0) + 5_000));
            assert!(life.remarks.iter().any(|remark| remark.contains("none after")), "{what}: {:?}", life.remarks);
            assert!(new > 1.05 * half && half > 0.05 && gone == 0.0, "{what}: {new} {half} {gone}");
            served.push(report.read_hits);
            if prints {
                let erases = device(&life, "flash").flash.as_ref().unwrap().erases;
                println!(
                    "| `{role}` | `{own_flash}` | {} | {:.1} % | {:.1} % | {:.0} s | {:.0} s | {erases} | {} |",
                    report.read_hits,
                    100.0 * new,
                    100.0 * half,
                    below(&room, 0.5),
                    below(&room, 0.0),
                    report.refused_writes,
                );
            }
        }
        assert!(served[2] * 2 > served[0] * 3 && served[1] > served[0], "{role}: {served:?}");
    }
}

/// Lines of several pages, which flash may refuse in part, with other policies, handlings and a cache in parts.
#[test]
fn other_caches_shrink_to_nothing_too() {
    let through = "write = \"write-through\"";
    let around = "role = \"read\"\nwrite = \"write-around\"";
    let parts = "write = \"write-back\"\npartition = { by = \"access\", shares = [\"50%\", \"50%\"] }";
    let cases = [
        ("lirs", WRITE_BACK),
        ("arc", "write = \"write-back\""),
        ("s3-fifo", through),
        ("clock", around),
        ("lru", parts),
        ("lru", "role = \"write\"\nwrite = \"write-back\"\nadmission = \"second-hit\""),
    ];
    let mut refused = 0;
    for (policy, handling) in cases {
        for own_flash in ["migrate", "conditional"] {
            let what = format!("{policy}, {own_flash}, {handling}");
            let keys = format!("line = \"16KiB\"\npolicy = \"{policy}\"\n{handling}");
            let life = worn(own_flash, 150_000, 0, "0.5", &keys);
            let report = cache(&life);
            assert_eq!((report.slots, report.held_lines, report.dirty_lines), (0, 0, 0), "{what}: {report:?}");
            assert_eq!((life.requests.errors, report.lost, report.flash_errors), (0, 0, 0), "{what}");
            refused += report.refused_writes;
        }
    }
    assert!(refused > 0, "no write found the flash without room");
}

/// All blocks wear out within a few seconds, while all that is held is dirty: writes find no room before all of it is
/// copied back, but none fails, and nothing is lost.
#[test]
fn flash_that_fails_all_at_once_loses_nothing() {
    let keys = "write = \"write-back\"\ndirty_low = \"100%\"\ndirty_high = \"100%\"";
    for victim in ["greedy", "fifo"] {
        let flash_keys = format!(
            "cleaning = {{ victim = \"{victim}\" }}\nendurance_cycles = 3\nwear = {{ end_of_life = \"retire\" }}"
        );
        for own_flash in ["migrate", "conditional", "zero-migration"] {
            let life = worn_out(&flash_keys, own_flash, 60_000, 0, "0.1", keys);
            let (report, what) = (cache(&life), format!("{victim}, {own_flash}"));
            assert_eq!((report.slots, report.held_lines, report.dirty_lines), (0, 0, 0), "{what}: {report:?}");
            assert_eq!((life.requests.errors, report.lost, report.flash_errors), (0, 0, 0), "{what}");
            assert!(report.refused_writes > 0 && report.cleaned > 0, "{what}: {report:?}");
        }
    }
}

/// An event cannot take flash away from its owner; a slower drive can have one.
#[test]
fn events_do_not_shrink_flash_that_is_owned() {
    let run = |change: &str| {
        let event = format!("[[run.events]]\nat = \"1500ms\"\ndevice = \"flash\"\n{change}\n");
        let text = text("requests = 1_000", "", "own_flash = \"migrate\"") + &event;
        let experiment = Experiment::from_str(&text, "owned.toml").unwrap_or_else(|error| panic!("{error}"));
        esker_sim::run(&experiment, &RunOptions::default()).map_err(|error| error.to_string())
    };
    let error = run("shrink = \"4MiB\"").unwrap_err();
    let reason = "run.events[0]: at 1.5 s: the cache owns its flash and uses all that is left of it; only wear makes \
                  that less";
    assert!(error.ends_with(reason), "{error}");
    assert!(cache(&run("slow = 3").unwrap()).hits > 0);
}

#[test]
fn what_cannot_be_owned_is_refused_with_the_reason() {
    let refused = |flash_keys: &str, cache_keys: &str| {
        let text = text("requests = 1", flash_keys, &format!("{cache_keys}\nown_flash = \"migrate\""));
        let experiment = Experiment::from_str(&text, "owned.toml").unwrap_or_else(|error| panic!("{error}"));
        experiment.assemble().err().expect("it is refused").to_string()
    };
    assert!(refused("pool = \"die\"", "").contains("`pool`"), "{}", refused("pool = \"die\"", ""));
    let power = refused("power_failure = { at = \"1s\" }", "");
    assert!(power.contains("`power_failure`"), "{power}");
    assert!(refused("", "flash_capacity = \"1MiB\"").contains("leaves a part of the flash unused"));
    assert!(refused("", "line = \"2KiB\"").contains("pages of `flash` are of 4KiB"));
    assert!(refused("", "slots = \"log\"\npolicy = \"fifo\"").contains("`slots`"));
    let disk = text("requests = 1", "", "own_flash = \"migrate\"").replace("flash = \"flash\"", "flash = \"spare\"")
        + "[device.spare]\nkind = \"constant\"\nservice_time = \"1ms\"\ncapacity = \"64MiB\"\n";
    let disk = disk.split("[device.flash]").collect::<Vec<_>>();
    let rest = disk[1].split_once("[device.disk]").unwrap().1;
    let error = Experiment::from_str(&format!("{}[device.disk]{rest}", disk[0]), "owned.toml").unwrap();
    let error = error.assemble().err().expect("it is refused").to_string();
    assert!(error.contains("`spare` cannot be owned"), "{error}");
}
