//! Settings that are a table whose `kind` says what its other keys are, or, where the name says all, that name:
//! `"uniform"` is `{ kind = "uniform" }`.
//!
//! serde's own tagged enums read a table as a whole first and look into it then, by which errors lose their place.
//! Here `kind` is read first, and the other keys go straight into the variant.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, VariantAccess, Visitor};
use serde_json::Value;

/// How settings that have a `kind` may be written.
#[derive(Clone, Copy)]
pub(super) enum Written {
    /// As a table.
    Table,
    /// As a name or as a table.
    NameOrTable,
}

/// Reads what has a `kind`. `Variants` is read as an enum in serde's external form: a name and its table.
pub(super) fn by_kind<'de, Variants, D>(
    deserializer: D,
    written: Written,
    expected: &'static str,
) -> Result<Variants, D::Error>
where
    Variants: Deserialize<'de>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(KindVisitor { written, expected, target: PhantomData })
}

struct KindVisitor<Variants> {
    written: Written,
    expected: &'static str,
    target: PhantomData<Variants>,
}

impl<'de, Variants: Deserialize<'de>> Visitor<'de> for KindVisitor<Variants> {
    type Value = Variants;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Variants, E> {
        match self.written {
            Written::Table => Err(E::invalid_type(serde::de::Unexpected::Str(name), &self)),
            Written::NameOrTable => {
                let mut table = MapDeserializer::<_, E>::new(std::iter::once(("kind", name)));
                table.next_key::<Cow<'_, str>>()?;
                Variants::deserialize(KindFirst(table))
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Variants, A::Error> {
        match table.next_key::<String>()? {
            Some(key) if key == "kind" => Variants::deserialize(KindFirst(table)),
            None => Err(A::Error::missing_field("kind")),
            // Not every source of tables has `kind` first.
            Some(first) => {
                let mut rest = vec![(first, table.next_value::<Value>()?)];
                while let Some(entry) = table.next_entry::<String, Value>()? {
                    rest.push(entry);
                }
                rest.sort_by_key(|(key, _)| key != "kind");
                if rest[0].0 != "kind" {
                    return Err(A::Error::missing_field("kind"));
                }
                let mut table = MapDeserializer::<_, serde_json::Error>::new(rest.into_iter());
                table.next_key::<String>().map_err(A::Error::custom)?;
                Variants::deserialize(KindFirst(table)).map_err(A::Error::custom)
            }
        }
    }
}

/// A table whose key `kind` was just read, as an enum: the value of `kind` names the variant.
struct KindFirst<A>(A);

impl<'de, A: MapAccess<'de>> Deserializer<'de> for KindFirst<A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_enum(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for KindFirst<A> {
    type Error = A::Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<(S::Value, Self), A::Error> {
        let variant = self.0.next_value_seed(seed)?;
        Ok((variant, self))
    }
}

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for KindFirst<A> {
    type Error = A::Error;

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.0)
    }

    fn unit_variant(self) -> Result<(), A::Error> {
        Err(A::Error::custom("each variant has a table, if an empty one"))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, _: S) -> Result<S::Value, A::Error> {
        Err(A::Error::custom("each variant has a table of its own"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, A::Error> {
        Err(A::Error::custom("each variant has a table of its own"))
    }
}

/// The schema of such a setting.
pub(super) struct NameOrTable<Table>(PhantomData<Table>);

impl<Table: JsonSchema> JsonSchema for NameOrTable<Table> {
    fn schema_name() -> Cow<'static, str> {
        format!("NameOr{}", Table::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<Table>();
        json_schema!({ "anyOf": [{ "type": "string", "description": "A kind without settings of its own" }, table] })
    }
}
