//! Packs records into blocks, at a few bytes each.
//!
//! A block can be read on its own. Every record is a header of two bytes and up to five fields, little endian, each
//! with as many bytes as its value needs:
//!
//! ```text
//! header   bits 0-1    operation: 0 read, 1 write, 2 trim, 3 flush
//!          bit  2      offset and length count sectors of 512 bytes, not bytes
//!          bits 3-5    width of the time:     0 to 6, or 7 for 8 bytes
//!          bits 6-8    width of the offset:   likewise
//!          bits 9-10   width of the length:   0, 1, 2, or 3 for 4 bytes; 0: as the record before
//!          bits 11-12  width of the volume:   likewise
//!          bits 13-15  width of the response: as for the time; 0: not known
//! time     minus that of the record before (0 at first), zigzag: n >= 0 becomes 2n, n < 0 becomes -2n - 1
//! offset   minus the end of the last record whose volume has the same low eight bits (0 at first), zigzag
//! length, volume, response
//! ```

use esker_core::Nanos;

use crate::{Operation, Record, VolumeIndex};

/// Number of records in a full block.
pub(crate) const BLOCK_RECORDS: usize = 64 << 10;
/// The longest encoding of a record.
pub(crate) const RECORD_MAX: usize = 2 + 8 + 8 + 4 + 4 + 8;
/// Bytes behind a block that may be read (but not used).
pub(crate) const BLOCK_PADDING: usize = RECORD_MAX + 8;

const OPERATIONS: [Operation; 4] = [Operation::Read, Operation::Write, Operation::Trim, Operation::Flush];
/// Masks for the low bytes, by number of bytes.
const MASKS: [u64; 9] = {
    let mut masks = [u64::MAX; 9];
    let mut bytes = 0;
    while bytes < 8 {
        masks[bytes] = (1 << (8 * bytes)) - 1;
        bytes += 1;
    }
    masks
};

/// Width of a field, from its three bits.
#[inline(always)]
fn wide(code: u16) -> usize {
    (0x8654_3210u32 >> (4 * (code & 7)) & 15) as usize
}

/// Width of a field, from its two bits.
#[inline(always)]
fn narrow(code: u16) -> usize {
    (0x4210u16 >> (4 * (code & 3)) & 15) as usize
}

/// The three bits for a value, and its width.
#[inline(always)]
fn wide_code(value: u64) -> (u16, usize) {
    let bytes = 8 - value.leading_zeros() / 8;
    if bytes >= 7 { (7, 8) } else { (bytes as u16, bytes as usize) }
}

/// The two bits for a value that is not left out, and its width.
#[inline(always)]
fn narrow_code(value: u32) -> (u16, usize) {
    match value {
        0..=0xff => (1, 1),
        0x100..=0xffff => (2, 2),
        _ => (3, 4),
    }
}

#[inline(always)]
const fn zigzag(difference: u64) -> u64 {
    let signed = difference as i64;
    ((signed << 1) ^ (signed >> 63)) as u64
}

#[inline(always)]
const fn unzigzag(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

/// The values that fields are differences to.
#[derive(Clone, Debug)]
struct Before {
    at: u64,
    length: u32,
    volume: u32,
    ends: [u64; 256],
}

impl Default for Before {
    fn default() -> Self {
        Self { at: 0, length: 0, volume: 0, ends: [0; 256] }
    }
}

/// Packs records into one block.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockEncoder {
    bytes: Vec<u8>,
    used: usize,
    records: usize,
    before: Before,
}

impl BlockEncoder {
    /// Number of records so far.
    pub(crate) fn records(&self) -> usize {
        self.records
    }

    /// Appends a record. Returns true when the block is full.
    #[inline]
    pub(crate) fn push(&mut self, record: &Record) -> bool {
        if self.used + RECORD_MAX + 8 > self.bytes.len() {
            self.bytes.resize((2 * self.used).max(64 << 10), 0);
        }
        let end = &mut self.before.ends[record.volume.0 as usize & 255];
        let difference = record.offset.wrapping_sub(*end) as i64;
        let sectors = difference % 512 == 0 && record.length.is_multiple_of(512);
        let shift = if sectors { 9 } else { 0 };
        *end = record.offset.wrapping_add(u64::from(record.length));

        let time = zigzag(record.at.0.wrapping_sub(self.before.at));
        let offset = zigzag((difference >> shift) as u64);
        let (time_code, time_width) = wide_code(time);
        let (offset_code, offset_width) = wide_code(offset);
        let length = record.length >> shift;
        let (length_code, length_width) =
            if record.length == self.before.length { (0, 0) } else { narrow_code(length) };
        let volume = record.volume.0;
        let (volume_code, volume_width) = if volume == self.before.volume { (0, 0) } else { narrow_code(volume) };
        let response = record.response.unwrap_or_default().0;
        let (response_code, response_width) = match record.response {
            None => (0, 0),
            Some(Nanos(0)) => (1, 1),
            Some(Nanos(response)) => wide_code(response),
        };
        let header = record.operation as u16
            | u16::from(sectors) << 2
            | time_code << 3
            | offset_code << 6
            | length_code << 9
            | volume_code << 11
            | response_code << 13;
        let fields = [
            (u64::from(header), 2),
            (time, time_width),
            (offset, offset_width),
            (u64::from(length), length_width),
            (u64::from(volume), volume_width),
            (response, response_width),
        ];
        for (value, width) in fields {
            self.bytes[self.used..self.used + 8].copy_from_slice(&value.to_le_bytes());
            self.used += width;
        }
        self.before.at = record.at.0;
        self.before.length = record.length;
        self.before.volume = volume;
        self.records += 1;
        self.records == BLOCK_RECORDS
    }

    /// The bytes of the block. The next record starts another block.
    pub(crate) fn finish(&mut self) -> &[u8] {
        self.before = Before::default();
        self.records = 0;
        let used = std::mem::take(&mut self.used);
        &self.bytes[..used]
    }
}

/// The bytes are not a valid block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damaged;

/// Unpacks one block.
#[derive(Clone, Debug)]
pub(crate) struct BlockDecoder {
    position: usize,
    remaining: usize,
    before: Before,
}

impl BlockDecoder {
    /// A decoder for a block of `records` records.
    pub(crate) fn new(records: usize) -> Self {
        Self { position: 0, remaining: records, before: Before::default() }
    }

    /// Records not yet unpacked.
    pub(crate) fn remaining(&self) -> usize {
        self.remaining
    }

    /// Appends up to `limit` of the block's next records to `out`. `bytes` are the block and [`BLOCK_PADDING`] more
    /// bytes.
    pub(crate) fn decode(&mut self, bytes: &[u8], limit: usize, out: &mut Vec<Record>) -> Result<(), Damaged> {
        let end = bytes.len().checked_sub(BLOCK_PADDING).ok_or(Damaged)?;
        let count = self.remaining.min(limit);
        let (mut position, mut at) = (self.position, self.before.at);
        let (mut length, mut volume) = (self.before.length, self.before.volume);
        for _ in 0..count {
            if position >= end {
                return Err(Damaged);
            }
            // One check for all fields of the record.
            let record: &[u8; BLOCK_PADDING] =
                bytes[position..position + BLOCK_PADDING].try_into().expect("its length");
            let field = |at: usize, width: usize| {
                u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes")) & MASKS[width]
            };
            let header = u16::from_le_bytes([record[0], record[1]]);
            let widths =
                (wide(header >> 3), wide(header >> 6), narrow(header >> 9), narrow(header >> 11), wide(header >> 13));
            let offset_at = 2 + widths.0;
            let length_at = offset_at + widths.1;
            let volume_at = length_at + widths.2;
            let response_at = volume_at + widths.3;
            position += response_at + widths.4;
            at = at.wrapping_add(unzigzag(field(2, widths.0)));
            let shift = if header & 4 != 0 { 9 } else { 0 };
            if widths.2 != 0 {
                length = (field(length_at, widths.2) as u32).wrapping_shl(shift);
            }
            if widths.3 != 0 {
                volume = field(volume_at, widths.3) as u32;
            }
            let last_end = &mut self.before.ends[volume as usize & 255];
            let offset = last_end.wrapping_add(unzigzag(field(offset_at, widths.1)) << shift);
            *last_end = offset.wrapping_add(u64::from(length));
            let response = field(response_at, widths.4);
            out.push(Record {
                at: Nanos(at),
                offset,
                length,
                volume: VolumeIndex(volume),
                operation: OPERATIONS[header as usize & 3],
                response: (widths.4 != 0).then_some(Nanos(response)),
            });
        }
        (self.position, self.before.at) = (position, at);
        (self.before.length, self.before.volume) = (length, volume);
        self.remaining -= count;
        // A complete block ends where its last record ends.
        if position > end || (self.remaining == 0 && position != end) { Err(Damaged) } else { Ok(()) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Any record whose end fits 64 bits. Extremes and repetitions are more frequent than by chance.
    pub(crate) fn any_record() -> impl Strategy<Value = Record> {
        let number =
            || prop_oneof![Just(0), Just(u64::MAX), 0..256u64, any::<u64>(), any::<u64>().prop_map(|n| n >> 30 << 9)];
        (
            number(),
            number(),
            prop_oneof![Just(4096u32), Just(u32::MAX), 1..100_000u32],
            any::<u32>(),
            0..4usize,
            number(),
        )
            .prop_map(|(at, offset, length, volume, operation, response)| Record {
                at: Nanos(at),
                offset: offset.min(u64::MAX - u64::from(length)),
                length,
                volume: VolumeIndex(if volume % 3 == 0 { volume } else { volume % 4 }),
                operation: OPERATIONS[operation],
                response: (response != 255).then_some(Nanos(response)),
            })
    }

    fn encode(records: &[Record]) -> Vec<u8> {
        let mut encoder = BlockEncoder::default();
        for record in records {
            encoder.push(record);
        }
        let mut bytes = encoder.finish().to_vec();
        bytes.resize(bytes.len() + BLOCK_PADDING, 0xff);
        bytes
    }

    proptest! {
        #[test]
        fn unpacking_gives_what_was_packed(records in prop::collection::vec(any_record(), 0..300), limit in 1..100usize) {
            let bytes = encode(&records);
            let mut decoder = BlockDecoder::new(records.len());
            let mut out = Vec::new();
            while decoder.remaining() > 0 {
                decoder.decode(&bytes, limit, &mut out).unwrap();
            }
            prop_assert_eq!(out, records);
        }

        #[test]
        fn any_bytes_are_unpacked_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..500), records in 0..200usize) {
            let mut out = Vec::new();
            let _ = BlockDecoder::new(records).decode(&bytes, usize::MAX, &mut out);
            prop_assert!(out.len() <= records);
        }
    }

    #[test]
    fn a_sequential_stream_of_pages_takes_few_bytes() {
        let records: Vec<Record> = (0..1000)
            .map(|number| Record {
                at: Nanos(number * 100_000),
                offset: number * 4096,
                length: 4096,
                volume: VolumeIndex(0),
                operation: Operation::Write,
                response: None,
            })
            .collect();
        // A header, and a time of three bytes.
        assert!(encode(&records).len() <= 1000 * 5 + 100);
    }
}
