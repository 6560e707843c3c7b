//! Turns a JSON Schema into a table of keys.

use serde_json::{Map, Value};

/// A parameter as reference pages show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The name, dotted for keys of nested tables.
    pub name: String,
    /// The type of the value: "a time with its unit", "one of `a`, `b`".
    pub kind: String,
    /// "required", a value, or empty.
    pub default: String,
    /// The meaning, in one line.
    pub meaning: String,
}

/// All keys of the table that `schema` describes, in their order. Keys of a nested table follow that table.
pub fn described(schema: &Value) -> Vec<Described> {
    let mut all = Vec::new();
    collect(schema, schema, "", &mut all);
    all
}

fn collect(root: &Value, table: &Value, prefix: &str, into: &mut Vec<Described>) {
    let empty = Map::new();
    let properties = table.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    for (key, property) in properties {
        let target = follow(root, property);
        let name = format!("{prefix}{key}");
        let required = table.get("required").and_then(Value::as_array);
        let is_required = required.is_some_and(|list| list.iter().any(|required| required == key));
        let default = match property.get("default") {
            Some(Value::Null) | None if is_required => "required".to_string(),
            Some(Value::Null) | None => String::new(),
            Some(value) => format!("`{}`", toml_like(value)),
        };
        let meaning = property.get("description").and_then(Value::as_str).unwrap_or_default();
        into.push(Described {
            kind: bounded(describe(root, property), property),
            default,
            meaning: plain(&(meaning.to_string() + &meanings_of_choices(root, target))),
            name: name.clone(),
        });
        collect_within(root, target, &name, into);
    }
}

/// Collects the keys of all tables that may stand at `name`.
fn collect_within(root: &Value, target: &Value, name: &str, into: &mut Vec<Described>) {
    collect(root, target, &format!("{name}."), into);
    if let Some(items) = target.get("items") {
        collect_within(root, follow(root, items), &format!("{name}[]"), into);
    }
    if let Some(entries) = target.get("additionalProperties").filter(|entries| entries.is_object()) {
        collect_within(root, follow(root, entries), &format!("{name}.NAME"), into);
    }
    for variant in alternatives(target) {
        let variant = follow(root, variant);
        let Some(kind) = variant.pointer("/properties/kind/const").and_then(Value::as_str) else {
            collect_within(root, variant, name, into);
            continue;
        };
        let mut own = variant.clone();
        own.get_mut("properties").and_then(Value::as_object_mut).map(|properties| properties.shift_remove("kind"));
        let first = into.len();
        collect(root, &own, &format!("{name}."), into);
        for key in &mut into[first..] {
            key.meaning = format!("With `kind = \"{kind}\"`: {}", key.meaning);
        }
    }
}

/// The schema that `schema` refers to: follows `$ref`, and drops "or nothing".
fn follow<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(path) = schema.get("$ref").and_then(Value::as_str) {
        return root.pointer(path.trim_start_matches('#')).map_or(schema, |target| follow(root, target));
    }
    let real = |choice: &&Value| choice.get("type").and_then(Value::as_str) != Some("null");
    match schema.get("anyOf").and_then(Value::as_array) {
        Some(choices) if choices.iter().filter(real).count() == 1 => {
            follow(root, choices.iter().find(real).expect("there is one"))
        }
        _ => schema,
    }
}

fn alternatives(schema: &Value) -> &[Value] {
    let list = schema.get("oneOf").or_else(|| schema.get("anyOf"));
    list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn describe(root: &Value, schema: &Value) -> String {
    let schema = follow(root, schema);
    let list = alternatives(schema);
    if !list.is_empty() {
        let names = list.iter().map(|choice| match choice.get("const").and_then(Value::as_str) {
            Some(name) => format!("`\"{name}\"`"),
            None => match choice.pointer("/properties/kind/const").and_then(Value::as_str) {
                Some(kind) => format!("`{{ kind = \"{kind}\", ... }}`"),
                None => describe(root, choice),
            },
        });
        let mut names: Vec<String> = names.collect();
        names.dedup();
        return names.join(" or ");
    }
    if schema.get("pattern").is_some() {
        // The schemas of esker's units describe themselves.
        return plain(schema.get("description").and_then(Value::as_str).unwrap_or("text"));
    }
    if let Some(names) = schema.get("enum").and_then(Value::as_array) {
        return names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ");
    }
    let of_type = |name: &str| match name {
        "string" => "text".to_string(),
        "integer" => "a whole number".to_string(),
        "number" => "a number".to_string(),
        "boolean" => "`true` or `false`".to_string(),
        "array" => match schema.get("items") {
            Some(items) => format!("a list: {}", describe(root, items)),
            None => "a list".to_string(),
        },
        "object" => "a table".to_string(),
        other => other.to_string(),
    };
    match schema.get("type") {
        Some(Value::String(name)) => of_type(name),
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null").map(of_type);
            names.collect::<Vec<_>>().join(" or ")
        }
        _ => "see its meaning".to_string(),
    }
}

/// What each of the names means that may stand here, or in the list here, where that is said.
fn meanings_of_choices(root: &Value, schema: &Value) -> String {
    let schema = schema.get("items").map_or(schema, |items| follow(root, items));
    let meaning = |choice: &Value| {
        let [name, meaning] = ["const", "description"].map(|key| choice.get(key)?.as_str());
        Some(format!(" `\"{}\"`: {}", name?, meaning?))
    };
    alternatives(schema).iter().filter_map(meaning).collect()
}

/// `kind` with the bounds that `property` states: numbers by `minimum` and `maximum`, quantities with a unit by
/// [`LEAST`] and [`MOST`].
fn bounded(kind: String, property: &Value) -> String {
    let of_type = match property.get("format").and_then(Value::as_str) {
        Some("uint8") => Some(u64::from(u8::MAX)),
        Some("uint16") => Some(u64::from(u16::MAX)),
        _ => None,
    };
    let number = |key| property.get(key).and_then(Value::as_u64);
    let quantity = |key| property.get(key).and_then(Value::as_str).map(|quantity| format!("`\"{quantity}\"`"));
    let least = number("minimum").filter(|least| *least > 0).map(|least| format!("{least}"));
    let most = number("maximum").filter(|most| Some(*most) != of_type).map(|most| format!("{most}"));
    match (least.or_else(|| quantity(LEAST)), most.or_else(|| quantity(MOST))) {
        (Some(least), Some(most)) => format!("{kind}, {least} to {most}"),
        (Some(least), None) => format!("{kind}, at least {least}"),
        (None, Some(most)) => format!("{kind}, at most {most}"),
        (None, None) => kind,
    }
}

/// The key of a schema that has the least value of a quantity with a unit.
pub const LEAST: &str = "least";
/// The key of a schema that has the largest value of a quantity with a unit.
pub const MOST: &str = "most";

/// A JSON value as it is written in TOML.
fn toml_like(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let entries = table.iter().map(|(key, value)| format!("{key} = {}", toml_like(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(toml_like).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// `text` on one line, without the links of API documentation. A link in parentheses is left out with them.
pub fn plain(text: &str) -> String {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    while let Some(start) = text.find(" ([`") {
        let Some(length) = text[start..].find("`])") else { break };
        text.replace_range(start..start + length + "`])".len(), "");
    }
    text.replace("[`crate::", "`").replace("[`", "`").replace("`]", "`")
}

#[cfg(test)]
mod tests {
    use schemars::{JsonSchema, SchemaGenerator};
    use serde::Serialize;

    use super::*;

    /// A table.
    #[derive(JsonSchema, Serialize)]
    #[allow(dead_code, reason = "only its schema counts")]
    struct Outer {
        /// How long
        /// it takes ([`crate::Y`]), see [`crate::X`].
        #[schemars(extend("most" = "60s"))]
        time: crate::Nanos,
        /// Which one.
        #[serde(default = "blue")]
        colour: Colour,
        inner: Option<Inner>,
        named: std::collections::BTreeMap<String, Inner>,
        shape: Shape,
    }
    #[derive(JsonSchema, Serialize)]
    #[serde(rename_all = "kebab-case")]
    #[allow(dead_code, reason = "only its schema counts")]
    enum Colour {
        /// As of old.
        Red,
        /// As
        /// the night.
        DarkBlue,
    }
    #[derive(JsonSchema, Serialize)]
    struct Inner {
        /// How many.
        #[schemars(range(min = 1, max = 9))]
        count: u32,
    }
    #[derive(JsonSchema, Serialize)]
    #[serde(tag = "kind", rename_all = "kebab-case")]
    #[allow(dead_code, reason = "only its schema counts")]
    enum Shape {
        Round {
            /// Across.
            radius: f64,
        },
    }
    #[allow(dead_code, reason = "named in an attribute")]
    fn blue() -> Colour {
        Colour::DarkBlue
    }

    #[test]
    fn tables_within_tables_and_choices_are_spelt_out() {
        let schema = SchemaGenerator::default().into_root_schema_for::<Outer>().to_value();
        let found: Vec<String> = described(&schema)
            .iter()
            .map(|key| format!("{} | {} | {} | {}", key.name, key.kind, key.default, key.meaning))
            .collect();
        assert_eq!(
            found,
            [
                "time | a time with its unit, such as \"25us\" or \"5y\", at most `\"60s\"` | required | \
                 How long it takes, see `X`.",
                "colour | `\"red\"` or `\"dark-blue\"` | `\"dark-blue\"` | Which one. \
                 `\"red\"`: As of old. `\"dark-blue\"`: As the night.",
                "inner | a table |  | ",
                "inner.count | a whole number, 1 to 9 | required | How many.",
                "named | a table | required | ",
                "named.NAME.count | a whole number, 1 to 9 | required | How many.",
                "shape | `{ kind = \"round\", ... }` | required | ",
                "shape.radius | a number | required | With `kind = \"round\"`: Across.",
            ]
        );
    }
}
