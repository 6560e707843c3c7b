//! Checks that a test compares each page that `scripts/generate-docs.sh` writes with the code, so that no page gets
//! stale. `make test` runs those tests; this rule only checks that there is one for each page.

use super::Rule;
use crate::allow::Settings;
use crate::finding::Finding;
use crate::workspace::{File, Workspace};

const SCRIPT: &str = "scripts/generate-docs.sh";
/// The variable that makes such a test write its page.
const SWITCH: &str = "ESKER_UPDATE_DOCS";
/// The first line of pages that are generated as a whole.
const MARK: &str = "<!-- Made from the code: `";

pub(super) const RULE: Rule = Rule {
    name: "reference-pages",
    demands: "every page that is made from the code is compared with it by a test",
    check,
};

fn check(workspace: &Workspace, _: &Settings) -> Vec<Finding> {
    let Some(script) = workspace.text(SCRIPT) else {
        return vec![Finding::new(SCRIPT, 1, "is missing; it writes the reference pages".into())];
    };
    let mut findings = Vec::new();
    for (index, line) in script.lines().enumerate() {
        let words: Vec<_> = line.split_whitespace().collect();
        let problem = match line.starts_with(SWITCH) {
            true => problem_of_test(workspace, &words),
            false => problem_of_command(line),
        };
        findings.extend(problem.map(|problem| Finding::new(SCRIPT, index + 1, problem)));
    }
    for file in workspace.files.values().filter(|file| file.path.starts_with("docs/")) {
        findings.extend(unwritten(file, script).map(|problem| Finding::new(&file.path, 1, problem)));
    }
    findings
}

/// Checks the test of a line `ESKER_UPDATE_DOCS=1 cargo test ... -p CRATE --test TARGET [NAME]`.
fn problem_of_test(workspace: &Workspace, words: &[&str]) -> Option<String> {
    let after = |option: &str| words.iter().skip_while(|word| **word != option).nth(1).copied();
    let (Some(krate), Some(target)) = (after("-p"), after("--test")) else {
        return Some("names no test; write `-p CRATE --test TARGET`".into());
    };
    let filter = words.last().filter(|word| **word != target).copied().unwrap_or_default();
    let folder = workspace.packages.iter().find(|package| package.name == krate).map(|package| package.folder.as_str());
    let Some(folder) = folder else { return Some(format!("there is no crate `{krate}`")) };
    let (file, below) = (format!("{folder}/tests/{target}.rs"), format!("{folder}/tests/{target}/"));
    let files = workspace.rust().filter(|(it, _)| it.path == file || it.path.starts_with(&below));
    let compares = files.filter(|(it, _)| it.text.contains(SWITCH)).any(|(_, syntax)| has_test(syntax, filter));
    let missing = || format!("no test `{filter}` of {file} or {below} knows {SWITCH}; the page would grow old unseen");
    (!compares).then(missing)
}

/// Whether the file has a test, not ignored, with `filter` in its name.
fn has_test(syntax: &syn::File, filter: &str) -> bool {
    syntax.items.iter().any(|item| {
        let syn::Item::Fn(function) = item else { return false };
        let has = |name: &str| function.attrs.iter().any(|attribute| attribute.path().is_ident(name));
        has("test") && !has("ignore") && function.sig.ident.to_string().contains(filter)
    })
}

/// Checks that no command's output goes into a page: the shell empties the page before the command has run, and nothing
/// compares it later.
fn problem_of_command(line: &str) -> Option<String> {
    let (_, page) = line.split_once('>').filter(|_| !line.starts_with('#'))?;
    Some(format!(
        "empties {} before anything is there to fill it; let a test that knows {SWITCH} write it",
        page.trim()
    ))
}

/// Whether the script lacks the command that a page names, or does not write a schema of this name.
fn unwritten(file: &File, script: &str) -> Option<String> {
    if let Some((_, command)) = file.text.split_once(MARK) {
        let command = command.split('`').next().unwrap_or_default();
        let test = command.split_once("-p ").map_or(command, |(_, test)| test);
        return (!script.contains(test)).then(|| format!("{SCRIPT} does not run `{test}`, which makes this page"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "ESKER_UPDATE_DOCS=1 cargo test --locked -p a --test pages";
    const TEST: &str = "#[test]\nfn the_page_is_current() { is_current(\"ESKER_UPDATE_DOCS\"); }";

    fn found(script: &str, test: &str, page: &str) -> Vec<Finding> {
        let manifest = "[package]\nname = \"a\"\n";
        let files = [
            (SCRIPT, script),
            ("crates/a/Cargo.toml", manifest),
            ("crates/a/tests/pages.rs", test),
            ("docs/keys.md", page),
        ];
        check(&Workspace::of_files(&files), &Settings::default())
    }

    #[test]
    fn a_page_with_its_test_passes() {
        assert_eq!(found(LINE, TEST, "<!-- Made from the code: `cargo test -p a --test pages`. -->\n"), []);
        assert_eq!(found(&format!("{LINE} the_page"), TEST, ""), []);
    }

    #[test]
    fn a_page_without_a_test_is_found() {
        for (script, test) in [
            (LINE, "#[test]\nfn other() {}"),
            (LINE, "#[test]\n#[ignore]\nfn the_page_is_current() { is_current(\"ESKER_UPDATE_DOCS\"); }"),
            (&format!("{LINE} another_page"), TEST),
            ("ESKER_UPDATE_DOCS=1 cargo test -p gone --test pages", TEST),
            ("cargo run --bin esker -- schema study >docs/schema/study-1.json", TEST),
            ("cargo run --bin esker -- schema study > docs/schema/study-1.json", TEST),
        ] {
            assert_eq!(found(script, test, "").len(), 1, "{script}: {test}");
        }
    }

    #[test]
    fn a_page_that_the_script_does_not_write_is_found() {
        let page = "<!-- Made from the code: `ESKER_UPDATE_DOCS=1 cargo test -p a --test other`. -->\n";
        assert_eq!(found(LINE, TEST, page)[0].path, "docs/keys.md");
    }

    #[test]
    fn other_commands_pass() {
        assert_eq!(found("# Makes pages -> docs\ncargo run --bin esker -- man target/man", "", ""), []);
    }
}
