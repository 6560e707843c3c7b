//! Tables of plain text, and numbers, for terminals.

/// Columns of text: numbers are right-aligned, the first column is left-aligned.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column heads.
    pub(crate) fn new(heads: &[&str]) -> Self {
        Self { rows: vec![heads.iter().map(ToString::to_string).collect()] }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The table as text.
    pub(crate) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        // Columns of numbers are right-aligned, including their heads.
        let numeric =
            |cell: &String| cell.is_empty() || cell.starts_with(|c: char| c.is_ascii_digit() || "-<>".contains(c));
        let right: Vec<bool> = (0..columns)
            .map(|column| column > 0 && self.rows.iter().skip(1).filter_map(|row| row.get(column)).all(numeric))
            .collect();
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (column, width) in widths.iter().enumerate() {
                let cell = row.get(column).map_or("", String::as_str);
                let padding = " ".repeat(width - cell.chars().count());
                let gap = if column == 0 { "" } else { "  " };
                if right[column] {
                    line.push_str(&format!("{gap}{padding}{cell}"));
                } else {
                    line.push_str(&format!("{gap}{cell}{padding}"));
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
            if index == 0 {
                text.push_str(&widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().join("  "));
                text.push('\n');
            }
        }
        text
    }
}

/// A share as percent with one decimal: "45.2 %".
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right_and_names_to_the_left() {
        let mut table = Table::new(&["name", "count"]);
        table.row(["a", "1"]);
        table.row(["longer", "12 345"]);
        assert_eq!(table.render(), "name     count\n------  ------\na            1\nlonger  12 345\n");
    }
}
