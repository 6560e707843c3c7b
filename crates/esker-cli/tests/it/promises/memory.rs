//! What takes more memory than there is, is refused with the figure and the setting to change.

use std::fs;
use std::process::{Command, Stdio};

/// Runs `esker sim FILE.toml` with `kibibytes` of address space.
fn sim_within(kibibytes: u64, experiment: &str) -> crate::support::Run {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.toml"), experiment).unwrap();
    let script = format!("ulimit -v {kibibytes}; exec \"$0\" sim x.toml -q --threads 1");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_esker")]).current_dir(folder.path()).env("NO_COLOR", "1");
    crate::support::run(shell.stdout(Stdio::piped()).stderr(Stdio::piped()), "within a limit").unwrap()
}

fn cache(flash: &str, disk: &str, line: &str) -> String {
    format!(
        "[workload]\nsynthetic = {{ requests = 100, footprint = \"1MiB\" }}\n\
         [device.flash]\nkind = \"constant\"\nservice_time = \"100us\"\ncapacity = \"{flash}\"\n\
         [device.disk]\nkind = \"constant\"\nservice_time = \"5ms\"\ncapacity = \"{disk}\"\n\
         [device.volume]\nkind = \"cache\"\nflash = \"flash\"\nbacking = \"disk\"\nline = \"{line}\"\n\
         [run]\ntarget = \"volume\"\n"
    )
}

#[test]
fn a_cache_whose_map_has_no_room_is_refused() {
    let refused = sim_within(2_000_000, &cache("1TiB", "2TB", "4KiB"));
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    for word in ["device.volume.line", "268435456 slots", "of memory, and", "free", "hint: make `line` larger"] {
        assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
    }
    // The hint helps: a sixty-fourth of the lines takes a sixty-fourth of the memory.
    let served = sim_within(2_000_000, &cache("1TiB", "2TB", "256KiB"));
    assert_eq!(served.code, 0, "{}", served.stderr);
}

#[test]
fn a_drive_whose_map_has_no_room_is_refused() {
    let drive = |blocks: u32, condition: &str| {
        format!(
            "[workload]\nsynthetic = {{ requests = 100, footprint = \"1MiB\" }}\n\
             [device.drive]\nkind = \"ssd\"\npreset = \"samsung-k9xxg08-slc-32g\"\n\
             geometry = {{ blocks_per_plane = {blocks} }}\n{condition}\n[run]\ntarget = \"drive\"\n"
        )
    };
    for condition in ["", "precondition = \"filled\""] {
        // 4 TiB of pages of 4 KiB.
        let refused = sim_within(2_000_000, &drive(262_144, condition));
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        let words =
            ["geometry.blocks_per_plane", "its 1073741824 pages", "of memory, and", "free", "hint: give it fewer"];
        for word in words {
            assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
        }
        // The hint helps.
        let served = sim_within(2_000_000, &drive(1024, condition));
        assert_eq!(served.code, 0, "{}", served.stderr);
    }
}

#[test]
fn queues_that_would_fill_the_memory_are_refused() {
    let device = "[device.d]\nkind = \"constant\"\nservice_time = \"5ms\"\ncapacity = \"1GiB\"\n";
    for (workload, run, key) in [
        ("", "backlog_limit = 1_000_000_000", "run.backlog_limit"),
        ("queue_depth = 1_000_000_000", "", "workload.queue_depth"),
    ] {
        let text =
            format!("[workload]\n{workload}\nsynthetic = {{ requests = 9 }}\n{device}[run]\ntarget = \"d\"\n{run}\n");
        let refused = sim_within(2_000_000, &text);
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains(key) && refused.stderr.contains("10000000"), "{}", refused.stderr);
    }
}

/// A hybrid's map is known to be large only when it is taken.
#[test]
fn what_cannot_be_had_ends_with_an_error() {
    let hybrid = "[workload]\nsynthetic = { requests = 100, footprint = \"1MiB\" }\n\
         [device.fast]\nkind = \"constant\"\nservice_time = \"100us\"\ncapacity = \"100GiB\"\n\
         [device.slow]\nkind = \"constant\"\nservice_time = \"5ms\"\ncapacity = \"150GiB\"\n\
         [device.volume]\nkind = \"hybrid\"\nchildren = [\"fast\", \"slow\"]\nextent = \"4KiB\"\n\
         policy = { kind = \"wardrop\" }\n\
         [run]\ntarget = \"volume\"\n";
    let refused = sim_within(200_000, hybrid);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    for word in ["error: out of memory: ", " more bytes", "hint: free memory", "ulimit -v"] {
        assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
    }
    assert_eq!(refused.stderr.lines().count(), 2, "{}", refused.stderr);
}
