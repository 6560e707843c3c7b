//! serde's view of a tree.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor};

use super::{Branch, Problem, ReadError, Step, Tree, shown};

/// Reads the tree.
pub(super) struct Reader<'a, T>(pub(super) &'a T);

impl<T: Tree> Reader<'_, T> {
    /// `expected` is in the words of the documentation.
    fn unexpected(&self, expected: &str) -> ReadError {
        let found = match self.0.branch() {
            Branch::Text(text) => shown(Unexpected::Str(text)),
            Branch::Whole(value) => format!("`{value}`"),
            Branch::Number(value) => format!("`{value}`"),
            Branch::Flag(value) => format!("`{value}`"),
            Branch::List(_) => shown(Unexpected::Seq),
            Branch::Table(_) => shown(Unexpected::Map),
            Branch::Other(what) => what.to_string(),
        };
        ReadError::unexpected(found, expected)
    }

    /// A whole number that is not negative and at most `most`.
    fn count<'de, V: Visitor<'de>>(&self, most: u64, visitor: V) -> Result<V::Value, ReadError> {
        const COUNT: &str = "a whole number that is zero or more";
        let Branch::Whole(value) = self.0.branch() else { return Err(self.unexpected(COUNT)) };
        match u64::try_from(value) {
            Ok(value) if value <= most => visitor.visit_u64(value).map_err(|error: ReadError| match error.problem {
                Problem::Unexpected { .. } if value == 0 => self.unexpected("a whole number that is one or more"),
                _ => error,
            }),
            _ if value < 0 => Err(self.unexpected(COUNT)),
            _ => Err(self.unexpected(&format!("a whole number up to {most}"))),
        }
    }

    fn integer<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0.branch() {
            Branch::Whole(value) if i64::try_from(value).is_ok() => visitor.visit_i64(value as i64),
            _ => Err(self.unexpected("a whole number")),
        }
    }

    fn number<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0.branch() {
            Branch::Whole(value) => visitor.visit_f64(value as f64),
            Branch::Number(value) => visitor.visit_f64(value),
            _ => Err(self.unexpected("a number")),
        }
    }

    fn text<'de, V: Visitor<'de>>(&self, expected: &str, visitor: V) -> Result<V::Value, ReadError> {
        match self.0.branch() {
            Branch::Text(text) => visitor.visit_str(text),
            _ => Err(self.unexpected(expected)),
        }
    }

    fn list<'de, V: Visitor<'de>>(&self, length: Option<usize>, visitor: V) -> Result<V::Value, ReadError> {
        match (self.0.branch(), length) {
            (Branch::List(items), Some(length)) if items.len() != length => {
                let found = format!("a list of {}", items.len());
                Err(ReadError::unexpected(found, format!("a list of {length} values")))
            }
            (Branch::List(items), _) => visitor.visit_seq(Items { items, next: 0 }),
            _ => Err(self.unexpected("a list in square brackets")),
        }
    }

    fn table<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0.branch() {
            Branch::Table(entries) => visitor.visit_map(Entries::new(entries)),
            _ => Err(self.unexpected("a table")),
        }
    }
}

impl<'de, T: Tree> Deserializer<'de> for Reader<'_, T> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0.branch() {
            Branch::Text(text) => visitor.visit_str(text),
            Branch::Whole(value) => match (u64::try_from(value), i64::try_from(value)) {
                (Ok(value), _) => visitor.visit_u64(value),
                (_, Ok(value)) => visitor.visit_i64(value),
                _ => visitor.visit_f64(value as f64),
            },
            Branch::Number(value) => visitor.visit_f64(value),
            Branch::Flag(value) => visitor.visit_bool(value),
            Branch::List(items) => visitor.visit_seq(Items { items, next: 0 }),
            Branch::Table(entries) => visitor.visit_map(Entries::new(entries)),
            Branch::Other(what) => Err(ReadError::unexpected(what, (&visitor as &dyn Expected).to_string())),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0.branch() {
            Branch::Flag(value) => visitor.visit_bool(value),
            _ => Err(self.unexpected("true or false")),
        }
    }
    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.count(u8::MAX.into(), visitor)
    }
    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.count(u16::MAX.into(), visitor)
    }
    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.count(u32::MAX.into(), visitor)
    }
    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.count(u64::MAX, visitor)
    }
    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.integer(visitor)
    }
    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.integer(visitor)
    }
    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.integer(visitor)
    }
    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.integer(visitor)
    }
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.number(visitor)
    }
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.number(visitor)
    }
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.text("text in quotes", visitor)
    }
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.text("text in quotes", visitor)
    }
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.text("one of its choices, as text in quotes", visitor)
    }
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.0.branch() {
            Branch::Text(text) => {
                let text: StrDeserializer<'_, ReadError> = text.into_deserializer();
                visitor.visit_enum(text)
            }
            _ => Err(self.unexpected("one of its choices, as text in quotes")),
        }
    }
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0.branch() {
            Branch::Other(_) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.list(None, visitor)
    }
    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.list(Some(length), visitor)
    }
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.table(visitor)
    }
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.table(visitor)
    }
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { i128 u128 char bytes byte_buf unit unit_struct tuple_struct }
}

struct Items<'a, T> {
    items: &'a [T],
    next: usize,
}

impl<'de, T: Tree> SeqAccess<'de> for Items<'_, T> {
    type Error = ReadError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ReadError> {
        let Some(item) = self.items.get(self.next) else { return Ok(None) };
        let index = self.next;
        self.next += 1;
        seed.deserialize(Reader(item)).map(Some).map_err(|error| error.within(Step::Item(index)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

struct Entries<'a, T> {
    entries: std::vec::IntoIter<(&'a str, &'a T)>,
    value: Option<(&'a str, &'a T)>,
}

impl<'a, T> Entries<'a, T> {
    /// `kind` comes first: it says what the other keys mean.
    fn new(mut entries: Vec<(&'a str, &'a T)>) -> Self {
        entries.sort_by_key(|(key, _)| *key != "kind");
        Self { entries: entries.into_iter(), value: None }
    }
}

impl<'de, T: Tree> MapAccess<'de> for Entries<'_, T> {
    type Error = ReadError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ReadError> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        self.value = Some((key, value));
        let reader: StrDeserializer<'_, ReadError> = key.into_deserializer();
        seed.deserialize(reader).map(Some).map_err(|error| error.within(Step::Key(key.to_string())))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ReadError> {
        let (key, value) = self.value.take().expect("serde asks for the key first");
        seed.deserialize(Reader(value)).map_err(|error| error.within(Step::Key(key.to_string())))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}
