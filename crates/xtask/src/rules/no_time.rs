//! Translation layers know no time: what they do is a matter of pages and blocks, and the array finds out how long it
//! takes. So their crate names neither types of time nor the doors of `esker-nand` behind which time passes.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use super::Rule;
use crate::allow::Settings;
use crate::finding::Finding;
use crate::workspace::Workspace;

pub(super) const RULE: Rule =
    Rule { name: "no-time", demands: "esker-ftl names no time, and of esker-nand no array", check };

/// Where the rule holds.
const FOLDER: &str = "crates/esker-ftl/";
/// Types that hold or measure time.
const TIMES: &[&str] =
    &["Nanos", "ByteRate", "Timetable", "EventQueue", "Stretch", "Timing", "Duration", "Instant", "SystemTime"];
/// The crate with the doors, and those that are closed.
const NAND: &str = "esker_nand";
const CLOSED: &[&str] = &["array", "ecc"];

fn check(workspace: &Workspace, _: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, _) in workspace.rust().filter(|(file, _)| file.path.starts_with(FOLDER)) {
        // It was parsed before.
        let Ok(tokens) = file.text.parse::<TokenStream>() else { continue };
        let mut found = Vec::new();
        look(tokens, false, &mut found);
        findings.extend(found.into_iter().map(|(line, name)| {
            let message =
                format!("`{name}` is about time; hand the layer what it needs of it as a plain number or choice");
            Finding::new(&file.path, line, message).about(&name)
        }));
    }
    findings
}

/// Appends the forbidden names in `tokens` with their lines. `of_nand` says that these are the braces of
/// `use esker_nand::{...}`.
fn look(tokens: TokenStream, of_nand: bool, found: &mut Vec<(usize, String)>) {
    // What a path came to so far: `esker_nand::` makes the next name one of its doors.
    let (mut first, mut colons) = (of_nand, 2);
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                let (line, name) = (name.span().start().line, name.to_string());
                let is_door = first && colons == 2 && CLOSED.contains(&&*name);
                if is_door || TIMES.contains(&&*name) {
                    found.push((line, name.clone()));
                }
                (first, colons) = (name == NAND, 0);
            }
            TokenTree::Punct(mark) if mark.as_char() == ':' => {
                colons += 1;
                debug_assert!(mark.spacing() == Spacing::Joint || mark.spacing() == Spacing::Alone);
            }
            TokenTree::Punct(mark) => (first, colons) = (of_nand && mark.as_char() == ',', 2),
            TokenTree::Group(group) => {
                let of_nand = first && colons == 2 && group.delimiter() == Delimiter::Brace;
                look(group.stream(), of_nand, found);
                (first, colons) = (false, 0);
            }
            TokenTree::Literal(_) => (first, colons) = (false, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let workspace =
            Workspace::of_files(&[("crates/esker-ftl/src/a.rs", text), ("crates/esker-nand/src/a.rs", text)]);
        let findings = check(&workspace, &Settings::default());
        assert!(findings.iter().all(|finding| finding.path == "crates/esker-ftl/src/a.rs"));
        findings
            .iter()
            .map(|finding| format!("{}:{}", finding.line, finding.item.as_deref().unwrap_or_default()))
            .collect()
    }

    #[test]
    fn times_and_closed_doors_are_found_however_they_are_imported() {
        assert_eq!(names("use esker_core::{Bytes, Nanos};"), ["1:Nanos"]);
        assert_eq!(names("\nuse esker_nand::array::Array;"), ["2:array"]);
        assert_eq!(names("use esker_nand::{BlockIndex, ecc::Ecc, state::FlashState};"), ["1:ecc"]);
        assert_eq!(
            names("fn f() { g(esker_nand::array::BACKGROUND, std::time::Duration::ZERO) }"),
            ["1:array", "1:Duration"]
        );
    }

    #[test]
    fn words_and_other_arrays_are_no_time() {
        let text = "/// Knows no `Nanos`.\nuse std::array::from_fn;\nuse esker_nand::state::{FlashState};\n\
                    fn f(array: u32, ecc: u32) -> u32 { array + ecc }";
        assert!(names(text).is_empty());
    }
}
