//! The list of faults that the tests have to find.

use serde::Deserialize;

/// The faults.
pub(crate) const LIST: &str = "crates/xtask/mutants.toml";

/// A fault: in `file`, the text `find`, which occurs once, becomes `replace`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutant {
    pub(crate) name: String,
    /// The file, from the folder `crates` on.
    pub(crate) file: String,
    pub(crate) find: String,
    pub(crate) replace: String,
    /// The tests that may find it: parts of their names.
    pub(crate) tests: Vec<String>,
    /// The package of these tests, if it is another one than that of the file.
    pub(crate) tests_of: Option<String>,
    /// Whether the integration tests of the package may find it, too.
    #[serde(default)]
    pub(crate) integration: bool,
}

impl Mutant {
    /// The package of the tests that may find it.
    pub(crate) fn package(&self) -> &str {
        let own = self.file.split('/').next().unwrap_or(&self.file);
        self.tests_of.as_deref().unwrap_or(own)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MutantList {
    mutant: Vec<Mutant>,
}

/// The faults of a list.
pub(crate) fn parse(list: &str) -> Result<Vec<Mutant>, String> {
    toml::from_str(list).map(|MutantList { mutant }| mutant).map_err(|error| error.to_string())
}
