//! From a tree of values to settings, with errors that know their place.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::error::{ConfigError, Position, Problem};
use super::node::{Node, Span, Value};

/// The text that a configuration was read from.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) origin: String,
    pub(crate) text: String,
}

/// Something wrong at a place of the document.
#[derive(Debug)]
pub(crate) struct Finding {
    /// `None` where it is at no place of the text.
    pub(crate) at: Option<Span>,
    pub(crate) key: String,
    pub(crate) problem: Problem,
}

impl Finding {
    pub(crate) fn new(at: &Span, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self::of(at, key, Problem::new(message))
    }

    pub(crate) fn of(at: &Span, key: impl Into<String>, problem: Problem) -> Self {
        Self { at: Some(at.clone()), key: key.into(), problem }
    }

    /// Where a key of the table at `path` is unknown: the table knows these keys, too,
    /// which are read before the others.
    pub(crate) fn also_knows(&mut self, path: &str, more: &[&str]) {
        if let Problem::UnknownKey { found, known } = &mut self.problem
            && self.key == join(path, found)
        {
            known.extend(more.iter().map(|key| (*key).to_string()));
        }
    }
}

impl Document {
    /// Of a configuration that was made by a program.
    pub(crate) fn none() -> Self {
        Self { origin: String::new(), text: String::new() }
    }

    pub(crate) fn error(&self, finding: Finding) -> ConfigError {
        let Finding { at, key, problem } = finding;
        let position = at.and_then(|at| self.position(at.start));
        ConfigError { origin: self.origin.clone(), position, key, problem }
    }

    /// `None` where there is no text: a configuration that was made by a program.
    fn position(&self, byte: usize) -> Option<Position> {
        if self.text.is_empty() {
            return None;
        }
        let before = self.text.get(..byte)?;
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Some(Position { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 })
    }

    pub(crate) fn parse(&self) -> Result<Node, ConfigError> {
        Node::parse(&self.text).map_err(|error| {
            let message = format!("this is not TOML: {}", one_line(error.message()));
            self.error(Finding { at: error.span(), key: String::new(), problem: Problem::new(message) })
        })
    }
}

/// Reads settings of type `T` from `node`, which stands at the dotted `path`.
pub(crate) fn read<T: DeserializeOwned>(node: &Node, path: &str) -> Result<T, Finding> {
    read_with(node, path, |input| T::deserialize(input))
}

/// Reads `node` with `reader`.
pub(crate) fn read_with<T>(
    node: &Node,
    path: &str,
    reader: impl for<'a> FnOnce(ValueDeserializer<'a>) -> Result<T, toml::de::Error>,
) -> Result<T, Finding> {
    let mut places = Places::default();
    let input = places.number(node, path);
    reader(ValueDeserializer::from(input)).map_err(|error| places.find(&error))
}

/// Every key and value of a tree gets a number, which takes the place of its span while it is read: an error then says
/// which one it is about, whichever document (the user's, a preset) the span belongs to.
#[derive(Default)]
struct Places<'a> {
    list: Vec<Place<'a>>,
}

struct Place<'a> {
    at: Span,
    path: String,
    value: Option<&'a Node>,
}

impl<'a> Places<'a> {
    fn add(&mut self, at: &Span, path: &str, value: Option<&'a Node>) -> Span {
        self.list.push(Place { at: at.clone(), path: path.to_string(), value });
        let number = self.list.len() - 1;
        number..number + 1
    }

    fn number(&mut self, node: &'a Node, path: &str) -> Spanned<DeValue<'a>> {
        let span = self.add(&node.at, path, Some(node));
        let value = match &node.value {
            Value::String(text) => DeValue::String(text.as_str().into()),
            Value::Number(text) => DeValue::parse(text).expect("a number once read is a number").into_inner(),
            Value::Boolean(value) => DeValue::Boolean(*value),
            Value::Datetime(value) => DeValue::Datetime(*value),
            Value::Array(items) => {
                let number = |(index, item)| self.number(item, &format!("{path}[{index}]"));
                DeValue::Array(items.iter().enumerate().map(number).collect())
            }
            Value::Table(table) => {
                let mut numbered = DeTable::new();
                for (key, entry) in table {
                    let path = join(path, key);
                    let key_span = self.add(&entry.key_at, &path, None);
                    let value = self.number(&entry.node, &path);
                    numbered.insert(Spanned::new(key_span, key.as_str().into()), value);
                }
                DeValue::Table(numbered)
            }
        };
        Spanned::new(span, value)
    }

    fn find(&self, error: &toml::de::Error) -> Finding {
        let place = &self.list[error.span().map_or(0, |span| span.start)];
        let message = one_line(error.message());
        // An enum that is tagged by `kind` is buffered while it is read, which loses the place inside: the culprit is
        // named in backticks in the message, and looked up below the table.
        let culprit = backticked(&message).next();
        let refined = place.value.filter(|node| node.as_table().is_some()).and_then(|node| {
            let (at, path) = search(node, &place.path, culprit?)?;
            Some((at, path))
        });
        let (at, path) = refined.unwrap_or_else(|| (place.at.clone(), place.path.clone()));
        translate(at, &path, &message)
    }
}

/// The key or the scalar value `culprit` somewhere in `node`.
fn search(node: &Node, path: &str, culprit: &str) -> Option<(Span, String)> {
    let (mut found, mut count) = (None, 0);
    let mut visit: Vec<(&Node, String)> = vec![(node, path.to_string())];
    while let Some((node, path)) = visit.pop() {
        match &node.value {
            Value::Table(table) => {
                for (key, entry) in table {
                    let path = join(&path, key);
                    if key == culprit {
                        (found, count) = (Some((entry.key_at.clone(), path.clone())), count + 1);
                    }
                    visit.push((&entry.node, path));
                }
            }
            Value::Array(items) => {
                visit.extend(items.iter().enumerate().map(|(index, item)| (item, format!("{path}[{index}]"))));
            }
            Value::String(text) | Value::Number(text) if text == culprit => {
                (found, count) = (Some((node.at.clone(), path)), count + 1);
            }
            _ => {}
        }
    }
    found.filter(|_| count == 1)
}

/// From serde's words to ours.
fn translate(at: Span, path: &str, message: &str) -> Finding {
    let known = || backticked(message).skip(1).collect::<Vec<_>>();
    let named = |start: &str| message.strip_prefix(start).and_then(|rest| rest.split('`').next());
    let known = || known().into_iter().map(str::to_string).collect();
    if let Some(found) = named("unknown field `") {
        // The place of an unknown key is the key itself, unless it was lost on the way.
        let key = if path.ends_with(found) { path.to_string() } else { join(path, found) };
        return Finding::of(&at, key, Problem::UnknownKey { found: found.to_string(), known: known() });
    }
    if let Some(missing) = named("missing field `") {
        return Finding::of(&at, path, Problem::MissingKey { key: missing.to_string(), hint: None });
    }
    if let Some(found) = named("unknown variant `") {
        return Finding::of(&at, path, Problem::UnknownChoice { found: found.to_string(), choices: known() });
    }
    if message == "wanted string or table" {
        return Finding::new(&at, path, "expected one of its choices, as text in quotes");
    }
    for start in ["invalid type: ", "invalid value: "] {
        if let Some((found, expected)) = message.strip_prefix(start).and_then(|rest| rest.rsplit_once(", expected ")) {
            return Finding::new(&at, path, format!("expected {}, found {}", wanted(expected), shown(found)));
        }
    }
    Finding::new(&at, path, message)
}

/// What serde wants, in the words of the documentation.
fn wanted(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is zero or more".into(),
        "a nonzero u8" | "a nonzero u16" | "a nonzero u32" | "a nonzero u64" | "a nonzero usize" => {
            "a whole number that is one or more".into()
        }
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a string" | "string or map" | "a borrowed string" => "text in quotes".into(),
        "a sequence" => "a list in square brackets".into(),
        "a map" => "a table".into(),
        text if text.starts_with("struct ") => "a table".into(),
        text if text.contains("tagged enum ") => "a table with `kind`".into(),
        text => text.into(),
    }
}

/// What serde found, as it stands in the file.
fn shown(found: &str) -> String {
    match found.split_once(' ') {
        Some(("string", text)) => format!("the text {text}"),
        Some(("integer" | "floating" | "boolean", _)) => {
            found.split('`').nth(1).map_or_else(|| found.to_string(), |value| format!("`{value}`"))
        }
        _ => match found {
            "map" => "a table".into(),
            "sequence" => "a list".into(),
            other => other.into(),
        },
    }
}

fn backticked(message: &str) -> impl Iterator<Item = &str> {
    message.split('`').skip(1).step_by(2)
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}

/// The dotted keys of a tree and where they stand, for errors that are found after reading.
pub(crate) fn key_places(node: &Node, path: &str, into: &mut BTreeMap<String, Span>) {
    match &node.value {
        Value::Table(table) => {
            for (key, entry) in table {
                let path = join(path, key);
                into.insert(path.clone(), entry.key_at.clone());
                key_places(&entry.node, &path, into);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = format!("{path}[{index}]");
                into.insert(path.clone(), item.at.clone());
                key_places(item, &path, into);
            }
        }
        _ => {}
    }
}
