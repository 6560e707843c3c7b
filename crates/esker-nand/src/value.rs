//! Invalid values of settings.

use esker_core::{Hint, Nanos, Ratio};
use thiserror::Error;

/// An invalid value in any part of the drive's settings.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ValueError {
    /// A count, size, time or rate is zero, which it must not be.
    #[error("`{key}` is zero")]
    Zero {
        /// The key.
        key: &'static str,
    },
    /// A number is too large for the model.
    #[error("`{key}` is {found}, more than {limit}")]
    TooLarge {
        /// The key.
        key: &'static str,
        /// Its value.
        found: u64,
        /// The largest allowed value.
        limit: u64,
    },
    /// A time is too long to be added up safely.
    #[error("`{key}` is {found}, longer than {limit}")]
    TooLong {
        /// The key.
        key: &'static str,
        /// Its value.
        found: Nanos,
        /// The largest allowed value.
        limit: Nanos,
    },
    /// An energy or a power is too large to be added up safely.
    #[error("`{key}` is {found}, more than {limit}")]
    TooMuch {
        /// The key.
        key: &'static str,
        /// Its value.
        found: String,
        /// The largest allowed value.
        limit: String,
    },
    /// A share is not below one.
    #[error("`{key}` is {found}: it has to be less than 100%")]
    NotAShare {
        /// The key.
        key: &'static str,
        /// Its value.
        found: Ratio,
        /// A usual value.
        usual: &'static str,
    },
    /// A parameter has an invalid value.
    #[error("`{key}` is {found}; expected {expected}")]
    Parameter {
        /// The key.
        key: String,
        /// The values that are allowed.
        expected: String,
        /// Its value.
        found: String,
    },
    /// Two settings exclude each other.
    #[error("{first} and {second} exclude each other: {reason}")]
    Contradiction {
        /// The keys.
        keys: Vec<&'static str>,
        /// A key with its value.
        first: String,
        /// Another key with its value.
        second: String,
        /// Why they exclude each other.
        reason: String,
        /// What would work instead.
        remedy: String,
    },
}

impl ValueError {
    /// Returns the dotted settings keys that the error is about, most important first.
    pub fn keys(&self) -> Vec<&str> {
        match self {
            Self::Zero { key }
            | Self::TooLarge { key, .. }
            | Self::TooLong { key, .. }
            | Self::TooMuch { key, .. }
            | Self::NotAShare { key, .. } => vec![key],
            Self::Parameter { key, .. } => vec![key],
            Self::Contradiction { keys, .. } => keys.clone(),
        }
    }
}

impl Hint for ValueError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Zero { key } if key.starts_with("geometry") || *key == "queue_depth" => {
                format!("give `{key}` a value of at least 1")
            }
            Self::Zero { key } => format!("give `{key}` a value above zero, or name a preset that states it"),
            Self::TooLarge { key, limit, .. } => format!("lower `{key}` to {limit} or less"),
            Self::TooLong { key, limit, .. } => format!("lower `{key}` to {limit} or less"),
            Self::TooMuch { key, limit, .. } => format!("lower `{key}` to {limit} or less"),
            Self::NotAShare { key, usual, .. } => format!("{key} = \"{usual}\" would work"),
            Self::Contradiction { remedy, .. } => remedy.clone(),
            Self::Parameter { key, .. } => format!("leave `{key}` out for its default"),
        })
    }
}
