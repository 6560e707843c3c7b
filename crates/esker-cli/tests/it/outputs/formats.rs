//! `--json` takes a file only with `=`; the ending of a name selects the format.

use esker_trace::{FORMATS, FormatCapability};

use super::{Ground, WRITING};

#[test]
fn json_never_takes_a_trace_for_its_file() {
    let ground = Ground::new(None);
    let before = ground.read("other.csv");
    let info = ground.succeeds(&["trace", "info", "--json", "small.csv", "other.csv"]);
    let both: serde_json::Value = serde_json::from_str(&info.stdout).unwrap();
    assert_eq!(both.as_array().map(Vec::len), Some(2), "both are traces");
    for arguments in [
        &["mrc", "--json", "small.csv"][..],
        &["study", "--json", "small.csv", "-o", "report.html", "-q"],
        &["sim", "--json", "sim.toml"],
        &["sweep", "--json", "sweep.toml"],
    ] {
        assert!(ground.succeeds(arguments).stdout.starts_with(['{', '[']), "{arguments:?}");
    }
    assert!(ground.read("other.csv") == before);
}

#[test]
fn the_old_way_to_say_json_gets_a_hint() {
    let ground = Ground::new(None);
    ground.write("there.json", "{}");
    for writing in WRITING.iter().filter(|writing| writing.arguments.contains(&"--json=OUT")) {
        for name in ["out.json", "there.json", "result", "OUT.JSON"] {
            let split = |word: String| match word.split_once('=') {
                Some((option, file)) if option == "--json" => vec![option.to_string(), file.to_string()],
                _ => vec![word],
            };
            let arguments: Vec<String> = writing.to(name).into_iter().flat_map(split).collect();
            let error = ground.fails(2, &arguments);
            assert!(error.contains(&format!("--json={name}")), "{arguments:?}: {error}");
        }
    }
    let error = ground.fails(2, &["study", "small.csv", "--json", "-"]);
    assert!(error.contains("`--json` by itself"), "{error}");
    assert_eq!(ground.read("there.json"), b"{}");
    // If the file after it is a trace, another error is not blamed on it.
    assert!(!ground.fails(2, &["mrc", "--json", "small.csv", "--seeds", "2"]).contains("--json="));
}

#[test]
fn the_ending_says_the_format() {
    let ground = Ground::new(None);
    let format = |name: &str| {
        let info = ground.succeeds(&["trace", "info", name, "--json"]).stdout;
        serde_json::from_str::<serde_json::Value>(&info).unwrap()["format"].as_str().unwrap().to_string()
    };
    for command in ["convert", "filter"] {
        for (name, expected) in [("x.spc", "spc"), ("x.SPC.gz", "spc"), ("x.esker", "esker"), ("x.parquet", "parquet")]
        {
            let name = format!("{command}-{name}");
            ground.succeeds(&["trace", command, "small.csv", "-o", &name]);
            assert_eq!(format(&name), expected, "{name}");
        }
        for (name, expected) in [("y.csv", "msr"), ("y.log", "nbdkit"), ("y", "spc"), ("y.iolog.zst", "fio-v2")] {
            let name = format!("{command}-{name}");
            ground.succeeds(&["trace", command, "small.csv", "-o", &name, "--to", expected]);
            assert_eq!(format(&name), expected, "{name}");
        }
    }
    let csv = FORMATS.iter().filter(|format| format.can(FormatCapability::Write));
    let csv: Vec<&str> = csv.filter(|format| format.build.endings.contains(&"csv")).map(|format| format.name).collect();
    let csv = csv.join("|");
    let names = ground.names();
    for command in [
        &["trace", "convert", "small.csv"][..],
        &["trace", "filter", "small.csv"],
        &["trace", "generate", "--requests", "9"],
    ] {
        let fails = |more: &[&str]| ground.fails(2, &[command, more].concat());
        for (name, choices) in [("z.csv", &*csv), ("z.csv.zst", "msr"), ("z.log", "nbdkit"), ("z", "esker")] {
            let error = fails(&["-o", name]);
            assert!(error.contains(name) && error.contains("--to") && error.contains(choices), "{error}");
        }
        for (name, to) in [("z.csv", "esker"), ("z.spc", "msr"), ("z.esker.zst", "spc")] {
            let error = fails(&["-o", name, "--to", to]);
            assert!(error.contains(name) && error.contains(&format!("--to says {to}")), "{error}");
        }
        assert!(fails(&["-o", "z.esker.xz"]).contains(".zst"));
    }
    assert_eq!(ground.names(), names, "nothing is written");
}
