//! The `[sweep]` table: keys, and the values to try for each.

use esker_config::{Finding, Node, Span, Value, join};

/// A key to sweep.
#[derive(Clone, Debug)]
pub struct Dimension {
    pub(crate) path: Vec<String>,
    pub(crate) at: Span,
    pub(crate) values: Vec<Node>,
}

impl Dimension {
    /// The dotted key.
    pub fn key(&self) -> String {
        self.path.join(".")
    }

    /// Returns the number of its values.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Returns its values as JSON.
    pub fn values(&self) -> Vec<serde_json::Value> {
        self.values.iter().map(to_json).collect()
    }
}

/// Reads `"device.flash.ftl.kind" = ["page", "dftl"]`, quoted or not.
pub(crate) fn read_dimensions(node: &Node) -> Result<Vec<Dimension>, Finding> {
    if node.as_table().is_none() {
        return Err(Finding::new(&node.at, "sweep", format!("expected a table, found {}", node.type_name())));
    }
    let mut dimensions = Vec::new();
    collect(node, &mut Vec::new(), "sweep", &mut dimensions)?;
    // As written: the first key of the file varies slowest.
    dimensions.sort_by_key(|dimension| dimension.at.start);
    Ok(dimensions)
}

fn collect(node: &Node, path: &mut Vec<String>, shown: &str, into: &mut Vec<Dimension>) -> Result<(), Finding> {
    let Some(table) = node.as_table() else { return Ok(()) };
    for (key, entry) in table {
        let shown = join(shown, key);
        let depth = path.len();
        path.extend(key.split('.').map(str::to_string));
        match &entry.node.value {
            Value::Array(values) if values.is_empty() => {
                return Err(Finding::new(&entry.node.at, shown, "the list is empty; give at least one value"));
            }
            Value::Array(values) => {
                into.push(Dimension { path: path.clone(), at: entry.key_at.clone(), values: values.clone() });
            }
            Value::Table(_) => collect(&entry.node, path, &shown, into)?,
            _ => {
                let message = format!("expected a list of values, found {}", entry.node.type_name());
                return Err(Finding::new(&entry.node.at, shown, message));
            }
        }
        path.truncate(depth);
    }
    Ok(())
}

fn to_json(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::String(text) => text.clone().into(),
        Value::Number(text) => serde_json::from_str(text).unwrap_or_else(|_| text.clone().into()),
        Value::Boolean(value) => (*value).into(),
        Value::Datetime(value) => value.to_string().into(),
        Value::Array(items) => items.iter().map(to_json).collect(),
        Value::Table(table) => table
            .iter()
            .map(|(key, entry)| (key.clone(), to_json(&entry.node)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}
