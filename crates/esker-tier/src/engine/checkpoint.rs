//! Checkpoints of an engine's map.

use super::{MapRecord, RecordNumber};
use crate::extent::{BlockRange, ExtentPlace, LogicalExtent, PhysicalExtent};

/// The map at one moment. An engine is restored from a checkpoint and the records that follow it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// The last record that the checkpoint includes.
    pub through: RecordNumber,
    /// All mapped extents, by rising number.
    pub extents: Vec<(LogicalExtent, ExtentPlace)>,
    /// The written blocks of the extents that are written only in part, by rising number. An extent without an entry
    /// here is written completely.
    pub partly_written: Vec<(LogicalExtent, BlockRange)>,
    /// The lines that a flash cache holds, by rising number.
    pub cached: Vec<CachedLine>,
}

/// A line that a flash cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedLine {
    /// The line of the volume.
    pub line: LogicalExtent,
    /// The slot of the flash that holds it.
    pub slot: PhysicalExtent,
    /// Whether the backing device may hold older data.
    pub dirty: bool,
}

impl Checkpoint {
    /// Returns the map as records, for extents of `blocks` blocks.
    pub(crate) fn records(&self, blocks: u32) -> impl Iterator<Item = MapRecord> {
        let mut partly = self.partly_written.iter().copied().peekable();
        self.extents.iter().flat_map(move |&(extent, place)| {
            let mut runs = Vec::new();
            while let Some((_, run)) = partly.next_if(|(partly, _)| *partly <= extent) {
                runs.push(run);
            }
            if runs.is_empty() {
                runs.push(BlockRange { first: 0, count: blocks });
            }
            runs.into_iter().enumerate().map(move |(index, blocks)| match index {
                0 => MapRecord::Mapped { extent, place, blocks },
                _ => MapRecord::Written { extent, blocks },
            })
        })
    }
}
