//! What is wrong with a configuration, and where.

use std::fmt;

use esker_core::{Hint, Problem};
use thiserror::Error;

/// A line and a column, both counted from one; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, from one.
    pub line: usize,
    /// Column, from one.
    pub column: usize,
}

/// One thing that is wrong with a configuration. Its message is one line:
/// `experiment.toml:12:1: device.flash.page_sze: unknown key; did you mean `page_size`?`
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ConfigError {
    /// The file, or what else the text came from; empty where the configuration was made by a program.
    pub origin: String,
    /// Where in it; `None` where the configuration was not text, or could not be read at all.
    pub position: Option<Position>,
    /// The dotted key that it is about; empty where it is about the whole.
    pub key: String,
    /// What is wrong.
    pub problem: Box<Problem>,
}

impl ConfigError {
    /// An error about the dotted `key` of a configuration that is no text, or of which the text is not known here.
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
