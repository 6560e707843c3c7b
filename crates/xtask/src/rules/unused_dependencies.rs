//! Checks that every dependency is used where its table applies. A crate that only tests use is a dev-dependency.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::Rule;
use crate::allow::Settings;
use crate::finding::Finding;
use crate::manifest::{DependencyKind, Package};
use crate::syntax::{attributes, is_for_tests, is_test_file};
use crate::workspace::Workspace;

pub(super) const RULE: Rule = Rule {
    name: "unused-dependencies",
    demands: "every dependency is used, by more than tests or in dev-dependencies",
    check,
};

fn check(workspace: &Workspace, _: &Settings) -> Vec<Finding> {
    workspace.packages.iter().flat_map(|package| check_package(workspace, package)).collect()
}

fn check_package(workspace: &Workspace, package: &Package) -> Vec<Finding> {
    let test_modules = crate::modules::files_of_tests(workspace, package);
    let mut named = Named::default();
    let mut in_build = Named::default();
    let prefix = format!("{}/", package.folder);
    for (file, syntax) in workspace.rust().filter(|(file, _)| file.path.starts_with(&prefix)) {
        if file.path == format!("{prefix}build.rs") {
            in_build.visit_file(syntax);
        } else {
            named.in_test = is_test_file(&file.path) || test_modules.contains(&file.path);
            named.visit_file(syntax);
        }
    }
    let mut findings = Vec::new();
    for dependency in &package.dependencies {
        let name = dependency.identifier();
        let (in_code, in_tests) = (named.code.contains(&name), named.tests.contains(&name));
        let wrong = match dependency.kind {
            DependencyKind::Normal if in_code => continue,
            DependencyKind::Normal if in_tests => "is named by tests only; move it to `[dev-dependencies]`",
            DependencyKind::Dev if in_tests => continue,
            DependencyKind::Build if in_build.code.contains(&name) => continue,
            _ => "is never named; delete the line",
        };
        let message = format!("`{}` of `[{}]` {wrong}", dependency.name, dependency.kind.table());
        findings.push(Finding::new(&package.manifest(), dependency.line, message).about(&dependency.name));
    }
    findings
}

/// The first names of all paths.
#[derive(Default)]
struct Named {
    in_test: bool,
    code: BTreeSet<String>,
    tests: BTreeSet<String>,
}

impl Named {
    fn note(&mut self, name: String) {
        if self.in_test { &mut self.tests } else { &mut self.code }.insert(name);
    }

    fn within(&mut self, test: bool, visit: impl FnOnce(&mut Self)) {
        let before = self.in_test;
        self.in_test |= test;
        visit(self);
        self.in_test = before;
    }

    /// Collects paths in the tokens of a macro or an attribute: names before `::` or after `use`, and in an attribute
    /// also those in strings.
    fn read_tokens(&mut self, tokens: TokenStream, in_attribute: bool) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let is_colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.read_tokens(group.stream(), in_attribute),
                TokenTree::Ident(name) => {
                    let begins = at < 2 || !is_colon(at - 1) || !is_colon(at - 2);
                    let used = at > 0 && matches!(&tokens[at - 1], TokenTree::Ident(word) if word == "use");
                    if begins && is_colon(at + 1) && is_colon(at + 2) || used {
                        self.note(name.to_string());
                    }
                }
                TokenTree::Literal(literal) if in_attribute => {
                    let text = literal.to_string();
                    if let Some((name, _)) = text.trim_matches('"').split_once("::") {
                        self.note(name.to_owned());
                    }
                }
                TokenTree::Literal(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Named {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        self.within(is_for_tests(attributes(item)), |named| visit::visit_item(named, item));
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.within(is_for_tests(&function.attrs), |named| visit::visit_impl_item_fn(named, function));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            self.note(path.segments[0].ident.to_string());
        }
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.visit_first_names(&item.tree);
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        self.note(item.ident.to_string());
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.read_tokens(called.tokens.clone(), false);
        visit::visit_macro(self, called);
    }

    fn visit_meta_list(&mut self, list: &'ast syn::MetaList) {
        self.read_tokens(list.tokens.clone(), true);
        visit::visit_meta_list(self, list);
    }
}

impl Named {
    fn visit_first_names(&mut self, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => self.note(path.ident.to_string()),
            syn::UseTree::Name(name) => self.note(name.ident.to_string()),
            syn::UseTree::Rename(name) => self.note(name.ident.to_string()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.visit_first_names(tree)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"a\"\n[dependencies]\nsome-crate = \"1\"\n";

    fn found(manifest: &str, files: &[(&str, &str)]) -> Vec<String> {
        let all = [&[("crates/a/Cargo.toml", manifest)], files].concat();
        let found = check(&Workspace::of_files(&all), &Settings::default());
        found.into_iter().map(|finding| format!("{}: {}", finding.line, finding.message)).collect()
    }

    #[test]
    fn every_way_of_naming_counts() {
        for text in [
            "use some_crate::Thing;",
            "pub use {std::fmt, some_crate::Thing};",
            "fn f() { some_crate::f(); }",
            "#[derive(some_crate::Thing)] struct A;",
            "#[serde(with = \"some_crate::thing\")] struct A;",
            "fn f() { print(vec![some_crate::A]); }",
            "type A = Vec<some_crate::A>;",
            "extern crate some_crate;",
        ] {
            assert_eq!(found(MANIFEST, &[("crates/a/src/lib.rs", text)]), [""; 0], "{text}");
        }
    }

    #[test]
    fn comments_strings_and_other_paths_do_not_count() {
        let text = "//! some_crate::f\nfn f() { println!(\"some_crate::f\", other::some_crate::f, some_crate); }";
        let expected = ["4: `some-crate` of `[dependencies]` is never named; delete the line"];
        assert_eq!(found(MANIFEST, &[("crates/a/src/lib.rs", text)]), expected);
    }

    #[test]
    fn what_only_tests_name_is_a_dev_dependency() {
        let in_file =
            [("crates/a/src/lib.rs", "#[cfg(test)]\nmod tests;"), ("crates/a/src/tests.rs", "use some_crate::A;")];
        let inline = [("crates/a/src/lib.rs", "#[cfg(test)] mod tests { use some_crate::A; }")];
        let apart = [("crates/a/src/lib.rs", ""), ("crates/a/tests/it.rs", "use some_crate::A;")];
        for files in [&in_file[..], &inline, &apart] {
            let found_in = found(MANIFEST, files);
            assert!(found_in[0].ends_with("is named by tests only; move it to `[dev-dependencies]`"), "{found_in:?}");
            let dev = MANIFEST.replace("[dependencies]", "[dev-dependencies]");
            assert_eq!(found(&dev, files), [""; 0]);
        }
    }

    #[test]
    fn a_dev_dependency_that_only_code_names_is_found() {
        let dev = MANIFEST.replace("[dependencies]", "[dev-dependencies]");
        assert_eq!(found(&dev, &[("crates/a/src/lib.rs", "use some_crate::A;")]).len(), 1);
    }
}
