//! A registered component as named in a configuration: `"greedy"`, or `{ kind = "d-choices", d = 10 }`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use super::{Accepted, Fallback, Parameter, ParameterSource};
use crate::{Bytes, Hint, Ratio, did_you_mean};

/// A component by name, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Its name in the registry.
    pub kind: String,
    /// Its parameters by name. Those left out have the component's defaults.
    pub parameters: BTreeMap<String, ParameterValue>,
}

/// The value of a parameter of a [`Choice`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected true or false, a number, or text in quotes")]
pub enum ParameterValue {
    /// Yes or no.
    Flag(bool),
    /// A count.
    Integer(u64),
    /// A plain number.
    Number(f64),
    /// A name, or a value with its unit.
    Text(String),
}

impl Choice {
    /// The component called `kind`, with defaults.
    pub fn named(kind: &str) -> Self {
        Self { kind: kind.to_string(), parameters: BTreeMap::new() }
    }

    /// Returns true if the choice sets no parameters.
    fn is_plain(&self) -> bool {
        self.parameters.is_empty()
    }
}

/// The parameters of a [`Choice`], checked against its registry entry, for the component that is built from them.
///
/// Asking for a parameter that the entry does not have, or for another type of value, is a bug in the component: it
/// panics.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    choice: &'a Choice,
    list: &'static [Parameter],
}

impl<'a> Parameters<'a> {
    /// Checks the parameters of `choice` against those that its registry entry accepts.
    pub fn new(choice: &'a Choice, source: &ParameterSource) -> Result<Self, ChoiceError> {
        let list = source.listed();
        for (name, given) in &choice.parameters {
            let Some(known) = list.iter().find(|known| known.name == *name) else {
                let names = || list.iter().map(|known| known.name);
                return Err(ChoiceError::UnknownParameter {
                    kind: choice.kind.clone(),
                    nearest: did_you_mean(name, names()).map(str::to_string),
                    unknown: name.clone(),
                    known: names().collect::<Vec<_>>().join(", "),
                });
            };
            if !given.is(&known.value) {
                return Err(ChoiceError::Value {
                    kind: choice.kind.clone(),
                    parameter: name.clone(),
                    expected: known.value.to_string(),
                    found: given.to_string(),
                });
            }
        }
        Ok(Self { choice, list })
    }

    /// Returns the whole number `name`.
    pub fn count(&self, name: &str) -> u64 {
        match self.accepted(name) {
            Accepted::Count { default: Fallback::Value(default), .. } => self.given_count(name).unwrap_or(default),
            other => unreachable!("`{name}` is {other}, not a count with a default"),
        }
    }

    /// Returns the whole number `name`, if it was given.
    pub fn given_count(&self, name: &str) -> Option<u64> {
        self.choice.parameters.get(name).and_then(ParameterValue::count)
    }

    /// Returns the whole number `name`, which may be negative.
    pub fn integer(&self, name: &str) -> i64 {
        match self.accepted(name) {
            Accepted::Integer { default, .. } => {
                self.choice.parameters.get(name).and_then(ParameterValue::integer).unwrap_or(default)
            }
            other => unreachable!("`{name}` is {other}, not a whole number that may be negative"),
        }
    }

    /// Returns the share `name`.
    pub fn share(&self, name: &str) -> Ratio {
        match self.accepted(name) {
            Accepted::Share { default, .. } => {
                self.choice.parameters.get(name).and_then(ParameterValue::share).unwrap_or(default)
            }
            other => unreachable!("`{name}` is {other}, not a share"),
        }
    }

    /// Returns the size `name`, if it was given.
    pub fn given_size(&self, name: &str) -> Option<Bytes> {
        self.choice.parameters.get(name).and_then(ParameterValue::size)
    }

    /// Returns the flag `name`.
    pub fn flag(&self, name: &str) -> bool {
        match (self.accepted(name), self.choice.parameters.get(name)) {
            (_, Some(ParameterValue::Flag(value))) => *value,
            (Accepted::Flag { default }, _) => default,
            (other, _) => unreachable!("`{name}` is {other}, not a flag"),
        }
    }

    /// Returns the value of `name`, a parameter that accepts a list of names.
    pub fn name(&self, name: &str) -> &'a str {
        match (self.accepted(name), self.choice.parameters.get(name)) {
            (_, Some(ParameterValue::Text(text))) => text,
            (Accepted::OneOf(names), _) => names[0],
            (other, _) => unreachable!("`{name}` is {other}, not a name"),
        }
    }

    fn accepted(&self, name: &str) -> Accepted {
        let known = self.list.iter().find(|known| known.name == name);
        known.unwrap_or_else(|| panic!("the entry has no parameter `{name}`")).value
    }
}

/// A parameter of a [`Choice`] that its component does not accept.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChoiceError {
    /// The component does not have this parameter.
    #[error("`{kind}` has no parameter `{unknown}`{}", known_in_words(known))]
    UnknownParameter {
        /// The component.
        kind: String,
        /// The parameter as given.
        unknown: String,
        /// All parameters of the component.
        known: String,
        /// The most similar parameter name.
        nearest: Option<String>,
    },
    /// The value is of another type, or out of bounds.
    #[error("`{parameter}` of `{kind}` is {found}; expected {expected}")]
    Value {
        /// The component.
        kind: String,
        /// The parameter.
        parameter: String,
        /// What is accepted.
        expected: String,
        /// The value as given.
        found: String,
    },
}

fn known_in_words(known: &str) -> String {
    if known.is_empty() { String::new() } else { format!("; it has {known}") }
}

impl Hint for ChoiceError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownParameter { nearest, .. } => {
                nearest.as_ref().map(|nearest| format!("did you mean `{nearest}`?"))
            }
            Self::Value { .. } => None,
        }
    }
}

impl ParameterValue {
    fn count(&self) -> Option<u64> {
        match self {
            Self::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// Configurations have negative whole numbers as plain numbers.
    fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => i64::try_from(*value).ok(),
            Self::Number(value) if value.fract() == 0.0 && value.abs() < 1e15 => Some(*value as i64),
            _ => None,
        }
    }

    fn share(&self) -> Option<Ratio> {
        match self {
            Self::Text(text) => text.parse().ok(),
            Self::Number(value) if (0.0..=1e9).contains(value) => Some(Ratio::from_f64(*value)),
            Self::Integer(value) if *value <= 1 => Some(Ratio::percent(100 * value)),
            _ => None,
        }
    }

    fn size(&self) -> Option<Bytes> {
        match self {
            Self::Integer(bytes) => Some(Bytes(*bytes)),
            Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// Returns true if `accepted` allows this value.
    fn is(&self, accepted: &Accepted) -> bool {
        match accepted {
            Accepted::Count { least, most, .. } => self.count().is_some_and(|value| (*least..=*most).contains(&value)),
            Accepted::Integer { least, most, .. } => {
                self.integer().is_some_and(|value| (*least..=*most).contains(&value))
            }
            Accepted::Share { least, most, .. } => self.share().is_some_and(|value| (*least..=*most).contains(&value)),
            Accepted::Size { least, most, .. } => self.size().is_some_and(|value| (*least..=*most).contains(&value)),
            Accepted::Flag { .. } => matches!(self, Self::Flag(_)),
            Accepted::OneOf(names) => matches!(self, Self::Text(text) if names.contains(&text.as_str())),
        }
    }
}

impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(value) => write!(f, "`{value}`"),
        }
    }
}

impl Serialize for Choice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_plain() {
            return serializer.serialize_str(&self.kind);
        }
        let mut map = serializer.serialize_map(Some(self.parameters.len() + 1))?;
        map.serialize_entry("kind", &self.kind)?;
        for (name, value) in &self.parameters {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrTable;
        impl<'de> Visitor<'de> for NameOrTable {
            type Value = Choice;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name, or a table with `kind` and parameters")
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<Choice, E> {
                Ok(Choice::named(name))
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Choice, M::Error> {
                let mut kind = None;
                let mut parameters = BTreeMap::new();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "kind" {
                        kind = Some(map.next_value::<String>()?);
                    } else {
                        parameters.insert(name, map.next_value()?);
                    }
                }
                Ok(Choice { kind: kind.ok_or_else(|| M::Error::missing_field("kind"))?, parameters })
            }
        }
        deserializer.deserialize_any(NameOrTable)
    }
}

impl JsonSchema for Choice {
    fn schema_name() -> Cow<'static, str> {
        "Choice".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a name, or a table with `kind` and parameters",
            "oneOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": {
                        "kind": { "type": "string", "description": "Its name; the other keys are its parameters." }
                    },
                    "required": ["kind"],
                    "additionalProperties": { "type": ["boolean", "number", "string"] }
                }
            ]
        })
    }
}
