//! Choices as words of a command line: `lru`, or `s3-fifo(small=20%,bits=2)`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{Choice, ParameterValue};
use crate::Hint;

/// A choice that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChoiceTextError {
    /// A name is missing: before a bracket, between two commas, or everywhere.
    #[error("`{text}` lacks a name")]
    NoName {
        /// The text as given.
        text: String,
    },
    /// Brackets are not closed, or there is something behind them.
    #[error("the brackets of `{text}` do not fit together")]
    Brackets {
        /// The text as given.
        text: String,
    },
    /// A parameter is not written as `KEY=VALUE`.
    #[error("`{parameter}` in `{text}` is no parameter")]
    Parameter {
        /// The parameter as given.
        parameter: String,
        /// The text as given.
        text: String,
    },
    /// A parameter is given twice.
    #[error("`{parameter}` is given twice in `{text}`")]
    Twice {
        /// Its name.
        parameter: String,
        /// The text as given.
        text: String,
    },
}

impl Hint for ChoiceTextError {
    fn hint(&self) -> Option<String> {
        Some("write NAME, or NAME(KEY=VALUE,KEY=VALUE)".to_string())
    }
}

impl FromStr for Choice {
    type Err = ChoiceTextError;

    /// Reads `NAME` or `NAME(KEY=VALUE,...)`. A value is a flag (`true`, `false`), a number, or text such as `20%`.
    fn from_str(text: &str) -> Result<Self, ChoiceTextError> {
        let owned = || text.trim().to_string();
        let (name, inside) = match text.split_once('(') {
            None => (text, ""),
            Some((name, rest)) => match rest.trim_end().strip_suffix(')') {
                Some(inside) => (name, inside),
                None => return Err(ChoiceTextError::Brackets { text: owned() }),
            },
        };
        if [name, inside].iter().any(|part| part.contains(['(', ')'])) {
            return Err(ChoiceTextError::Brackets { text: owned() });
        }
        if name.trim().is_empty() {
            return Err(ChoiceTextError::NoName { text: owned() });
        }
        let mut parameters = BTreeMap::new();
        for parameter in inside.split(',').filter(|_| !inside.trim().is_empty()) {
            let (key, value) = match parameter.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
                Some((key, value)) if !key.is_empty() && !value.is_empty() => (key, value),
                _ => return Err(ChoiceTextError::Parameter { parameter: parameter.trim().to_string(), text: owned() }),
            };
            if parameters.insert(key.to_string(), read_value(value)).is_some() {
                return Err(ChoiceTextError::Twice { parameter: key.to_string(), text: owned() });
            }
        }
        Ok(Self { kind: name.trim().to_string(), parameters })
    }
}

fn read_value(text: &str) -> ParameterValue {
    if let Ok(flag) = text.parse() {
        return ParameterValue::Flag(flag);
    }
    if let Ok(count) = text.replace('_', "").parse() {
        return ParameterValue::Integer(count);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => ParameterValue::Number(number),
        _ => ParameterValue::Text(text.to_string()),
    }
}

impl Choice {
    /// Reads choices with commas between them; commas in brackets belong to one choice.
    ///
    /// # Errors
    /// The first choice that cannot be read.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, ChoiceTextError> {
        let mut depth = 0;
        let parts = text.split(|letter| {
            match letter {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => (),
            }
            letter == ',' && depth <= 0
        });
        parts.map(str::parse).collect()
    }
}

/// As [`Choice::from_str`] reads it.
impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        for (index, (key, value)) in self.parameters.iter().enumerate() {
            f.write_str(if index == 0 { "(" } else { "," })?;
            match value {
                ParameterValue::Text(text) => write!(f, "{key}={text}")?,
                value => write!(f, "{key}={value}")?,
            }
        }
        f.write_str(if self.parameters.is_empty() { "" } else { ")" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_and_written_alike() {
        let list = Choice::parse_list("s3-fifo(small=20%,bits=2), lru ,lrfu(lambda=0.001,fast=true)").unwrap();
        let texts: Vec<String> = list.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["s3-fifo(bits=2,small=20%)", "lru", "lrfu(fast=true,lambda=0.001)"]);
        assert_eq!(list[0].parameters["small"], ParameterValue::Text("20%".into()));
        assert_eq!(list[0].parameters["bits"], ParameterValue::Integer(2));
        assert_eq!(list[2].parameters["lambda"], ParameterValue::Number(0.001));
        assert_eq!(list[2].parameters["fast"], ParameterValue::Flag(true));
        for (text, choice) in texts.iter().zip(&list) {
            assert_eq!(&text.parse::<Choice>().unwrap(), choice);
        }
        assert_eq!("lru()".parse::<Choice>().unwrap(), Choice::named("lru"));
    }

    #[test]
    fn what_is_no_choice_is_refused() {
        for (text, says) in [
            ("", "`` lacks a name"),
            ("lru,,fifo", "`` lacks a name"),
            ("(k=1)", "`(k=1)` lacks a name"),
            ("lru(k=1", "the brackets of `lru(k=1` do not fit together"),
            ("lru)k=1(", "the brackets of"),
            ("lru(k=1)x", "the brackets of"),
            ("lru(k=(1))", "the brackets of"),
            ("lru(k)", "`k` in `lru(k)` is no parameter"),
            ("lru(=1)", "`=1` in"),
            ("lru(k=)", "`k=` in"),
            ("lru(k=1,k=2)", "`k` is given twice in"),
        ] {
            let error = Choice::parse_list(text).unwrap_err().to_string();
            assert!(error.starts_with(says), "{text}: {error}");
        }
    }
}
