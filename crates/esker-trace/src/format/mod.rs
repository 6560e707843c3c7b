//! The formats: one file each, one line each in [`FORMATS`].
//!
//! # How to add a format
//!
//! One file, `format/semicolons.rs`; in the tests of this crate this one is in the registry, and passes what they ask of
//! every format:
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
use std::path::Path;

use esker_core::Nanos;
use esker_core::registry::{Capability, Entry};

use crate::Operation;
use crate::error::TraceError;
use crate::input::Input;
use crate::reader::ReadOptions;
use crate::sink::Sink;
use crate::writer::RecordWriter;

pub(crate) use recognise::{entry, recognise};

/// Every format, in the order the reference page shows them.
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

/// What a format says about time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Nothing: requests have an order only.
    None,
    /// Times since a zero of the trace's own.
    Relative,
    /// Times since 1970 (or what can be converted to that).
    Absolute,
}

/// What a format says about response times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Responses {
    /// Nothing.
    Never,
    /// Every record may have one or not.
    Optional,
    /// Every record has one; zero stands for "not known".
    ZeroIfUnknown,
    /// Every record has one, and zero is a time like others; what is not known is written as zero.
    Always,
}

/// How a format names volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeNames {
    /// Not at all: one trace is one volume.
    One,
    /// By numbers up to this one.
    Number(u32),
    /// By a host's name and a disk's number: "prxy.0".
    HostAndNumber,
    /// By a device's major and minor number: "259,2".
    MajorMinor,
    /// By any name without blanks, commas and control characters.
    Word,
    /// By any text.
    Text,
}

/// What a format has room for. A writer refuses what cannot be held, and rounds times down to the unit.
#[derive(Clone, Copy, Debug)]
pub struct Holds {
    /// Operations it knows.
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
    /// What volumes are called.
    pub volumes: VolumeNames,
}

/// Reads and writes only.
pub(crate) const READ_WRITE: &[Operation] = &[Operation::Read, Operation::Write];

impl Holds {
    /// Reads and writes of 512-byte sectors with times to the nanosecond: what most formats differ from in little.
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
    /// What such a file holds says too little: it is recognised by the ending of its name.
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

/// What a format is like, and the functions that read and write it.
#[derive(Clone, Copy)]
pub struct Format {
    /// How names of such files end, the format's own name first. Several formats may share one.
    pub endings: &'static [&'static str],
    /// The layout, field by field, with units.
    pub layout: &'static str,
    /// What reading or writing does not keep, and how doubtful cases are decided.
    pub remarks: &'static str,
    /// Whether it is binary: places are records then, not lines.
    pub binary: bool,
    /// What it says about time.
    pub times: Times,
    /// What it says about response times.
    pub responses: Responses,
    /// What it has room for.
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
    /// Whether records can have response times.
    pub fn has_responses(&self) -> bool {
        self.responses != Responses::Never
    }
    /// Whether the beginning of the file at `path`, decompressed where it is compressed, reads as this format.
    pub fn fits(&self, path: &Path) -> Result<bool, TraceError> {
        let mut input = Input::open(path)?;
        let (bytes, whole) = input.sample()?;
        Ok((self.detect)(&Sample { bytes, whole }) >= recognise::FITS)
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

/// How a format is opened.
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
    /// Whether this is all there is.
    pub(crate) whole: bool,
}

/// Reads a format, piece by piece.
pub(crate) trait RecordSource: Send {
    /// Reads the next piece into `sink`; false when that was the last.
    fn fill(&mut self, sink: &mut Sink) -> Result<bool, TraceError>;
}
