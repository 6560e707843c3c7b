//! The trace formats: one file each, and one line each in [`FORMATS`].
//!
//! # How to add a format
//!
//! Write one file, such as `format/semicolons.rs`. This example is in the registry of this crate's tests, and passes
//! what they ask of every format:
//!
#![doc = "```ignore"]
#![doc = include_str!("worked_example.rs")]
#![doc = "```"]
//!
//! and two lines here: `mod semicolons;`, and `semicolons::ENTRY` in [`FORMATS`].

mod alibaba;
mod arc;
mod blkparse;
mod blktrace;
mod diskmon;
mod disksim;
pub(crate) mod disksim_validate;
mod esker;
mod fio;
mod fixed;
mod lines;
mod msr;
mod nbdkit;
mod oracle_general;
mod page_numbers;
mod parquet;
mod recognise;
mod spc;
mod srt;
mod ssdsim;
mod systor;
mod tencent;
#[cfg(test)]
mod tests;
mod vscsi;
mod wiscsee;
#[cfg(test)]
mod worked_example;

use std::fmt;

use esker_core::Nanos;
use esker_core::registry::{Capability, Entry};

use crate::Operation;
use crate::error::TraceError;
use crate::input::Input;
use crate::reader::ReadOptions;
use crate::sink::Sink;
use crate::writer::RecordWriter;

pub(crate) use recognise::{entry, is_disksim_validation, recognise};

/// Every format, in the order of the reference page.
pub static FORMATS: &[FormatEntry] = &[
    spc::ENTRY,
    msr::ENTRY,
    systor::ENTRY,
    alibaba::ENTRY,
    tencent::ENTRY,
    blkparse::ENTRY,
    blktrace::ENTRY,
    wiscsee::ENTRY,
    fio::V3,
    fio::V2,
    disksim::ENTRY,
    ssdsim::ENTRY,
    diskmon::ENTRY,
    srt::ENTRY,
    vscsi::V1,
    vscsi::V2,
    nbdkit::ENTRY,
    arc::ENTRY,
    oracle_general::ENTRY,
    page_numbers::U32,
    page_numbers::U64,
    parquet::ENTRY,
    esker::ENTRY,
    #[cfg(test)]
    worked_example::ENTRY,
];

/// How a format represents time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// No times: requests only have an order.
    None,
    /// Times since a zero of the trace.
    Relative,
    /// Times since 1970, or times that can be converted to that.
    Absolute,
}

/// Times from here on, in March 1973, count from 1970. Earlier ones count from a zero of their own, which a trace keeps
/// when it is written in a format with absolute times.
pub(crate) const ABSOLUTE_FROM: Nanos = Nanos::from_secs(100_000_000);

/// How a format represents response times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Responses {
    /// No response times.
    Never,
    /// A record may or may not have one.
    Optional,
    /// Every record has one; zero means "not known".
    ZeroIfUnknown,
    /// Every record has one, and zero is an ordinary value. An unknown response time is written as zero.
    Always,
}

/// How a format names volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeNames {
    /// No names: one trace is one volume.
    One,
    /// By number, up to this one.
    Number(u32),
    /// By host name and disk number: "prxy.0".
    HostAndNumber,
    /// By major and minor device number: "259,2".
    MajorMinor,
    /// By any name without blanks and control characters: for names between blanks.
    Word,
    /// By any text.
    Text,
}

/// The values that a format can hold. A writer refuses records with other values, and rounds times down to the unit.
#[derive(Clone, Copy, Debug)]
pub struct Holds {
    /// The operations that it knows.
    pub operations: &'static [Operation],
    /// Offsets are whole multiples of this many bytes.
    pub offset_unit: u32,
    /// Lengths are whole multiples of this many bytes.
    pub length_unit: u32,
    /// The largest length in bytes.
    pub length_max: u32,
    /// The largest end of a request in bytes.
    pub end_max: u64,
    /// Times are whole multiples of this.
    pub time_unit: Nanos,
    /// Response times are whole multiples of this.
    pub response_unit: Nanos,
    /// The largest response time.
    pub response_max: Nanos,
    /// The largest time.
    pub time_max: Nanos,
    /// How volumes are named.
    pub volumes: VolumeNames,
}

/// Reads and writes only.
pub(crate) const READ_WRITE: &[Operation] = &[Operation::Read, Operation::Write];

impl Holds {
    /// Reads and writes of 512-byte sectors with times in nanoseconds. Most formats differ little from this.
    pub(crate) const SECTORS: Self = Self {
        operations: READ_WRITE,
        offset_unit: 512,
        length_unit: 512,
        length_max: u32::MAX,
        end_max: u64::MAX,
        time_unit: Nanos(1),
        response_unit: Nanos(1),
        response_max: Nanos(u64::MAX),
        time_max: Nanos(u64::MAX),
        volumes: VolumeNames::Number(u32::MAX),
    };
}

/// One format of the registry.
pub type FormatEntry = Entry<Format, FormatCapability>;

/// What can be done with some formats only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatCapability {
    /// Traces can be written in it.
    Write,
    /// The content of such a file is too weak evidence: the format is recognised by the ending of the file name.
    KnownByEnding,
}

impl Capability for FormatCapability {
    const ALL: &'static [Self] = &[Self::Write, Self::KnownByEnding];

    fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::KnownByEnding => "known-by-ending",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Write => "esker writes traces in it, too",
            Self::KnownByEnding => {
                "such a file is recognised by the ending of its name, since its content says too little"
            }
        }
    }
}

/// Properties of a format, and the functions that read and write it.
#[derive(Clone, Copy)]
pub struct Format {
    /// How the names of such files end, the format's own name first. Several formats may share an ending.
    pub endings: &'static [&'static str],
    /// The layout, field by field, with units.
    pub layout: &'static str,
    /// What is lost in reading or writing, and how doubtful cases are decided.
    pub remarks: &'static str,
    /// Whether the format is binary: then positions are records, not lines.
    pub binary: bool,
    /// How it represents time.
    pub times: Times,
    /// How it represents response times.
    pub responses: Responses,
    /// The values that it can hold.
    pub holds: Holds,
    /// How well the beginning of an input fits, from 0 (not at all) to 100.
    pub(crate) detect: fn(&Sample<'_>) -> u8,
    pub(crate) open: Open,
    pub(crate) write: Option<fn() -> Box<dyn RecordWriter>>,
}

impl Format {
    /// Whether records have times.
    pub fn has_times(&self) -> bool {
        self.times != Times::None
    }
    /// Whether the times of a trace that begins at `first` tell when it was recorded.
    pub fn are_absolute(&self, first: Nanos) -> bool {
        self.times == Times::Absolute && first >= ABSOLUTE_FROM
    }
    /// Whether records can have response times.
    pub fn has_responses(&self) -> bool {
        self.responses != Responses::Never
    }
}

/// The format called `name`, if it can be written.
pub fn format_to_write(name: &str) -> Result<&'static FormatEntry, TraceError> {
    let format = entry(name)?;
    if format.can(FormatCapability::Write) { Ok(format) } else { Err(TraceError::NotWritable { format: format.name }) }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Format").field("endings", &self.endings).finish_non_exhaustive()
    }
}

/// A format that has been opened.
pub(crate) type Opened = Result<Box<dyn RecordSource>, TraceError>;

/// The function that opens a format.
#[derive(Clone, Copy)]
pub(crate) enum Open {
    /// One input is one trace.
    One(fn(Input, &ReadOptions) -> Opened),
    /// One or more inputs are one trace.
    Several(fn(Vec<Input>, &ReadOptions) -> Opened),
}

/// The beginning of an input, decompressed.
pub(crate) struct Sample<'a> {
    pub(crate) bytes: &'a [u8],
    /// Whether the sample is the whole input.
    pub(crate) whole: bool,
}

/// Reads an input of some format, piece by piece.
pub(crate) trait RecordSource: Send {
    /// Reads the next piece into `sink`. Returns false at the end of the input.
    fn fill(&mut self, sink: &mut Sink) -> Result<bool, TraceError>;
}
