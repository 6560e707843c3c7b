//! Errors of configurations, with their positions.

use std::fmt;

use esker_core::{Hint, Problem};
use thiserror::Error;

/// A position in a text. Columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, from one.
    pub line: usize,
    /// Column, from one.
    pub column: usize,
}

/// An error of a configuration. Its message is one line:
/// `experiment.toml:12:1: device.flash.page_sze: unknown key; did you mean `page_size`?`
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ConfigError {
    /// The file or other source of the text; empty if a program made the configuration.
    pub origin: String,
    /// Position in the text; `None` if the configuration was not text, or could not be read at all.
    pub position: Option<Position>,
    /// The dotted key; empty if the error is about the whole configuration.
    pub key: String,
    /// What is wrong.
    pub problem: Box<Problem>,
}

impl ConfigError {
    /// An error about the dotted `key`, without a position.
    pub fn new(key: impl Into<String>, problem: Problem) -> Self {
        Self { origin: String::new(), position: None, key: key.into(), problem: Box::new(problem) }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if !self.origin.is_empty() {
            write!(f, "{}", self.origin)?;
            if let Some(Position { line, column }) = self.position {
                write!(f, ":{line}:{column}")?;
            }
            separator = ": ";
        }
        if !self.key.is_empty() {
            write!(f, "{separator}{}", self.key)?;
            separator = ": ";
        }
        write!(f, "{separator}{}", self.problem)
    }
}

impl Hint for ConfigError {
    fn hint(&self) -> Option<String> {
        self.problem.hint()
    }
}
