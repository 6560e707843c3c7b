//! What can be set of a component, and within which bounds.

use std::fmt;

use schemars::Schema;

use super::schema::{self, Described};
use crate::{Bytes, Ratio};

/// Where the parameters of an entry are written down. One place each: a list that the component also reads its values
/// by, or the settings that it is deserialised from.
#[derive(Clone, Copy, Debug)]
pub enum ParameterSource {
    /// A list.
    Listed(&'static [Parameter]),
    /// The JSON Schema of its settings.
    Schema(fn() -> Schema),
}

/// A parameter of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in configurations.
    pub name: &'static str,
    /// What it means, in one line.
    pub meaning: &'static str,
    /// What may stand there, and what applies where nothing does.
    pub value: Accepted,
}

/// What a parameter accepts: its kind or unit, its bounds, which are allowed themselves, and its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// A whole number.
    Count {
        /// Where it is left out.
        default: Fallback<u64>,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A share, such as `"3%"`.
    Share {
        /// Where it is left out.
        default: Ratio,
        /// The least.
        least: Ratio,
        /// The most.
        most: Ratio,
    },
    /// Bytes, such as `"64KiB"`.
    Size {
        /// Where it is left out.
        default: Fallback<Bytes>,
        /// The least.
        least: Bytes,
        /// The most.
        most: Bytes,
    },
    /// Yes or no.
    Flag {
        /// Where it is left out.
        default: bool,
    },
    /// One of these names. The first is the default.
    OneOf(&'static [&'static str]),
}

/// What applies where a parameter is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback<T> {
    /// This value.
    Value(T),
    /// A value that follows from other settings, in words.
    Derived(&'static str),
}

impl ParameterSource {
    /// Nothing can be set.
    pub const NONE: Self = Self::Listed(&[]);

    /// The list, where there is one.
    pub fn listed(&self) -> &'static [Parameter] {
        match self {
            Self::Listed(list) => list,
            Self::Schema(_) => &[],
        }
    }

    /// Every parameter as pages show it, those of tables within a table too.
    pub fn described(&self) -> Vec<Described> {
        match self {
            Self::Listed(list) => list.iter().map(Parameter::described).collect(),
            Self::Schema(schema) => schema::described(&schema().to_value()),
        }
    }
}

impl Parameter {
    /// It as pages show it.
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
    /// What applies where the parameter is left out, in words.
    pub fn default_text(&self) -> String {
        match self {
            Self::Count { default, .. } => default.to_string(),
            Self::Share { default, .. } => default.to_string(),
            Self::Size { default, .. } => default.to_string(),
            Self::Flag { default } => default.to_string(),
            Self::OneOf(names) => names.first().copied().unwrap_or_default().to_string(),
        }
    }
}

/// What may stand there: "a whole number from 1 to 64".
impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { least, most, .. } => write!(f, "a whole number from {least} to {most}"),
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
