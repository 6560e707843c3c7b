//! What people do on their first day: files in the wrong place, units and options left out, names in other letters.
//! Each is understood, or refused with what to write instead.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{esker_in, esker_ok, esker_refuses, folder_with_trace};

const EXPERIMENT: &str = r#"
[workload]
synthetic = { requests = 10, size = "4KiB" }

[device.station]
kind = "constant"
service_time = "1ms"
capacity = "1GiB"

[run]
target = "station"
"#;

/// A folder with a trace, an experiment, results, and files that are neither.
fn folder() -> tempfile::TempDir {
    let folder = folder_with_trace(20);
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("x.toml", EXPERIMENT.as_bytes());
    write("x.txt", EXPERIMENT.as_bytes());
    write("binary.dat", &[0xff, 0xfe, 0x00, 0x80, 0xc3]);
    write("empty.toml", b"");
    write("home.volume", b"[devices]\na = \"a.img\"\n");
    std::fs::create_dir(folder.path().join("traces")).unwrap();
    esker_ok(folder.path(), &["sim", "x.toml", "--json=run.json"]);
    folder
}

/// Expects a refusal with this message and this hint.
#[track_caller]
fn refused(folder: &tempfile::TempDir, line: &str, message: &str, hint: &str) {
    let arguments: Vec<&str> = line.split(' ').skip(1).collect();
    let error = esker_refuses(folder.path(), &arguments);
    let (said, hinted) = error.split_once("hint: ").unwrap_or((&error, ""));
    assert!(said.contains(message) && hinted.contains(hint), "{line}:\n{error}\nexpected {message:?} and {hint:?}");
}

#[test]
fn files_in_the_place_of_others() {
    let folder = folder();
    for (line, message, hint) in [
        ("esker study x.toml", "found TOML, such as an experiment", "`esker sim x.toml`"),
        ("esker trace info x.txt", "found TOML, such as an experiment", "`esker sim x.txt`"),
        ("esker mrc x.toml", "found TOML", "`esker sim x.toml`"),
        ("esker cache run.json", "found JSON, such as results", "`esker report run.json`"),
        ("esker trace generate --like x.toml -o y.spc", "found TOML", "`esker sim x.toml`"),
        ("esker sim small.csv", "this is a trace (format msr), not an experiment", "`esker study small.csv`"),
        ("esker sweep small.csv", "this is a trace (format msr)", "`esker trace info small.csv`"),
        ("esker sim run.json", "this is JSON", "`esker report run.json`"),
        ("esker sim binary.dat", "this is no text", "docs/experiments.md"),
        ("esker sim empty.toml", "`[workload]` is missing", ""),
        ("esker sim traces", "Is a directory", ""),
        ("esker study traces", "traces: cannot be opened: is a directory", "traces/*"),
        ("esker mrc traces/", "is a directory", "such as traces/*"),
        ("esker validate small.csv --measured x.toml", "small.csv is a trace", "--measured small.csv"),
        ("esker validate x.toml small.csv", "`small.csv` stands alone", "--measured small.csv"),
        ("esker validate x.toml --measured run.json", "found JSON", ""),
        ("esker report small.csv", "expected the JSON of a study", "wrote with --json=FILE"),
        ("esker report run.json page.html", "`page.html` stands alone", "-o page.html"),
        ("esker sim x.toml page.html", "`page.html` stands alone", "--html page.html"),
        ("esker sim x.toml out.json", "`out.json` stands alone", "--json=out.json"),
        ("esker trace convert small.csv out.esker", "out.esker: cannot be opened", "-o out.esker"),
        ("esker trace filter small.csv out.spc", "out.spc: cannot be opened", "-o out.spc"),
        ("esker study small.csv report.html", "report.html: cannot be opened", "-o report.html"),
        ("esker study small.csv --csv small.csv", "small.csv is a file, not a folder", "name a folder"),
        ("esker trace generate --requests 5 --spec small.csv -o y.spc", "small.csv: this is not TOML", "--like"),
        ("esker trace generate --requests 5 --spec x.toml -o y.spc", "is a whole experiment", "workload.synthetic"),
        ("esker trace filter small.csv --volume a -o y.spc", "no volume `a`; its volumes are: host.0", ""),
        (
            "esker sim home.volume",
            "this is the file of a volume, not an experiment",
            "`esker volume check home.volume`",
        ),
        ("esker volume check x.toml", "this is an experiment, not the file of a volume", "`esker sim x.toml` runs it"),
        ("esker cluster sim x.toml", "this is an experiment, not the description of", "`esker sim x.toml` runs it"),
        ("esker study small.csv --catalogue x.toml", "this is an experiment, not a catalogue", "`esker sim x.toml`"),
        ("esker fs stat empty.toml", "this file is empty, and no pool", "`esker fs mkfs`"),
        ("esker fs mkfs empty.toml --size 64MiB", "a file that is not a pool is there already", "another path"),
        (
            "esker reproduce agrawal/table-3 --traces none",
            "--traces none: there is no such folder",
            "leave --traces out",
        ),
    ] {
        refused(&folder, line, message, hint);
    }
}

#[test]
fn a_word_behind_json_becomes_no_file() {
    let folder = folder();
    for (line, hint) in [
        ("esker sim x.toml --json trace", "`trace` is a command"),
        ("esker trace info --json trace", "`trace` is a command"),
        ("esker trace info small.csv --json out.json", "say `--json=out.json`"),
    ] {
        refused(&folder, line, "", hint);
    }
    assert!(!folder.path().join("trace").exists());
}

#[test]
fn values_without_units_or_beyond_sense() {
    let folder = folder();
    for (line, message, hint) in [
        ("esker study small.csv --capacity 20", "--capacity 20: a capacity needs its unit", "write 20TB"),
        ("esker study small.csv --capacity 20B", "less than 1MB", "20TB"),
        ("esker study small.csv --capacity 20tb", "did you mean `20TB`?", ""),
        ("esker study small.csv --capacity 900PB", "that is too large: designs are made for at most", ""),
        ("esker study small.csv --have samsung-pm893:960", "needs its unit", "3.84TB"),
        ("esker study small.csv --discount 100%", "that is the whole price", "less than 100%"),
        ("esker study small.csv --p99 0ms", "no device answers in no time", "5ms"),
        ("esker study small.csv --p99 5MS", "did you mean `5ms`?", ""),
        ("esker study small.csv --years -inf", "a value below zero makes no sense", ""),
        ("esker mrc small.csv --at 64mib", "did you mean `64MiB`?", ""),
        ("esker mrc small.csv --points 1", "--points 1: a curve has at least two points", "--at"),
        ("esker volume create v --device a=a.img,64Q --device b=b.img", "cannot open", "large: a.img,10GiB"),
        ("esker cache small.csv --size 64M", "did you mean `64MB`?", ""),
        ("esker trace generate --requests 9 --set read_fraction=70 -o y.spc", "7000%", "read_fraction = \"70%\""),
        ("esker trace generate --requests 9 --set read_fraction=-inf -o y.spc", "read_fraction = -inf: expected", ""),
    ] {
        refused(&folder, line, message, hint);
    }
    for (from, to, message, hint) in [
        ("requests = 10", "requests = 0", "`requests` is 0", "1 or more"),
        ("requests = 10", "requests = 10, read_fraction = 70", "`read_fraction` is 7000%", "read_fraction = \"70%\""),
        ("\"1GiB\"", "\"1gib\"", "did you mean `1GiB`?", ""),
        ("\"1GiB\"", "\"90000PB\"", "too large", ""),
    ] {
        std::fs::write(folder.path().join("y.toml"), EXPERIMENT.replace(from, to)).unwrap();
        refused(&folder, "esker sim y.toml", message, hint);
    }
}

#[test]
fn names_in_other_letters_and_with_blanks() {
    let folder = folder();
    let ok = |line: &str| {
        let arguments: Vec<&str> = line.split(' ').skip(1).collect();
        esker_ok(folder.path(), &arguments).stdout
    };
    assert_eq!(ok("esker cache small.csv --policy LRU,Arc"), ok("esker cache small.csv --policy lru,arc"));
    assert_eq!(ok("esker mrc small.csv --method AET"), ok("esker mrc small.csv --method aet"));
    assert_eq!(ok("esker devices Micron-7450-PRO"), ok("esker devices micron-7450-pro"));
    assert_eq!(ok("esker devices TLC-Data-Centre"), ok("esker devices tlc-data-centre"));
    assert_eq!(ok("esker completions Bash"), ok("esker completions bash"));
    assert_eq!(ok("esker schema Study"), ok("esker schema study"));
    assert!(esker_in(folder.path(), &["devices", "--only", "a, b"]).stderr.contains("`a` is no product"));
    let listed = |only: &str| esker_ok(folder.path(), &["devices", "--only", only, "--json"]).stdout;
    assert_eq!(listed("micron-7450-pro, Samsung-PM893"), listed("micron-7450-pro,samsung-pm893"));
    refused(&folder, "esker devices --only Micron-7450-Prp", "did you mean `micron-7450-pro`?", "");
    refused(&folder, "esker study small.csv --have nonsuch:1TB", "--have nonsuch: `nonsuch` is no product", "devices");
    let line = "esker study small.csv --only micron-7450-pro --have samsung-pm893:960GB";
    refused(&folder, line, "--only leaves this product out", "add it to --only");
    let line = "esker study small.csv --without samsung-pm893 --have samsung-pm893:960GB";
    refused(&folder, line, "--without leaves this product out", "take it out of --without");
}

#[test]
fn one_time_for_all_is_not_no_times() {
    let folder = tempfile::tempdir().unwrap();
    let requests = |time: &str| (0..50).map(|at| format!("0,{},4096,r,{time}\n", at * 8)).collect::<String>();
    for (name, time) in [("five.spc", "5.0"), ("zero.spc", "0.0")] {
        std::fs::write(folder.path().join(name), requests(time)).unwrap();
        let info = esker_ok(folder.path(), &["trace", "info", name]).stdout;
        assert!(info.contains("all requests have the same time"), "{info}");
    }
    std::fs::write(folder.path().join("none.lis"), "8 8 0 0\n16 8 0 1\n").unwrap();
    assert!(esker_ok(folder.path(), &["trace", "info", "none.lis"]).stdout.contains("the trace has no times"));
    std::fs::write(folder.path().join("year.spc"), "0,0,4096,r,0.0\n0,8,4096,w,31527360.0\n").unwrap();
    let info = esker_ok(folder.path(), &["trace", "info", "year.spc"]).stdout;
    assert!(info.contains(" 365 days, "), "{info}");
}

/// What `esker ARGUMENTS` says on standard error where its standard output is a terminal, and whether it succeeded.
fn to_a_terminal(folder: &Path, arguments: &[&str]) -> (String, bool) {
    let terminal = nix::pty::openpty(None, None).expect("there are terminals left");
    let mut command = Command::new(env!("CARGO_BIN_EXE_esker"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(terminal.slave).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    drop(command);
    let (mut said, mut bytes, mut screen) = (String::new(), [0; 4096], File::from(terminal.master));
    while let Ok(1..) = screen.read(&mut bytes) {}
    child.stderr.take().expect("it is a pipe").read_to_string(&mut said).expect("it is text");
    (said, child.wait().expect("the program can be waited for").success())
}

#[test]
fn binary_formats_do_not_go_to_a_terminal() {
    let folder = folder();
    for line in ["trace convert small.csv", "trace filter small.csv --to vscsi2", "trace generate --requests 9"] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let (said, success) = to_a_terminal(folder.path(), &arguments);
        assert!(!success && said.contains("is binary") && said.contains("-o FILE.esker"), "{line}: {said}");
    }
    assert!(to_a_terminal(folder.path(), &["trace", "convert", "small.csv", "--to", "spc"]).1);
    // Into a pipe it goes.
    assert_eq!(esker_in(folder.path(), &["trace", "convert", "small.csv"]).code, 0);
}

/// A sweep that is interrupted, and a study that cannot be done, leave no folder.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test waits for a folder, bounded in time")]
fn no_empty_folder_is_left() {
    let folder = folder();
    std::fs::write(folder.path().join("ends.blkparse"), "  8,0 3 17 0.009738995 0 C W 223490 + 16 [0]\n").unwrap();
    esker_refuses(folder.path(), &["study", "ends.blkparse", "--csv", "new/tables"]);
    assert!(!folder.path().join("new").exists());
    let grid = EXPERIMENT.replace("requests = 10", "requests = 2_000_000_000") + "[sweep]\n\"run.seed\" = [1, 2]\n";
    std::fs::write(folder.path().join("grid.toml"), grid).unwrap();
    let results = folder.path().join("results");
    let mut command = Command::new(env!("CARGO_BIN_EXE_esker"));
    command.args(["sweep", "grid.toml", "-o", "results/"]).current_dir(folder.path());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    while !results.exists() && begin.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(results.exists(), "it has begun");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), nix::sys::signal::Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!results.exists(), "an empty folder is left");
}

/// Names of traces that a spreadsheet or a browser would run.
#[test]
fn names_reach_tables_and_pages_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let study = std::fs::read_to_string(crate::support::RECORDED_STUDY).unwrap();
    let mut study: serde_json::Value = serde_json::from_str(&study).unwrap();
    let name = "<img src=x onerror=alert(1)>`a`|[b](c)";
    study["workloads"][0]["name"] = name.into();
    study["workloads"][0]["candidates"][0]["title"] = "=HYPERLINK(\"http://example.com\")".into();
    std::fs::write(folder.path().join("study.json"), study.to_string()).unwrap();
    esker_ok(folder.path(), &["report", "study.json", "--csv", "tables", "--markdown", "study.md"]);
    let table = std::fs::read_to_string(folder.path().join("tables/candidates.csv")).unwrap();
    assert!(table.contains("\"'=HYPERLINK(\"\"http://example.com\"\")\""), "{table}");
    let markdown = std::fs::read_to_string(folder.path().join("study.md")).unwrap();
    let title = r"# &lt;img src=x onerror=alert(1)&gt;\`a\`\|\[b\](c)";
    assert!(markdown.starts_with(&format!("{title}\n")) && !markdown.contains("<img"), "{markdown}");
    // A study in Markdown is replaced by another one without --force, whatever its name is.
    esker_ok(folder.path(), &["report", "study.json", "--markdown", "study.md"]);
}
