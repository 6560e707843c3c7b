//! `esker trace` from end to end.

use serde_json::Value;

use crate::support::{esker_ok, folder_with_trace};

fn info(folder: &std::path::Path, trace: &str) -> Value {
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
