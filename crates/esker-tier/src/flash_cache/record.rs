//! The records of a flash cache.

use crate::engine::{EngineRecord, FLASH_CACHE, Record, RecordError};
use crate::extent::{LogicalExtent, PhysicalExtent};

/// A change of the map of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashCacheRecord {
    /// The cache holds all data of a line, durably. If the line is dirty, no other device has the latest data.
    Cached {
        /// The line of the volume.
        line: LogicalExtent,
        /// The slot of the flash.
        slot: PhysicalExtent,
        /// Whether the backing device may hold older data.
        dirty: bool,
    },
    /// The line has left the cache: the backing device has its latest data.
    Uncached {
        /// The line of the volume.
        line: LogicalExtent,
    },
}

impl FlashCacheRecord {
    /// Returns the line that the record describes.
    pub fn line(&self) -> LogicalExtent {
        match *self {
            Self::Cached { line, .. } | Self::Uncached { line } => line,
        }
    }
}

/// Kinds in encoded records, each with its fields.
const CACHED: u8 = 1; // line, slot, 1 if it is dirty
const UNCACHED: u8 = 2; // line

impl EngineRecord for FlashCacheRecord {
    const ENGINE: u8 = FLASH_CACHE;

    fn to_fields(self) -> (u8, [u32; 5]) {
        match self {
            Self::Cached { line, slot, dirty } => (CACHED, [line.0, slot.0, dirty.into(), 0, 0]),
            Self::Uncached { line } => (UNCACHED, [line.0, 0, 0, 0, 0]),
        }
    }

    fn from_fields(kind: u8, fields: [u32; 5]) -> Option<Self> {
        let line = LogicalExtent(fields[0]);
        match (kind, fields) {
            (CACHED, [_, slot, dirty @ 0..=1, 0, 0]) => {
                Some(Self::Cached { line, slot: PhysicalExtent(slot), dirty: dirty == 1 })
            }
            (UNCACHED, [_, 0, 0, 0, 0]) => Some(Self::Uncached { line }),
            _ => None,
        }
    }
}

impl From<FlashCacheRecord> for Record {
    fn from(record: FlashCacheRecord) -> Self {
        record.record()
    }
}

impl TryFrom<Record> for FlashCacheRecord {
    type Error = RecordError;
    fn try_from(record: Record) -> Result<Self, RecordError> {
        Self::read(record)
    }
}
