//! `tidy.toml`: what may break a rule, and why. An allowance that is not needed is itself a finding.

use serde::Deserialize;
use toml::Spanned;

use crate::finding::Finding;

/// Path of the file.
pub(crate) const SETTINGS: &str = "crates/xtask/tidy.toml";

/// The shortest reason in characters: `TODO` is not enough.
const REASON_MIN: usize = 15;

/// The content of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    #[serde(default)]
    pub(crate) licences: Licences,
    #[serde(default)]
    allow: Vec<Spanned<Allowance>>,
    #[serde(skip)]
    text: String,
}

/// The licences that a dependency may have.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Licences {
    /// SPDX names.
    pub(crate) allowed: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allowance {
    rule: String,
    /// A file, or a folder with a `/` at its end.
    path: String,
    /// One thing in the file; `None` covers all findings in it.
    item: Option<String>,
    reason: String,
}

impl Allowance {
    fn covers(&self, finding: &Finding) -> bool {
        let in_place =
            if self.path.ends_with('/') { finding.path.starts_with(&self.path) } else { finding.path == self.path };
        self.rule == finding.rule && in_place && (self.item.is_none() || self.item == finding.item)
    }

    fn what(&self) -> String {
        self.item.as_ref().map_or_else(|| self.path.clone(), |item| format!("`{item}` of {}", self.path))
    }
}

impl Settings {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let settings: Self = toml::from_str(text).map_err(|error| format!("{SETTINGS}: {error}"))?;
        Ok(Self { text: text.to_owned(), ..settings })
    }

    /// Number of allowances for these rules.
    pub(crate) fn allowances(&self, rules: &[&str]) -> usize {
        self.allow.iter().filter(|allowance| rules.contains(&allowance.get_ref().rule.as_str())).count()
    }

    /// Removes the allowed findings, and adds findings about this file itself. Also returns how many were allowed.
    /// `checked` are the rules that were run, `known` the names of all rules.
    pub(crate) fn apply(&self, found: Vec<Finding>, checked: &[&str], known: &[&str]) -> (Vec<Finding>, usize) {
        let mut left = Vec::new();
        let mut used = vec![0; self.allow.len()];
        for finding in found {
            match self.allow.iter().position(|allowance| allowance.get_ref().covers(&finding)) {
                Some(at) => used[at] += 1,
                None => left.push(finding),
            }
        }
        for (allowance, used) in self.allow.iter().zip(&used) {
            let line = self.text[..allowance.span().start].matches('\n').count() + 1;
            let allowance = allowance.get_ref();
            let message = if !known.contains(&allowance.rule.as_str()) {
                format!("there is no rule `{}`; `cargo xtask tidy --list` has them", allowance.rule)
            } else if allowance.reason.trim().chars().count() < REASON_MIN {
                format!("the reason for {} is no reason; say why it has to be so", allowance.what())
            } else if *used == 0 && checked.contains(&allowance.rule.as_str()) {
                format!("{} keeps the rule `{}` by now; delete this entry", allowance.what(), allowance.rule)
            } else {
                continue;
            };
            left.push(Finding { rule: "allowances", ..Finding::new(SETTINGS, line, message) });
        }
        (left, used.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[&str] = &["function-length", "width"];

    fn settings(entries: &str) -> Settings {
        Settings::parse(entries).unwrap()
    }

    fn finding(path: &str, item: &str) -> Finding {
        Finding { rule: "function-length", ..Finding::new(path, 3, "long".into()).about(item) }
    }

    fn entry(path: &str, item: &str, reason: &str) -> String {
        format!("[[allow]]\nrule = \"function-length\"\npath = \"{path}\"\n{item}reason = \"{reason}\"\n")
    }

    #[test]
    fn an_allowance_covers_what_it_names_and_nothing_else() {
        let allowed = settings(&entry("a.rs", "item = \"run\"\n", "one table, read from top to bottom"));
        let found = vec![finding("a.rs", "run"), finding("a.rs", "walk"), finding("b.rs", "run")];
        let (left, count) = allowed.apply(found, &["function-length"], KNOWN);
        assert_eq!(left, [finding("a.rs", "walk"), finding("b.rs", "run")]);
        assert_eq!(count, 1);
    }

    #[test]
    fn a_folder_covers_the_files_below_it() {
        let allowed = settings(&entry("a/", "", "another change is on its way there"));
        let (left, count) =
            allowed.apply(vec![finding("a/b/c.rs", "x"), finding("ab.rs", "x")], &["function-length"], KNOWN);
        assert_eq!((left, count), (vec![finding("ab.rs", "x")], 1));
    }

    #[test]
    fn what_is_not_needed_or_has_no_reason_is_found() {
        let text = entry("a.rs", "", "one table, read from top to bottom") + &entry("b.rs", "", "later");
        let (left, _) = settings(&text).apply(vec![finding("b.rs", "x")], &["function-length"], KNOWN);
        let found: Vec<_> = left.iter().map(|finding| (finding.line, finding.message.as_str())).collect();
        assert_eq!(
            found,
            [
                (1, "a.rs keeps the rule `function-length` by now; delete this entry"),
                (5, "the reason for b.rs is no reason; say why it has to be so"),
            ]
        );
        // If a rule was not run, nothing is known about its allowances.
        assert_eq!(settings(&entry("a.rs", "", "one table, read at once")).apply(Vec::new(), &["width"], KNOWN).0, []);
    }

    #[test]
    fn an_unknown_rule_is_found() {
        let text = "[[allow]]\nrule = \"wdth\"\npath = \"a.rs\"\nreason = \"it cannot be broken\"\n";
        assert!(settings(text).apply(Vec::new(), &[], KNOWN).0[0].message.contains("no rule `wdth`"));
    }
}
