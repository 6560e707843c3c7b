//! Charts write numbers like the rest of the page: by the same table of units.

#[path = "support/numbers.rs"]
mod numbers;
#[path = "support/mod.rs"]
#[expect(dead_code, reason = "one study is enough")]
mod support;

use std::io::Write;
use std::process::{Command, Stdio};

use esker_core::words::units;
use esker_report::render;
use numbers::{numbers, numbers_script};
use serde_json::Value;
use support::minimal;

#[test]
fn charts_have_the_tables_of_the_page() {
    let page = render(&minimal()).unwrap();
    let line = page.lines().find_map(|line| line.strip_prefix("const WRITTEN = ")).unwrap();
    let written: Value = serde_json::from_str(line.trim_end_matches(';')).unwrap();
    for (name, table) in [("times", units::TIMES), ("bytes", units::BYTES), ("counts", units::COUNTS)] {
        assert_eq!(written["tables"][name], serde_json::to_value(table).unwrap(), "{name}");
    }
    assert_eq!(written["tables"].as_object().unwrap().len(), 3);
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that skips has to say so")]
fn charts_write_numbers_as_the_page_does() {
    let page = render(&minimal()).unwrap();
    let script = format!("console.log(JSON.stringify({}))", numbers_script(&page));
    let Ok(mut node) = Command::new("node").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        eprintln!("skipped: no node; tests/browser asks a browser");
        return;
    };
    node.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    let written: Vec<String> = serde_json::from_slice(&output.stdout).unwrap();
    assert!(written.len() > 500);
    for ((name, value, expected), written) in numbers().into_iter().zip(written) {
        assert_eq!(written, expected, "{name} of {value}");
    }
}
