//! Records: changes of an engine's map, as a journal and a checkpoint keep them.
//!
//! An encoded record is 32 bytes, little endian:
//!
//! | offset | length | meaning |
//! | --- | --- | --- |
//! | 0 | 1 | version of the encoding: 1 |
//! | 1 | 1 | engine that the record belongs to: 1 placement, 2 flash cache |
//! | 2 | 1 | kind of the record, defined by that engine |
//! | 3 | 1 | layer of the engine in a stack of engines that share a journal; 0 for a single engine |
//! | 4 | 20 | five fields of 4 bytes, defined by the kind; unused ones are zero |
//! | 24 | 4 | zero |
//! | 28 | 4 | CRC-32C of the record's number (8 bytes) and of the bytes before the checksum |
//!
//! The checksum covers the number, so that a record in another record's place is found.

use thiserror::Error;

/// The number of a record. Numbers start at 1 and have no gaps; 0 means "no record yet".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordNumber(pub u64);

/// Fields of a record.
pub(crate) const FIELDS: usize = 5;

/// Version of the encoding.
const VERSION: u8 = 1;

/// Where the checksum is.
const CHECKSUM: usize = 28;

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
    /// The bytes were changed, or belong to another record.
    #[error("the checksum of record {} is wrong: its bytes were changed, or are those of another record", .0.0)]
    Checksum(RecordNumber),
    /// The encoding is of another version.
    #[error("record {} has version {found} of the encoding; this program reads version {VERSION}", number.0)]
    Version {
        /// The record.
        number: RecordNumber,
        /// Its version.
        found: u8,
    },
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

/// The records of one kind of engine.
pub(crate) trait EngineRecord: Sized {
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
        Self::from_fields(kind, fields).ok_or(RecordError::Meaning { engine: engine_name(engine), kind, fields })
    }
}

/// Numbers of engines in encoded records.
pub(crate) const PLACEMENT: u8 = 1;
pub(crate) const FLASH_CACHE: u8 = 2;

fn engine_name(engine: u8) -> &'static str {
    match engine {
        PLACEMENT => "placement",
        FLASH_CACHE => "a flash cache",
        _ => "an unknown engine",
    }
}

impl Record {
    /// Bytes of an encoded record.
    pub const ENCODED: usize = 32;

    /// Encodes the record, whose number is `number`, of the engine in `layer`.
    pub fn encode(&self, number: RecordNumber, layer: u8) -> [u8; Self::ENCODED] {
        let mut bytes = [0; Self::ENCODED];
        bytes[..4].copy_from_slice(&[VERSION, self.engine, self.kind, layer]);
        for (field, into) in self.fields.iter().zip(bytes[4..24].as_chunks_mut::<4>().0) {
            *into = field.to_le_bytes();
        }
        let checksum = checksum(number, &bytes);
        bytes[CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads the record with `number`. Returns it with the layer of its engine.
    ///
    /// # Errors
    /// If the checksum is wrong or the version is not known. What the fields mean is checked by the engine.
    pub fn decode(bytes: &[u8; Self::ENCODED], number: RecordNumber) -> Result<(u8, Self), RecordError> {
        if bytes[CHECKSUM..] != checksum(number, bytes).to_le_bytes() {
            return Err(RecordError::Checksum(number));
        }
        let [version, engine, kind, layer] = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if version != VERSION || bytes[24..CHECKSUM] != [0; 4] {
            return Err(RecordError::Version { number, found: version });
        }
        let words = bytes[4..24].as_chunks::<4>().0;
        Ok((layer, Self { engine, kind, fields: std::array::from_fn(|field| u32::from_le_bytes(words[field])) }))
    }
}

fn checksum(number: RecordNumber, bytes: &[u8; Record::ENCODED]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&number.0.to_le_bytes()), &bytes[..CHECKSUM])
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
        let golden: [(Record, &str); 6] = [
            (PlacementRecord::Mapped { extent, place, blocks }.into(), MAPPED),
            (PlacementRecord::Written { extent, blocks }.into(), WRITTEN),
            (PlacementRecord::Moved { extent, place }.into(), MOVED),
            (PlacementRecord::Freed { extent }.into(), FREED),
            (FlashCacheRecord::Cached { line: LogicalExtent(9), slot: PhysicalExtent(5), dirty: true }.into(), CACHED),
            (FlashCacheRecord::Uncached { line: LogicalExtent(9) }.into(), UNCACHED),
        ];
        for (number, (record, hex)) in (1..).map(RecordNumber).zip(golden) {
            let bytes = record.encode(number, 1);
            let written: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(written, hex, "{record:?}");
            assert_eq!(Record::decode(&bytes, number), Ok((1, record)));
            assert_eq!(Record::decode(&bytes, RecordNumber(9)), Err(RecordError::Checksum(RecordNumber(9))));
        }
    }

    const MAPPED: &str = "01010101070000000200000004030201030000001d00000000000000de45b27a";
    const WRITTEN: &str = "0101020107000000030000001d0000000000000000000000000000004ee329cf";
    const MOVED: &str = "01010301070000000200000004030201000000000000000000000000ccb488bb";
    const FREED: &str = "01010401070000000000000000000000000000000000000000000000aedc6a78";
    const CACHED: &str = "0102010109000000050000000100000000000000000000000000000004cd0679";
    const UNCACHED: &str = "0102020109000000000000000000000000000000000000000000000066a9e043";

    #[test]
    fn records_of_other_versions_and_engines_are_refused() {
        let record: Record = FlashCacheRecord::Uncached { line: LogicalExtent(9) }.into();
        let mut bytes = record.encode(RecordNumber(1), 0);
        bytes[0] = 2;
        let sum = checksum(RecordNumber(1), &bytes).to_le_bytes();
        bytes[CHECKSUM..].copy_from_slice(&sum);
        let error = Record::decode(&bytes, RecordNumber(1)).unwrap_err();
        assert_eq!(error.to_string(), "record 1 has version 2 of the encoding; this program reads version 1");
        let error = PlacementRecord::try_from(record).unwrap_err();
        assert_eq!(error.to_string(), "a record is one of a flash cache, not of placement");
        let unknown = Record { kind: 77, ..record };
        assert!(matches!(FlashCacheRecord::try_from(unknown), Err(RecordError::Meaning { kind: 77, .. })));
        let left_over = Record { fields: [9, 0, 0, 0, 1], ..record };
        assert!(FlashCacheRecord::try_from(left_over).is_err(), "unused fields are zero");
    }

    proptest! {
        /// One changed bit anywhere is found.
        #[test]
        fn a_changed_bit_is_found(fields: [u32; FIELDS], kind: u8, number: u64, layer: u8, bit in 0usize..256) {
            let (record, number) = (Record { engine: PLACEMENT, kind, fields }, RecordNumber(number));
            let mut bytes = record.encode(number, layer);
            prop_assert_eq!(Record::decode(&bytes, number), Ok((layer, record)));
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Record::decode(&bytes, number), Err(RecordError::Checksum(number)));
        }

        /// Whatever fields a record has, it is read or refused, and what is read is written in the same way.
        #[test]
        fn any_fields_are_read_or_refused(fields in prop::array::uniform5(0u32..4), engine in 0u8..4, kind in 0u8..8) {
            let record = Record { engine, kind, fields };
            if let Ok(read) = PlacementRecord::try_from(record) {
                prop_assert_eq!(Record::from(read), record);
            }
            if let Ok(read) = FlashCacheRecord::try_from(record) {
                prop_assert_eq!(Record::from(read), record);
            }
        }
    }
}
