//! Checkpoints of an engine's map.

use super::RecordNumber;
use crate::extent::{ExtentPlace, LogicalExtent};

/// The map at one moment. An engine is restored from it and the records after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// The last record that is included.
    pub through: RecordNumber,
    /// All mapped extents, in rising order.
    pub extents: Vec<(LogicalExtent, ExtentPlace)>,
}
