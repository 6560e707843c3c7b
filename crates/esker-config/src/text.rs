//! A whole text of settings.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use crate::{ConfigError, Document, FileKind, Finding, Node, Span, read};

/// A TOML text that knows where each of its keys and values was written.
#[derive(Debug)]
pub struct ConfigText {
    document: Document,
    node: Node,
    positions: BTreeMap<String, Span>,
}

impl ConfigText {
    /// Parses `text`; `origin` is its name in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Self, ConfigError> {
        let document = Document { origin: origin.to_string(), text: text.to_string() };
        let node = document.parse()?;
        let positions = node.positions();
        Ok(Self { document, node, positions })
    }

    /// Refuses a text that is of another kind.
    pub fn check_kind(&self, expected: FileKind) -> Result<(), ConfigError> {
        expected.check(&self.document, &self.node)
    }

    /// Reads the whole text as settings of type `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        read(&self.node, "").map_err(|finding| self.error(finding))
    }

    /// Returns the error with line and column of the finding.
    pub fn error(&self, finding: Finding) -> ConfigError {
        self.document.error(finding)
    }

    /// Adds to `error` the position of its key, or of the innermost table around it.
    pub fn located(&self, error: ConfigError) -> ConfigError {
        self.document.located(&self.positions, error)
    }

    /// Returns where the dotted `key` was written, if it was.
    pub fn span(&self, key: &str) -> Option<&Span> {
        self.positions.get(key)
    }

    /// Returns the byte at which the dotted `key` was written, if it was: for lists in the order of the text.
    pub fn offset(&self, key: &str) -> Option<usize> {
        self.span(key).map(|span| span.start)
    }

    /// Returns the value at `path`, one key after the other, if it was written.
    pub fn node(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(&self.node, |node, key| Some(&node.as_table()?.get(*key)?.node))
    }
}
