//! Checks that the faults of `cargo xtask mutants` fit the code: a run of all of them takes hours, and finds one that
//! no longer fits only when its turn comes.

use super::Rule;
use crate::allow::Settings;
use crate::faults::{LIST, parse};
use crate::finding::Finding;
use crate::workspace::Workspace;

pub(super) const RULE: Rule =
    Rule { name: "planted-faults", demands: "what a fault of mutants.toml replaces occurs once in its file", check };

fn check(workspace: &Workspace, _: &Settings) -> Vec<Finding> {
    let Some(text) = workspace.text(LIST) else { return Vec::new() };
    let finding = |line, message| Finding::new(LIST, line, message);
    let faults = match parse(text) {
        Ok(faults) => faults,
        Err(problem) => return vec![finding(1, format!("cannot be read: {problem}"))],
    };
    let line_of =
        |name: &str| text.lines().position(|line| line.contains(&format!("\"{name}\""))).map_or(1, |at| at + 1);
    let mut findings = Vec::new();
    for fault in &faults {
        let path = format!("crates/{}", fault.file);
        let message = match workspace.text(&path).map(|code| code.matches(&fault.find).count()) {
            Some(1) => continue,
            Some(count) => format!("what `{}` replaces occurs {count} times in {path}; have it occur once", fault.name),
            None => format!("`{}` is in {path}, which is missing; name the file that has the code now", fault.name),
        };
        findings.push(finding(line_of(&fault.name), message).about(&fault.name));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(name: &str, file: &str, find: &str) -> String {
        format!("[[mutant]]\nname = \"{name}\"\nfile = \"{file}\"\nfind = '{find}'\nreplace = ''\ntests = []\n")
    }

    #[test]
    fn faults_that_do_not_fit_are_found_with_their_lines() {
        let list = [
            fault("good", "a/src/lib.rs", "b + c"),
            fault("gone", "a/src/lib.rs", "b - c"),
            fault("twice", "a/src/lib.rs", "b"),
            fault("no file", "a/src/none.rs", "b"),
        ];
        let code = "fn a() { b + c; b }";
        let files = [(LIST, &*list.concat()), ("crates/a/src/lib.rs", code)];
        let found = check(&Workspace::of_files(&files), &Settings::default());
        let found: Vec<_> = found.iter().map(|it| (it.line, it.item.as_deref().unwrap())).collect();
        assert_eq!(found, [(8, "gone"), (14, "twice"), (20, "no file")]);
        let broken = check(&Workspace::of_files(&[(LIST, "[[mutant]]\n")]), &Settings::default());
        assert!(broken.len() == 1 && broken[0].message.contains("missing field"), "{broken:?}");
    }
}
