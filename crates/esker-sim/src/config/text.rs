//! Files of settings that are no experiments, such as catalogues: read like them, with errors of the same form.

use std::collections::BTreeMap;

use esker_core::Problem;
use serde::de::DeserializeOwned;

use super::device::COMMON_KEYS;
use super::error::ConfigError;
use super::preset::NamedPreset;
use super::read::{Document, Finding, key_positions, located, read};
use crate::device::DeviceSettings;
use crate::node::{Node, Span, Value};

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
        let mut positions = BTreeMap::new();
        key_positions(&node, "", &mut positions);
        Ok(Self { document, node, positions })
    }

    /// Reads the whole text as settings of type `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        read(&self.node, "").map_err(|finding| self.document.error(finding))
    }

    /// Adds to `error` the position of its key, or of the innermost table around it.
    pub fn located(&self, error: ConfigError) -> ConfigError {
        located(&self.document, &self.positions, error)
    }

    /// Returns the byte at which the dotted `key` was written, if it was: for lists in the order of the text.
    pub fn offset(&self, key: &str) -> Option<usize> {
        self.positions.get(key).map(|span| span.start)
    }

    /// Returns the settings of `preset`, with the keys of the table at `path` laid over them, except those in `but`.
    /// The table need not be there. Errors about the preset itself point to the value of the key `named_at`.
    pub fn device(
        &self,
        preset: &NamedPreset,
        path: &[&str],
        but: &[&str],
        named_at: &str,
    ) -> Result<Box<dyn DeviceSettings>, ConfigError> {
        let dotted = path.join(".");
        let at = self.positions.get(named_at).cloned().unwrap_or(0..0);
        let mut merged = preset.node(&at);
        merged.move_keys(COMMON_KEYS, &mut Node::empty_table(0..0));
        let mut over = Some(&self.node);
        for key in path {
            over = over.and_then(|node| node.as_table()?.get(*key)).map(|entry| &entry.node);
        }
        if let Some(over) = over {
            if !matches!(over.value, Value::Table(_)) {
                let problem =
                    Problem::Unexpected { found: over.type_name().to_string(), expected: "a table".to_string() };
                return Err(self.located(ConfigError::new(dotted, problem)));
            }
            let mut over = over.clone();
            over.move_keys(but, &mut Node::empty_table(0..0));
            merged.overlay(over);
        }
        (preset.kind().build.read)(&merged).map_err(|error| {
            let mut finding = Finding::read(&merged, &dotted, error);
            finding.also_knows(&dotted, but);
            self.document.error(finding)
        })
    }
}
