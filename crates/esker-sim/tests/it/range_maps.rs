//! Experiments whose policy follows a map of ranges from a file.

use std::fs;
use std::path::Path;

use esker_core::Hint;
use esker_results::RunResults;
use esker_sim::{ConfigError, Experiment, RunOptions, SweepOptions, run, sweep};

const FAST: &str = "[device.fast]\nkind = \"constant\"\nservice_time = \"20us\"\ncapacity = \"8MiB\"\n";
const SLOW: &str = "[device.slow]\nkind = \"constant\"\nservice_time = \"5ms\"\ncapacity = \"24MiB\"\n";

fn experiment(policy: &str) -> String {
    format!(
        "[workload]\nsynthetic = {{ requests = 2_000, footprint = \"16MiB\", read_fraction = \"70%\" }}\n{FAST}{SLOW}\
         [device.pair]\nkind = \"hybrid\"\nchildren = [\"fast\", \"slow\"]\n\
         policy = {{ kind = \"pinned\", {policy} }}\n[run]\ntarget = \"pair\"\n"
    )
}

/// The experiment of this policy in a folder with maps.
fn load(folder: &Path, policy: &str) -> Result<Experiment, ConfigError> {
    fs::create_dir_all(folder.join("maps")).unwrap();
    let map = |lines: &str| format!("# Of a test.\nstart_bytes,length_bytes,device\n{lines}");
    fs::write(folder.join("maps/good.map"), map("3145728,2097152,fast\n0,16777216,slow\n")).unwrap();
    fs::write(folder.join("maps/other.map"), map("0,4194304,fast\n4194304,12582912,slow\n")).unwrap();
    fs::write(folder.join("maps/bad.map"), map("0,16777216,slwo\n")).unwrap();
    fs::write(folder.join("maps/binary.map"), [0xff, 0xfe, 0]).unwrap();
    fs::write(folder.join("pair.toml"), experiment(policy)).unwrap();
    Experiment::load(&folder.join("pair.toml"))
}

fn results(experiment: &Experiment) -> RunResults {
    run(experiment, &RunOptions::default()).unwrap()
}

/// The map is found from the experiment's folder on. Results show its ranges, and need the file no more.
#[test]
fn a_map_is_the_list_of_its_ranges() {
    let folder = tempfile::tempdir().unwrap();
    let mapped = load(folder.path(), "map = \"maps/good.map\"").unwrap();
    let ranges = "ranges = [{ start = \"3MiB\", length = \"2MiB\", device = 0 }, \
                  { start = \"0B\", length = \"16MiB\", device = 1 }]";
    let listed = load(folder.path(), ranges).unwrap();
    let results = [&mapped, &listed].map(results);
    assert_eq!(results[0].devices, results[1].devices);
    assert_eq!(results[0].config, results[1].config);
    let share = results[0].devices["pair"].children["fast"].requests as f64 / 2_000.0;
    assert!((share - 0.125).abs() < 0.03, "{share}");
    fs::remove_dir_all(folder.path().join("maps")).unwrap();
    let again = Experiment::from_resolved(&results[0].config, "again").unwrap();
    assert_eq!(again.resolved(), mapped.resolved());
}

#[test]
fn mistakes_have_their_place_in_the_experiment_and_in_the_map() {
    let folder = tempfile::tempdir().unwrap();
    let error = |policy: &str| {
        let error = load(folder.path(), policy).unwrap_err();
        (error.to_string().replace(&format!("{}/", folder.path().display()), ""), error.hint().unwrap_or_default())
    };
    let (message, hint) = error("map = \"maps/bad.map\"");
    let expected = "pair.toml:14:35: device.pair.policy.map: maps/bad.map:3: `slwo` is no device here; did you mean \
                    `slow`?";
    assert_eq!((message.as_str(), hint.as_str()), (expected, "there is: fast, slow"));
    assert!(error("map = \"none.map\"").0.contains("the map none.map cannot be read: "));
    assert!(error("map = \"maps/binary.map\"").0.ends_with("the map maps/binary.map is no text"));
    let (message, _) = error("map = \"maps/good.map\", ranges = [{ length = \"1MiB\", device = 0 }]");
    assert!(message.ends_with("`ranges` and `map` both say what is pinned; give one of them"), "{message}");
    fs::write(folder.path().join("large.map"), "start_bytes,length_bytes,device\n0,9437184,fast\n").unwrap();
    let large = load(folder.path(), "map = \"large.map\"").unwrap();
    let fault = large.assemble().err().unwrap();
    assert!(fault.to_string().contains("`policy.map` cannot be met: of 32MiB they put 9MiB on `fast`"), "{fault}");
}

/// A map is one more thing to sweep, and an input all the same.
#[test]
fn maps_are_swept() {
    let folder = tempfile::tempdir().unwrap();
    load(folder.path(), "map = \"maps/good.map\"").unwrap();
    let text = experiment("map = \"maps/good.map\"")
        + "[sweep]\n\"device.pair.policy.map\" = [\"maps/good.map\", \"maps/other.map\"]\n";
    fs::write(folder.path().join("swept.toml"), text).unwrap();
    let experiment = Experiment::load(&folder.path().join("swept.toml")).unwrap();
    let refused = esker_files::write(&folder.path().join("maps/other.map"), b"lost").unwrap_err();
    assert!(refused.to_string().contains("other.map"), "{refused}");
    let points = folder.path().join("points");
    let done = sweep(&experiment, &SweepOptions::new(&points)).unwrap();
    assert_eq!((done.run, done.failed), (2, 0));
    let ends = |index: usize| results(&experiment.point(&[index]).unwrap()).devices["pair"].children["fast"].requests;
    assert!(ends(0) < ends(1), "two of sixteen MiB, and four");
}
