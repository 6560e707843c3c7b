//! The memory that a reply brings back.

use std::ops::Range;

use esker_core::Bytes;
use esker_tier::DataRef;

use super::{Buffer, BufferPool};

/// The memory of a request that has ended. The bytes of a read lie in their order in one or several pieces, as the
/// stores have returned them: each unit of a stripe is where it was read to.
#[derive(Clone, Debug, Default)]
pub struct ReplyData {
    /// The bytes that are in none of `pieces`.
    pub(crate) whole: Buffer,
    /// Memory that stores have filled with parts of the request.
    buffers: Vec<Buffer>,
    /// Where those parts are, by their place in the request.
    pieces: Vec<Piece>,
}

/// Consecutive bytes of a request in the memory that a store has filled.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Offset in the request.
    at: usize,
    length: usize,
    /// Index of the memory, and offset in it.
    buffer: usize,
    from: usize,
}

impl Piece {
    fn range(&self) -> Range<usize> {
        self.at..self.at + self.length
    }
}

impl ReplyData {
    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.whole.len()
    }

    /// Returns true if there are no bytes, as after a flush.
    pub fn is_empty(&self) -> bool {
        self.whole.is_empty()
    }

    /// Returns the bytes in their order, in slices that are not empty.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let (mut done, mut pieces) = (0, self.pieces.iter().peekable());
        std::iter::from_fn(move || {
            let begin = done;
            let next = pieces.peek().map_or(self.whole.len(), |piece| piece.at);
            if begin < next {
                done = next;
                return Some(&self.whole[begin..next]);
            }
            let Piece { length, buffer, from, .. } = *pieces.next()?;
            done += length;
            Some(&self.buffers[buffer][from..from + length])
        })
    }

    /// Copies the bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.len());
        self.slices().for_each(|slice| all.extend_from_slice(slice));
        all
    }

    /// Returns true if any byte of `range` is in memory that a store has filled.
    pub(crate) fn has_pieces_in(&self, range: &Range<usize>) -> bool {
        self.pieces.iter().any(|piece| piece.at < range.end && range.start < piece.range().end)
    }

    /// Adds memory that a store has filled with parts of the request, as `data` says; none of them may be in other
    /// such memory.
    pub(crate) fn add(&mut self, filled: Buffer, data: DataRef) {
        let (buffer, mut from) = (self.buffers.len(), 0);
        for segment in data.segments(Bytes(filled.len() as u64)) {
            let length = segment.length.0 as usize;
            if let Some(place) = segment.place {
                let at = place.offset.0 as usize;
                let index = self.pieces.partition_point(|piece| piece.at < at);
                self.pieces.insert(index, Piece { at, length, buffer, from });
            }
            from += length;
        }
        self.buffers.push(filled);
    }

    /// Copies the bytes that stores have filled elsewhere to where the rest is.
    pub(crate) fn gather(&mut self, pool: &mut BufferPool) {
        if self.pieces.is_empty() {
            return;
        }
        let whole = self.whole.make_mut(pool);
        for piece in self.pieces.drain(..) {
            let bytes = &self.buffers[piece.buffer][piece.from..piece.from + piece.length];
            whole[piece.range()].copy_from_slice(bytes);
        }
        self.buffers.drain(..).for_each(|buffer| pool.give(buffer));
    }

    /// Gives all memory to `pool`. What is left can be used for another request.
    pub fn give_to(mut self, pool: &mut BufferPool) -> Self {
        pool.give(std::mem::take(&mut self.whole));
        self.buffers.drain(..).for_each(|buffer| pool.give(buffer));
        self.pieces.clear();
        self
    }
}

impl From<Buffer> for ReplyData {
    fn from(whole: Buffer) -> Self {
        Self { whole, ..Self::default() }
    }
}

impl PartialEq for ReplyData {
    fn eq(&self, other: &Self) -> bool {
        self.slices().flatten().eq(other.slices().flatten())
    }
}

impl Eq for ReplyData {}

#[cfg(test)]
mod tests {
    use esker_core::Tag;
    use esker_tier::{BufferId, Spread};

    use super::*;

    #[test]
    fn pieces_lie_between_the_other_bytes() {
        let buffer = |bytes: &[u8]| Buffer::from(bytes);
        let mut data = ReplyData::from(buffer(&[0; 12]));
        let host = |offset| DataRef::new(BufferId::Host(Tag::new(0, 0)), Bytes(offset));
        // Units of two bytes at 5 and 9, and one byte at 0.
        let spread = Spread::Striped { first: Bytes(2), unit: Bytes(2), round: Bytes(4) };
        data.add(buffer(&[1, 2, 3, 4]), DataRef { spread, ..host(5) });
        data.add(buffer(&[9]), host(0));
        let expected = [9, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0];
        assert_eq!((data.to_vec(), data.len()), (expected.to_vec(), 12));
        assert!(data.slices().all(|slice| !slice.is_empty()));
        let has = [0..1, 1..5, 4..6, 7..9, 8..10, 11..12].map(|range| data.has_pieces_in(&range));
        assert_eq!(has, [true, false, true, false, true, false]);
        let mut pool = BufferPool::default();
        data.gather(&mut pool);
        assert_eq!((&data.whole[..], data.slices().count()), (&expected[..], 1));
        assert_eq!(data, ReplyData::from(buffer(&expected)));
        let empty = data.give_to(&mut pool);
        assert!(empty.is_empty() && empty.slices().next().is_none());
    }
}
