//! `esker plan` from end to end.

use serde_json::Value;

use crate::support::{esker_in, esker_ok, folder_with_trace};

const ONLY: [&str; 2] = ["--only", "micron-5400-pro,toshiba-mg10"];

fn planned(folder: &std::path::Path, more: &[&str]) -> Value {
    let all = [&["plan", "small.csv", "--json", "-q", "--capacity", "30TB"], &ONLY[..], more].concat();
    serde_json::from_str(&esker_ok(folder, &all).stdout).expect("it is JSON")
}

#[test]
fn the_same_bytes_on_any_number_of_threads_and_by_the_schema() {
    let folder = folder_with_trace(3_000);
    let one = planned(folder.path(), &["--threads", "1"]);
    assert_eq!(one, planned(folder.path(), &["--threads", "2"]));
    let schema: Value = serde_json::from_str(&esker_ok(folder.path(), &["schema", "plan"]).stdout).unwrap();
    if let Err(error) = jsonschema::validate(&schema, &one) {
        panic!("the plan does not keep its schema: {error}");
    }
    let plan = &one["plans"][0]["plan"];
    assert_eq!(plan["verified"]["keeps_budgets"], true, "{}", one["plans"][0]["rounds"]);
    let kinds: Vec<&str> =
        plan["devices"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ssd", "hdd"], "30 TB ask for disks, and requests for flash");
}

/// What `-o` writes is the experiment that was simulated.
#[test]
fn the_experiment_of_a_plan_repeats_its_simulation() {
    let folder = folder_with_trace(3_000);
    let json = planned(folder.path(), &["-o", "plan.toml"]);
    let design = &json["plans"][0]["plan"]["verified"]["design"];
    let text = std::fs::read_to_string(folder.path().join("plan.toml")).unwrap();
    assert!(text.starts_with("# A plan of esker"), "{text}");
    let again: Value = serde_json::from_str(&esker_ok(folder.path(), &["sim", "plan.toml", "--json"]).stdout).unwrap();
    assert_eq!(design["requests"], again["requests"]);
    // A second plan may take the place of the first, and of nothing else.
    planned(folder.path(), &["-o", "plan.toml"]);
    let refused = esker_in(folder.path(), &[&["plan", "small.csv", "-o", "small.csv"], &ONLY[..]].concat());
    assert!(refused.code != 0 && refused.stderr.contains("small.csv"), "{}", refused.stderr);
}

#[test]
fn what_clashes_is_said_with_what_helps() {
    let folder = folder_with_trace(3_000);
    let command = [&["plan", "small.csv", "-q", "--capacity", "60TB", "--devices", "1"], &ONLY[..]].concat();
    let said = esker_ok(folder.path(), &command).stdout;
    assert!(said.contains("There is no plan") && said.contains("number of devices from 1 to"), "{said}");
    let required = esker_in(folder.path(), &[&command[..], &["--require"]].concat());
    assert_eq!(required.code, 3, "{}", required.stderr);
    let several = [&["plan", "small.csv", "other.csv", "-o", "plan.toml"], &ONLY[..]].concat();
    let refused = esker_in(folder.path(), &several);
    assert!(refused.code != 0 && refused.stderr.contains("--together"), "{}", refused.stderr);
}
