//! Reads settings from a tree of values. Errors have the position in the text.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use esker_core::{Problem, ReadError};

use crate::error::{ConfigError, Position};
use crate::node::{Node, Span, join};

/// The text that a configuration was read from.
#[derive(Debug)]
pub struct Document {
    /// Its name in errors, such as the path of a file.
    pub origin: String,
    /// The whole text.
    pub text: String,
}

/// An error at a position of the document.
#[derive(Debug)]
pub struct Finding {
    /// The bytes that it is about; `None` if it has no position.
    pub at: Option<Span>,
    /// The dotted key.
    pub key: String,
    /// What is wrong.
    pub problem: Box<Problem>,
}

impl Finding {
    /// An error in words.
    pub fn new(at: &Span, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self::of(at, key, Problem::new(message))
    }

    /// An error with this problem.
    pub fn of(at: &Span, key: impl Into<String>, problem: Problem) -> Self {
        Self { at: Some(at.clone()), key: key.into(), problem: Box::new(problem) }
    }

    /// An error in the settings in `node`, which is at the dotted `path`.
    pub fn read(node: &Node, path: &str, error: ReadError) -> Self {
        let key = match error.key() {
            below if below.is_empty() => path.to_string(),
            below => join(path, &below),
        };
        Self { at: Some(node.place_of(&error)), key, problem: Box::new(error.problem) }
    }

    /// Adds `more` to the known keys in an error about an unknown key of the table at `path`. These keys are read
    /// before the others.
    pub fn also_knows(&mut self, path: &str, more: &[&str]) {
        if let Problem::UnknownKey { found, known } = &mut *self.problem
            && self.key == join(path, found)
        {
            known.extend(more.iter().map(|key| (*key).to_string()));
        }
    }
}

impl Document {
    /// The document of a configuration that a program made.
    pub fn none() -> Self {
        Self { origin: String::new(), text: String::new() }
    }

    /// Returns the error with line and column of the finding.
    pub fn error(&self, finding: Finding) -> ConfigError {
        let Finding { at, key, problem } = finding;
        let position = at.and_then(|at| self.position(at.start));
        ConfigError { origin: self.origin.clone(), position, key, problem }
    }

    /// `None` if there is no text, since a program made the configuration.
    fn position(&self, byte: usize) -> Option<Position> {
        if self.text.is_empty() {
            return None;
        }
        let before = self.text.get(..byte)?;
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Some(Position { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 })
    }

    /// Adds to `error` the position of its key among `positions`, or of the innermost table around it.
    pub fn located(&self, positions: &BTreeMap<String, Span>, error: ConfigError) -> ConfigError {
        let mut key = error.key.as_str();
        let at = loop {
            match (positions.get(key), key.rfind('.')) {
                (Some(span), _) => break Some(span.clone()),
                (None, Some(dot)) => key = &key[..dot],
                (None, None) => break None,
            }
        };
        self.error(Finding { at, key: error.key, problem: error.problem })
    }

    /// Parses the text as TOML.
    pub fn parse(&self) -> Result<Node, ConfigError> {
        Node::parse(&self.text).map_err(|error| {
            let message = format!("this is not TOML: {}", one_line(error.message()));
            self.error(Finding { at: error.span(), key: String::new(), problem: Box::new(Problem::new(message)) })
        })
    }
}

/// Reads settings of type `T` from `node`, which is at the dotted `path`.
pub fn read<T: DeserializeOwned>(node: &Node, path: &str) -> Result<T, Finding> {
    esker_core::read(node).map_err(|error| Finding::read(node, path, error))
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}
