//! Tables of runs as comma-separated values: what a model was trained on, kept beside it.

use thiserror::Error;

use crate::run::{COLUMNS, Characteristics, Measured, Run};

/// Why a table of runs cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TableError {
    /// It has other columns.
    #[error("line 1: this is no table of runs: its columns are not {}", header().join(","))]
    Columns,
    /// A line is broken.
    #[error("line {line}: {message}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
}

fn header() -> Vec<&'static str> {
    std::iter::once("name").chain(COLUMNS.iter().map(|column| column.name)).collect()
}

/// Returns true if a text begins like a table of runs.
pub fn is_table(text: &str) -> bool {
    text.lines().next() == Some(&header().join(","))
}

/// Reads a table of runs.
pub fn read_table(text: &str) -> Result<Vec<Run>, TableError> {
    if !is_table(text) {
        return Err(TableError::Columns);
    }
    let mut runs = Vec::new();
    for (index, record) in csv::Reader::from_reader(text.as_bytes()).records().enumerate() {
        let wrong = |message: String| TableError::Line { line: index + 2, message };
        let record = record.map_err(|error| wrong(error.to_string()))?;
        let (characteristics, measured) = (Characteristics::default(), Measured::default());
        let mut run = Run { name: record[0].to_string(), characteristics, measured };
        for (column, text) in COLUMNS.iter().zip(record.iter().skip(1)) {
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
            let value = value.ok_or_else(|| wrong(format!("`{text}` is no {}", column.name)))?;
            (column.set)(&mut run, value);
        }
        runs.push(run);
    }
    Ok(runs)
}

/// Writes a table of runs.
pub fn write_table(runs: &[Run]) -> String {
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(header()).expect("memory takes everything");
    for run in runs {
        let values = COLUMNS.iter().map(|column| (column.of)(run).to_string());
        table.write_record(std::iter::once(run.name.clone()).chain(values)).expect("memory takes everything");
    }
    String::from_utf8(table.into_inner().expect("memory takes everything")).expect("names and numbers are text")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        let characteristics = Characteristics { requests_per_s: 1e-7, fullness: 0.7, ..Characteristics::default() };
        Run {
            name: "a, \"b\"".into(),
            characteristics,
            measured: Measured { response_us: 123.456, ..Measured::default() },
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let runs = [run(), Run { name: "c".into(), ..run() }];
        assert_eq!(read_table(&write_table(&runs)).unwrap(), runs);
    }

    #[test]
    fn broken_tables_say_where() {
        let text = write_table(&[run(), run()]);
        assert_eq!(read_table("a,b\n1,2\n"), Err(TableError::Columns));
        let error = read_table(&text.replacen("123.456", "x", 2)).unwrap_err().to_string();
        assert_eq!(error, "line 2: `x` is no response_us");
        let last = text.trim_end().rsplit_once(',').unwrap().0;
        assert!(read_table(last).unwrap_err().to_string().starts_with("line 3: "));
        assert!(read_table(&text.replacen("0.7", "inf", 1)).unwrap_err().to_string().ends_with("no fullness"));
    }
}
