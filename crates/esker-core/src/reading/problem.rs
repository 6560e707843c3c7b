//! What can be wrong with a key or its value.

use thiserror::Error;

use crate::registry::NotFound;
use crate::{Hint, did_you_mean};

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
    /// A value is of the wrong kind, or out of bounds.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// The value as given.
        found: String,
        /// What would do.
        expected: String,
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
            Self::Unexpected { .. } => None,
            Self::UnknownName(name) => name.hint(),
        }
    }
}

fn suggestion(found: &str, known: &[String]) -> String {
    let meant = did_you_mean(found, known.iter().map(String::as_str));
    meant.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}
