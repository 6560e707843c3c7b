//! `esker cluster sim`: its table and its JSON, and what is refused.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{esker_ok, esker_refuses};

/// The example, for fewer days.
fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fleet-unlike.toml")
}

fn sim(more: &[&str]) -> Vec<String> {
    let first = ["cluster", "sim", example().to_str().unwrap(), "--set", "run.duration=90d"].map(str::to_string);
    first.into_iter().chain(more.iter().map(ToString::to_string)).collect()
}

fn stdout(folder: &Path, arguments: &[String]) -> String {
    esker_ok(folder, &arguments.iter().map(String::as_str).collect::<Vec<_>>()).stdout
}

#[test]
fn results_keep_their_schema_and_are_the_same_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let json = stdout(folder.path(), &sim(&["--json", "--seed", "3", "--threads", "1"]));
    assert_eq!(json, stdout(folder.path(), &sim(&["--json", "--seed", "3", "--threads", "4"])));
    let found: Value = serde_json::from_str(&json).unwrap();
    let schema: Value = serde_json::from_str(&esker_ok(folder.path(), &["schema", "fleet"]).stdout).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&found));
    let names: Vec<&str> =
        found["runs"].as_array().unwrap().iter().map(|run| run["balancer"].as_str().unwrap()).collect();
    assert_eq!(names, ["none", "edm-like", "ewo", "life"]);
    for run in found["runs"].as_array().unwrap() {
        let servers = run["servers"].as_array().unwrap().len();
        let last = run["snapshots"].as_array().unwrap().last().unwrap();
        assert_eq!(last["life_used_by_server"].as_array().unwrap().len(), servers);
        assert_eq!((&run["epochs"], &last["life_used"]), (&90.into(), &run["life_used"]));
    }
    // The command that it says gives the same results.
    let again = found["command"].as_str().unwrap().strip_prefix("esker ").unwrap().to_string() + " --json";
    let again = again.split(' ').map(str::to_string).collect::<Vec<_>>();
    assert_eq!(stdout(folder.path(), &again), json);
    assert_ne!(stdout(folder.path(), &sim(&["--json", "--seed", "4"])), json);
}

#[test]
fn the_page_has_the_same_results_inside_and_the_table_is_printed_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let table = stdout(folder.path(), &sim(&["--balancer", "life,none", "-o", "fleet.html"]));
    assert!(table.starts_with("balancer"), "{table}");
    let page = std::fs::read_to_string(folder.path().join("fleet.html")).unwrap();
    let (_, data) = page.split_once("data-file=\"fleet.json\">").unwrap();
    let inside: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let json = stdout(folder.path(), &sim(&["--balancer", "life,none", "--json"]));
    assert_eq!(inside, serde_json::from_str::<Value>(&json).unwrap());
    for words in ["fleet-max", "fleet-p99", "fleet-sd", "fleet-servers", "fleet-order", "First worn out"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn the_table_has_the_balancers_that_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let table = stdout(folder.path(), &sim(&["--balancer", "life", "--balancer", "none"]));
    let rows: Vec<&str> = table.lines().skip(2).map(|row| row.split_whitespace().next().unwrap()).collect();
    assert_eq!(rows, ["life", "none"], "{table}");
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_what_would_do() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fleet.toml"), "[data]\nslice = 3\n").unwrap();
    let error = esker_refuses(folder.path(), &["cluster", "sim", "fleet.toml"]);
    assert!(error.contains("fleet.toml:2:1: data.slice: unknown key; did you mean `slices`?"), "{error}");
    let refused = |more: &[&str]| {
        let arguments = sim(more);
        esker_refuses(folder.path(), &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let error = refused(&["--set", "load.zipf=steep"]);
    assert!(error.contains("--set load.zipf=steep: load.zipf: expected a number"), "{error}");
    let error = refused(&["--balancer", "lief"]);
    assert!(error.contains("life") && error.contains("edm-like"), "{error}");
    let error = refused(&["--set", "data.slices=90000"]);
    assert!(error.contains("has room for") && error.contains("hint:"), "{error}");
}
