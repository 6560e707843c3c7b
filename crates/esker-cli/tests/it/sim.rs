//! The output of `esker sim`.

use esker_core::words;
use serde_json::Value;

use crate::support::esker_ok;

/// The output of an experiment on a small drive with these lines, and its `recovery`.
fn run(drive: &str) -> (String, Value) {
    let (printed, flash) = run_drive(drive);
    (printed, flash["recovery"].clone())
}

/// The output of such an experiment, and its results for the drive's flash.
fn run_drive(drive: &str) -> (String, Value) {
    let experiment = format!(
        r#"
[workload]
synthetic = {{ requests = 3000, read_fraction = "20%" }}
queue_depth = 16

[device.ssd]
kind = "ssd"
preset = "samsung-k9xxg08-slc-32g"
geometry.blocks_per_plane = 16
over_provisioning = "30%"
{drive}

[run]
target = "ssd"
"#
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("power.toml"), experiment).expect("the folder can be written");
    let printed = esker_ok(folder.path(), &["sim", "power.toml", "--no-cost"]).stdout;
    let json = esker_ok(folder.path(), &["sim", "power.toml", "--json", "--no-cost"]).stdout;
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    (printed, json["devices"]["ssd"]["flash"].clone())
}

#[test]
fn reads_of_pages_that_were_never_written_are_counted_and_remarked() {
    let (printed, flash) = run_drive("");
    let (reads, unwritten) = (count(&flash, "host_page_reads"), count(&flash, "unwritten_page_reads"));
    assert!((400..800).contains(&reads) && unwritten > reads / 2, "{unwritten} of {reads}");
    assert!(printed.contains("of the pages that were read had no data"), "{printed}");
    let (printed, flash) = run_drive("precondition = \"filled\"");
    assert_eq!(count(&flash, "unwritten_page_reads"), 0);
    assert!(!printed.contains("had no data"), "{printed}");
}

fn count(recovery: &Value, key: &str) -> u64 {
    recovery[key].as_u64().unwrap_or_else(|| panic!("`{key}` in {recovery}"))
}

#[test]
fn a_power_failure_says_what_was_lost_and_how_data_were_found_again() {
    let buffer = r#"write_buffer = { size = "1MiB", latency = "10us", high_water = "10%", low_water = "5%" }"#;
    let (printed, recovery) = run(&format!("{buffer}\npower_failure = {{ at = \"20ms\" }}"));
    let value = |key| words::count(count(&recovery, key));
    let lost = count(&recovery, "lost_pages");
    assert!(lost > 1 && count(&recovery, "interrupted_operations") > 1 && count(&recovery, "torn_pages") > 1);
    let blocks = 8 * 2 * 4 * 16;
    assert!(count(&recovery, "spare_area_reads") > blocks && count(&recovery, "scanned_blocks") > 0, "{recovery}");
    assert_eq!(count(&recovery, "reads"), count(&recovery, "spare_area_reads"));
    let expected = [
        "\n  power failed at 20 milliseconds: ".to_string(),
        format!(
            "of programs and erases, {} were being done and {} waited\n",
            value("interrupted_operations"),
            value("dropped_operations")
        ),
        format!("\n  torn: {} pages and 0 blocks\n", value("torn_pages")),
        format!("\n  lost with the write buffer: {lost} pages of ended writes\n"),
        format!(
            ", by a full scan: {} spare areas, {} blocks page by page read\n",
            value("spare_area_reads"),
            value("scanned_blocks")
        ),
        format!("\n  found again: data of {} pages", value("found_pages")),
    ];
    for line in expected {
        assert!(printed.contains(&line), "{line:?} is not in:\n{printed}");
    }
}

#[test]
fn a_protected_buffer_says_what_capacitors_did() {
    let buffer = r#"write_buffer = { size = "1MiB", latency = "10us", power_protected = true }"#;
    let (printed, recovery) = run(&format!(
        "{buffer}\n\
        block_summary = true\n\
        ftl = {{ kind = \"dftl\", cache = \"1KiB\" }}\n\
        power_failure = {{ after_requests = 1500 }}"
    ));
    assert!(count(&recovery, "saved_pages") > 1 && count(&recovery, "lost_pages") == 0, "{recovery}");
    let saved = words::duration(recovery["save_s"].as_f64().unwrap());
    let expected = [
        ": no request was under way".to_string(),
        format!(
            "\n  capacitors kept it going for {saved} to save {} pages of the write buffer\n",
            words::count(count(&recovery, "saved_pages"))
        ),
        ", through the directory of its map: ".to_string(),
        format!(" {} summaries", words::count(count(&recovery, "summary_reads"))),
        format!(" {} pages of the map read", words::count(count(&recovery, "map_page_reads"))),
    ];
    for line in expected {
        assert!(printed.contains(&line), "{line:?} is not in:\n{printed}");
    }
    assert!(!printed.contains("lost with"), "{printed}");
    let (printed, recovery) = run("");
    assert!(recovery.is_null() && !printed.contains("power"), "{printed}");
}

#[test]
fn a_device_without_resources_of_its_own_is_a_name_without_a_colon() {
    let experiment = r#"
[workload]
synthetic = { requests = 30 }

[device.station]
kind = "constant"
service_time = "1ms"
capacity = "1GiB"

[device.stripes]
kind = "array"
level = "0"
child = "station"
count = 2

[run]
target = "stripes"
"#;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("array.toml"), experiment).unwrap();
    let printed = esker_ok(folder.path(), &["sim", "array.toml", "--no-cost"]).stdout;
    assert!(printed.contains("\nstripes (array, 2 GiB)\n"), "{printed}");
    assert!(printed.contains("\nstation.0 (constant, 1 GiB): "), "{printed}");
}

/// A hybrid that shifts its extents to the faster device.
const HYBRID: &str = r#"
[workload]
queue_depth = 4
synthetic = { requests = 5000, footprint = "24MiB" }

[device.fast]
kind = "constant"
service_time = "100us"
capacity = "32MiB"

[device.slow]
kind = "constant"
service_time = "300us"
capacity = "32MiB"

[device.volume]
kind = "hybrid"
children = ["fast", "slow"]
extent = "64KiB"
capacity = "32MiB"
policy = { kind = "wardrop" }

[run]
target = "volume"
series = "10ms"
"#;

#[test]
fn the_page_of_a_run_can_be_drawn_again_from_its_json() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hybrid.toml"), HYBRID).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let arguments = ["sim", "hybrid.toml", "--no-cost", "--json=run.json", "-o", "run.html"];
    assert_eq!(esker_ok(folder.path(), &arguments).stdout, "");
    let page = read("run.html");
    assert!(page.contains("volume (hybrid, wardrop) answered") && page.contains("id=\"extent-map\""));
    let said = esker_ok(folder.path(), &["report", "run.json", "-o", "again.html"]).stdout;
    assert_eq!(said, "Report: again.html\n");
    assert!(read("again.html") == page, "the two pages differ");
    // The text is printed beside a page, unless the page itself is.
    let printed = esker_ok(folder.path(), &["sim", "hybrid.toml", "--no-cost", "-o", "run.html"]).stdout;
    assert!(printed.starts_with("5 000 requests"), "{printed}");
    assert!(esker_ok(folder.path(), &["sim", "hybrid.toml", "--no-cost", "-o", "-"]).stdout == page);
}

#[test]
fn results_with_a_map_keep_their_schema() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hybrid.toml"), HYBRID).unwrap();
    let json = esker_ok(folder.path(), &["sim", "hybrid.toml", "--json", "--no-cost"]).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(json["placement_map"]["frames"].as_array().unwrap().len() > 10);
    let schema: Value = serde_json::from_str(&esker_ok(folder.path(), &["schema", "results"]).stdout).unwrap();
    if let Err(error) = jsonschema::validate(&schema, &json) {
        panic!("the run does not keep its schema: {error}");
    }
}

#[test]
fn each_shard_of_a_sweep_has_a_table_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let grid = "[workload]\nsynthetic = { requests = 10 }\n[device.d]\nkind = \"constant\"\nservice_time = \"1ms\"\n\
                capacity = \"1MiB\"\n[run]\ntarget = \"d\"\n[sweep]\n\"run.seed\" = [1, 2, 3]\n";
    std::fs::write(folder.path().join("grid.toml"), grid).unwrap();
    let sweep = |more: &[&str]| esker_ok(folder.path(), &[&["sweep", "grid.toml", "-o", "points"], more].concat());
    let indices = |name: &str| -> Vec<String> {
        let table = std::fs::read_to_string(folder.path().join("points").join(name)).unwrap();
        table.lines().skip(1).map(|row| row.split(',').next().unwrap().to_string()).collect()
    };
    for shard in ["1/2", "2/2"] {
        sweep(&["--shard", shard]);
    }
    assert_eq!(indices("sweep-1-of-2.csv"), ["0", "2"]);
    assert_eq!(indices("sweep-2-of-2.csv"), ["1"]);
    let whole = sweep(&[]);
    assert!(whole.stderr.contains("0 points run, 3 were there already"), "{}", whole.stderr);
    assert_eq!(indices("sweep.csv"), ["0", "1", "2"]);
}
