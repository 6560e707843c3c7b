//! Values of a JSON document that know where they are, so that errors do, too.

use serde_json::Value;

/// A value and its place.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    pub(super) value: &'a Value,
    place: String,
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Fault {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl<'a> Node<'a> {
    pub(super) fn top(value: &'a Value) -> Self {
        Self { value, place: String::new() }
    }

    /// A fault at this place.
    pub(super) fn fault(&self, message: impl AsRef<str>) -> Fault {
        let place = if self.place.is_empty() { "the top" } else { &self.place };
        Fault::new(format!("{place}: {}", message.as_ref()))
    }

    fn expected(&self, what: &str) -> Fault {
        let found = match self.value {
            Value::Null => "null".to_string(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => number.to_string(),
            Value::String(text) => format!("{:?}", text.chars().take(40).collect::<String>()),
            Value::Array(_) => "a list".to_string(),
            Value::Object(_) => "an object".to_string(),
        };
        self.fault(format!("expected {what}, found {found}"))
    }

    /// A field; `None` if it is absent or null.
    pub(super) fn get(&self, name: &str) -> Option<Self> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        let place = if self.place.is_empty() { name.to_string() } else { format!("{}.{name}", self.place) };
        Some(Self { value, place })
    }

    /// A field that has to be there.
    pub(super) fn field(&self, name: &str) -> Result<Self, Fault> {
        self.get(name).ok_or_else(|| self.fault(format!("the field `{name}` is missing")))
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Result<impl Iterator<Item = Node<'a>> + use<'a>, Fault> {
        let items = self.value.as_array().ok_or_else(|| self.expected("a list"))?;
        let place = self.place.clone();
        Ok(items.iter().enumerate().map(move |(at, value)| Node { value, place: format!("{place}[{at}]") }))
    }

    /// The fields of an object, by name.
    pub(super) fn entries(&self) -> Result<impl Iterator<Item = (&'a str, Node<'a>)> + use<'a>, Fault> {
        let fields = self.value.as_object().ok_or_else(|| self.expected("an object"))?;
        let place = self.place.clone();
        Ok(fields.iter().map(move |(name, value)| {
            let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
            (name.as_str(), Node { value, place })
        }))
    }

    pub(super) fn whole(&self) -> Result<u64, Fault> {
        self.value.as_u64().ok_or_else(|| self.expected("a whole number of zero or more"))
    }

    pub(super) fn signed(&self) -> Result<i64, Fault> {
        self.value.as_i64().ok_or_else(|| self.expected("a whole number"))
    }

    /// A number of zero or more.
    pub(super) fn number(&self) -> Result<f64, Fault> {
        let number = self.value.as_f64().filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| self.expected("a number of zero or more"))
    }

    pub(super) fn text(&self) -> Result<&'a str, Fault> {
        self.value.as_str().ok_or_else(|| self.expected("text"))
    }
}
