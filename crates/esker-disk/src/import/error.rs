//! Errors in parameter files: file, line, the problem, and advice.

use std::path::{Path, PathBuf};

use esker_core::Hint;
use thiserror::Error;

/// Why parameter files could not be imported. One line: `FILE:LINE: what is wrong`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}:{line}: {problem}", file.display())]
pub struct ImportError {
    /// The file in which the problem was found.
    pub file: PathBuf,
    /// The line, from one.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
    /// What to do about it, if that is known.
    pub advice: Option<String>,
}

impl ImportError {
    pub(super) fn new(place: &Place<'_>, problem: impl Into<String>) -> Self {
        Self { file: place.file.to_path_buf(), line: place.line, problem: problem.into(), advice: None }
    }

    pub(super) fn with_hint(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

impl Hint for ImportError {
    fn hint(&self) -> Option<String> {
        self.advice.clone()
    }
}

/// A line of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) file: &'a Path,
    pub(super) line: usize,
}
