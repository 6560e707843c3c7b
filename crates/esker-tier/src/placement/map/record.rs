//! The records of placement.

use crate::engine::{EngineRecord, PLACEMENT, Record, RecordError};
use crate::extent::{BlockRange, DeviceIndex, ExtentPlace, LogicalExtent, PhysicalExtent};

/// A change of the map of extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementRecord {
    /// The extent has its data at `place`. An extent without any record reads as zeroes.
    Mapped {
        /// The extent.
        extent: LogicalExtent,
        /// Where its data are.
        place: ExtentPlace,
        /// The blocks that have been written there. All other blocks read as zeroes.
        blocks: BlockRange,
    },
    /// More blocks of a mapped extent have been written.
    Written {
        /// The extent.
        extent: LogicalExtent,
        /// The blocks.
        blocks: BlockRange,
    },
    /// More blocks of a mapped extent have been written, with gaps between them. A checkpoint has this in place of
    /// many [`Self::Written`].
    Scattered {
        /// The extent.
        extent: LogicalExtent,
        /// The block that the lowest bit of the first word stands for.
        first: u32,
        /// A bit for each block, which is set if the block has been written.
        blocks: [u32; 3],
    },
    /// The data of the extent are now at `place`, with the same written blocks. The former place is free.
    Moved {
        /// The extent.
        extent: LogicalExtent,
        /// Where its data are now.
        place: ExtentPlace,
    },
    /// The extent has no data and reads as zeroes. Its former place is free.
    Freed {
        /// The extent.
        extent: LogicalExtent,
    },
}

impl PlacementRecord {
    /// Returns the extent that the record describes.
    pub fn extent(&self) -> LogicalExtent {
        match *self {
            Self::Mapped { extent, .. }
            | Self::Written { extent, .. }
            | Self::Scattered { extent, .. }
            | Self::Moved { extent, .. }
            | Self::Freed { extent } => extent,
        }
    }
}

/// Kinds in encoded records, each with its fields.
const MAPPED: u8 = 1; // extent, device, extent there, first block, number of blocks
const WRITTEN: u8 = 2; // extent, first block, number of blocks
const MOVED: u8 = 3; // extent, device, extent there
const FREED: u8 = 4; // extent
const SCATTERED: u8 = 5; // extent, first block, three words of bits

impl EngineRecord for PlacementRecord {
    const ENGINE: u8 = PLACEMENT;

    fn to_fields(self) -> (u8, [u32; 5]) {
        let LogicalExtent(extent) = self.extent();
        match self {
            Self::Mapped { place, blocks, .. } => {
                (MAPPED, [extent, place.device.0.into(), place.extent.0, blocks.first, blocks.count])
            }
            Self::Written { blocks, .. } => (WRITTEN, [extent, blocks.first, blocks.count, 0, 0]),
            Self::Moved { place, .. } => (MOVED, [extent, place.device.0.into(), place.extent.0, 0, 0]),
            Self::Scattered { first, blocks: [a, b, c], .. } => (SCATTERED, [extent, first, a, b, c]),
            Self::Freed { .. } => (FREED, [extent, 0, 0, 0, 0]),
        }
    }

    fn from_fields(kind: u8, fields: [u32; 5]) -> Option<Self> {
        let extent = LogicalExtent(fields[0]);
        let place = |device: u32, extent: u32| {
            Some(ExtentPlace { device: DeviceIndex(u16::try_from(device).ok()?), extent: PhysicalExtent(extent) })
        };
        Some(match (kind, fields) {
            (MAPPED, [_, device, at, first, count]) => {
                Self::Mapped { extent, place: place(device, at)?, blocks: BlockRange { first, count } }
            }
            (WRITTEN, [_, first, count, 0, 0]) => Self::Written { extent, blocks: BlockRange { first, count } },
            (MOVED, [_, device, at, 0, 0]) => Self::Moved { extent, place: place(device, at)? },
            (FREED, [_, 0, 0, 0, 0]) => Self::Freed { extent },
            (SCATTERED, [_, first, a, b, c]) => Self::Scattered { extent, first, blocks: [a, b, c] },
            _ => return None,
        })
    }
}

impl From<PlacementRecord> for Record {
    fn from(record: PlacementRecord) -> Self {
        record.record()
    }
}

impl TryFrom<Record> for PlacementRecord {
    type Error = RecordError;
    fn try_from(record: Record) -> Result<Self, RecordError> {
        Self::read(record)
    }
}
