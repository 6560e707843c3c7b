//! Checks that dependencies come from the registry, under licences that `tidy.toml` allows.
//!
//! Sources are checked in Cargo.lock, for all platforms. Licences are checked only for packages that are built on this
//! platform, because cargo knows the others only after fetching them.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::Rule;
use crate::allow::{SETTINGS, Settings};
use crate::finding::Finding;
use crate::workspace::Workspace;

const LOCK: &str = "Cargo.lock";
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(super) const RULE: Rule =
    Rule { name: "licences", demands: "dependencies have a licence of tidy.toml and come from the registry", check };

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    /// `None` for crates of the workspace.
    source: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Licensed>,
}

#[derive(Deserialize)]
struct Licensed {
    name: String,
    version: String,
    license: Option<String>,
}

fn check(workspace: &Workspace, settings: &Settings) -> Vec<Finding> {
    let lock = workspace.text(LOCK).unwrap_or_default();
    let mut findings = sources(workspace, lock);
    if let Some(root) = &workspace.root {
        match metadata(root) {
            Ok(metadata) => findings.extend(licences(&metadata, lock, &settings.licences.allowed)),
            Err(problem) => {
                let message = format!("licences are unknown: {}; run `cargo fetch --locked`", problem.trim());
                findings.push(Finding::new(LOCK, 1, message));
            }
        }
    }
    findings
}

fn sources(workspace: &Workspace, lock: &str) -> Vec<Finding> {
    let parsed: Lock = match toml::from_str(lock) {
        Ok(parsed) => parsed,
        Err(error) => return vec![Finding::new(LOCK, 1, format!("cannot be read: {error}; `cargo build` writes it"))],
    };
    let ours = |name: &str| workspace.packages.iter().any(|package| package.name == name);
    let foreign = parsed.package.into_iter().filter(|package| match &package.source {
        Some(source) => source != REGISTRY,
        None => !ours(&package.name),
    });
    foreign
        .map(|package| {
            let source = package.source.as_deref().unwrap_or("a folder");
            let message = format!("`{}` comes from {source}; use the registry's", package.name);
            Finding::new(LOCK, line_of(lock, &package.name), message).about(&package.name)
        })
        .collect()
}

fn metadata(root: &Path) -> Result<Metadata, String> {
    let platform = output(root, "rustc", &["-vV"])?;
    let platform = platform.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default().to_owned();
    let arguments = ["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform", &platform];
    let json = output(root, "cargo", &arguments)?;
    serde_json::from_str(&json).map_err(|error| format!("cargo metadata: {error}"))
}

fn output(root: &Path, program: &str, arguments: &[&str]) -> Result<String, String> {
    let ended = Command::new(program).args(arguments).current_dir(root).output();
    let ended = ended.map_err(|error| format!("{program}: {error}"))?;
    if ended.status.success() {
        String::from_utf8(ended.stdout).map_err(|error| format!("{program}: {error}"))
    } else {
        Err(String::from_utf8_lossy(&ended.stderr).replace('\n', " "))
    }
}

fn licences(metadata: &Metadata, lock: &str, allowed: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &metadata.packages {
        let licence = package.license.as_deref().unwrap_or("none that its manifest states");
        if !is_allowed(licence, allowed) {
            let (name, version) = (&package.name, &package.version);
            let message =
                format!("`{name}` {version} has the licence {licence}; do without it, or add it to {SETTINGS}");
            findings.push(Finding::new(LOCK, line_of(lock, name), message).about(name));
        }
    }
    findings
}

fn line_of(lock: &str, name: &str) -> usize {
    let line = format!("name = \"{name}\"");
    lock.lines().position(|it| it == line).map_or(1, |index| index + 1)
}

/// Whether the allowed licences satisfy an SPDX expression. The old `/` means `OR`.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<_> = spaced.split_whitespace().collect();
    let mut parser = Expression { words: &words, allowed };
    parser.any().is_some_and(|allowed| allowed && parser.words.is_empty())
}

struct Expression<'a> {
    words: &'a [&'a str],
    allowed: &'a [String],
}

impl Expression<'_> {
    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        self.words = &self.words[usize::from(is_next)..];
        is_next
    }

    /// `None` if this is no expression.
    fn any(&mut self) -> Option<bool> {
        let mut allowed = self.all()?;
        while self.takes("OR") {
            allowed |= self.all()?;
        }
        Some(allowed)
    }

    fn all(&mut self) -> Option<bool> {
        let mut allowed = self.one()?;
        while self.takes("AND") {
            allowed &= self.one()?;
        }
        Some(allowed)
    }

    fn one(&mut self) -> Option<bool> {
        if self.takes("(") {
            let allowed = self.any()?;
            return self.takes(")").then_some(allowed);
        }
        let (name, rest) = self.words.split_first()?;
        self.words = rest;
        // An exception only adds permissions, so it needs no check.
        if self.takes("WITH") {
            self.words = self.words.split_first()?.1;
        }
        Some(self.allowed.iter().any(|allowed| allowed == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(expression: &str) -> bool {
        is_allowed(expression, &["MIT".to_owned(), "Apache-2.0".to_owned(), "Unicode-3.0".to_owned()])
    }

    #[test]
    fn expressions_are_fulfilled_by_what_is_allowed() {
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "Apache-2.0/GPL-2.0",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
            "GPL-3.0 AND BSD-3-Clause OR MIT",
        ] {
            assert!(verdict(good), "{good}");
        }
        for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND GPL-3.0", "", "MIT OR", "(MIT", "MIT MIT"] {
            assert!(!verdict(bad), "{bad}");
        }
    }

    #[test]
    fn a_package_under_another_licence_or_none_is_found() {
        let json = r#"{"packages": [
            {"name": "good", "version": "1.0.0", "license": "MIT"},
            {"name": "bad", "version": "1.2.3", "license": "AGPL-3.0"},
            {"name": "unknown", "version": "1.0.0", "license": null}]}"#;
        let lock = "[[package]]\nname = \"good\"\n\n[[package]]\nname = \"bad\"\n";
        let found = licences(&serde_json::from_str(json).unwrap(), lock, &["MIT".to_owned()]);
        assert_eq!(
            found.iter().map(|it| (it.line, it.item.as_deref())).collect::<Vec<_>>(),
            [(5, Some("bad")), (1, Some("unknown")),]
        );
    }

    #[test]
    fn a_source_other_than_the_registry_is_found() {
        let lock = format!(
            "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\
            [[package]]\nname = \"good\"\nsource = \"{REGISTRY}\"\n\
            [[package]]\nname = \"fork\"\nsource = \"git+https://example.org/fork\"\n\
            [[package]]\nname = \"folder\"\n"
        );
        let files = [("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"), (LOCK, &lock)];
        let found = check(&Workspace::of_files(&files), &Settings::default());
        let lines: Vec<_> = found.iter().map(|it| (it.line, it.item.as_deref().unwrap())).collect();
        assert_eq!(lines, [(8, "fork"), (11, "folder")]);
    }
}
