//! Blocks of keys and values, and typed access to them. Each key remembers whether it was used.

use std::cell::Cell;
use std::path::PathBuf;

use esker_core::Nanos;

use super::error::{ImportError, Place};
use super::lexer::shortened;

/// `KIND NAME { KEY = VALUE, ... }`.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) kind: String,
    /// Empty if the block is a value.
    pub(super) name: String,
    pub(super) file: PathBuf,
    pub(super) line: usize,
    pub(super) entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) line: usize,
    pub(super) value: Value,
    /// Whether the key was asked for.
    used: Cell<bool>,
}

/// The value of a key, or an item of a list.
#[derive(Debug)]
pub(super) enum Value {
    /// A number, a name, a path.
    Words(String),
    List(Vec<(usize, Value)>),
    Block(Block),
}

impl Value {
    fn describe(&self) -> String {
        match self {
            Self::Words(words) => format!("`{}`", shortened(words)),
            Self::List(_) => "a list".to_string(),
            Self::Block(block) => format!("a block `{}`", shortened(&block.kind)),
        }
    }
}

impl Entry {
    pub(super) fn new(key: String, line: usize, value: Value) -> Self {
        Self { key, line, value, used: Cell::new(false) }
    }

    pub(super) fn is_used(&self) -> bool {
        self.used.get()
    }
}

/// Times beyond this are mistakes: no drive takes that long for anything.
const MILLIS_MAX: f64 = 10_000.0;

impl Block {
    pub(super) fn place(&self, line: usize) -> Place<'_> {
        Place { file: &self.file, line }
    }

    pub(super) fn error(&self, line: usize, problem: impl Into<String>) -> ImportError {
        ImportError::new(&self.place(line), problem)
    }

    /// Returns the entry of `key`, if the block has one.
    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        entry.used.set(true);
        Some(entry)
    }

    /// Returns the entry of `key`, which must exist.
    pub(super) fn required(&self, key: &str) -> Result<&Entry, ImportError> {
        self.entry(key)
            .ok_or_else(|| self.error(self.line, format!("`{key}` is missing in `{}`", shortened(&self.kind))))
    }

    fn unexpected(&self, entry: &Entry, expected: &str) -> ImportError {
        let (key, found) = (&entry.key, entry.value.describe());
        self.error(entry.line, format!("`{key}` is {found}, expected {expected}"))
    }

    fn number_of(&self, entry: &Entry) -> Result<f64, ImportError> {
        let number = match &entry.value {
            Value::Words(words) => words.parse().ok(),
            _ => None,
        };
        number.filter(|number: &f64| number.is_finite()).ok_or_else(|| self.unexpected(entry, "a number"))
    }

    /// Returns the number of `key`, if the block has the key.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, ImportError> {
        self.entry(key).map(|entry| self.number_of(entry)).transpose()
    }

    /// Returns a whole number from `least` to `most`.
    pub(super) fn whole(&self, key: &str, least: i64, most: i64) -> Result<i64, ImportError> {
        let entry = self.required(key)?;
        let number = self.number_of(entry)?;
        if number.fract() == 0.0 && (least as f64..=most as f64).contains(&number) {
            Ok(number as i64)
        } else {
            Err(self.unexpected(entry, &format!("a whole number from {least} to {most}")))
        }
    }

    /// Returns a whole number from zero to `most`.
    pub(super) fn count(&self, key: &str, most: u32) -> Result<u32, ImportError> {
        self.whole(key, 0, i64::from(most)).map(|number| number as u32)
    }

    /// Returns true if `key` is 1, and false if it is 0.
    pub(super) fn flag(&self, key: &str) -> Result<bool, ImportError> {
        self.whole(key, 0, 1).map(|number| number == 1)
    }

    /// Returns a time, which may be negative, in nanoseconds. The file gives it in milliseconds.
    pub(super) fn signed_time(&self, key: &str) -> Result<i64, ImportError> {
        let entry = self.required(key)?;
        let number = self.number_of(entry)?;
        if number.abs() > MILLIS_MAX {
            return Err(self.unexpected(entry, "a time in milliseconds, at most 10,000"));
        }
        Ok((number * 1e6).round() as i64)
    }

    /// Returns a time that the file gives in milliseconds.
    pub(super) fn time(&self, key: &str) -> Result<Nanos, ImportError> {
        let nanos = self.signed_time(key)?;
        let entry = self.required(key)?;
        u64::try_from(nanos).map(Nanos).map_err(|_| self.unexpected(entry, "a time that is not negative"))
    }

    /// Returns the words of `key`, with their line.
    pub(super) fn words(&self, key: &str) -> Result<(&str, usize), ImportError> {
        let entry = self.required(key)?;
        match &entry.value {
            Value::Words(words) => Ok((words, entry.line)),
            _ => Err(self.unexpected(entry, "a word")),
        }
    }

    /// Returns the block of `key`.
    pub(super) fn block(&self, key: &str) -> Result<&Block, ImportError> {
        let entry = self.required(key)?;
        match &entry.value {
            Value::Block(block) => Ok(block),
            _ => Err(self.unexpected(entry, "a block")),
        }
    }

    /// Returns the list of `key`, each item with its line.
    pub(super) fn list(&self, key: &str) -> Result<&[(usize, Value)], ImportError> {
        let entry = self.required(key)?;
        match &entry.value {
            Value::List(items) => Ok(items),
            _ => Err(self.unexpected(entry, "a list")),
        }
    }

    /// Returns the list of numbers of `key`, each with its line.
    pub(super) fn numbers(&self, key: &str) -> Result<Vec<(usize, f64)>, ImportError> {
        let number = |(line, value): &(usize, Value)| match value {
            Value::Words(words) if words.parse::<f64>().is_ok_and(f64::is_finite) => {
                Ok((*line, words.parse().expect("it was parsed before")))
            }
            other => Err(self.error(*line, format!("`{key}` contains {}, expected numbers", other.describe()))),
        };
        self.list(key)?.iter().map(number).collect()
    }
}
