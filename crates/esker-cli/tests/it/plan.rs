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

/// The page has what the terminal has, and the picture.
#[test]
fn the_page_of_a_plan_says_what_the_terminal_says() {
    let folder = folder_with_trace(3_000);
    let all =
        ["plan", "small.csv", "-q", "--capacity", "30TB", "--report", "plan.html", "--have", "2xtoshiba-mg10:20TB"];
    let printed = esker_ok(folder.path(), &[&all[..], &ONLY[..]].concat()).stdout;
    let page = std::fs::read_to_string(folder.path().join("plan.html")).unwrap();
    for text in ["Which mix of devices is the cheapest", "Where the requests go", "never asked for", "2 times the load"]
    {
        assert!(page.contains(text), "{text}");
    }
    assert!(page.contains("The way from the devices in use") && printed.contains("From the devices in use"));
    assert!(printed.contains("2 times the load") && printed.contains("times the price of disks"), "{printed}");
}

/// A study has the same plan as `esker plan`, and its JSON keeps the schema.
#[test]
fn a_study_has_the_plan_too() {
    let folder = folder_with_trace(3_000);
    let all = [&["study", "small.csv", "--json", "-q", "--capacity", "30TB", "--plan", "-o", "report.html"], &ONLY[..]];
    let study: Value = serde_json::from_str(&esker_ok(folder.path(), &all.concat()).stdout).unwrap();
    let schema: Value = serde_json::from_str(&esker_ok(folder.path(), &["schema", "study"]).stdout).unwrap();
    if let Err(error) = jsonschema::validate(&schema, &study) {
        panic!("the study does not keep its schema: {error}");
    }
    assert_eq!(study["workloads"][0]["plan"], planned(folder.path(), &[])["plans"][0]);
    let assumptions: Vec<&str> =
        study["assumptions"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect();
    assert!(assumptions.iter().any(|text| text.starts_with("A plan places data by records")), "{assumptions:?}");
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("Which mix of devices is the cheapest") && page.contains("href=\"#w1-plan\""));
}

#[test]
fn classes_constraints_and_power_are_settings() {
    let folder = folder_with_trace(3_000);
    let merged = planned(folder.path(), &["--classes", "merged", "--constraints", "paper", "--power", "1000W"]);
    let plan = &merged["plans"][0]["plan"];
    let limits: Vec<&str> =
        plan["constraints"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(limits.contains(&"power") && limits.iter().any(|name| name.ends_with("time of each class")), "{limits:?}");
    assert!(merged["command"].as_str().unwrap().contains("--classes merged --constraints paper --power 1000W"));
    let refused = esker_in(folder.path(), &["plan", "small.csv", "--power", "300"]);
    assert!(refused.code == 2 && refused.stderr.contains("write 300W"), "{}", refused.stderr);
}
