//! Block traces: formats, characterisation, synthesis, transformation.

mod calendar;
mod error;
mod format;
mod input;
mod notes;
mod pairing;
mod reader;
mod record;
mod scan;
mod sink;
mod spool;
mod spread;
mod volumes;
mod window;
mod writer;

pub use error::{InputPosition, TraceError};
#[cfg(test)]
extern crate self as esker_trace;

pub use format::{
    FORMATS, Format, FormatCapability, FormatEntry, Holds, Responses, Times, VolumeNames, format_to_write,
};
pub use notes::ReadNotes;
pub use reader::{ReadOptions, TraceReader, group_inputs};
pub use record::{Operation, Record, VolumeIndex};
pub use spool::{Spool, SpoolRecords, SpoolWriter};
pub use spread::SpreadMap;
pub use writer::{Loss, LossKind, TraceWriter, WriteNotes};

// What traces are like, and making others of them.
mod analyze;
mod anonymous;
mod dense;
mod synth;
mod transform;

pub use analyze::*;
pub use anonymous::Anonymiser;
pub use dense::DenseMap;
pub use synth::*;
pub use transform::{Filter, FilterError, FilterSettings, Filtered, OperationName};
