//! A registered component as a configuration names it: `"greedy"`, or `{ kind = "d-choices", d = 10 }`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use esker_core::{Bytes, Ratio, did_you_mean};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::SsdError;

/// A component by name, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Its name in the registry.
    pub kind: String,
    /// Its parameters by name; what is left out has the component's default.
    pub parameters: BTreeMap<String, Parameter>,
}

/// A value of a [`Choice`]'s parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Parameter {
    /// Yes or no.
    Flag(bool),
    /// A count.
    Integer(u64),
    /// A plain number.
    Number(f64),
    /// A name, or a value with its unit.
    Text(String),
}

/// A parameter of a component, as lists and reference pages show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterEntry {
    /// Its name in configurations.
    pub name: &'static str,
    /// What applies where it is left out.
    pub default: &'static str,
    /// What it means, in one line.
    pub meaning: &'static str,
}

impl Choice {
    /// The component called `kind`, with defaults.
    pub fn named(kind: &str) -> Self {
        Self { kind: kind.to_string(), parameters: BTreeMap::new() }
    }

    /// Whether nothing but the name is given.
    fn is_plain(&self) -> bool {
        self.parameters.is_empty()
    }
}

/// Hands the parameters of a [`Choice`] to the component that is built from it, and notices those nobody asked for.
#[derive(Debug)]
pub struct Parameters<'a> {
    key: &'static str,
    choice: &'a Choice,
    known: Vec<&'static str>,
}

impl<'a> Parameters<'a> {
    pub(crate) fn new(key: &'static str, choice: &'a Choice) -> Self {
        Self { key, choice, known: Vec::new() }
    }

    /// The integer parameter `name` within `range`, or `default`.
    pub fn integer(
        &mut self,
        name: &'static str,
        default: u64,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, SsdError> {
        self.known.push(name);
        match self.choice.parameters.get(name) {
            None => Ok(default),
            Some(Parameter::Integer(value)) if range.contains(value) => Ok(*value),
            Some(other) => Err(SsdError::Parameter {
                key: format!("{}.{name}", self.key),
                expected: format!("a whole number from {} to {}", range.start(), range.end()),
                found: other.to_string(),
            }),
        }
    }

    /// The share `name`, such as `"3%"` or `0.03`, within `range`, or `default`.
    pub fn share(
        &mut self,
        name: &'static str,
        default: Ratio,
        range: std::ops::RangeInclusive<Ratio>,
    ) -> Result<Ratio, SsdError> {
        self.known.push(name);
        let given = match self.choice.parameters.get(name) {
            None => return Ok(default),
            Some(Parameter::Text(text)) => text.parse().ok(),
            Some(Parameter::Number(value)) if (0.0..=1e9).contains(value) => Some(Ratio::from_f64(*value)),
            Some(Parameter::Integer(value)) if *value <= 1 => Some(Ratio::percent(100 * value)),
            Some(_) => None,
        };
        given.filter(|share| range.contains(share)).ok_or_else(|| SsdError::Parameter {
            key: format!("{}.{name}", self.key),
            expected: format!("a share from {} to {}", range.start(), range.end()),
            found: self.choice.parameters[name].to_string(),
        })
    }

    /// Which of `names` the parameter `name` is, or the first.
    pub fn one_of(&mut self, name: &'static str, names: &[&'static str]) -> Result<usize, SsdError> {
        self.known.push(name);
        let Some(given) = self.choice.parameters.get(name) else { return Ok(0) };
        let found = names.iter().position(|known| matches!(given, Parameter::Text(text) if text == known));
        found.ok_or_else(|| SsdError::Parameter {
            key: format!("{}.{name}", self.key),
            expected: names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or "),
            found: given.to_string(),
        })
    }

    /// The size `name`, such as `"64KiB"`, within `range`, if it is given.
    pub fn bytes(
        &mut self,
        name: &'static str,
        range: std::ops::RangeInclusive<Bytes>,
    ) -> Result<Option<Bytes>, SsdError> {
        self.known.push(name);
        let Some(given) = self.choice.parameters.get(name) else { return Ok(None) };
        let size = match given {
            Parameter::Integer(bytes) => Some(Bytes(*bytes)),
            Parameter::Text(text) => text.parse().ok(),
            _ => None,
        };
        size.filter(|size| range.contains(size)).map(Some).ok_or_else(|| SsdError::Parameter {
            key: format!("{}.{name}", self.key),
            expected: format!("a size from {} to {}", range.start(), range.end()),
            found: given.to_string(),
        })
    }

    /// The flag `name`, or `default`.
    pub fn flag(&mut self, name: &'static str, default: bool) -> Result<bool, SsdError> {
        self.known.push(name);
        match self.choice.parameters.get(name) {
            None => Ok(default),
            Some(Parameter::Flag(value)) => Ok(*value),
            Some(other) => Err(SsdError::Parameter {
                key: format!("{}.{name}", self.key),
                expected: "true or false".to_string(),
                found: other.to_string(),
            }),
        }
    }

    /// Refuses parameters that nobody asked for. To be called last.
    pub fn finish(self) -> Result<(), SsdError> {
        match self.choice.parameters.keys().find(|name| !self.known.contains(&name.as_str())) {
            None => Ok(()),
            Some(unknown) => Err(SsdError::UnknownParameter {
                key: self.key,
                kind: self.choice.kind.clone(),
                nearest: did_you_mean(unknown, self.known.iter().copied()).map(str::to_string),
                unknown: unknown.clone(),
                known: self.known.join(", "),
            }),
        }
    }
}

impl fmt::Display for Parameter {
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
                    "properties": { "kind": { "type": "string" } },
                    "required": ["kind"],
                    "additionalProperties": { "type": ["boolean", "number", "string"] }
                }
            ]
        })
    }
}
