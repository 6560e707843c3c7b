//! Collects the command lines that documents, examples and `--help` print.

use std::path::{Path, PathBuf};

use crate::support::esker_ok;

/// A printed command that begins with `esker`, or pipes into it.
#[derive(Clone, Debug)]
pub(super) struct Printed {
    /// The document, or the command whose help it is in.
    pub(super) place: String,
    pub(super) line: String,
}

/// The root of the repository.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All printed commands: in documents, in comments of examples, and in the help of every command.
pub(super) fn all(folder: &Path) -> Vec<Printed> {
    let mut found = Vec::new();
    let mut documents: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "samples/README.md"].map(|name| root().join(name)).into();
    for (folder, extension) in [("docs", "md"), ("examples", "toml")] {
        let entries = std::fs::read_dir(root().join(folder)).expect("a folder of the repository");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        documents.extend(paths.filter(|path| path.extension().is_some_and(|found| found == extension)));
    }
    documents.sort();
    for path in documents {
        let text = std::fs::read_to_string(&path).expect("a document of the repository");
        let place = path.strip_prefix(root()).expect("it is in there").display().to_string();
        let lines = if place.ends_with(".md") { of_markdown(&text) } else { of_comments(&text) };
        found.extend(lines.into_iter().map(|line| Printed { place: place.clone(), line }));
    }
    of_help(folder, &[], &mut found);
    found
}

/// Commands in code blocks, and between backticks.
fn of_markdown(text: &str) -> Vec<String> {
    let (mut found, mut prose, mut in_code) = (Vec::new(), String::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if in_code {
            found.extend(command(line));
        } else {
            prose += line;
            prose.push(' ');
        }
    }
    found.extend(between_backticks(&prose));
    found
}

/// Commands that are alone on a line of a comment.
fn of_comments(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| command(line.strip_prefix('#')?)).collect()
}

/// Commands in `esker COMMANDS... --help`, and in the help of its subcommands.
fn of_help(folder: &Path, commands: &[&str], into: &mut Vec<Printed>) {
    let help = esker_ok(folder, &[commands, &["--help"]].concat()).stdout;
    let place = format!("esker {} --help", commands.join(" "));
    let (mut section, mut below, mut prose) = ("", Vec::new(), String::new());
    for line in help.lines() {
        match line.strip_prefix("  ") {
            None => section = line,
            Some(entry) if section == "Commands:" => {
                below.extend(entry.split(' ').next().filter(|name| !name.is_empty()))
            }
            Some(entry) if section.starts_with("Example") => {
                let line = command(entry).unwrap_or_else(|| panic!("{place}: `{entry}` is an example of what?"));
                into.push(Printed { place: place.clone(), line });
                continue;
            }
            Some(_) => {}
        }
        prose += line;
        prose.push(' ');
    }
    into.extend(between_backticks(&prose).into_iter().map(|line| Printed { place: place.clone(), line }));
    for name in below.into_iter().filter(|name| *name != "help") {
        of_help(folder, &[commands, &[name]].concat(), into);
    }
}

/// The command on `line`, without remarks after ` # ` or in brackets at the end.
fn command(line: &str) -> Option<String> {
    let line = line.split(" # ").next().unwrap_or(line);
    let line = line.split("   (").next().unwrap_or(line).trim();
    let leads_to_esker = line.split('|').any(|part| part.split_whitespace().next() == Some("esker"));
    leads_to_esker.then(|| line.to_string())
}

fn between_backticks(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2).map(|span| span.split_whitespace().collect::<Vec<_>>().join(" "));
    spans.filter(|span| span.starts_with("esker ")).collect()
}

/// Commands in sources: `esker ...` between backticks on one line, up to the first placeholder.
pub(super) fn of_sources() -> Vec<Printed> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !in_tests(&path) {
                let text = std::fs::read_to_string(&path).expect("a source of the repository");
                let place = path.strip_prefix(root()).expect("it is in there").display().to_string();
                for line in text.lines().flat_map(between_backticks) {
                    let line = line.split(['{', '\\', '|']).next().unwrap_or_default().replace(" ...", "");
                    let line = line.trim_end().to_string();
                    if line != "esker" {
                        found.push(Printed { place: place.clone(), line });
                    }
                }
            }
        }
    }
    found
}

fn in_tests(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests")
}
