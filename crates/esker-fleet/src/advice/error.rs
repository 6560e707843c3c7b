//! Why dumps and samples cannot be read.

use esker_core::Hint;
use thiserror::Error;

/// A file that is no dump or sample that can be used, or an option that fits none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name}: {message}")]
pub struct AdviceError {
    /// The file, or the option.
    pub name: String,
    /// What is wrong, with its place in the file.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl AdviceError {
    pub(super) fn new(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self { name: name.into(), message: message.into(), hint: None }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl Hint for AdviceError {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}
