//! What is wrong with a configuration, and where.

use std::fmt;

use esker_core::registry::NotFound;
use esker_core::{Hint, did_you_mean};
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
    pub problem: Problem,
}

/// What is wrong with a key or its value. As text it is one line without a full stop.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// A table has no such key.
    #[error("unknown key{}", suggestion(found, known))]
    UnknownKey {
        /// The key as given, without its table.
        found: String,
        /// The keys that the table has.
        known: Vec<String>,
    },
    /// A key has to be given and is not.
    #[error("`{key}` is missing")]
    MissingKey {
        /// The key, without its table.
        key: String,
        /// What would do, where that is known.
        hint: Option<String>,
    },
    /// A setting with a few choices has none of them.
    #[error("`{found}` is not one of the choices{}", suggestion(found, choices))]
    UnknownChoice {
        /// The choice as given.
        found: String,
        /// The choices that there are.
        choices: Vec<String>,
    },
    /// A name stands for nothing that there is.
    #[error(transparent)]
    UnknownName(#[from] NotFound),
    /// Anything else, in words.
    #[error("{message}")]
    Other {
        /// What is wrong.
        message: String,
        /// What would do, where that is known.
        hint: Option<String>,
    },
}

impl Problem {
    /// What is wrong, in words.
    pub fn new(message: impl Into<String>) -> Self {
        Self::Other { message: message.into(), hint: None }
    }

    /// What is wrong and what would do, in words.
    pub fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Other { message: message.into(), hint: Some(hint.into()) }
    }
}

impl Hint for Problem {
    fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownKey { known, .. } if known.is_empty() => None,
            Self::UnknownKey { known, .. } => Some(format!("its table knows: {}", known.join(", "))),
            Self::UnknownChoice { choices, .. } if choices.is_empty() => None,
            Self::UnknownChoice { choices, .. } => Some(format!("the choices are: {}", choices.join(", "))),
            Self::MissingKey { hint, .. } | Self::Other { hint, .. } => hint.clone(),
            Self::UnknownName(name) => name.hint(),
        }
    }
}

fn suggestion(found: &str, known: &[String]) -> String {
    let meant = did_you_mean(found, known.iter().map(String::as_str));
    meant.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

impl ConfigError {
    /// An error about the dotted `key` of a configuration that is no text, or of which the text is not known here.
    pub fn new(key: impl Into<String>, problem: Problem) -> Self {
        Self { origin: String::new(), position: None, key: key.into(), problem }
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
