//! The rules: one file each, and one line each in [`RULES`].

mod crate_edges;
mod doctests;
mod file_length;
mod function_length;
mod import_circles;
mod licences;
mod no_time;
mod planted_faults;
mod reference_pages;
mod unused_dependencies;
mod width;

use crate::allow::Settings;
use crate::finding::Finding;
use crate::workspace::Workspace;

/// A rule.
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    /// What the rule demands, in one line.
    pub(crate) demands: &'static str,
    pub(crate) check: fn(&Workspace, &Settings) -> Vec<Finding>,
}

/// All rules.
pub(crate) const RULES: &[Rule] = &[
    crate_edges::RULE,
    unused_dependencies::RULE,
    import_circles::RULE,
    no_time::RULE,
    width::RULE,
    function_length::RULE,
    file_length::RULE,
    reference_pages::RULE,
    licences::RULE,
    planted_faults::RULE,
    doctests::RULE,
];
