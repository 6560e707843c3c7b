//! Records: changes of an engine's map, as a journal and a checkpoint keep them.
//!
//! An encoded record is 24 bytes, little endian:
//!
//! | offset | length | meaning |
//! | --- | --- | --- |
//! | 0 | 1 | engine that the record belongs to: 1 placement, 2 flash cache, 3 cluster |
//! | 1 | 1 | kind of the record, defined by that engine |
//! | 2 | 1 | layer of the engine in a stack of engines that share a journal; 0 for a single engine |
//! | 3 | 1 | zero |
//! | 4 | 20 | five fields of 4 bytes, defined by the kind; unused ones are zero |
//!
//! Version and checksum are those of the batch or the piece of a checkpoint that holds the record.

use thiserror::Error;

/// The number of a record. Numbers start at 1 and have no gaps; 0 means "no record yet".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordNumber(pub u64);

/// Fields of a record.
pub const FIELDS: usize = 5;

/// A change of the map of some engine. What it means is known to that engine alone: see
/// [`PlacementRecord`](crate::PlacementRecord) and [`FlashCacheRecord`](crate::FlashCacheRecord).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub(crate) engine: u8,
    pub(crate) kind: u8,
    pub(crate) fields: [u32; FIELDS],
}

/// Why a record cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RecordError {
    /// The bytes are no record of this version.
    #[error("what should be a record begins with the bytes {0:02x?}")]
    Bytes([u8; 4]),
    /// The record belongs to another kind of engine.
    #[error("a record is one of {found}, not of {wanted}")]
    Engine {
        /// The engine that it belongs to.
        found: &'static str,
        /// The engine that reads it.
        wanted: &'static str,
    },
    /// The engine has no such record.
    #[error("{engine} has no record of kind {kind} with the fields {fields:?}")]
    Meaning {
        /// The engine.
        engine: &'static str,
        /// The kind.
        kind: u8,
        /// The fields.
        fields: [u32; FIELDS],
    },
}

impl RecordError {
    /// The error for a record whose fields mean nothing to its engine.
    pub fn meaning(record: Record) -> Self {
        let Record { engine, kind, fields } = record;
        Self::Meaning { engine: engine_name(engine), kind, fields }
    }
}

/// The records of one kind of engine.
pub trait EngineRecord: Sized {
    /// The engine's number in encoded records.
    const ENGINE: u8;

    /// Returns the record's kind and fields.
    fn to_fields(self) -> (u8, [u32; FIELDS]);

    /// Returns the record with this kind and these fields, if there is one.
    fn from_fields(kind: u8, fields: [u32; FIELDS]) -> Option<Self>;

    /// Returns the record for a journal or a checkpoint.
    fn record(self) -> Record {
        let (kind, fields) = self.to_fields();
        Record { engine: Self::ENGINE, kind, fields }
    }

    /// Reads a record of this engine.
    fn read(record: Record) -> Result<Self, RecordError> {
        let Record { engine, kind, fields } = record;
        if engine != Self::ENGINE {
            return Err(RecordError::Engine { found: engine_name(engine), wanted: engine_name(Self::ENGINE) });
        }
        Self::from_fields(kind, fields).ok_or_else(|| RecordError::meaning(record))
    }
}

/// Numbers of engines in encoded records.
pub(crate) const PLACEMENT: u8 = 1;
pub(crate) const FLASH_CACHE: u8 = 2;
/// The engine of a cluster.
pub const CLUSTER: u8 = 3;

fn engine_name(engine: u8) -> &'static str {
    match engine {
        PLACEMENT => "placement",
        FLASH_CACHE => "a flash cache",
        CLUSTER => "a cluster",
        _ => "an unknown engine",
    }
}

impl Record {
    /// Bytes of an encoded record.
    pub const ENCODED: usize = 24;

    /// Encodes the record of the engine in `layer`.
    pub fn encode(&self, layer: u8) -> [u8; Self::ENCODED] {
        let mut bytes = [0; Self::ENCODED];
        bytes[..3].copy_from_slice(&[self.engine, self.kind, layer]);
        for (field, into) in self.fields.iter().zip(bytes[4..].as_chunks_mut::<4>().0) {
            *into = field.to_le_bytes();
        }
        bytes
    }

    /// Reads a record. Returns it with the layer of its engine.
    ///
    /// # Errors
    /// If these bytes are no record. What its fields mean is checked by the engine.
    pub fn decode(bytes: &[u8; Self::ENCODED]) -> Result<(u8, Self), RecordError> {
        let [engine, kind, layer, zero] = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if engine == 0 || zero != 0 {
            return Err(RecordError::Bytes([engine, kind, layer, zero]));
        }
        let words = bytes[4..].as_chunks::<4>().0;
        Ok((layer, Self { engine, kind, fields: std::array::from_fn(|field| u32::from_le_bytes(words[field])) }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::extent::{BlockRange, DeviceIndex, ExtentPlace, LogicalExtent, PhysicalExtent};
    use crate::{FlashCacheRecord, PlacementRecord};

    /// Bytes of records as they are on disks: they must never change their meaning.
    #[test]
    fn golden_records_are_read_as_ever() {
        let place = ExtentPlace { device: DeviceIndex(2), extent: PhysicalExtent(0x0102_0304) };
        let (extent, blocks) = (LogicalExtent(7), BlockRange { first: 3, count: 29 });
        let golden: [(Record, &str); 7] = [
            (PlacementRecord::Mapped { extent, place, blocks }.into(), MAPPED),
            (PlacementRecord::Written { extent, blocks }.into(), WRITTEN),
            (PlacementRecord::Moved { extent, place }.into(), MOVED),
            (PlacementRecord::Freed { extent }.into(), FREED),
            (PlacementRecord::Scattered { extent, first: 3, blocks: [5, 1 << 31, 0] }.into(), SCATTERED),
            (FlashCacheRecord::Cached { line: LogicalExtent(9), slot: PhysicalExtent(5), dirty: true }.into(), CACHED),
            (FlashCacheRecord::Uncached { line: LogicalExtent(9) }.into(), UNCACHED),
        ];
        for (record, hex) in golden {
            let bytes = record.encode(1);
            let written: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(written, hex, "{record:?}");
            assert_eq!(Record::decode(&bytes), Ok((1, record)));
        }
    }

    const MAPPED: &str = "01010100070000000200000004030201030000001d000000";
    const WRITTEN: &str = "0102010007000000030000001d0000000000000000000000";
    const MOVED: &str = "010301000700000002000000040302010000000000000000";
    const FREED: &str = "010401000700000000000000000000000000000000000000";
    const SCATTERED: &str = "010501000700000003000000050000000000008000000000";
    const CACHED: &str = "020101000900000005000000010000000000000000000000";
    const UNCACHED: &str = "020201000900000000000000000000000000000000000000";

    #[test]
    fn what_is_no_record_and_records_of_other_engines_are_refused() {
        let record: Record = FlashCacheRecord::Uncached { line: LogicalExtent(9) }.into();
        let mut bytes = record.encode(0);
        bytes[3] = 2;
        let error = Record::decode(&bytes).unwrap_err();
        assert_eq!(error.to_string(), "what should be a record begins with the bytes [02, 02, 00, 02]");
        assert!(Record::decode(&[0; Record::ENCODED]).is_err(), "zeroes are no record");
        let error = PlacementRecord::try_from(record).unwrap_err();
        assert_eq!(error.to_string(), "a record is one of a flash cache, not of placement");
        let unknown = Record { kind: 77, ..record };
        assert!(matches!(FlashCacheRecord::try_from(unknown), Err(RecordError::Meaning { kind: 77, .. })));
        let left_over = Record { fields: [9, 0, 0, 0, 1], ..record };
        assert!(FlashCacheRecord::try_from(left_over).is_err(), "unused fields are zero");
    }

    proptest! {
        /// Whatever fields a record has, it is read or refused, and what is read is written in the same way.
        #[test]
        fn any_fields_are_read_or_refused(fields in prop::array::uniform5(0u32..4), engine in 1u8..4, kind in 0u8..8) {
            let record = Record { engine, kind, fields };
            prop_assert_eq!(Record::decode(&record.encode(3)), Ok((3, record)));
            if let Ok(read) = PlacementRecord::try_from(record) {
                prop_assert_eq!(Record::from(read), record);
            }
            if let Ok(read) = FlashCacheRecord::try_from(record) {
                prop_assert_eq!(Record::from(read), record);
            }
        }
    }
}
