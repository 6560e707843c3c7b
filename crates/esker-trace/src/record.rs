//! One request of a trace, in whatever format it came.

use esker_core::Nanos;

/// What a request of a trace does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Reads the range.
    Read,
    /// Writes the range.
    Write,
    /// Discards the range.
    Trim,
    /// Makes earlier writes durable; offset and length are zero.
    Flush,
}

/// Index into [`crate::TraceReader::volumes`]: volumes are numbered as they appear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VolumeIndex(pub u32);

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time of issue: since 1970-01-01 UTC if the format has absolute times, otherwise since the zero of the trace.
    /// Always zero in traces without times.
    pub at: Nanos,
    /// First byte on its volume.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
    /// The volume that the request went to.
    pub volume: VolumeIndex,
    /// What the request does.
    pub operation: Operation,
    /// How long the traced system took, if the trace has response times.
    pub response: Option<Nanos>,
}

impl Record {
    /// First byte after the request.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.offset + self.length as u64
    }
}
