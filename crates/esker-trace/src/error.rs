//! Errors between a file and its records.

use std::io;

use esker_core::registry::{self, NotFound};
use esker_core::{Hint, Nanos};
use thiserror::Error;

use crate::format::{FORMATS, FormatCapability};

/// Why a trace could not be read or written. Every variant names the input, the position, what was expected and what
/// was found.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file could not be opened.
    #[error("{name}: cannot be opened: {source}")]
    Open {
        /// The input.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// Reading failed before the end.
    #[error("{name}: reading failed after {offset} bytes: {source}")]
    Read {
        /// The input.
        name: String,
        /// Bytes read before.
        offset: u64,
        /// The error of the system.
        source: io::Error,
    },
    /// Compressed input is damaged or ends too early.
    #[error(
        "{name}: the {compression} data are damaged or cut off near byte {offset} ({decompressed} bytes decompressed): {source}"
    )]
    Compressed {
        /// The input.
        name: String,
        /// "zstd", "gzip" or "xz".
        compression: &'static str,
        /// Compressed bytes read before.
        offset: u64,
        /// Decompressed bytes before.
        decompressed: u64,
        /// The error of the decompressor.
        source: io::Error,
    },
    /// The input is a container that esker does not open.
    #[error("{name}: expected a trace, found {found}")]
    Container {
        /// The input.
        name: String,
        /// The kind of container.
        found: &'static str,
        /// How the user can get the trace out of it.
        remedy: &'static str,
    },
    /// The input is empty.
    #[error("{name}: is empty")]
    Empty {
        /// The input.
        name: String,
    },
    /// No format recognises the input.
    #[error("{name}: expected a block trace in a format that esker knows, found {found}")]
    Unrecognised {
        /// The input.
        name: String,
        /// What it looks like.
        found: String,
        /// The format that fits best.
        nearest: Option<&'static str>,
    },
    /// Several formats fit equally well.
    #[error("{name}: could be any of {}", candidates.join(", "))]
    Ambiguous {
        /// The input.
        name: String,
        /// The formats that fit.
        candidates: Vec<&'static str>,
    },
    /// No format has this name.
    #[error(transparent)]
    NoSuchFormat(NotFound),
    /// A line or record does not follow its format.
    #[error("{name}:{place}: expected {expected}, found {found}")]
    Field {
        /// The input.
        name: String,
        /// Line (text) or record (binary), counted from 1.
        place: InputPosition,
        /// What the format expects there.
        expected: &'static str,
        /// What was found there.
        found: String,
    },
    /// The input as a whole does not follow its format: no line or record of it could be skipped.
    #[error("{name}:{place}: expected {expected}, found {found}")]
    Damaged {
        /// The input.
        name: String,
        /// Line, record or byte.
        place: InputPosition,
        /// What the format expects there.
        expected: &'static str,
        /// What was found there.
        found: String,
    },
    /// There are completions, but no requests.
    #[error("{name}: has no requests, only {completions} completions")]
    OnlyCompletions {
        /// The input.
        name: String,
        /// The number of completions.
        completions: u64,
    },
    /// There are more bad lines than were tolerated.
    #[error("{name}: more than {limit} bad lines; the first: {first}; the last: {last}")]
    TooManyBadLines {
        /// The input.
        name: String,
        /// How many were tolerated.
        limit: u64,
        /// The message for the first one.
        first: String,
        /// The message for the last one, which was one too many.
        last: String,
    },
    /// Time goes back further than the reorder window allows.
    #[error(
        "{name}:{place}: time goes back by {back}, to {at}; only steps back within {window} and {records} records are sorted"
    )]
    Unordered {
        /// The input.
        name: String,
        /// Line or record.
        place: InputPosition,
        /// Size of the step back.
        back: Nanos,
        /// The time after the step.
        at: Nanos,
        /// The longest step back that is sorted.
        window: Nanos,
        /// The largest number of records over which a step back is sorted.
        records: usize,
    },
    /// There are more volumes than any trace has.
    #[error("{name}:{place}: expected at most {limit} different volumes, found one more")]
    TooManyVolumes {
        /// The input.
        name: String,
        /// Line or record.
        place: InputPosition,
        /// The limit.
        limit: usize,
    },
    /// Several files were given as one trace, but traces of the format have one file.
    #[error("{name}: is `{format}`, which cannot be merged with other files into one trace")]
    NotMergeable {
        /// The second input.
        name: String,
        /// Its format.
        format: &'static str,
    },
    /// The format can be read but not written.
    #[error("format `{format}` can be read but not written")]
    NotWritable {
        /// The format.
        format: &'static str,
    },
    /// A record has a value that the format cannot hold.
    #[error("{}record {number}: format `{format}` cannot hold {what}", in_trace(name))]
    CannotHold {
        /// The format.
        format: &'static str,
        /// The trace of the record, if it comes from one.
        name: Option<String>,
        /// The number of the record, from 1: in that trace, or among the records written.
        number: u64,
        /// What the format cannot hold.
        what: String,
        /// How to avoid the error.
        remedy: String,
    },
    /// Writing failed.
    #[error("writing the trace failed: {0}")]
    Write(#[source] io::Error),
    /// The temporary file of a spool failed.
    #[error("the spool's temporary file failed: {0}")]
    Spool(#[source] io::Error),
}

impl TraceError {
    /// Adds the name of the trace and the number of the record, from 1, if a record could not be written. Other errors
    /// stay the same.
    pub fn in_record(mut self, trace: &str, record: u64) -> Self {
        if let Self::CannotHold { name, number, .. } = &mut self {
            (*name, *number) = (Some(trace.to_string()), record);
        }
        self
    }
}

/// The name of the trace in front of a message, if there is one.
fn in_trace(name: &Option<String>) -> String {
    name.as_ref().map_or(String::new(), |name| format!("{name}: "))
}

/// How to read a trace whose time goes back by `back`, if `window` and `records` were allowed.
fn sorting_hint(back: Nanos, window: Nanos, records: usize) -> String {
    const WINDOWS: [u64; 4] = [5, 30, 300, 3600];
    const RECORDS_MAX: usize = 16 << 20;
    const SORT: &str =
        "sort the trace by time; if it is several recordings in one file, split it and give each by itself";
    if back <= window {
        let more = records.saturating_mul(16).max(65_536);
        return match more <= RECORDS_MAX {
            true => format!("--reorder-records {more} lets a late record pass so many others; else {SORT}"),
            false => SORT.into(),
        };
    }
    match WINDOWS.iter().find(|seconds| back <= Nanos::from_secs(**seconds)) {
        Some(seconds) => format!("--reorder {seconds}s puts records that are so late into their place; else {SORT}"),
        None => SORT.into(),
    }
}

/// A position in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputPosition {
    /// Line number, from 1.
    Line(u64),
    /// Record number, from 1.
    Record(u64),
    /// Byte offset after decompression.
    Byte(u64),
}

impl std::fmt::Display for InputPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => write!(f, "{line}"),
            Self::Record(record) => write!(f, "record {record}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
        }
    }
}

impl Hint for TraceError {
    fn hint(&self) -> Option<String> {
        let names = || registry::names(FORMATS).collect::<Vec<_>>().join(", ");
        match self {
            Self::Open { name, source } if source.kind() == io::ErrorKind::IsADirectory => {
                Some(format!("name the traces in it, such as {}/*", name.trim_end_matches('/')))
            }
            Self::Open { .. } | Self::Read { .. } | Self::Write(_) | Self::Spool(_) => None,
            Self::Compressed { .. } => {
                Some("fetch or compress the file again; what could be decompressed is not enough for a result".into())
            }
            Self::Container { remedy, .. } => Some((*remedy).into()),
            Self::CannotHold { remedy, .. } => Some(remedy.clone()),
            Self::Empty { .. } => Some("check that the download or recording has finished".into()),
            Self::Unrecognised { name, found, .. } if found.starts_with("TOML") => Some(format!(
                "`esker sim {name}` runs an experiment; --catalogue {name} adds the products of a catalogue"
            )),
            Self::Unrecognised { name, found, .. } if found.starts_with("JSON") => {
                Some(format!("`esker report {name}` draws the page of a study or a run again"))
            }
            Self::Unrecognised { nearest, .. } => {
                let nearest = nearest.map_or(String::new(), |name| format!("; the nearest is `{name}`"));
                Some(format!("formats: {}{nearest}; --format NAME forces one", names()))
            }
            Self::Ambiguous { candidates, .. } => Some(format!("say which with --format {}", candidates.join("|"))),
            Self::NoSuchFormat(not_found) => not_found.hint(),
            Self::Field { .. } => Some("--lenient N skips and counts up to N bad lines".into()),
            Self::TooManyBadLines { .. } => {
                Some("if the lines look sound, the format may be another: force it with --format NAME".into())
            }
            Self::Damaged { .. } => Some(
                "this is no bad line or record that could be skipped: check the file, or force another format with \
                 --format NAME"
                    .into(),
            ),
            Self::OnlyCompletions { .. } => {
                Some("record what is queued or issued, too: blktrace -a queue -a issue -a complete".into())
            }
            Self::Unordered { back, window, records, .. } => Some(sorting_hint(*back, *window, *records)),
            Self::TooManyVolumes { .. } => Some("the format may be another: force it with --format NAME".into()),
            Self::NotMergeable { .. } => {
                Some("only the per-CPU files of one blktrace recording belong together".into())
            }
            Self::NotWritable { .. } => Some(format!(
                "these can be written: {}",
                registry::names_with(FORMATS, FormatCapability::Write).collect::<Vec<_>>().join(", ")
            )),
        }
    }

    fn work_failed(&self) -> bool {
        matches!(self, Self::Write(_) | Self::Spool(_))
    }
}
