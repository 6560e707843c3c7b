//! Caches that own their flash: what the flash drops, what comes back, and what cannot be owned.

use esker_results::{DeviceReport, RunResults};
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

#[test]
fn what_cannot_be_owned_is_refused_with_the_reason() {
    let refused = |flash_keys: &str, cache_keys: &str| {
        let text = text("requests = 1", flash_keys, &format!("{cache_keys}\nown_flash = \"migrate\""));
        let experiment = Experiment::from_str(&text, "owned.toml").unwrap_or_else(|error| panic!("{error}"));
        experiment.assemble().err().expect("it is refused").to_string()
    };
    assert!(refused("pool = \"die\"", "").contains("`pool`"), "{}", refused("pool = \"die\"", ""));
    assert!(refused("wear = { end_of_life = \"retire\" }", "").contains("`wear`"));
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
