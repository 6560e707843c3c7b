//! The table of a calibration: a line for each case, with what was counted.

use thiserror::Error;

use super::{CalibrationCase, CalibrationPart, cases};

/// What was counted in a case.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibrationRow {
    /// The case.
    pub case: CalibrationCase,
    /// Pages of flash without the blocks that cleaning keeps free.
    pub usable_pages: u64,
    /// Pages that hold data.
    pub data_pages: u64,
    /// Pages that the host wrote while erases were counted.
    pub host_pages: u64,
    /// Blocks that were erased.
    pub erases: u64,
}

/// Why a table cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CalibrationTableError {
    /// It has other columns.
    #[error("line 1: its columns are not {HEADER}")]
    Columns,
    /// A line is broken, or of no case.
    #[error("line {0}: this is no row of a calibration")]
    Line(usize),
}

const HEADER: &str = "part,preset,victim,pages_per_block,blocks,utilisation,load,write_pages,overlapping,usable_pages,\
                      data_pages,host_pages,erases";

/// Returns true if a text begins like a table of a calibration.
pub fn is_calibration_table(text: &str) -> bool {
    text.lines().next() == Some(HEADER)
}

/// Writes rows as comma-separated values.
pub fn write_rows(rows: &[CalibrationRow]) -> String {
    let mut text = format!("{HEADER}\n");
    for row in rows {
        let CalibrationRow { case, usable_pages, data_pages, host_pages, erases } = row;
        text += &format!("{},{usable_pages},{data_pages},{host_pages},{erases}\n", columns(case));
    }
    text
}

/// What tells a case from others.
fn columns(case: &CalibrationCase) -> String {
    let part = match case.part {
        CalibrationPart::Training => "training",
        CalibrationPart::Unseen => "unseen",
    };
    let CalibrationCase { preset, victim, pages_per_block, blocks, utilisation, load, .. } = case;
    let CalibrationCase { write_pages, overlapping, .. } = case;
    format!("{part},{preset},{victim},{pages_per_block},{blocks},{utilisation},{load},{write_pages},{overlapping}")
}

/// Reads a table. Each line is of one of [`cases`].
pub fn read_rows(text: &str) -> Result<Vec<CalibrationRow>, CalibrationTableError> {
    if !is_calibration_table(text) {
        return Err(CalibrationTableError::Columns);
    }
    let known: Vec<(String, CalibrationCase)> = cases().into_iter().map(|case| (columns(&case), case)).collect();
    let rows = text.lines().enumerate().skip(1);
    rows.map(|(at, line)| row_of(line, &known).ok_or(CalibrationTableError::Line(at + 1))).collect()
}

fn row_of(line: &str, known: &[(String, CalibrationCase)]) -> Option<CalibrationRow> {
    let (key, case) = known.iter().find(|(key, _)| line.starts_with(key.as_str()))?;
    let counts = line[key.len()..].strip_prefix(',')?.split(',').map(|count| count.parse::<u64>().ok());
    let counts: [u64; 4] = counts.collect::<Option<Vec<_>>>()?.try_into().ok()?;
    let [usable_pages, data_pages, host_pages, erases] = counts;
    Some(CalibrationRow { case: case.clone(), usable_pages, data_pages, host_pages, erases })
}
