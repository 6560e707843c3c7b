//! Checks that lines of Rust, TOML and shell have at most 120 columns. This includes comments and strings, which
//! rustfmt does not break.

use super::Rule;
use crate::allow::Settings;
use crate::finding::Finding;
use crate::workspace::Workspace;

/// As in rustfmt.toml.
const COLUMNS_MAX: usize = 120;

pub(super) const RULE: Rule =
    Rule { name: "width", demands: "120 columns in Rust, TOML and shell, comments and strings included", check };

fn check(workspace: &Workspace, _: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in workspace.files.values().filter(|file| is_code(&file.path)) {
        for (index, line) in file.text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > COLUMNS_MAX {
                let message = format!("{columns} columns, over {COLUMNS_MAX}; {}", remedy(&file.path, line));
                findings.push(Finding::new(&file.path, index + 1, message));
            }
        }
    }
    findings
}

/// How such a line is broken.
fn remedy(path: &str, line: &str) -> &'static str {
    let line = line.trim_start();
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "rs" if line.starts_with("//") => "go on in another comment line",
        "rs" => "break the line; a string goes on after `\\` at the end of the line",
        "toml" if line.starts_with('#') => "go on in another comment line",
        "toml" => "put the comment on a line of its own above, or each value of a list on its own line",
        _ if line.starts_with('#') => "go on in another comment line",
        _ => "go on after `\\` at the end of the line",
    }
}

fn is_code(path: &str) -> bool {
    [".rs", ".toml", ".sh"].iter().any(|ending| path.ends_with(ending)) || path == "Makefile" || path == ".ci/run"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_not_bytes_and_markdown_is_left_alone() {
        let wide = format!("// {}\n// é\n//\n# {}", "x".repeat(118), "x".repeat(118));
        let full = format!("// {}", "é".repeat(117));
        let workspace = Workspace::of_files(&[("a.rs", &wide.replace('#', "//")), ("b.rs", &full), ("c.md", &wide)]);
        let lines: Vec<_> =
            check(&workspace, &Settings::default()).iter().map(|it| (it.path.clone(), it.line)).collect();
        assert_eq!(lines, [("a.rs".to_owned(), 1), ("a.rs".to_owned(), 4)]);
    }

    #[test]
    fn the_remedy_fits_the_file() {
        let remedy = |path: &str, start: &str| {
            let line = format!("{start} {}", "x".repeat(120));
            let found = check(&Workspace::of_files(&[(path, &line)]), &Settings::default());
            found[0].message.split_once("; ").expect("there is a remedy").1.to_owned()
        };
        assert!(remedy("a.toml", "a = 1 # as").contains("line of its own above"));
        for (path, comment) in [("a.toml", "#"), ("a.sh", "  #"), ("a.rs", "    //"), ("Makefile", "#")] {
            assert_eq!(remedy(path, comment), "go on in another comment line", "{path}");
        }
        for (path, code) in [("a.rs", "use a; //"), ("a.sh", "a"), ("Makefile", "a"), (".ci/run", "a")] {
            assert!(remedy(path, code).contains("after `\\`"), "{path}");
        }
    }

    #[test]
    fn it_counts_as_rustfmt_does() {
        let settings = include_str!("../../../../rustfmt.toml");
        assert!(settings.contains(&format!("max_width = {COLUMNS_MAX}\n")));
    }
}
