//! Batches of records, of which the journal consists.

use esker_tier::{Record, RecordNumber};

use super::{BLOCK, Damage, Fields, Header, Kind, NUMBER_MAX, SealedBy};

/// A batch of records. After the header:
///
/// | offset | length | meaning |
/// | --- | --- | --- |
/// | 32 | 8 | number of the first record; those of the others follow |
/// | 40 | 4 | number of records |
/// | 44 | 20 | zero |
/// | 64 | 24 each | the records |
///
/// Batches are numbered from 1 on without gaps. A batch is written once all earlier ones are durable, so that a damaged
/// one with a later one behind it was durable once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch<'a> {
    pub(crate) header: Header,
    pub(crate) first: RecordNumber,
    records: &'a [[u8; Record::ENCODED]],
}

const RECORDS: usize = 64;

impl<'a> Batch<'a> {
    /// Reads the batch at the start of `bytes`, which may be followed by others.
    pub(crate) fn read(by: SealedBy, bytes: &'a [u8]) -> Result<Self, Damage> {
        let (header, bytes) = Header::open(Kind::Batch, by, bytes)?;
        let mut fields = Fields(&bytes[Header::BYTES..]);
        let (first, count) = (RecordNumber(fields.u64()), fields.u32() as usize);
        let records = bytes[RECORDS..].as_chunks().0.get(..count).ok_or(Damage::Content)?;
        if first.0 >= NUMBER_MAX {
            return Err(Damage::Content);
        }
        Ok(Self { header, first, records })
    }

    /// Returns the records with their numbers and layers.
    pub(crate) fn records(&self) -> impl Iterator<Item = (RecordNumber, u8, Record)> + use<'a> {
        let first = self.first.0;
        let read = move |(index, bytes): (u64, &[u8; Record::ENCODED])| {
            let (layer, record) = Record::decode(bytes).ok()?;
            Some((RecordNumber(first + index), layer, record))
        };
        (0..).zip(self.records).map_while(read)
    }

    /// Number of records.
    pub(crate) fn len(&self) -> u64 {
        self.records.len() as u64
    }
}

/// Collects the records of the next batch.
#[derive(Debug, Default)]
pub(crate) struct BatchWriter {
    first: RecordNumber,
    records: Vec<[u8; Record::ENCODED]>,
}

impl BatchWriter {
    /// Adds a record, whose number follows that of the one before.
    pub(crate) fn add(&mut self, number: RecordNumber, layer: u8, record: &Record) {
        if self.records.is_empty() {
            self.first = number;
        }
        debug_assert_eq!(number.0, self.first.0 + self.records.len() as u64, "records come in order");
        self.records.push(record.encode(layer));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Bytes of a batch of the first records, which is at most `most` bytes long.
    pub(crate) fn bytes(&self, most: usize) -> usize {
        (RECORDS + self.records.len() * Record::ENCODED).next_multiple_of(BLOCK).min(most)
    }

    /// Makes a batch of the first records, as many as go into `bytes`. Returns the number of the last one.
    pub(crate) fn write(&mut self, by: SealedBy, generation: u64, number: u64, bytes: &mut [u8]) -> RecordNumber {
        let count = self.records.len().min((bytes.len() - RECORDS) / Record::ENCODED);
        bytes[Header::BYTES..].fill(0);
        bytes[Header::BYTES..][..8].copy_from_slice(&self.first.0.to_le_bytes());
        bytes[Header::BYTES + 8..][..4].copy_from_slice(&(count as u32).to_le_bytes());
        bytes[RECORDS..][..count * Record::ENCODED].copy_from_slice(self.records[..count].as_flattened());
        let header = Header { kind: Kind::Batch, length: bytes.len() as u32, generation, number };
        header.seal(by, bytes);
        self.records.drain(..count);
        self.first.0 += count as u64;
        RecordNumber(self.first.0 - 1)
    }
}

#[cfg(test)]
mod tests {
    use esker_tier::{LogicalExtent, PlacementRecord};

    use super::*;
    use crate::format::Identity;

    fn record(extent: u32) -> Record {
        PlacementRecord::Freed { extent: LogicalExtent(extent) }.into()
    }

    const BY: SealedBy = SealedBy { volume: Identity([3; 16]), address: 4096 * 5 };

    /// The bytes of a batch: they must never change their meaning.
    #[test]
    fn a_golden_batch_is_read_as_ever() {
        let mut writer = BatchWriter::default();
        writer.add(RecordNumber(41), 0, &record(7));
        let mut bytes = vec![0; writer.bytes(usize::MAX)];
        writer.write(BY, 9, 17, &mut bytes);
        let hex: String = bytes[..88].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!((hex.as_str(), bytes.len()), (GOLDEN, 4096));
        assert!(bytes[88..].iter().all(|&byte| byte == 0));
    }

    const GOLDEN: &str = concat!(
        "65736b65724c4f478a3cf278001000000900000000000000110000000000000029000000000000000100000000000000",
        "00000000000000000000000000000000010400000700000000000000000000000000000000000000",
    );

    #[test]
    fn a_batch_takes_as_many_records_as_go_into_it() {
        let mut writer = BatchWriter::default();
        (1..=300).for_each(|number| writer.add(RecordNumber(number), 2, &record(number as u32)));
        assert_eq!((writer.bytes(usize::MAX), writer.bytes(4096)), (8192, 4096));
        let mut bytes = vec![0xff; 4096 + 4096];
        assert_eq!(writer.write(BY, 9, 17, &mut bytes[..4096]), RecordNumber(168));
        let batch = Batch::read(BY, &bytes).unwrap();
        assert_eq!((batch.header.generation, batch.header.number, batch.len()), (9, 17, 168));
        let read: Vec<_> = batch.records().collect();
        let wanted: Vec<_> = (1..=168).map(|number| (RecordNumber(number), 2, record(number as u32))).collect();
        assert_eq!(read, wanted);
        assert_eq!((writer.first, writer.records.len(), writer.is_empty()), (RecordNumber(169), 132, false));
        let elsewhere = SealedBy { address: 4096, ..BY };
        assert_eq!(Batch::read(elsewhere, &bytes), Err(Damage::Checksum));
        let other = SealedBy { volume: Identity([4; 16]), ..BY };
        assert_eq!(Batch::read(other, &bytes), Err(Damage::Checksum));
        bytes[0] = 0;
        assert_eq!(Batch::read(BY, &bytes), Err(Damage::Absent));
    }
}
