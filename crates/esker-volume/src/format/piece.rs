//! Pieces of checkpoints.

use esker_tier::{Record, RecordNumber};

use super::{BLOCK, Damage, Fields, Header, Kind, NUMBER_MAX, SealedBy};

/// A piece of a checkpoint. Pieces lie one behind the other in a checkpoint area; that of checkpoint `n` is area `n %
/// 2`. After the header:
///
/// | offset | length | meaning |
/// | --- | --- | --- |
/// | 32 | 4 | number of the piece in its checkpoint, from 0 on |
/// | 36 | 4 | 1 if it is the last one, otherwise 0 |
/// | 40 | 4 | number of records |
/// | 44 | 4 | zero |
/// | 48 | 8 | number of the last record of the journal that the checkpoint includes |
/// | 56 | 8 | number of the first batch that may have later records |
/// | 64 | 8 | where in the journal this batch is, or would be: bytes from the journal's start |
/// | 72 | 24 | zero |
/// | 96 | 24 each | the records |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub(crate) header: Header,
    pub(crate) index: u32,
    pub(crate) is_last: bool,
    pub(crate) after: JournalPlace,
    records: &'a [[u8; Record::ENCODED]],
}

/// What a checkpoint includes, and where the journal goes on behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JournalPlace {
    /// The last record that the checkpoint includes.
    pub(crate) through: RecordNumber,
    /// The first batch that may have later records.
    pub(crate) batch: u64,
    /// Where this batch is, or would be, in bytes from the journal's start.
    pub(crate) offset: u64,
}

impl JournalPlace {
    /// Returns true if there can be such a place in a journal of `length` bytes.
    pub(crate) fn is_sound(&self, length: u64) -> bool {
        let Self { through, batch, offset } = *self;
        let counts = (1..NUMBER_MAX).contains(&batch) && through.0 < NUMBER_MAX;
        counts && offset <= length && offset.is_multiple_of(BLOCK as u64)
    }
}

const RECORDS: usize = 96;

impl<'a> Piece<'a> {
    /// Reads the piece at the start of `bytes`, which may be followed by others.
    pub(crate) fn read(by: SealedBy, bytes: &'a [u8]) -> Result<Self, Damage> {
        let (header, bytes) = Header::open(Kind::Piece, by, bytes)?;
        let mut fields = Fields(&bytes[Header::BYTES..]);
        let (index, last, count, _) = (fields.u32(), fields.u32(), fields.u32() as usize, fields.u32());
        let after = JournalPlace { through: RecordNumber(fields.u64()), batch: fields.u64(), offset: fields.u64() };
        let records = bytes[RECORDS..].as_chunks().0.get(..count).ok_or(Damage::Content)?;
        Ok(Self { header, index, is_last: last == 1, after, records })
    }

    /// Number of records.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns the records with their layers.
    pub(crate) fn records(&self) -> impl Iterator<Item = (u8, Record)> + use<'a> {
        self.records.iter().map_while(|bytes| Record::decode(bytes).ok())
    }
}

/// Collects the records of the next piece of a checkpoint.
#[derive(Debug)]
pub(crate) struct PieceWriter {
    pub(crate) checkpoint: u64,
    pub(crate) after: JournalPlace,
    index: u32,
    records: Vec<[u8; Record::ENCODED]>,
}

impl PieceWriter {
    /// The most bytes of a piece.
    pub(crate) const BYTES_MAX: usize = 16 << 10;
    /// The most records of a piece.
    pub(crate) const RECORDS_MAX: usize = (Self::BYTES_MAX - RECORDS) / Record::ENCODED;

    /// Begins a checkpoint.
    pub(crate) fn new(checkpoint: u64, after: JournalPlace) -> Self {
        Self { checkpoint, after, index: 0, records: Vec::with_capacity(Self::RECORDS_MAX) }
    }

    pub(crate) fn add(&mut self, layer: u8, record: &Record) {
        self.records.push(record.encode(layer));
    }

    /// Number of records that wait for a piece.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Bytes of the next piece.
    pub(crate) fn bytes(&self) -> usize {
        (RECORDS + self.records.len() * Record::ENCODED).next_multiple_of(BLOCK).min(Self::BYTES_MAX)
    }

    /// Makes a piece of the first records, as many as go into `bytes`. It `ends` the checkpoint if it has them all.
    pub(crate) fn write(&mut self, by: SealedBy, generation: u64, ends: bool, bytes: &mut [u8]) {
        let count = self.records.len().min((bytes.len() - RECORDS) / Record::ENCODED);
        let is_last = u32::from(ends && count == self.records.len());
        bytes[Header::BYTES..].fill(0);
        let mut into = super::Output(&mut bytes[Header::BYTES..]);
        [self.index, is_last, count as u32, 0].iter().for_each(|word| _ = into.put(&word.to_le_bytes()));
        let JournalPlace { through, batch, offset } = self.after;
        [through.0, batch, offset].iter().for_each(|word| _ = into.put(&word.to_le_bytes()));
        bytes[RECORDS..][..count * Record::ENCODED].copy_from_slice(self.records[..count].as_flattened());
        let header = Header { kind: Kind::Piece, length: bytes.len() as u32, generation, number: self.checkpoint };
        header.seal(by, bytes);
        self.records.drain(..count);
        self.index += 1;
    }
}

/// Returns how many bytes a checkpoint of up to `records` records takes.
pub(crate) fn checkpoint_bytes(records: u64) -> u64 {
    (records / PieceWriter::RECORDS_MAX as u64 + 1) * PieceWriter::BYTES_MAX as u64
}

#[cfg(test)]
mod tests {
    use esker_tier::{LogicalExtent, PlacementRecord};

    use super::*;
    use crate::format::Identity;

    /// The bytes of a piece: they must never change their meaning.
    #[test]
    fn a_golden_piece_is_read_as_ever() {
        let after = JournalPlace { through: RecordNumber(99), batch: 12, offset: 8192 };
        let mut writer = PieceWriter::new(5, after);
        writer.add(1, &PlacementRecord::Freed { extent: LogicalExtent(7) }.into());
        let mut bytes = vec![0; writer.bytes()];
        writer.write(SealedBy { volume: Identity([3; 16]), address: 4096 }, 3, true, &mut bytes);
        let hex: String = bytes[..120].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!((hex.as_str(), bytes.len()), (GOLDEN, 4096));
        assert!(bytes[120..].iter().all(|&byte| byte == 0));
    }

    const GOLDEN: &str = concat!(
        "65736b65724d4150d1273a89001000000300000000000000050000000000000000000000010000000100000000000000",
        "63000000000000000c000000000000000020000000000000000000000000000000000000000000000000000000000000",
        "010401000700000000000000000000000000000000000000",
    );

    #[test]
    fn a_checkpoint_in_pieces_is_read_as_it_was_written() {
        let record = |extent| Record::from(PlacementRecord::Freed { extent: LogicalExtent(extent) });
        let after = JournalPlace { through: RecordNumber(99), batch: 12, offset: 8192 };
        let by = |address| SealedBy { volume: Identity([3; 16]), address };
        let mut writer = PieceWriter::new(5, after);
        (0..3000).for_each(|extent| writer.add(1, &record(extent)));
        let (mut area, mut at, mut read) = (vec![0xee; 1 << 20], 0, Vec::new());
        while writer.len() > 0 {
            let length = writer.bytes();
            writer.write(by(at as u64), 3, true, &mut area[at..at + length]);
            at += length;
        }
        let mut at = 0;
        for index in 0.. {
            let piece = Piece::read(by(at as u64), &area[at..]).unwrap();
            assert_eq!((piece.index, piece.header.number, piece.after), (index, 5, after));
            read.extend(piece.records());
            at += piece.header.length as usize;
            if piece.is_last {
                break;
            }
        }
        assert_eq!(read, (0..3000).map(|extent| (1, record(extent))).collect::<Vec<_>>());
        assert!((at as u64) <= checkpoint_bytes(3000));
    }
}
