//! Findings of rules.

use std::fmt;

/// A place where a rule is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// From the root of the repository.
    pub(crate) path: String,
    pub(crate) line: usize,
    /// Filled in by [`crate::tidy`].
    pub(crate) rule: &'static str,
    /// The thing in the file that is wrong, for allowances: a function, a dependency, the files of a circle.
    pub(crate) item: Option<String>,
    /// What is wrong, and how to mend it.
    pub(crate) message: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, message: String) -> Self {
        Self { path: path.to_owned(), line, rule: "", item: None, message }
    }

    pub(crate) fn about(self, item: &str) -> Self {
        Self { item: Some(item.to_owned()), ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.message)
    }
}
