//! Turns rows into records.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_core::Nanos;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::MAGIC;
use super::columns::{self, Column, Role, Rows, Value};
use super::guard::guarded;
use crate::error::{InputPosition, TraceError};
use crate::format::lines::quote;
use crate::format::{Opened, RecordSource};
use crate::input::Input;
use crate::reader::ReadOptions;
use crate::sink::{Found, Sink};
use crate::volumes::TooMany;
use crate::{Operation, VolumeIndex};

/// Rows read at a time.
const ROWS: usize = 8192;

struct Reader {
    name: String,
    file: SerializedFileReader<File>,
    columns: Vec<Column>,
    next_group: usize,
    /// The columns of the current row group, with the rows that have not been read.
    group: Vec<Rows>,
    rows_left: u64,
    /// Bytes of the row groups before the current one, for `consumed`.
    consumed: Arc<AtomicU64>,
    bytes: u64,
}

/// Calls the decoder.
fn decode<T>(name: &str, work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, TraceError> {
    let found = match guarded(work) {
        Some(Ok(value)) => return Ok(value),
        Some(Err(error)) => error.to_string(),
        None => "data that lead the decoder astray".to_string(),
    };
    Err(damaged(name, "an undamaged Parquet file", found))
}

fn damaged(name: &str, expected: &'static str, found: String) -> TraceError {
    TraceError::Damaged { name: name.to_string(), place: InputPosition::Byte(0), expected, found }
}

pub(super) fn open(mut input: Input, _: &ReadOptions) -> Opened {
    let name = input.name().to_string();
    if !input.window().starts_with(MAGIC) {
        let found = quote(&input.window()[..input.window().len().min(MAGIC.len())]);
        return Err(damaged(&name, "PAR1", found));
    }
    let read = |source| TraceError::Read { name: name.clone(), offset: 0, source };
    let file = match input.plain_file() {
        Some(file) => file.try_clone().map_err(read)?,
        None => {
            let mut file = tempfile::tempfile().map_err(TraceError::Spool)?;
            loop {
                file.write_all(input.window()).map_err(TraceError::Spool)?;
                if !input.advance(0)? {
                    break;
                }
            }
            file
        }
    };
    let file = decode(&name, || SerializedFileReader::new(file))?;
    let columns = columns::find(file.metadata().file_metadata().schema_descr())
        .map_err(|found| damaged(&name, "a row per request with operation, offset and length", found))?;
    let consumed = input.consumed();
    Ok(Box::new(Reader { name, file, columns, next_group: 0, group: Vec::new(), rows_left: 0, consumed, bytes: 0 }))
}

impl Reader {
    /// Goes to the next row group that has rows. Returns false at the end.
    fn next_group(&mut self) -> Result<bool, TraceError> {
        let Self { name, file, columns, .. } = self;
        while self.rows_left == 0 {
            self.consumed.fetch_max(self.bytes, Ordering::Relaxed);
            if self.next_group >= file.num_row_groups() {
                return Ok(false);
            }
            let metadata = file.metadata().row_group(self.next_group);
            self.bytes += u64::try_from(metadata.compressed_size()).unwrap_or(0);
            let Ok(rows) = u64::try_from(metadata.num_rows()) else {
                return Err(damaged(name, "an undamaged Parquet file", "a negative number of rows".into()));
            };
            self.rows_left = rows;
            let index = self.next_group;
            self.group = decode(name, || {
                let group = file.get_row_group(index)?;
                let open = |column: &Column| Rows::new(column.clone(), group.get_column_reader(column.index)?);
                columns.iter().map(open).collect()
            })?;
            self.next_group += 1;
        }
        Ok(true)
    }
}

impl RecordSource for Reader {
    fn fill(&mut self, sink: &mut Sink) -> Result<bool, TraceError> {
        if self.next_group == 0 {
            sink.notes.has_times = self.columns.iter().any(|column| column.role == Role::Time);
        }
        if !self.next_group()? {
            return Ok(false);
        }
        let want = self.rows_left.min(ROWS as u64) as usize;
        let group = &mut self.group;
        let rows = decode(&self.name, || group.iter_mut().map(|rows| rows.read(want)).collect::<Result<Vec<_>, _>>())?;
        if rows.iter().any(|rows| *rows != want) {
            return Err(damaged(&self.name, "columns of equal length", format!("{rows:?} rows of {want}")));
        }
        for _ in 0..want {
            sink.place += 1;
            match row(&mut self.group, sink) {
                Ok(()) => {}
                Err(RowError::TooMany(too_many)) => return Err(sink.too_many_volumes(too_many)),
                Err(RowError::Bad(expected, found)) => {
                    // The other columns of this row have to be skipped, too.
                    sink.bad(expected, found)?;
                }
            }
        }
        self.rows_left -= want as u64;
        sink.notes.lines = sink.place;
        Ok(true)
    }
}

enum RowError {
    Bad(&'static str, String),
    TooMany(TooMany),
}

/// Takes the next value of every column, so that the columns stay in step, and makes a record of the values.
fn row(columns: &mut [Rows], sink: &mut Sink) -> Result<(), RowError> {
    let mut error = None;
    let mut bad = |expected, found: String| {
        error.get_or_insert(RowError::Bad(expected, found));
    };
    let mut found = Found {
        at: Nanos::ZERO,
        offset: 0,
        length: 0,
        volume: VolumeIndex(0),
        operation: Operation::Read,
        response: None,
    };
    let mut device = None;
    for rows in columns {
        let (role, unit) = (rows.column.role, rows.column.unit);
        let value = rows.next();
        match (role, &value) {
            (Role::Operation, Value::Text(text)) => match operation(text) {
                Some(operation) => found.operation = operation,
                None => bad("an operation: read, write, trim or flush", quote(text)),
            },
            (Role::Operation, Value::Whole(number @ 0..=3)) => {
                let operations = [Operation::Read, Operation::Write, Operation::Trim, Operation::Flush];
                found.operation = operations[*number as usize];
            }
            (Role::Operation, _) => bad("an operation from 0 (read) to 3 (flush)", shown(&value)),
            (Role::Device, Value::Whole(number)) => match sink.volumes.number(*number) {
                Ok(volume) => device = Some(volume),
                Err(too_many) => return Err(RowError::TooMany(too_many)),
            },
            (Role::Device, Value::Text(name)) => {
                match sink.volumes.key(name, |name| String::from_utf8_lossy(name).into_owned()) {
                    Ok(volume) => device = Some(volume),
                    Err(too_many) => return Err(RowError::TooMany(too_many)),
                }
            }
            (Role::Response, Value::Null) => {}
            (Role::Device, _) => bad("the name or number of a device", shown(&value)),
            _ => {
                let whole = match value {
                    Value::Whole(number) => number.checked_mul(unit),
                    Value::Real(number) => {
                        let scaled = (number * unit as f64).round();
                        (0.0..1.8e19).contains(&scaled).then_some(scaled as u64)
                    }
                    _ => None,
                };
                match (role, whole) {
                    (Role::Time, Some(nanos)) => found.at = Nanos(nanos),
                    (Role::Time, None) => bad("a time from 0 to 584 years", shown(&value)),
                    (Role::Offset, Some(bytes)) => found.offset = bytes,
                    (Role::Offset, None) => bad("an offset below 2^64 bytes", shown(&value)),
                    (Role::Length, Some(bytes)) => found.length = bytes,
                    (Role::Length, None) => bad("a length below 4 GiB", shown(&value)),
                    (Role::Response, Some(nanos)) => found.response = Some(Nanos(nanos)),
                    (_, _) => bad("a response time from 0 to 584 years", shown(&value)),
                }
            }
        }
    }
    if let Some(error) = error {
        return Err(error);
    }
    found.volume = match device {
        Some(device) => device,
        None => sink.volumes.number(0).map_err(RowError::TooMany)?,
    };
    if found.operation == Operation::Flush {
        (found.offset, found.length) = (0, 0);
    }
    let (offset, length) = (found.offset, found.length);
    sink.request(found).map_err(|expected| RowError::Bad(expected, format!("{length} bytes at byte {offset}")))
}

fn operation(text: &[u8]) -> Option<Operation> {
    const WORDS: &[(&str, Operation)] = &[
        ("read", Operation::Read),
        ("r", Operation::Read),
        ("write", Operation::Write),
        ("w", Operation::Write),
        ("trim", Operation::Trim),
        ("discard", Operation::Trim),
        ("unmap", Operation::Trim),
        ("t", Operation::Trim),
        ("d", Operation::Trim),
        ("flush", Operation::Flush),
        ("sync", Operation::Flush),
        ("f", Operation::Flush),
    ];
    WORDS.iter().find(|(word, _)| word.as_bytes().eq_ignore_ascii_case(text)).map(|(_, operation)| *operation)
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Whole(number) => number.to_string(),
        Value::Negative(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => quote(text),
    }
}
