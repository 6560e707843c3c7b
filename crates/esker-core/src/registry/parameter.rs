//! The parameters of a component: meaning, bounds and default.

use std::fmt;

use schemars::Schema;

use super::schema::{self, Described};
use crate::{Bytes, Ratio};

/// Where the parameters of an entry are written down. There is one place for each entry: a list from which the
/// component also reads its values, or the settings that it is deserialised from.
#[derive(Clone, Copy, Debug)]
pub enum ParameterSource {
    /// A list of parameters.
    Listed(&'static [Parameter]),
    /// The JSON Schema of the component's settings.
    Schema(fn() -> Schema),
}

/// One parameter of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name in configurations.
    pub name: &'static str,
    /// The meaning, in one line.
    pub meaning: &'static str,
    /// Which values are accepted, and the default.
    pub value: Accepted,
}

/// The values that a parameter accepts: its type or unit, its bounds (both inclusive) and its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// A whole number.
    Count {
        /// The default.
        default: Fallback<u64>,
        /// The smallest value.
        least: u64,
        /// The largest value.
        most: u64,
    },
    /// A whole number that may be negative.
    Integer {
        /// The default.
        default: i64,
        /// The smallest value.
        least: i64,
        /// The largest value.
        most: i64,
    },
    /// A share, such as `"3%"`.
    Share {
        /// The default.
        default: Ratio,
        /// The smallest value.
        least: Ratio,
        /// The largest value.
        most: Ratio,
    },
    /// Bytes, such as `"64KiB"`.
    Size {
        /// The default.
        default: Fallback<Bytes>,
        /// The smallest value.
        least: Bytes,
        /// The largest value.
        most: Bytes,
    },
    /// Yes or no.
    Flag {
        /// The default.
        default: bool,
    },
    /// One of these names. The first one is the default.
    OneOf(&'static [&'static str]),
}

/// The value of a parameter that is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback<T> {
    /// A fixed value.
    Value(T),
    /// A value that follows from other settings; the text describes it.
    Derived(&'static str),
}

impl ParameterSource {
    /// A component without parameters.
    pub const NONE: Self = Self::Listed(&[]);

    /// The list of parameters; empty for a schema.
    pub fn listed(&self) -> &'static [Parameter] {
        match self {
            Self::Listed(list) => list,
            Self::Schema(_) => &[],
        }
    }

    /// All parameters as reference pages show them. Parameters of nested tables are included.
    pub fn described(&self) -> Vec<Described> {
        match self {
            Self::Listed(list) => list.iter().map(Parameter::described).collect(),
            Self::Schema(schema) => schema::described(&schema().to_value()),
        }
    }
}

impl Parameter {
    /// The parameter as reference pages show it.
    pub fn described(&self) -> Described {
        Described {
            name: self.name.to_string(),
            kind: self.value.to_string(),
            default: self.value.default_text(),
            meaning: self.meaning.to_string(),
        }
    }
}

impl Accepted {
    /// The default in words.
    pub fn default_text(&self) -> String {
        match self {
            Self::Count { default, .. } => default.to_string(),
            Self::Integer { default, .. } => default.to_string(),
            Self::Share { default, .. } => default.to_string(),
            Self::Size { default, .. } => default.to_string(),
            Self::Flag { default } => default.to_string(),
            Self::OneOf(names) => names.first().copied().unwrap_or_default().to_string(),
        }
    }
}

/// The accepted values in words, such as "a whole number from 1 to 64".
impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { least, most, .. } => write!(f, "a whole number from {least} to {most}"),
            Self::Integer { least, most, .. } => write!(f, "a whole number from {least} to {most}"),
            Self::Share { least, most, .. } => write!(f, "a share from {least} to {most}"),
            Self::Size { least, most: Bytes(u64::MAX), .. } => write!(f, "a size of at least {least}"),
            Self::Size { least, most, .. } => write!(f, "a size from {least} to {most}"),
            Self::Flag { .. } => f.write_str("true or false"),
            Self::OneOf(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                f.write_str(&names.join(" or "))
            }
        }
    }
}

impl<T: fmt::Display> fmt::Display for Fallback<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(f, "{value}"),
            Self::Derived(words) => f.write_str(words),
        }
    }
}
