//! What is made from the code is as the code says: the published schema, the page of all keys, parts of documents. Real
//! results match the schema. `ESKER_UPDATE_DOCS=1` rewrites them.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use esker_sim::{Experiment, HYBRID_POLICIES, RunOptions, experiments_page, results_schema, run};
use serde_json::Value;

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)
}

#[track_caller]
fn is_current(file: &str, expected: &str) {
    let path = path(file);
    if std::env::var_os("ESKER_UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{file} is not what the code says: ESKER_UPDATE_DOCS=1 cargo test -p esker-sim --test it is_current"
    );
}

/// Checks what `file` has between two texts, each of which it has once.
#[track_caller]
pub(crate) fn part_is_current(file: &str, [begin, end]: [&str; 2], expected: &str) {
    let text = std::fs::read_to_string(path(file)).unwrap();
    let (before, rest) = text.split_once(begin).expect("the file has the text before the part");
    let (_, after) = rest.split_once(end).expect("the file has the text after the part");
    is_current(file, &format!("{before}{begin}{expected}{end}{after}"));
}

#[test]
fn the_published_schema_is_current() {
    is_current("docs/schema/results-1.json", &(serde_json::to_string_pretty(&results_schema()).unwrap() + "\n"));
}

#[test]
fn the_page_of_keys_is_current() {
    is_current("docs/experiments.md", &experiments_page());
}

#[test]
fn the_table_of_placement_policies_is_current() {
    let mut table = "\n| `kind` | what it does | from |\n|---|---|---|\n".to_string();
    for entry in HYBRID_POLICIES.iter() {
        writeln!(table, "| `{}` | {} | {} |", entry.name, entry.summary, entry.source).unwrap();
    }
    part_is_current("docs/hybrids.md", ["<!-- policies -->\n", "\n<!-- end of policies -->"], &table);
}

/// Results of a run with everything in them: flash, disk, children, settling, a series, a cost.
fn results() -> Value {
    let text = r#"
[workload.synthetic]
requests = 4000
footprint = "256MiB"
trim_fraction = 0.1
arrivals = { kind = "fixed", rate = "1000/s" }

[device.flash]
preset = "samsung-k9xxg08-slc-32g"
geometry = { blocks_per_plane = 32 }
precondition = "steady"
utilisation = "90%"

[device.disk]
preset = "ibm-ultrastar-36z15"

[device.volume]
kind = "hybrid"
children = ["flash", "disk"]
capacity = "512MiB"
policy = { kind = "static-split", weights = [1, 1] }

[run]
target = "volume"
series = "1s"
warm_up_requests = 100
settle = { requests_max = 1000 }
"#;
    let options = RunOptions { cost: true, ..RunOptions::default() };
    serde_json::to_value(run(&Experiment::from_str(text, "x.toml").unwrap(), &options).unwrap()).unwrap()
}

#[test]
fn real_results_follow_the_schema() {
    let validator = jsonschema::validator_for(results_schema().as_value()).unwrap();
    let mut results = results();
    let problems: Vec<String> = validator.iter_errors(&results).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(results["devices"]["flash"]["flash"]["precondition"]["filled_pages"].as_u64().unwrap() > 0);
    assert_eq!(results["workload"]["requests"], 3900);
    // The schema also refuses what does not belong.
    results["requests"]["surprise"] = Value::from(1);
    assert!(!validator.is_valid(&results));
}

/// Running `config` from results repeats the run, to the byte.
#[test]
fn a_resolved_configuration_repeats_its_run() {
    let first = results();
    let again = Experiment::from_resolved(&first["config"], "results.json").unwrap();
    let second = run(&again, &RunOptions::default()).unwrap();
    let mut first = first;
    first.as_object_mut().unwrap().remove("cost");
    assert_eq!(serde_json::to_string(&first).unwrap(), serde_json::to_string(&second).unwrap());
}
