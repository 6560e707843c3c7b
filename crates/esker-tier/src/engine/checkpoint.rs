//! The map of an engine at one moment.

use super::RecordNumber;
use crate::extent::{LogicalExtent, Place};

/// The map at one moment, from which (and from the records after it) an engine is restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// The last record that it covers.
    pub through: RecordNumber,
    /// All mapped extents, rising.
    pub extents: Vec<(LogicalExtent, Place)>,
}
