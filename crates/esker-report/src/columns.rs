//! Columns of numbers in the page: typed, in base64, each stored once.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

/// Index of a column in the page.
pub(crate) type ColumnIndex = usize;

/// One column as the script of the page reads it.
#[derive(Debug, Serialize)]
pub(crate) struct Column {
    /// "f64" or "f32", little-endian. NaN stands for a missing value.
    r#type: &'static str,
    data: String,
}

/// All columns of a page.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    columns: Vec<Column>,
    known: BTreeMap<(&'static str, String), ColumnIndex>,
}

impl Columns {
    /// Adds values that need all digits, such as times.
    pub(crate) fn exact(&mut self, values: &[f64]) -> ColumnIndex {
        self.add("f64", values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    /// Adds values that are only drawn, with seven digits each.
    pub(crate) fn drawn(&mut self, values: &[f64]) -> ColumnIndex {
        self.add("f32", values.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect())
    }

    fn add(&mut self, kind: &'static str, bytes: Vec<u8>) -> ColumnIndex {
        let data = STANDARD.encode(bytes);
        *self.known.entry((kind, data.clone())).or_insert_with(|| {
            self.columns.push(Column { r#type: kind, data });
            self.columns.len() - 1
        })
    }

    /// All columns, by index.
    pub(crate) fn into_vec(self) -> Vec<Column> {
        self.columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_columns_are_stored_once() {
        let mut columns = Columns::default();
        assert_eq!((columns.exact(&[1.0, 2.0]), columns.drawn(&[1.0, 2.0]), columns.exact(&[1.0, 2.0])), (0, 1, 0));
        let columns = columns.into_vec();
        assert_eq!((columns[0].data.as_str(), columns[1].data.as_str()), ("AAAAAAAA8D8AAAAAAAAAQA==", "AACAPwAAAEA="));
    }
}
