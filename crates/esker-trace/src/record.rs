//! One request of a trace, whatever format it came in.

use esker_core::Nanos;

/// What a trace record asked for.
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
    /// When it was issued: since 1970-01-01 UTC where the format has absolute times, else since the trace's own zero.
    /// Zero throughout in traces without times.
    pub at: Nanos,
    /// First byte on its volume.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
    /// The volume it went to.
    pub volume: VolumeIndex,
    /// What it asked for.
    pub operation: Operation,
    /// How long the traced system took, where the trace says so.
    pub response: Option<Nanos>,
}

impl Record {
    /// First byte after the request.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.offset + self.length as u64
    }
}
