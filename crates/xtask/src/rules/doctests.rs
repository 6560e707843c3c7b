//! Code in documentation is tested, and a library without any says so: to find what there is to test, cargo has the
//! whole library read once more.

use super::Rule;
use crate::allow::Settings;
use crate::finding::Finding;
use crate::manifest::Package;
use crate::workspace::Workspace;

pub(super) const RULE: Rule =
    Rule { name: "doctests", demands: "a library has `doctest = false` if no documentation of it has code", check };

/// What a block of Rust may be marked with; all else is text or another language.
const OF_RUST: &[&str] = &["rust", "no_run", "should_panic", "compile_fail"];

/// How a line of documentation may begin.
const DOCUMENTATION: &[&str] =
    &["///", "//!", "#![doc = \"", "#[doc = \"", "#![doc = include_str!", "#[doc = include_str!"];

fn check(workspace: &Workspace, _: &Settings) -> Vec<Finding> {
    let libraries =
        workspace.packages.iter().filter(|it| workspace.text(&format!("{}/src/lib.rs", it.folder)).is_some());
    libraries.filter_map(|package| finding(workspace, package)).collect()
}

fn finding(workspace: &Workspace, package: &Package) -> Option<Finding> {
    let folder = format!("{}/src/", package.folder);
    let files = workspace.rust().filter(|(file, _)| file.path.starts_with(&folder));
    let code = files.filter_map(|(file, _)| Some((file, code_in(&file.text)?))).next();
    match (code, package.has_doctests) {
        (Some((file, line)), false) => {
            let message = format!("nobody tests this code; remove `doctest = false` from {}", package.manifest());
            Some(Finding::new(&file.path, line, message))
        }
        (None, true) => {
            let message = "no documentation has code to test; set `doctest = false` under `[lib]`".to_owned();
            Some(Finding::new(&package.manifest(), 1, message))
        }
        (Some(_), true) | (None, false) => None,
    }
}

/// Returns the line of the first block of Rust in documentation.
fn code_in(text: &str) -> Option<usize> {
    let mut is_inside = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let Some(words) = DOCUMENTATION.iter().find_map(|begin| line.strip_prefix(begin)) else {
            is_inside = false;
            continue;
        };
        if let Some(marks) = words.trim_start().strip_prefix("```") {
            is_inside = !is_inside;
            let is_of_rust = |mark: &str| mark.is_empty() || OF_RUST.contains(&mark);
            if is_inside && marks.trim_end_matches("\"]").split(',').map(str::trim).all(is_of_rust) {
                return Some(at + 1);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lib: &str, manifest: &str) -> Vec<String> {
        let manifest = format!("[package]\nname = \"a\"\n{manifest}");
        let workspace = Workspace::of_files(&[
            ("crates/a/Cargo.toml", &manifest),
            ("crates/a/src/lib.rs", lib),
            ("crates/b/Cargo.toml", "[package]\nname = \"b\"\n"),
            ("crates/b/src/main.rs", "//! ```\n//! f();\n//! ```\n"),
        ]);
        let findings = check(&workspace, &Settings::default());
        findings.iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect()
    }

    #[test]
    fn a_library_says_whether_its_documentation_has_code() {
        let (without, with) = ("[lib]\ndoctest = false\n", "");
        for (lib, has_code) in [
            ("//! Words.\n", false),
            ("//! ```text\n//! a picture\n//! ```\n//! Words.\n", false),
            ("//! ```text\n//! a picture\n//! ```\n/// ```\n/// f();\n/// ```\nfn f() {}\n", true),
            ("#![doc = \"```ignore\"]\n#![doc = include_str!(\"a.rs\")]\n#![doc = \"```\"]\n//! Words.", false),
            ("#![doc = \"```\"]\n#![doc = include_str!(\"a.rs\")]\n#![doc = \"```\"]\n//! Words.", true),
            ("/// ```no_run\n/// f();\n/// ```\nfn f() {}\n", true),
            ("fn f() {\n    // ```\n}\n", false),
        ] {
            assert_eq!(found(lib, without).is_empty(), !has_code, "{lib}");
            assert_eq!(found(lib, with).is_empty(), has_code, "{lib}");
        }
        assert_eq!(found("//! Words.\n", with), ["crates/a/Cargo.toml:1"]);
        assert_eq!(found("\n//! ```\n//! f();\n//! ```\n", without), ["crates/a/src/lib.rs:2"]);
    }
}
