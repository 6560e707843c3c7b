//! `esker trace` from end to end.

use std::fs;
use std::path::Path;

use esker_core::Nanos;
use esker_trace::{Operation, Record, TraceWriter, VolumeIndex};
use serde_json::Value;

use crate::support::{esker_ok, esker_refuses, folder_with_trace};

fn info(folder: &Path, trace: &str) -> Value {
    serde_json::from_str(&esker_ok(folder, &["trace", "info", trace, "--json"]).stdout).unwrap()
}

#[test]
fn converted_traces_are_alike() {
    let folder = folder_with_trace(500);
    let original = info(folder.path(), "small.csv");
    for (format, file) in [("esker", "t.esker"), ("spc", "t.spc.gz"), ("parquet", "t.parquet"), ("disksim", "t.ds.zst")]
    {
        esker_ok(folder.path(), &["trace", "convert", "small.csv", "--to", format, "-o", file]);
        let converted = info(folder.path(), file);
        assert_eq!(converted["format"], format);
        for field in ["requests", "read_bytes", "pages_4k", "sequential_fraction"] {
            assert_eq!(converted[field], original[field], "{field} as {format}");
        }
    }
}

#[test]
fn filtering_cuts_and_shifts() {
    let folder = folder_with_trace(500);
    esker_ok(folder.path(), &["trace", "filter", "small.csv", "--kind", "write", "--shift", "512", "-o", "w.esker"]);
    let filtered = info(folder.path(), "w.esker");
    assert_eq!(filtered["read_requests"], 0);
    assert_eq!(filtered["write_requests"], info(folder.path(), "small.csv")["write_requests"]);
    assert_eq!(filtered["volumes"][0]["misalignment"]["shift_bytes"], 3584);
    esker_ok(folder.path(), &["trace", "filter", "small.csv", "--head", "7", "-o", "h.esker"]);
    assert_eq!(info(folder.path(), "h.esker")["requests"], 7);
}

#[test]
fn generated_traces_resemble_their_model() {
    let folder = folder_with_trace(3_000);
    let like = ["trace", "generate", "--like", "small.csv", "--requests", "6000", "--seed", "3", "-o"];
    esker_ok(folder.path(), &[&like[..], &["g.esker"]].concat());
    esker_ok(folder.path(), &[&like[..], &["again.esker"]].concat());
    let bytes = |file: &str| std::fs::read(folder.path().join(file)).unwrap();
    assert!(bytes("g.esker") == bytes("again.esker"), "the same seed, the same bytes");
    let (model, made) = (info(folder.path(), "small.csv"), info(folder.path(), "g.esker"));
    assert_eq!(made["requests"], 6000);
    let mean = |value: &Value| value["mean_size_bytes"].as_f64().unwrap();
    assert!((mean(&made) / mean(&model) - 1.0).abs() < 0.05, "{} against {}", mean(&made), mean(&model));
}

#[test]
fn the_formats_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let list = esker_ok(folder.path(), &["trace", "formats"]).stdout;
    for format in esker_trace::FORMATS {
        assert!(list.contains(format.name), "{} is missing", format.name);
    }
}

#[test]
fn profiles_keep_their_schema() {
    let folder = folder_with_trace(300);
    std::fs::write(folder.path().join("untimed.lis"), "8 8 0 0\n16 8 0 1\n").unwrap();
    let schema: Value = serde_json::from_str(&esker_ok(folder.path(), &["schema", "trace"]).stdout).unwrap();
    for traces in [&["small.csv"][..], &["untimed.lis"], &["small.csv", "untimed.lis"]] {
        let printed = esker_ok(folder.path(), &[&["trace", "info", "--json=-"], traces].concat()).stdout;
        let mut profiles: Value = serde_json::from_str(&printed).unwrap();
        if let Err(error) = jsonschema::validate(&schema, &profiles) {
            panic!("the profiles of {traces:?} do not keep their schema: {error}");
        }
        let first = if traces.len() > 1 { &mut profiles[0] } else { &mut profiles };
        first["unheard_of"] = 1.into();
        assert!(!jsonschema::is_valid(&schema, &profiles), "the schema allows anything");
    }
}

/// A recording of two sections, `cut.esker` without the end of the second, and `short.esker` without that of the first.
fn cut_recordings(folder: &Path) {
    let whole = folder.join("whole.esker");
    let file = fs::File::create(&whole).unwrap();
    let mut writer = TraceWriter::create("esker", Box::new(file), &["0".to_string()]).unwrap();
    let record = |number: u64| Record {
        at: Nanos::from_micros(number * 100),
        offset: number * 4096,
        length: 4096,
        volume: VolumeIndex(0),
        operation: if number.is_multiple_of(2) { Operation::Write } else { Operation::Read },
        response: None,
    };
    let ends = [0, 100].map(|first| {
        (first..first + 100).for_each(|number| writer.push(&record(number)).unwrap());
        writer.write_waiting().unwrap();
        fs::metadata(&whole).unwrap().len() as usize
    });
    writer.finish().unwrap();
    let bytes = fs::read(&whole).unwrap();
    fs::write(folder.join("short.esker"), &bytes[..ends[0] - 1]).unwrap();
    fs::write(folder.join("cut.esker"), &bytes[..ends[1] - 1]).unwrap();
}

#[test]
fn every_command_says_that_its_trace_was_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    cut_recordings(folder.path());
    let experiment = "[workload]\ntrace = \"cut.esker\"\n[device.disk]\nkind = \"hdd\"\n\
                      preset = \"ibm-ultrastar-36z15\"\n[run]\ntarget = \"disk\"\n";
    fs::write(folder.path().join("cut.toml"), experiment).unwrap();
    esker_ok(folder.path(), &["volume", "create", "small.volume", "--kind", "array", "--device", "one=one.img,8MiB"]);
    for command in [
        &["trace", "info", "cut.esker"][..],
        &["trace", "convert", "cut.esker", "-o", "cut.spc"],
        &["trace", "filter", "cut.esker", "--head", "1000", "-o", "head.spc"],
        &["trace", "generate", "--like", "cut.esker", "-o", "alike.spc"],
        &["mrc", "cut.esker"],
        &["cache", "cut.esker", "--policy", "lru"],
        &["model", "predict", "kim-slc", "cut.esker", "--fullness", "50%"],
        &["sim", "cut.toml"],
        &["volume", "replay", "small.volume", "cut.esker", "--depth", "8", "--overwrite"],
    ] {
        let run = esker_ok(folder.path(), command);
        let said = run.stdout + &run.stderr;
        assert_eq!(said.matches("the trace was cut off").count(), 1, "{command:?}: {said}");
    }
    let results: Value = serde_json::from_str(&esker_ok(folder.path(), &["sim", "cut.toml", "--json"]).stdout).unwrap();
    assert!(results["remarks"].to_string().contains("was cut off"), "{}", results["remarks"]);
    let quiet = esker_ok(folder.path(), &["mrc", "cut.esker", "-q"]);
    assert!(!quiet.stderr.contains("cut off"), "{}", quiet.stderr);
    let error = esker_refuses(folder.path(), &["trace", "info", "short.esker"]);
    assert!(error.contains("short.esker has no requests; the trace was cut off"), "{error}");
}

/// Volume 1 is first seen in the second piece that is read.
#[test]
fn a_volume_may_first_appear_after_the_end_of_what_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut text: String = (0..140_000).map(|number| format!("0,{},512,R,{number}.0\n", number % 1_000)).collect();
    text += "1,0,512,R,140000.0\n";
    fs::write(folder.path().join("late.spc"), text).unwrap();
    let filter = ["trace", "filter", "late.spc", "--volume", "0,1", "-o"];
    esker_ok(folder.path(), &[&filter[..], &["head.spc", "--head", "10"]].concat());
    esker_ok(folder.path(), &[&filter[..], &["until.spc", "--until", "10s"]].concat());
    for file in ["head.spc", "until.spc"] {
        assert_eq!(info(folder.path(), file)["requests"], 10, "{file}");
    }
    let nothing = ["trace", "filter", "late.spc", "--volume", "1", "--until", "10s", "-o", "no.spc"];
    let error = esker_refuses(folder.path(), &nothing);
    assert!(error.contains("no volume `1` before the end of what was asked for"), "{error}");
    for (head, filter) in [("", ", until = \"10s\""), ("head = 10\n", "")] {
        let experiment = format!(
            "[workload]\ntrace = \"late.spc\"\n{head}filter = {{ volumes = [\"0\", \"1\"]{filter} }}\n\
             [device.disk]\nkind = \"hdd\"\npreset = \"ibm-ultrastar-36z15\"\n[run]\ntarget = \"disk\"\n"
        );
        fs::write(folder.path().join("late.toml"), experiment).unwrap();
        let results = esker_ok(folder.path(), &["sim", "late.toml", "--json"]).stdout;
        let results: Value = serde_json::from_str(&results).unwrap();
        assert_eq!(results["workload"]["requests"], 10, "{head}{filter}");
    }
}
