//! A TOML value that knows the source position of each of its parts. Presets, overrides and swept values can be
//! overlaid, and an error still points to the line that the user wrote.

use std::collections::BTreeMap;
use std::num::IntErrorKind;
use std::ops::Range;

use esker_core::{Branch, Problem, ReadError, Step, Tree};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml::value::Datetime;

/// Range of bytes in the document.
pub type Span = Range<usize>;

/// A value of a configuration with its position in the text.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it was written.
    pub at: Span,
    /// The value.
    pub value: Value,
}

/// A value of TOML.
#[derive(Clone, Debug)]
pub enum Value {
    /// Text, without its quotes.
    String(String),
    /// An integer or a float, as written.
    Number(String),
    /// True or false.
    Boolean(bool),
    /// A date, a time, or both.
    Datetime(Datetime),
    /// A list.
    Array(Vec<Node>),
    /// Values by key.
    Table(Table),
}

/// A table, by key.
pub type Table = BTreeMap<String, TableEntry>;

/// A key of a table and its value.
#[derive(Clone, Debug)]
pub struct TableEntry {
    /// Where the key was written.
    pub key_at: Span,
    /// The value.
    pub node: Node,
}

impl Node {
    /// Reads a whole document.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        Ok(Self::from_table(DeTable::parse(text)?))
    }

    fn from_table(table: Spanned<DeTable<'_>>) -> Self {
        let at = table.span();
        let entries = table.into_inner().into_iter().map(|(key, value)| {
            let key_at = key.span();
            (key.into_inner().into_owned(), TableEntry { key_at, node: Self::from_value(value) })
        });
        Self { at, value: Value::Table(entries.collect()) }
    }

    fn from_value(spanned: Spanned<DeValue<'_>>) -> Self {
        let at = spanned.span();
        match spanned.into_inner() {
            DeValue::Table(table) => Self::from_table(Spanned::new(at, table)),
            DeValue::Array(array) => {
                Self { at, value: Value::Array(array.into_iter().map(Self::from_value).collect()) }
            }
            DeValue::String(text) => Self::string(at, text.into_owned()),
            DeValue::Integer(integer) => Self { at, value: Value::Number(integer.to_string()) },
            DeValue::Float(float) => Self { at, value: Value::Number(float.to_string()) },
            DeValue::Boolean(value) => Self { at, value: Value::Boolean(value) },
            DeValue::Datetime(value) => Self { at, value: Value::Datetime(value) },
        }
    }

    /// A text.
    pub fn string(at: Span, text: String) -> Self {
        Self { at, value: Value::String(text) }
    }

    /// A table without keys.
    pub fn empty_table(at: Span) -> Self {
        Self { at, value: Value::Table(Table::new()) }
    }

    /// The table, if it is one.
    pub fn as_table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The kind of value in words: "a string", "a table"...
    pub fn type_name(&self) -> &'static str {
        match &self.value {
            Value::Array(_) => "an array",
            Value::Table(_) => "a table",
            Value::String(_) => "a string",
            Value::Number(_) => "a number",
            Value::Boolean(_) => "a boolean",
            Value::Datetime(_) => "a date",
        }
    }

    /// Sets the position of all its parts to `at`: for a preset, the position of its name.
    pub fn moved_to(mut self, at: &Span) -> Self {
        fn visit(node: &mut Node, at: &Span) {
            node.at = at.clone();
            match &mut node.value {
                Value::Table(table) => table.values_mut().for_each(|entry| {
                    entry.key_at = at.clone();
                    visit(&mut entry.node, at);
                }),
                Value::Array(items) => items.iter_mut().for_each(|item| visit(item, at)),
                _ => {}
            }
        }
        visit(&mut self, at);
        self
    }

    /// Overlays `over`: tables are merged key by key, anything else is replaced. A table whose `kind` changes is
    /// replaced too, since the keys of one kind mean nothing to another.
    pub fn overlay(&mut self, over: Node) {
        let kind = |node: &Node| node.as_table()?.get("kind")?.node.as_str().map(str::to_string);
        let same_kind = match (kind(self), kind(&over)) {
            (Some(below), Some(above)) => below == above,
            _ => true,
        };
        match (&mut self.value, over.value) {
            (Value::Table(below), Value::Table(above)) if same_kind => {
                self.at = over.at;
                for (key, entry) in above {
                    match below.get_mut(&key) {
                        Some(existing) => {
                            existing.key_at = entry.key_at;
                            existing.node.overlay(entry.node);
                        }
                        None => {
                            below.insert(key, entry);
                        }
                    }
                }
            }
            (_, value) => *self = Node { at: over.at, value },
        }
    }

    /// Moves `keys`, if this table has them, to the table `into`.
    pub fn move_keys(&mut self, keys: &[&str], into: &mut Self) {
        if let (Value::Table(from), Value::Table(into)) = (&mut self.value, &mut into.value) {
            for key in keys {
                if let Some((key, entry)) = from.remove_entry(*key) {
                    into.insert(key, entry);
                }
            }
        }
    }

    /// Returns the position of the key or value that caused `error` when this table was read. If the path of the error
    /// was not written, returns the position of its last part that was.
    pub fn place_of(&self, error: &ReadError) -> Span {
        let (mut node, mut at) = (self, &self.at);
        for step in &error.path {
            match (&node.value, step) {
                (Value::Table(table), Step::Key(key)) if let Some(entry) = table.get(key) => {
                    at = &entry.key_at;
                    node = &entry.node;
                }
                (Value::Array(items), Step::Item(index)) if let Some(item) = items.get(*index) => {
                    at = &item.at;
                    node = item;
                }
                _ => return at.clone(),
            }
        }
        if matches!(error.problem, Problem::UnknownKey { .. }) { at.clone() } else { node.at.clone() }
    }

    /// Returns the position of each dotted key, for errors that are found after reading.
    pub fn positions(&self) -> BTreeMap<String, Span> {
        let mut positions = BTreeMap::new();
        collect_positions(self, "", &mut positions);
        positions
    }

    /// Sets the value at `path`, and makes missing tables. A new `kind` replaces its table, since the keys of one kind
    /// mean nothing to another.
    pub fn set(&mut self, path: &[&str], key_at: &Span, node: Node) -> Result<(), String> {
        let Some((key, rest)) = path.split_first() else {
            *self = node;
            return Ok(());
        };
        let type_name = self.type_name();
        if rest.is_empty() && *key == "kind" && self.as_str().is_some() {
            // A bare name is short for a table with only its kind.
            *self = Self::empty_table(key_at.clone());
        }
        if let (Value::Array(items), Ok(index)) = (&mut self.value, key.parse::<usize>()) {
            let count = items.len();
            let item = items.get_mut(index).ok_or_else(|| format!("there is no item {index} of {count}, from 0 on"))?;
            return item.set(rest, key_at, node);
        }
        let Value::Table(table) = &mut self.value else {
            return Err(format!("`{key}` cannot be set in {type_name}"));
        };
        if rest.is_empty() && *key == "kind" {
            let same = table.get("kind").and_then(|entry| entry.node.as_str()) == node.as_str();
            if !same {
                table.clear();
            }
        }
        let entry = table
            .entry((*key).to_string())
            .or_insert_with(|| TableEntry { key_at: key_at.clone(), node: Node::empty_table(key_at.clone()) });
        if rest.is_empty() {
            entry.key_at = key_at.clone();
        }
        entry.node.set(rest, key_at, node)
    }
}

/// Returns the dotted key of `key` in the table at `path`, which is empty for the whole text.
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}

/// Collects the dotted keys of the tree `node`, which is at the dotted `path`.
fn collect_positions(node: &Node, path: &str, into: &mut BTreeMap<String, Span>) {
    match &node.value {
        Value::Table(table) => {
            for (key, entry) in table {
                let path = join(path, key);
                into.insert(path.clone(), entry.key_at.clone());
                collect_positions(&entry.node, &path, into);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = format!("{path}[{index}]");
                into.insert(path.clone(), item.at.clone());
                collect_positions(item, &path, into);
            }
        }
        _ => {}
    }
}

/// Returns the number that `text` says. The parser of whole texts takes some for numbers that are none: `10_0-100`.
fn number<T>(text: &str) -> Branch<'_, T> {
    let value = DeValue::parse(text).map(|value| value.into_inner());
    let parsed = match &value {
        Ok(DeValue::Integer(integer)) => match i128::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(whole) => Some(Branch::Whole(whole)),
            Err(error) => {
                let is_large = matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow);
                is_large.then_some(Branch::Number(f64::INFINITY))
            }
        },
        Ok(DeValue::Float(float)) => float.as_str().parse().ok().map(Branch::Number),
        _ => None,
    };
    parsed.unwrap_or(Branch::Other("what is no number"))
}

impl Tree for Node {
    fn branch(&self) -> Branch<'_, Self> {
        match &self.value {
            Value::String(text) => Branch::Text(text),
            Value::Number(text) => number(text),
            Value::Boolean(value) => Branch::Flag(*value),
            Value::Datetime(_) => Branch::Other("a date"),
            Value::Array(items) => Branch::List(items),
            Value::Table(table) => {
                Branch::Table(table.iter().map(|(key, entry)| (key.as_str(), &entry.node)).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<BTreeMap<String, f64>, String> {
        let table = DeTable::parse(text).map_err(|error| error.to_string())?;
        esker_core::read(&Node::from_table(table)).map_err(|error: ReadError| error.problem.to_string())
    }

    #[test]
    fn what_the_parser_takes_for_a_number_is_refused_if_it_is_none() {
        for text in ["x = 10_0-100", "x = 10_0-10-10", "x = 1_0:00:00", "x = 1_0+5", "x = 0x1_0-1"] {
            let error = read(text).unwrap_err();
            assert!(!error.is_empty(), "{text}");
        }
        for (text, number) in [("x = 1_0", 10.0), ("x = -1_0.5_0e1", -105.0), ("x = 0x1_0", 16.0), ("x = +7", 7.0)] {
            assert_eq!(read(text).unwrap()["x"], number, "{text}");
        }
        assert_eq!(read(&format!("x = {}", "9".repeat(60))).unwrap()["x"], f64::INFINITY);
    }

    #[test]
    fn texts_like_numbers_are_read_or_refused() {
        const SIGNS: &[u8] = b"0123456789__--++..::eExobTinfa";
        let (mut rng, mut read_to_the_end) = (esker_core::Rng::new(1), 0);
        for _ in 0..50_000 {
            let length = 1 + rng.below(12);
            let text: String = (0..length).map(|_| char::from(SIGNS[rng.below(SIGNS.len() as u64) as usize])).collect();
            read_to_the_end += u32::from(read(&format!("x = {text}")).is_ok());
        }
        assert!(read_to_the_end > 1_000, "{read_to_the_end}");
    }
}
