//! Block traces: formats, characterisation, synthesis, transformation.

mod record;

pub use record::{Operation, Record, VolumeIndex};
