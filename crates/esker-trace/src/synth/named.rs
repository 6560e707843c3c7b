//! Settings that are a name if they need nothing else, and a table otherwise: `"uniform"` is `{ kind = "uniform" }`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};

/// Reads `Table`, which is tagged with `kind`, from a table or from the name of a kind.
pub(super) fn name_or_table<'de, Table, D>(deserializer: D, expected: &'static str) -> Result<Table, D::Error>
where
    Table: Deserialize<'de>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(NameOrTableVisitor(expected, PhantomData))
}

struct NameOrTableVisitor<Table>(&'static str, PhantomData<Table>);

impl<'de, Table: Deserialize<'de>> Visitor<'de> for NameOrTableVisitor<Table> {
    type Value = Table;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Table, E> {
        let kind = name.to_string().into_deserializer();
        Table::deserialize(MapDeserializer::<_, E>::new(std::iter::once(("kind", kind))))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Table, A::Error> {
        Table::deserialize(MapAccessDeserializer::new(table))
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
