//! `cargo xtask tidy`: runs the rules, and removes findings that are allowed with a reason.

use std::fmt::Write;
use std::path::Path;

use crate::allow::{SETTINGS, Settings};
use crate::finding::Finding;
use crate::rules::RULES;
use crate::workspace::Workspace;

/// The text to print, and the number of findings in it.
pub(crate) struct Report {
    pub(crate) text: String,
    pub(crate) findings: usize,
}

/// The names of the rules, and what they demand.
pub(crate) fn list() -> Report {
    let text = RULES.iter().map(|rule| format!("{:<20} {}\n", rule.name, rule.demands)).collect();
    Report { text, findings: 0 }
}

/// Runs one rule, or all of them.
pub(crate) fn run(only: Option<&str>) -> Result<Report, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let workspace = Workspace::load(&root)?;
    let text = workspace.text(SETTINGS).ok_or_else(|| format!("{SETTINGS}: is missing; take it from git"))?;
    let settings = Settings::parse(text)?;
    check(&workspace, &settings, only)
}

fn check(workspace: &Workspace, settings: &Settings, only: Option<&str>) -> Result<Report, String> {
    let chosen: Vec<_> = RULES.iter().filter(|rule| only.is_none_or(|name| name == rule.name)).collect();
    let names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
    if chosen.is_empty() {
        return Err(format!("there is no rule `{}`: it is one of {}", only.unwrap_or_default(), names.join(", ")));
    }
    let mut found = Vec::new();
    for rule in &chosen {
        let of_rule = (rule.check)(workspace, settings).into_iter();
        found.extend(of_rule.map(|finding| Finding { rule: rule.name, ..finding }));
    }
    let checked: Vec<_> = chosen.iter().map(|rule| rule.name).collect();
    let (mut left, allowed) = settings.apply(found, &checked, &names);
    left.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    let mut text = String::new();
    for finding in &left {
        let _ = writeln!(text, "{finding}");
    }
    let _ = writeln!(
        text,
        "tidy: rules: {}, files: {}, findings: {}; {allowed} more are allowed by the {} reasons of {SETTINGS}",
        chosen.len(),
        workspace.files.len(),
        left.len(),
        settings.allowances(&checked),
    );
    Ok(Report { text, findings: left.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REASON: &str = "[[allow]]\nrule = \"file-length\"\npath = \"a.rs\"\nreason = \"one table, read at once\"\n";

    fn report(settings: &str, only: Option<&str>) -> Result<Report, String> {
        let workspace = Workspace::of_files(&[("a.rs", &"\n".repeat(500))]);
        check(&workspace, &Settings::parse(settings).unwrap(), only)
    }

    #[test]
    fn a_finding_is_printed_with_its_place_and_rule() {
        let report = report("", Some("file-length")).unwrap();
        assert_eq!(report.findings, 1);
        let lines: Vec<_> = report.text.lines().collect();
        assert!(lines[0].starts_with("a.rs:1: file-length: 500 lines, over 400; "), "{}", lines[0]);
        assert!(lines[1].starts_with("tidy: rules: 1, files: 1, findings: 1; 0 more are allowed"), "{}", lines[1]);
    }

    #[test]
    fn a_reason_takes_it_away() {
        assert_eq!(report(REASON, Some("file-length")).unwrap().findings, 0);
        // If only another rule runs, nothing is known about the use of this reason.
        assert_eq!(report(REASON, Some("width")).unwrap().findings, 0);
    }

    #[test]
    fn an_unknown_rule_is_refused_with_the_names() {
        let problem = report("", Some("lengths")).err().unwrap();
        assert!(problem.contains("`lengths`") && problem.contains("function-length"), "{problem}");
    }

    #[test]
    fn all_rules_have_names_of_their_own() {
        let mut names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
        assert_eq!(list().text.lines().count(), RULES.len());
    }
}
