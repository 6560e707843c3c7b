//! Common mistakes: refused with a hint, or understood.

use crate::support::{RECORDED_STUDY, esker_ok, esker_refuses, folder_with_trace};

const STATION: &str = r#"
[workload]
synthetic = { requests = 10, size = "4KiB" }

[device.station]
kind = "constant"
service_time = "1ms"
capacity = "1GiB"

[run]
target = "station"
"#;

/// Expects a refusal with this message and this hint.
#[track_caller]
fn refused(folder: &tempfile::TempDir, line: &str, message: &str, hint: &str) {
    let arguments: Vec<&str> = line.split(' ').skip(1).collect();
    let error = esker_refuses(folder.path(), &arguments);
    let (said, hinted) = error.split_once("hint: ").unwrap_or((&error, ""));
    assert!(said.contains(message) && hinted.contains(hint), "{line}:\n{error}\nexpected {message:?} and {hint:?}");
}

#[test]
fn values_of_options() {
    let folder = folder_with_trace(20);
    refused(&folder, "esker study small.csv --growth 20", "2000 % a year", "--growth 20%");
    refused(&folder, "esker study small.csv --devices 0", "no design has 0 devices", "leave --devices out");
    refused(&folder, "esker study small.csv --p99 -5ms", "--p99 -5ms: a value below zero", "");
    refused(&folder, "esker study small.csv --threads 0", "there has to be at least 1 thread", "leave --threads out");
    refused(&folder, "esker study small.csv --years soon", "that is no number of years", "--years 5");
    refused(&folder, "esker trace filter small.csv --head 0", "at least 1", "");
    refused(&folder, "esker info small.csv", "there is no command `info`", "esker trace info");
    let made = ["trace", "generate", "--requests", "5k", "--to", "msr", "-o", "made.csv"];
    esker_ok(folder.path(), &made);
    let lines = std::fs::read_to_string(folder.path().join("made.csv")).unwrap().lines().count();
    assert_eq!(lines, 5_000);
}

#[test]
fn one_place_for_two_results() {
    let folder = folder_with_trace(20);
    refused(&folder, "esker study small.csv -o - --json", "two results would go to standard output", "-o FILE");
    std::fs::write(folder.path().join("grid.toml"), format!("{STATION}\n[sweep]\n\"run.seed\" = [1, 2]\n")).unwrap();
    refused(&folder, "esker sweep grid.toml -o -", "several files", "name a folder");
    refused(&folder, "esker sweep grid.toml -o grid.html", "grid.html sounds like a file", "name a folder");
    assert!(!folder.path().join("grid.html").exists());
}

#[test]
fn a_sweep_of_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("one.toml"), STATION).unwrap();
    refused(&folder, "esker sweep one.toml", "one.toml has no [sweep] table", "esker sim");
    std::fs::write(folder.path().join("empty.toml"), format!("{STATION}\n[sweep]\n")).unwrap();
    refused(&folder, "esker sweep empty.toml", "or an empty one", "esker sim");
}

/// Before the run and in the middle of it: one error with its place and a hint, and status 2. All others are rows of a
/// table in docs/hybrids.md, which esker-sim tests.
#[test]
fn hybrids_that_cannot_be() {
    let folder = tempfile::tempdir().unwrap();
    let hybrid = |children: &str| {
        let drain = "[[run.events]]\nat = \"1ms\"\ndevice = \"station\"\ndrain = true\n";
        let volume =
            format!("[device.volume]\nkind = \"hybrid\"\nchildren = {children}\npolicy.kind = \"fast-first\"\n");
        STATION.replace("target = \"station\"", &format!("target = \"volume\"\n{drain}{volume}"))
    };
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    write("none.toml", hybrid("[]"));
    refused(
        &folder,
        "esker sim none.toml",
        "none.toml:18:12: device.volume.children: a hybrid has at",
        "name the devices",
    );
    write("only.toml", hybrid("[\"station\"]"));
    let message = "only.toml:12:1: run.events[0]: at 1 ms: the devices that stay hold 0B; 1GiB are needed";
    refused(&folder, "esker sim only.toml", message, "add a device first");
}

#[test]
fn one_trace_given_twice() {
    let folder = folder_with_trace(20);
    for command in ["study", "trace info", "mrc", "cache", "trace convert", "trace filter", "study --together"] {
        refused(&folder, &format!("esker {command} small.csv ./small.csv"), "small.csv is given twice", "once");
    }
}

#[test]
fn traces_without_requests() {
    let completions = "  8,0    3       17     0.009738995     0  C   W 223490 + 16 [0]\n".repeat(3);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ends.blkparse"), completions).unwrap();
    for command in ["trace info", "trace convert", "mrc", "cache", "trace filter --kind read"] {
        refused(
            &folder,
            &format!("esker {command} ends.blkparse"),
            "ends.blkparse: has no requests, only 3 completions",
            "blktrace -a queue",
        );
    }
    refused(&folder, "esker study ends.blkparse", "ends.blkparse", "");
}

#[test]
fn what_is_no_study_has_no_report() {
    let folder = folder_with_trace(20);
    let write = |name: &str, json: &str| std::fs::write(folder.path().join(name), json).unwrap();
    write("sim.toml", STATION);
    esker_ok(folder.path(), &["sim", "sim.toml", "--json=run.json"]);
    let run = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    write("broken.json", &run.replacen("\"mean_us\"", "\"mean\"", 1));
    let place = "broken.json: the run is damaged at `requests.all.response_time.mean`: unknown field `mean`";
    refused(&folder, "esker report broken.json", place, "run `esker sim` again");
    refused(&folder, "esker report run.json --csv t", "run.json is a run of `esker sim`", "leave out --csv");
    write("claims.json", r#"[{ "claim": "", "verdict": "" }]"#);
    let hint = "give what `esker study`, `esker sim` or `esker plan` wrote with --json=FILE";
    refused(
        &folder,
        "esker report claims.json",
        "claims.json: expected the JSON of a study, found claims of `esker reproduce`",
        hint,
    );
    refused(&folder, "esker report small.csv", "small.csv: expected the JSON of a study: ", hint);
    refused(&folder, "esker report gone.json", "gone.json: cannot be read: ", "");
    write("next.json", r#"{ "schema": 2, "workloads": [] }"#);
    refused(
        &folder,
        "esker report next.json",
        "next.json: the study has schema 2, and this program reads schema 1",
        "with this version of esker",
    );
    let study = std::fs::read_to_string(RECORDED_STUDY).unwrap();
    write("half.json", &study[..study.len() / 2]);
    refused(&folder, "esker report half.json", "EOF while parsing", hint);
    write("damaged.json", &study.replacen("\"knee_bytes\"", "\"knee\"", 1));
    let place = "damaged.json: the study is damaged at `workloads[0].miss_ratio_curve.knee`: unknown field `knee`";
    refused(&folder, "esker report damaged.json", place, "run `esker study` again");
    assert!(!folder.path().join("report.html").exists());
    write("study.json", &study);
    refused(&folder, "esker report study.json -o study.json", "would replace the input study.json", "");
}

#[test]
fn filters_that_leave_nothing() {
    let folder = folder_with_trace(20);
    refused(&folder, "esker trace filter small.csv --from 9h -o n.esker", "--from 9h is beyond", "first request");
    refused(&folder, "esker trace filter small.csv --kind trim -o n.esker", "no request is left", "esker trace info");
    let far = "esker trace filter small.csv --shift -1TiB -o n.esker";
    refused(&folder, far, "--shift moves all of them below address zero", "");
}

#[test]
fn presets_and_what_is_called_alike() {
    let folder = tempfile::tempdir().unwrap();
    refused(&folder, "esker devices tlc", "no preset is called `tlc`", "tlc-data-centre");
    refused(&folder, "esker devices hdd", "no preset is called `hdd`", "its presets are: ");
    refused(&folder, "esker devices array", "no preset is called `array`", "has no presets");
    refused(&folder, "esker devices tlc-data-center", "no preset", "did you mean `tlc-data-centre`?");
    refused(&folder, "esker devices micron-7450-prp", "no preset", "did you mean `micron-7450-pro`?");
    for name in ["micron-7450-pro", "micron-7450-pro-960GB", "4x-micron-7450-pro-3.84TB"] {
        let shown = esker_ok(folder.path(), &["devices", name]).stdout;
        assert!(shown.starts_with("micron-7450-pro: Micron 7450 PRO (2022)"), "{shown}");
        assert!(shown.contains("price") && shown.contains("assumed"), "{shown}");
    }
}
