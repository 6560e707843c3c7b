//! `esker devices import`, presets by file, and `esker validate`.

use serde_json::Value;

use crate::support::{esker_in, esker_ok, esker_refuses};

const DRIVE: &[(&str, &str)] = &[
    ("small.parv", include_str!("../../../esker-disk/tests/disk/drive/small.parv")),
    ("small.diskspecs", include_str!("../../../esker-disk/tests/disk/drive/small.diskspecs")),
    ("small.model", include_str!("../../../esker-disk/tests/disk/drive/small.model")),
    ("small.seek", include_str!("../../../esker-disk/tests/disk/drive/small.seek")),
    // Right behind each other: the second read is in the buffer, unless it is a write.
    ("measured", "R Hit 100 8 5000.0 1000.0\nR Hit 108 8 700.5 30000.0\nW Miss 4000 2 9000.0 0.0\n"),
];

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in DRIVE {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn an_imported_drive_runs_in_an_experiment_and_a_catalogue() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("presets")).unwrap();
    let run = esker_ok(folder.path(), &["devices", "import", "small.parv", "-o", "presets/small.toml"]);
    assert!(run.stderr.contains("`Preseeking level = 2` is not modelled"), "{}", run.stderr);
    assert_eq!(run.stdout, "");
    let quiet = esker_ok(folder.path(), &["devices", "import", "small.parv", "-o", "presets/small.toml", "--quiet"]);
    assert_eq!(quiet.stderr, "");
    let experiment = "[workload]\nsynthetic = { requests = 50, arrivals = { kind = \"poisson\", rate = \"20/s\" } }\n\
        [device.disk]\npreset = \"small.toml\"\nqueue_depth = 9\n[run]\ntarget = \"disk\"\n";
    // The path starts from the folder of the experiment.
    std::fs::write(folder.path().join("presets/x.toml"), experiment).unwrap();
    let results = esker_ok(folder.path(), &["sim", "presets/x.toml", "--json"]).stdout;
    let results: Value = serde_json::from_str(&results).unwrap();
    let disk = &results["config"]["device"]["disk"];
    assert_eq!((disk["queue_depth"].as_u64(), disk["surfaces"].as_u64()), (Some(9), Some(2)));
    assert_eq!(disk["firmware"]["write_seek_min"], "500us");

    let catalogue = include_str!("../../../esker-catalogue/catalogues/kim-2009.toml");
    let changed = catalogue.replace("preset = \"seagate-cheetah-15k5-146g\"", "preset = \"small.toml\"");
    assert_ne!(catalogue, changed);
    std::fs::write(folder.path().join("presets/shop.toml"), changed).unwrap();
    assert!(esker_ok(folder.path(), &["devices", "check", "presets/shop.toml"]).stdout.contains("valid"));
}

#[test]
fn mistakes_in_presets_name_their_file_and_place() {
    let folder = folder();
    let experiment = "[workload]\nsynthetic = { requests = 50, arrivals = { kind = \"poisson\", rate = \"20/s\" } }\n\
        [device.disk]\npreset = \"own.toml\"\n[run]\ntarget = \"disk\"\n";
    std::fs::write(folder.path().join("x.toml"), experiment).unwrap();
    let error = |preset: &str| {
        std::fs::write(folder.path().join("own.toml"), preset).unwrap();
        esker_refuses(folder.path(), &["sim", "x.toml"])
    };
    assert!(
        error("kind = \"hdd\"\ncapacity = 5\n").contains("x.toml:4:10: device.disk.preset: own.toml:2:12: capacity")
    );
    assert!(error("capacity = 5\n").contains("own.toml:1:1: a preset needs a `kind`"));
    assert!(error("kind = \"hdd\"\npreset = \"x\"\n").contains("own.toml:2:1: preset: unknown key"));
    assert!(error("kind = \"hd\"\n").contains("own.toml:1:8: kind"));
    assert!(error("kind = [\n").contains("own.toml:"));
    std::fs::remove_file(folder.path().join("own.toml")).unwrap();
    assert!(esker_refuses(folder.path(), &["sim", "x.toml"]).contains("the preset own.toml cannot be read"));
}

#[test]
fn a_validation_has_the_demerit_of_each_class() {
    let folder = folder();
    esker_ok(folder.path(), &["devices", "import", "small.parv", "-o", "small.toml", "-q"]);
    let arguments = ["validate", "small.toml", "--measured", "measured"];
    let json = esker_ok(folder.path(), &[&arguments[..], &["--json", "-o", "v.html"]].concat()).stdout;
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(found["requests"], 3);
    let mean = (5.0 + 0.7005 + 9.0) / 3.0;
    assert!((found["measured_mean_ms"].as_f64().unwrap() - mean).abs() < 1e-9);
    let classes: Vec<&str> =
        found["classes"].as_array().unwrap().iter().map(|class| class["name"].as_str().unwrap()).collect();
    assert_eq!(classes[..4], ["all", "reads", "reads, sequential", "reads, far"]);
    assert!(classes.contains(&"reads, hits in the model") && classes.contains(&"reads, misses in the model"));
    // The demerit, from the two distributions of three requests.
    let ends = found["classes"][0]["distribution"].as_array().unwrap();
    let squares: f64 = [0, 100, 200]
        .map(|step| &ends[step])
        .iter()
        .map(|end| (end["measured_ms"].as_f64().unwrap() - end["simulated_ms"].as_f64().unwrap()).powi(2))
        .sum();
    assert!((found["demerit_ms"].as_f64().unwrap() - (squares / 3.0).sqrt()).abs() < 1e-9);
    let relative = found["demerit_ms"].as_f64().unwrap() / mean;
    assert!((found["demerit_relative"].as_f64().unwrap() - relative).abs() < 1e-9);
    let page = std::fs::read_to_string(folder.path().join("v.html")).unwrap();
    assert!(page.contains("How far apart are the two distributions?"));
    // The same bytes again, and a table without options.
    assert_eq!(json, esker_ok(folder.path(), &[&arguments[..], &["--json"]].concat()).stdout);
    assert!(esker_ok(folder.path(), &arguments).stdout.contains("reads, sequential"));
}

#[test]
fn a_simulated_disk_is_measured_into_a_preset() {
    let folder = folder();
    let path = folder.path().join("mine.toml");
    let measure = |options: &[&str]| {
        let common = ["devices", "measure", "--simulated", "fujitsu-mba3073np-73g", "-o", "mine.toml"];
        esker_ok(folder.path(), &[&common[..], options].concat()).stdout
    };
    let summary = measure(&[]);
    assert!(summary.contains("15000rpm") && summary.contains("14 zones: 1200 to 720 sectors"), "{summary}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("# fujitsu-mba3073np-73g, measured by reads:"), "{text}");
    // It may be measured again, and what it describes measures alike.
    assert_eq!(measure(&["-q"]), summary);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let ok = |arguments: &[&str]| esker_ok(folder.path(), arguments).stdout;
    let again = ok(&["devices", "measure", "--simulated", "mine.toml", "-o", "again.toml", "-q"]);
    assert_eq!(again.lines().take(2).collect::<Vec<_>>(), summary.lines().take(2).collect::<Vec<_>>());
    let printed = ok(&["devices", "measure", "--simulated", "mine.toml", "-o", "-", "-q"]);
    assert!(printed.contains("seek = [") && !printed.contains("zones:"), "{printed}");
}

#[test]
fn what_is_no_disk_is_not_measured() {
    let folder = folder();
    let error = |device: &str, options: &[&str]| {
        let common = ["devices", "measure", device, "-o", "mine.toml"];
        let text = esker_refuses(folder.path(), &[&common[..], options].concat());
        assert!(!folder.path().join("mine.toml").exists(), "nothing half-written stays");
        text
    };
    assert!(error("small.parv", &[]).contains("small.parv is a file, not a disk"));
    assert!(error(".", &[]).contains("is a folder, not a disk"));
    assert!(error("/dev/null", &[]).contains("/dev/null is not a block device"));
    assert!(error("/dev/no-such", &[]).contains("cannot open /dev/no-such"));
    assert!(error("no-such", &["--simulated"]).contains("no preset"));
    let flash = ["devices", "measure", "--simulated", "tlc-data-centre", "-o", "mine.toml"];
    let run = esker_in(folder.path(), &flash);
    assert_eq!(run.code, 1, "the work failed, not the command line");
    let text = run.stderr;
    assert!(text.contains("nothing turns there") && text.contains("hint: measure a disk"), "{text}");
    std::fs::write(folder.path().join("notes.toml"), "mine = 1\n").unwrap();
    let notes = ["devices", "measure", "--simulated", "samsung-sp2504c-250g", "-o", "notes.toml"];
    assert!(esker_refuses(folder.path(), &notes).contains("an imported or measured preset"));
}

#[test]
fn what_cannot_be_validated_is_refused() {
    let folder = folder();
    let error = |arguments: &[&str]| esker_refuses(folder.path(), arguments);
    std::fs::write(folder.path().join("beyond"), "R Hit 999999999 8 5000.0 1000.0\n").unwrap();
    let ultrastar = "ibm-ultrastar-36z15";
    assert!(
        error(&["validate", ultrastar, "--measured", "beyond"]).contains("request 1 failed on the simulated device")
    );
    std::fs::write(folder.path().join("t.spc"), "0,1,512,R,0.0\n0,1,512,R,0.1\n").unwrap();
    assert!(error(&["validate", ultrastar, "--measured", "t.spc"]).contains("no requests with response times"));
    assert!(error(&["validate", "no-such", "--measured", "measured"]).contains("no preset"));
    std::fs::write(folder.path().join("bad"), "R Hit 1 8 5000.0 1000.0\nR Hit 1 8 x 0\n").unwrap();
    assert!(error(&["validate", ultrastar, "--measured", "bad"]).contains("bad:2: expected a service time"));
    assert!(error(&["devices", "import", "none.parv", "-o", "p.toml"]).contains("none.parv:1: cannot read it"));
    assert!(error(&["devices", "import", "small.parv", "-o", "small.model"]).contains("replace"));
    std::fs::write(folder.path().join("notes.toml"), "mine = 1\n").unwrap();
    assert!(
        error(&["devices", "import", "small.parv", "-o", "notes.toml", "-q"])
            .contains("an imported or measured preset")
    );
}
