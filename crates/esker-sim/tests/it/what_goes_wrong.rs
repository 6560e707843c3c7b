//! The table of docs/hybrids.md that says what goes wrong, and what esker then does: each row is run.

use std::fmt::Write;
use std::path::Path;

use esker_core::Hint;
use esker_sim::{Experiment, RunOptions, run};

/// A row: its changes of the example, and what esker is promised to say.
struct Row {
    line: String,
    changes: Vec<Change>,
    promised: Vec<String>,
}

enum Change {
    /// The first text becomes the other one.
    Replace(String, String),
    /// A line is added at the end, which is in `[run]`.
    Add(String),
}

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)).unwrap()
}

/// The texts between backticks, each with the text after it. Two backticks quote what has one within.
fn quoted(cell: &str) -> Vec<(String, String)> {
    let mut quoted = Vec::new();
    let mut rest = cell;
    while let Some(begin) = rest.find('`') {
        let mark = if rest[begin..].starts_with("``") { "``" } else { "`" };
        let inner = &rest[begin + mark.len()..];
        let end = inner.find(mark).unwrap_or_else(|| panic!("an open quote: {cell}"));
        let after = &inner[end + mark.len()..];
        let next = after.find('`').unwrap_or(after.len());
        quoted.push((inner[..end].trim().to_string(), after[..next].to_string()));
        rest = after;
    }
    quoted
}

fn rows() -> Vec<Row> {
    let text = read("docs/hybrids.md");
    let (_, section) = text.split_once("## What goes wrong").expect("the section is there");
    let table = section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        let [_, changes, promised] = cells[..] else { panic!("three cells: {line}") };
        let mut texts = quoted(changes).into_iter();
        let mut changes = Vec::new();
        while let Some((text, after)) = texts.next() {
            changes.push(match after.trim() {
                "to" => Change::Replace(text, texts.next().expect("what it becomes").0),
                _ => Change::Add(text),
            });
        }
        let promised = quoted(promised).into_iter().map(|(text, _)| text).collect();
        Row { line: line.to_string(), changes, promised }
    };
    table.skip(2).map(row).collect()
}

/// Everything that esker says of this experiment: the error with its hint, or the remarks on the results.
fn said(text: &str) -> String {
    let hinted = |error: &dyn Hint, message: String| format!("{message} {}", error.hint().unwrap_or_default());
    let experiment = match Experiment::from_str(text, "wrong.toml") {
        Ok(experiment) => experiment,
        Err(error) => return hinted(&error, error.to_string()),
    };
    match run(&experiment, &RunOptions::default()) {
        Ok(results) => results.remarks.join("\n"),
        Err(error) => hinted(&error, error.to_string()),
    }
}

#[test]
fn each_row_is_as_the_documentation_says() {
    let example = read("examples/hybrid.toml");
    let rows = rows();
    assert!(rows.len() > 20, "{} rows", rows.len());
    let mut wrong = String::new();
    for Row { line, changes, promised } in rows {
        let mut text = example.clone();
        for change in changes {
            match change {
                Change::Replace(from, to) => {
                    assert_eq!(text.matches(&from).count(), 1, "`{from}` stands once in the example: {line}");
                    text = text.replace(&from, &to);
                }
                Change::Add(line) => text = format!("{text}{line}\n"),
            }
        }
        // Full flash would take most of the time of this test, and changes no message.
        text = text.replace("precondition = \"filled\"", "precondition = \"none\"");
        // An error has its place; a run that goes on says nothing, or what the table promises.
        let said = said(&text);
        let is_error = said.starts_with("wrong.toml:");
        if !promised.iter().all(|promised| said.contains(promised)) || (promised.is_empty() && is_error) {
            writeln!(wrong, "{line}\n   says: {said}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
