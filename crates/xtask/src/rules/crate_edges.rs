//! Checks that crates depend on each other as the table in ARCHITECTURE.md says. Only that table counts.

use std::collections::{BTreeMap, BTreeSet};

use super::Rule;
use crate::allow::Settings;
use crate::finding::Finding;
use crate::manifest::{DependencyKind, Package};
use crate::workspace::Workspace;

/// The page with the table.
const PAGE: &str = "ARCHITECTURE.md";
/// The head of the table of crates.
const HEAD: [&str; 4] = ["crate", "owns", "depends on", "its tests also on"];

pub(super) const RULE: Rule = Rule {
    name: "crate-edges",
    demands: "crates depend on what the table of ARCHITECTURE.md allows, and no more",
    check,
};

/// One row of the table.
struct Row {
    line: usize,
    krate: String,
    /// The allowed dependencies: those of `[dependencies]`, and those of `[dev-dependencies]`.
    allowed: BTreeMap<DependencyKind, Vec<String>>,
}

fn check(workspace: &Workspace, _: &Settings) -> Vec<Finding> {
    let Some(text) = workspace.text(PAGE) else {
        return vec![Finding::new(PAGE, 1, "is missing; it has the table of crates".into())];
    };
    let ours: BTreeSet<_> = workspace.packages.iter().map(|package| package.name.as_str()).collect();
    let rows = rows(text, &ours);
    if rows.is_empty() {
        return vec![Finding::new(PAGE, 1, format!("has no table `| {} |`; write one", HEAD.join(" | ")))];
    }
    let mut findings = Vec::new();
    for package in &workspace.packages {
        match rows.iter().find(|row| row.krate == package.name) {
            Some(row) => compare(package, row, &ours, &mut findings),
            None => {
                let message = format!("`{}` is not in the table of {PAGE}; add its row there", package.name);
                findings.push(Finding::new(&package.manifest(), 1, message).about(&package.name));
            }
        }
    }
    for row in rows.iter().filter(|row| !ours.contains(row.krate.as_str())) {
        let message = format!("there is no crate `{}`; delete its row", row.krate);
        findings.push(Finding::new(PAGE, row.line, message).about(&row.krate));
    }
    findings
}

/// Reports edges that are only in the manifest, and edges that are only in the row.
fn compare(package: &Package, row: &Row, ours: &BTreeSet<&str>, findings: &mut Vec<Finding>) {
    let edges = || package.dependencies.iter().filter(|dependency| ours.contains(dependency.name.as_str()));
    for edge in edges() {
        if !row.allowed.get(&edge.kind).is_some_and(|allowed| allowed.contains(&edge.name)) {
            let (table, name) = (edge.kind.table(), &edge.name);
            let message =
                format!("{PAGE} has no edge to `{name}` in `[{table}]`; use what is allowed, or argue the edge there");
            findings.push(Finding::new(&package.manifest(), edge.line, message).about(name));
        }
    }
    for (&kind, allowed) in &row.allowed {
        for name in allowed {
            if !edges().any(|edge| edge.kind == kind && edge.name == *name) {
                let (krate, table) = (&row.krate, kind.table());
                let message = format!("`{krate}` has no `{name}` in `[{table}]`; take the edge out of the table");
                findings.push(Finding::new(PAGE, row.line, message).about(name));
            }
        }
    }
}

fn rows(text: &str, ours: &BTreeSet<&str>) -> Vec<Row> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, cells(line)));
    let table = lines.skip_while(|(_, cells)| *cells != HEAD).skip(2);
    table
        .map_while(|(line, cells)| {
            let [krate, _, normal, dev] = cells[..] else { return None };
            let allowed = BTreeMap::from([
                (DependencyKind::Normal, names(normal, ours)),
                (DependencyKind::Dev, names(dev, ours)),
            ]);
            Some(Row { line, krate: krate.trim_matches('`').to_owned(), allowed })
        })
        .collect()
}

fn cells(line: &str) -> Vec<&str> {
    let inner = line.strip_prefix('|').and_then(|line| line.strip_suffix('|'));
    inner.map(|inner| inner.split('|').map(str::trim).collect()).unwrap_or_default()
}

/// The crates in a cell: `core, sim` means `esker-core` and `esker-sim`, `-` means none.
fn names(cell: &str, ours: &BTreeSet<&str>) -> Vec<String> {
    let written = cell.split(',').map(|name| name.trim().trim_matches('`')).filter(|name| *name != "-");
    written
        .map(|name| {
            let full = format!("esker-{name}");
            if ours.contains(full.as_str()) { full } else { name.to_owned() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIM: &str = "[package]\nname = \"esker-sim\"\n[dependencies]\nesker-core = {}\nserde = \"1\"\n";

    fn found(table: &str, sim: &str) -> Vec<String> {
        let page =
            format!("# A\n\n| crate | owns | depends on | its tests also on |\n|---|---|---|---|\n{table}\n\nText.\n");
        let core = "[package]\nname = \"esker-core\"\n";
        let files = [(PAGE, &*page), ("crates/core/Cargo.toml", core), ("crates/sim/Cargo.toml", sim)];
        check(&Workspace::of_files(&files), &Settings::default()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_table_and_the_manifests_agree() {
        assert_eq!(found("| `esker-core` | units | - | - |\n| `esker-sim` | runs | core | - |", SIM), [""; 0]);
    }

    #[test]
    fn an_edge_that_is_not_allowed_is_found() {
        let found = found("| `esker-core` | units | - | - |\n| `esker-sim` | runs | - | core |", SIM);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with("crates/sim/Cargo.toml:4: ") && found[0].contains("`[dependencies]`"),
            "{found:?}"
        );
        assert!(found[1].starts_with("ARCHITECTURE.md:6: ") && found[1].contains("`[dev-dependencies]`"), "{found:?}");
    }

    #[test]
    fn an_edge_of_tests_is_not_one_of_the_crate() {
        let dev = SIM.replace("[dependencies]", "[dev-dependencies]");
        assert_eq!(found("| `esker-core` | units | - | - |\n| `esker-sim` | runs | - | core |", &dev), [""; 0]);
        assert_eq!(found("| `esker-core` | units | - | - |\n| `esker-sim` | runs | core | - |", &dev).len(), 2);
    }

    #[test]
    fn crates_without_a_row_and_rows_without_a_crate_are_found() {
        let found = found("| `esker-sim` | runs | core | - |\n| `esker-gone` | - | - | - |", SIM);
        assert!(found[0].contains("`esker-core` is not in the table"), "{found:?}");
        assert!(found[1].contains("no crate `esker-gone`"), "{found:?}");
    }

    #[test]
    fn a_page_without_the_table_is_found() {
        let files = [(PAGE, "# A\n"), ("crates/sim/Cargo.toml", SIM)];
        assert_eq!(check(&Workspace::of_files(&files), &Settings::default()).len(), 1);
    }
}
