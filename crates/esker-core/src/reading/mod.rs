//! Settings from a tree of values, with errors as data: which key, what is wrong with it, what would do.
//!
//! serde's own errors are sentences. Here, its hooks (`unknown_field`, `invalid_type`...) keep their arguments as
//! fields, and every table and list on the way out adds its step to the path.
//!
//! ```
//! use esker_core::{Problem, read};
//!
//! #[derive(Debug, serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Settings {
//!     sizes: Vec<u8>,
//! }
//!
//! let error = read::<Settings, _>(&serde_json::json!({ "sizes": [1, "two"] })).unwrap_err();
//! assert_eq!(error.key(), "sizes[1]");
//! assert_eq!(error.problem.to_string(), "expected a whole number that is zero or more, found the text \"two\"");
//! let error = read::<Settings, _>(&serde_json::json!({ "size": [] })).unwrap_err();
//! assert!(matches!(error.problem, Problem::UnknownKey { known, .. } if known == ["sizes"]));
//! ```

mod deserializer;
mod problem;

use std::fmt;

use serde::de::{self, DeserializeOwned, Expected, Unexpected};
use thiserror::Error;

use deserializer::Reader;
pub use problem::Problem;

/// A tree of values that settings are read from.
pub trait Tree: Sized {
    /// What the tree is at its top.
    fn branch(&self) -> Branch<'_, Self>;
}

/// The top of a tree.
#[derive(Debug)]
pub enum Branch<'a, T> {
    /// Text.
    Text(&'a str),
    /// A whole number.
    Whole(i128),
    /// Any other number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// A list.
    List(&'a [T]),
    /// Values by key.
    Table(Vec<(&'a str, &'a T)>),
    /// What no settings have, in words.
    Other(&'static str),
}

/// Why settings could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ReadError {
    /// The way to the value, or to the key that is unknown, from the top of the tree.
    pub path: Vec<Step>,
    /// What is wrong.
    pub problem: Problem,
}

/// From a value to one within it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The value of this key.
    Key(String),
    /// The item of this number, from zero.
    Item(usize),
}

/// Reads settings from `tree`.
pub fn read<T: DeserializeOwned, N: Tree>(tree: &N) -> Result<T, ReadError> {
    T::deserialize(Reader(tree)).map_err(|mut error| {
        error.path.reverse();
        if let Problem::UnknownKey { found, .. } = &error.problem {
            // Where a table was read as a whole before it was looked into, the step to the key is not known.
            let key = Step::Key(found.clone());
            if error.path.last() != Some(&key) {
                error.path.push(key);
            }
        }
        error
    })
}

impl ReadError {
    /// An error about the whole.
    pub fn new(problem: Problem) -> Self {
        Self { path: Vec::new(), problem }
    }

    /// This error, seen from the table in which the tree is the value of `key`.
    pub fn below(mut self, key: &str) -> Self {
        self.path.insert(0, Step::Key(key.to_string()));
        self
    }

    /// The path as a dotted key: `children[0].name`.
    pub fn key(&self) -> String {
        let mut key = String::new();
        for step in &self.path {
            match step {
                Step::Key(name) if key.is_empty() => key += name,
                Step::Key(name) => key = format!("{key}.{name}"),
                Step::Item(index) => key = format!("{key}[{index}]"),
            }
        }
        key
    }

    /// While the path is still built from its end.
    fn within(mut self, step: Step) -> Self {
        self.path.push(step);
        self
    }

    fn unexpected(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::new(Problem::Unexpected { found: found.into(), expected: expected.into() })
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key() {
            key if key.is_empty() => self.problem.fmt(f),
            key => write!(f, "{key}: {}", self.problem),
        }
    }
}

impl crate::Hint for ReadError {
    fn hint(&self) -> Option<String> {
        self.problem.hint()
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_string()).collect()
}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Problem::new(message.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::unexpected(shown(found), expected.to_string())
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::unexpected(shown(found), expected.to_string())
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::unexpected(format!("{length} values"), expected.to_string())
    }

    fn unknown_variant(found: &str, expected: &'static [&'static str]) -> Self {
        Self::new(Problem::UnknownChoice { found: found.to_string(), choices: owned(expected) })
    }

    fn unknown_field(found: &str, expected: &'static [&'static str]) -> Self {
        Self::new(Problem::UnknownKey { found: found.to_string(), known: owned(expected) })
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(Problem::MissingKey { key: key.to_string(), hint: None })
    }

    fn duplicate_field(key: &'static str) -> Self {
        Self::new(Problem::new(format!("`{key}` is given twice")))
    }
}

/// What was found, as it stands in a file.
fn shown(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Str(text) => format!("the text {text:?}"),
        Unexpected::Unsigned(value) => format!("`{value}`"),
        Unexpected::Signed(value) => format!("`{value}`"),
        Unexpected::Float(value) => format!("`{value}`"),
        Unexpected::Bool(value) => format!("`{value}`"),
        Unexpected::Seq => "a list".to_string(),
        Unexpected::Map => "a table".to_string(),
        other => other.to_string(),
    }
}

impl Tree for serde_json::Value {
    fn branch(&self) -> Branch<'_, Self> {
        match self {
            Self::Null => Branch::Other("nothing"),
            Self::Bool(value) => Branch::Flag(*value),
            Self::Number(number) => match number.as_i128() {
                Some(whole) => Branch::Whole(whole),
                None => Branch::Number(number.as_f64().unwrap_or(f64::NAN)),
            },
            Self::String(text) => Branch::Text(text),
            Self::Array(items) => Branch::List(items),
            Self::Object(table) => Branch::Table(table.iter().map(|(key, value)| (key.as_str(), value)).collect()),
        }
    }
}
