//! Operations on stores, and the memory that they move.

use std::io::{self, IoSlice};
use std::ops::Range;

use esker_core::{Bytes, Priority, RequestKind, StreamId};
use esker_tier::DataRef;

use super::{BlockingBackend, Ended, PlacedError};
use crate::memory::{Buffer, ZEROES};

/// One operation on a store.
#[derive(Debug)]
pub struct Operation {
    /// What it does.
    pub kind: RequestKind,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// The order of service while operations wait.
    pub priority: Priority,
    /// The stream that its data belong to.
    pub stream: StreamId,
    /// The memory that it moves.
    pub data: OperationData,
}

/// The memory of an operation.
#[derive(Debug, Default)]
pub enum OperationData {
    /// That of a flush, a trim, or a write of zeroes.
    #[default]
    None,
    /// A read fills this buffer, which is as long as the operation and has no other owner.
    Fill(Buffer),
    /// A write takes its bytes from here.
    Take(Gather),
}

/// The bytes that a write takes: parts of a buffer, and zeroes, in their order on the store.
#[derive(Clone, Debug)]
pub struct Gather {
    buffer: Buffer,
    data: DataRef,
    /// Number of bytes that `data` describes.
    length: Bytes,
    /// Which of these are taken.
    range: Range<usize>,
}

/// At most this many slices are handed to a store at once.
const SLICES: usize = 64;

impl Gather {
    /// The bytes of a request of `length` bytes whose memory is described by `data`, from `buffer`, which is the one
    /// that `data` names.
    pub(crate) fn new(buffer: Buffer, data: DataRef, length: Bytes) -> Self {
        Self { buffer, data, length, range: 0..length.0 as usize }
    }

    /// All bytes of `buffer`.
    pub fn whole(buffer: Buffer) -> Self {
        let length = Bytes(buffer.len() as u64);
        let data = DataRef::new(esker_tier::BufferId::Copy(0), Bytes::ZERO);
        Self::new(buffer, data, length)
    }

    /// The buffer that the bytes are in which are no zeroes.
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// `length` of the bytes, from byte `from` on. The memory is the same.
    pub fn part(&self, from: usize, length: usize) -> Self {
        let begin = self.range.start + from;
        assert!(begin + length <= self.range.end, "a part lies within the whole");
        Self { range: begin..begin + length, ..self.clone() }
    }

    /// Copies the bytes to `into`, which is as long.
    pub(crate) fn copy_to(&self, into: &mut [u8]) {
        let mut rest = into;
        for slice in self.slices() {
            let (into, more) = rest.split_at_mut(slice.len());
            into.copy_from_slice(slice);
            rest = more;
        }
    }

    /// Returns the bytes in one buffer: the same memory if they are all of it, otherwise a copy in a buffer that `take`
    /// gives.
    pub(crate) fn into_buffer(self, take: impl FnOnce(usize) -> Buffer) -> Buffer {
        let is_whole = self.data == DataRef::new(self.data.place.buffer, Bytes::ZERO);
        if is_whole && self.range == (0..self.buffer.len()) {
            return self.buffer;
        }
        let mut buffer = take(self.range.len());
        self.copy_to(buffer.get_mut().expect("it has one owner"));
        buffer
    }

    /// The bytes, in their order on the store, in slices that are not empty.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let mut at = 0;
        self.data.segments(self.length).flat_map(move |segment| {
            let length = segment.length.0 as usize;
            let skip = self.range.start.saturating_sub(at).min(length);
            let end = self.range.end.saturating_sub(at).clamp(skip, length);
            at += length;
            let (from, zeroes) = match segment.place {
                Some(place) => (&self.buffer[place.offset.0 as usize..][skip..end], 0),
                None => (&[][..], end - skip),
            };
            let all = &ZEROES.0;
            let pieces = (0..zeroes).step_by(all.len()).map(move |done| &all[..(zeroes - done).min(all.len())]);
            std::iter::once(from).filter(|from| !from.is_empty()).chain(pieces)
        })
    }
}

impl Operation {
    /// An operation of default priority and stream.
    pub fn new(kind: RequestKind, offset: u64, length: u64, data: OperationData) -> Self {
        Self { kind, offset, length, priority: Priority::USER, stream: StreamId(0), data }
    }

    /// Performs the operation on `store`, under the name `id`.
    pub fn perform(self, id: u64, store: &mut dyn BlockingBackend) -> Ended {
        let Self { kind, offset, length, mut data, .. } = self;
        let result = match (kind, &mut data) {
            (RequestKind::Read, OperationData::Fill(buffer)) => {
                store.read(offset, buffer.get_mut().expect("a read has its memory to itself"))
            }
            (RequestKind::Write { fua }, OperationData::Take(gather)) => write(store, offset, gather, fua),
            (RequestKind::WriteZeroes { fua }, _) => store.write_zeroes(offset, length, fua),
            (RequestKind::Trim, _) => store.trim(offset, length),
            (RequestKind::Flush, _) => store.flush(),
            (RequestKind::Read | RequestKind::Write { .. }, data) => unreachable!("{kind:?} has {data:?}"),
        };
        Ended { id, at: None, result, data }
    }
}

/// Writes the bytes of `gather`, up to [`SLICES`] at once; the last of them durably if `fua`.
fn write(store: &mut dyn BlockingBackend, offset: u64, gather: &Gather, fua: bool) -> io::Result<()> {
    let mut slices = gather.slices().peekable();
    let mut done = 0;
    while slices.peek().is_some() {
        let (mut group, mut count, mut length) = ([IoSlice::new(&[]); SLICES], 0, 0);
        for (slot, slice) in group.iter_mut().zip(&mut slices) {
            *slot = IoSlice::new(slice);
            (count, length) = (count + 1, length + slice.len() as u64);
        }
        // A durable write covers what was written before it.
        let is_last = slices.peek().is_none();
        let result = store.write(offset + done, &mut group[..count], fua && is_last);
        result.map_err(|error| PlacedError::after(done, error))?;
        done += length;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use esker_core::Tag;
    use esker_tier::{BufferId, Spread};

    use super::*;
    use crate::backend::MemoryBackend;

    #[test]
    fn bytes_are_gathered_in_their_order() {
        let buffer = Buffer::from((0..=255).collect::<Vec<u8>>());
        let host = DataRef::new(BufferId::Host(Tag::new(0, 0)), Bytes(10));
        let spread = Spread::Striped { first: Bytes(1), unit: Bytes(2), round: Bytes(4) };
        let gathered =
            |data, length| Gather::new(buffer.clone(), data, Bytes(length)).slices().flatten().copied().collect();
        let striped: Vec<u8> = gathered(DataRef { spread, ..host }, 5);
        assert_eq!(striped, [10, 13, 14, 17, 18]);
        let padded: Vec<u8> = gathered(DataRef { head: Bytes(5000), tail: Bytes(1), ..host }, 5003);
        assert_eq!((padded.len(), &padded[4999..]), (5003, &[0, 10, 11, 0][..]));
        assert!(padded[..5000].iter().all(|&byte| byte == 0));
        let all = Gather::new(buffer.clone(), DataRef { spread, head: Bytes(3), tail: Bytes(2), ..host }, Bytes(10));
        for (from, length) in [(0, 10), (2, 5), (4, 1), (7, 3), (10, 0)] {
            let whole: Vec<u8> = all.slices().flatten().copied().collect();
            let part: Vec<u8> = all.part(from, length).part(0, length).slices().flatten().copied().collect();
            assert_eq!(part, whole[from..from + length], "{length} from {from}");
        }
    }

    #[test]
    fn many_parts_are_written_in_several_calls() {
        let bytes: Vec<u8> = (0..1000u32).map(|byte| byte as u8).collect();
        let spread = Spread::Striped { first: Bytes(1), unit: Bytes(1), round: Bytes(2) };
        let data = DataRef { spread, ..DataRef::new(BufferId::Copy(0), Bytes::ZERO) };
        let gather = Gather::new(Buffer::from(&bytes[..]), data, Bytes(500));
        let mut store = MemoryBackend::new(Bytes::kib(4));
        let kind = RequestKind::Write { fua: true };
        Operation::new(kind, 7, 500, OperationData::Take(gather)).perform(1, &mut store).result.unwrap();
        let mut read = vec![1; 502];
        store.read(6, &mut read).unwrap();
        let expected: Vec<u8> = bytes.iter().step_by(2).copied().collect();
        assert_eq!((read[0], &read[1..501], read[501]), (0, &expected[..], 0));
    }
}
