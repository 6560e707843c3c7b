//! Checks that sibling files do not import from each other in a circle: so each can be read after those it builds on.
//!
//! A module's `mod` lines, its re-exports (`pub use`) and tests do not count. A name that is imported through a
//! re-export counts as imported from where it is declared. An import in a file of a folder counts for the folder.

use std::collections::{BTreeMap, BTreeSet};

use super::Rule;
use crate::allow::Settings;
use crate::finding::Finding;
use crate::modules::{self, Tree};
use crate::workspace::Workspace;

pub(super) const RULE: Rule =
    Rule { name: "import-circles", demands: "files side by side do not import from each other in a circle", check };

/// Where a module imports from a sibling: file and line.
type ImportLine = (String, usize);
/// Imports between modules with the same parent: from, to, and the first place.
type Edges = BTreeMap<usize, BTreeMap<usize, ImportLine>>;

fn check(workspace: &Workspace, _: &Settings) -> Vec<Finding> {
    let trees = workspace.packages.iter().flat_map(|package| modules::trees(workspace, package));
    trees.flat_map(|tree| circles_of(&tree)).collect()
}

fn circles_of(tree: &Tree) -> Vec<Finding> {
    let edges = edges(tree);
    let reached: BTreeMap<usize, BTreeSet<usize>> = edges.keys().map(|&from| (from, reached(&edges, from))).collect();
    let mut done: BTreeSet<usize> = BTreeSet::new();
    let mut findings = Vec::new();
    for (&from, to) in &reached {
        if !to.contains(&from) || done.contains(&from) {
            continue;
        }
        let together: Vec<_> =
            to.iter().copied().filter(|at| reached.get(at).is_some_and(|it| it.contains(&from))).collect();
        done.extend(&together);
        findings.push(finding(tree, &edges, &together, &shortest_circle(&edges, from)));
    }
    findings
}

/// Collects the imports between siblings; a folder imports what files below it import.
fn edges(tree: &Tree) -> Edges {
    let mut edges = Edges::new();
    for (at, module) in tree.modules.iter().enumerate() {
        for import in &module.imports {
            let Some(target) = tree.target(at, import) else { continue };
            let (own, other) = (lineage(tree, at), lineage(tree, target));
            let apart = own.iter().zip(&other).find(|(a, b)| a != b);
            // Modules inside one file are not sibling files.
            let Some((&from, &to)) = apart.filter(|(a, b)| tree.modules[**a].file != tree.modules[**b].file) else {
                continue;
            };
            edges.entry(from).or_default().entry(to).or_insert_with(|| (module.file.clone(), import.line));
        }
    }
    edges
}

/// The modules on the way from the root to the module.
fn lineage(tree: &Tree, module: usize) -> Vec<usize> {
    let mut lineage: Vec<_> = std::iter::successors(Some(module), |&at| tree.modules[at].parent).collect();
    lineage.reverse();
    lineage
}

fn reached(edges: &Edges, from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for &next in edges.get(&at).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

/// The shortest way from `from` back to itself, by breadth-first search. There has to be one.
fn shortest_circle(edges: &Edges, from: usize) -> Vec<usize> {
    let mut ways = std::collections::VecDeque::from([vec![from]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let last = way[way.len() - 1];
        for &next in edges.get(&last).into_iter().flat_map(BTreeMap::keys) {
            if next == from {
                return way;
            }
            if seen.insert(next) {
                ways.push_back([&way[..], &[next]].concat());
            }
        }
    }
    vec![from]
}

fn finding(tree: &Tree, edges: &Edges, together: &[usize], circle: &[usize]) -> Finding {
    let name = |at: usize| tree.modules[at].name.as_str();
    let steps = circle.iter().zip(circle.iter().cycle().skip(1)).map(|(from, to)| {
        let (file, line) = &edges[from][to];
        format!("{} from {} ({file}:{line})", name(*from), name(*to))
    });
    let steps: Vec<_> = steps.collect();
    let mut all: Vec<_> = together.iter().map(|&at| name(at)).collect();
    all.sort_unstable();
    let others = if together.len() > circle.len() {
        format!("; all of {} hang together", all.join(", "))
    } else {
        String::new()
    };
    let message =
        format!("a circle of imports: {}{others}; move what both need to a file of its own", steps.join(", "));
    let (file, line) = &edges[&circle[0]][circle.get(1).unwrap_or(&circle[0])];
    Finding::new(file, *line, message).about(&all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: (&str, &str) = ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n");

    fn found(files: &[(&str, &str)]) -> Vec<(String, usize, String)> {
        let mut all = vec![MANIFEST];
        all.extend(files);
        let found = check(&Workspace::of_files(&all), &Settings::default());
        found.into_iter().map(|it| (it.path, it.line, it.item.unwrap())).collect()
    }

    fn of_two(lib: &str, one: &str, two: &str) -> Vec<(String, usize, String)> {
        found(&[("crates/a/src/lib.rs", lib), ("crates/a/src/one.rs", one), ("crates/a/src/two.rs", two)])
    }

    #[test]
    fn two_files_that_import_each_other_are_a_circle() {
        let expected = [("crates/a/src/one.rs".to_owned(), 2, "one, two".to_owned())];
        for (one, two) in [
            ("\nuse super::two::Two;", "use crate::one::{One, other};"),
            ("\nfn f() { crate::two::g(); }", "struct Two { one: super::one::One }"),
            ("\nuse super::two;", "use super::one::*;"),
        ] {
            assert_eq!(of_two("mod one;\nmod two;", one, two), expected, "{one} {two}");
        }
    }

    #[test]
    fn an_import_by_way_of_a_re_export_is_one_of_where_the_name_is_declared() {
        let lib = "mod one;\nmod two;\npub use one::One;\npub(crate) use two::*;";
        let (one, two) = ("use crate::Two;\npub struct One;", "use super::One;\npub struct Two;");
        assert_eq!(of_two(lib, one, two).len(), 1);
    }

    #[test]
    fn re_exports_mod_lines_and_tests_do_not_count() {
        let lib = "mod one;\nmod two;\npub use one::One;";
        for one in [
            "pub use super::two::Two;",
            "#[cfg(test)]\nmod tests { use crate::two::Two; }",
            "#[cfg(test)]\nuse crate::two::Two;",
            "#[test]\nfn f() { crate::two::f(); }",
            "pub(in crate::two) struct A;",
            "use other::two::Two;",
            "// use super::two::Two;",
        ] {
            assert_eq!(of_two(lib, one, "use super::one::One;"), [], "{one}");
        }
    }

    #[test]
    fn a_child_may_use_its_parent_and_the_parent_its_children() {
        let lib = "mod one;\nuse one::One;\nstruct Lib;";
        assert_eq!(found(&[("crates/a/src/lib.rs", lib), ("crates/a/src/one.rs", "use super::Lib;")]), []);
    }

    #[test]
    fn three_files_are_one_circle_and_folders_count_as_what_is_in_them() {
        let files = [
            ("crates/a/src/lib.rs", "mod one;\nmod two;\nmod three;"),
            ("crates/a/src/one/mod.rs", "mod deep;"),
            ("crates/a/src/one/deep.rs", "use super::super::two::Two;"),
            ("crates/a/src/two.rs", "use crate::three::Three;"),
            ("crates/a/src/three.rs", "use crate::one::deep::Deep;"),
        ];
        assert_eq!(found(&files), [("crates/a/src/one/deep.rs".to_owned(), 1, "one, three, two".to_owned())]);
    }
}
