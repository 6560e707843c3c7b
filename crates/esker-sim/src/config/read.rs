//! Reads settings from a tree of values. Errors have the position in the text.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use esker_core::{Problem, ReadError};

use super::error::{ConfigError, Position};
use crate::node::{Node, Span, Value};

/// The text that a configuration was read from.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) origin: String,
    pub(crate) text: String,
}

/// An error at a position of the document.
#[derive(Debug)]
pub(crate) struct Finding {
    /// `None` if it has no position.
    pub(crate) at: Option<Span>,
    pub(crate) key: String,
    pub(crate) problem: Box<Problem>,
}

impl Finding {
    pub(crate) fn new(at: &Span, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self::of(at, key, Problem::new(message))
    }

    pub(crate) fn of(at: &Span, key: impl Into<String>, problem: Problem) -> Self {
        Self { at: Some(at.clone()), key: key.into(), problem: Box::new(problem) }
    }

    /// An error in the settings in `node`, which is at the dotted `path`.
    pub(crate) fn read(node: &Node, path: &str, error: ReadError) -> Self {
        let key = match error.key() {
            below if below.is_empty() => path.to_string(),
            below => join(path, &below),
        };
        Self { at: Some(node.place_of(&error)), key, problem: Box::new(error.problem) }
    }

    /// Adds `more` to the known keys in an error about an unknown key of the table at `path`. These keys are read
    /// before the others.
    pub(crate) fn also_knows(&mut self, path: &str, more: &[&str]) {
        if let Problem::UnknownKey { found, known } = &mut *self.problem
            && self.key == join(path, found)
        {
            known.extend(more.iter().map(|key| (*key).to_string()));
        }
    }
}

impl Document {
    /// The document of a configuration that a program made.
    pub(crate) fn none() -> Self {
        Self { origin: String::new(), text: String::new() }
    }

    pub(crate) fn error(&self, finding: Finding) -> ConfigError {
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

    pub(crate) fn parse(&self) -> Result<Node, ConfigError> {
        Node::parse(&self.text).map_err(|error| {
            let message = format!("this is not TOML: {}", one_line(error.message()));
            self.error(Finding { at: error.span(), key: String::new(), problem: Box::new(Problem::new(message)) })
        })
    }
}

/// Reads settings of type `T` from `node`, which is at the dotted `path`.
pub(crate) fn read<T: DeserializeOwned>(node: &Node, path: &str) -> Result<T, Finding> {
    esker_core::read(node).map_err(|error| Finding::read(node, path, error))
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}

/// Collects the dotted keys of a tree and their positions, for errors that are found after reading.
pub(crate) fn key_positions(node: &Node, path: &str, into: &mut BTreeMap<String, Span>) {
    match &node.value {
        Value::Table(table) => {
            for (key, entry) in table {
                let path = join(path, key);
                into.insert(path.clone(), entry.key_at.clone());
                key_positions(&entry.node, &path, into);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = format!("{path}[{index}]");
                into.insert(path.clone(), item.at.clone());
                key_positions(item, &path, into);
            }
        }
        _ => {}
    }
}

/// Adds to `error` the position of its key among `positions`, or of the innermost table around it.
pub(crate) fn located(document: &Document, positions: &BTreeMap<String, Span>, error: ConfigError) -> ConfigError {
    let mut key = error.key.as_str();
    let at = loop {
        match (positions.get(key), key.rfind('.')) {
            (Some(span), _) => break Some(span.clone()),
            (None, Some(dot)) => key = &key[..dot],
            (None, None) => break None,
        }
    };
    document.error(Finding { at, key: error.key, problem: error.problem })
}
